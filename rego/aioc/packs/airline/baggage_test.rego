package aioc.packs.airline_test

import future.keywords.not

free := {
	"regular": {"basic_economy": 0, "economy": 1, "business": 2},
	"silver": {"basic_economy": 1, "economy": 2, "business": 3},
	"gold": {"basic_economy": 2, "economy": 3, "business": 3},
}

updated(membership, cabin, total, nonfree) := args(
	ctx(bags, {"user/membership": membership, "reservation/cabin": cabin, "reservation/total_baggages": 0}),
	{"total_baggages": total, "nonfree_baggages": nonfree},
)

# Two passengers: every cell of the table, to the bag
test_the_table if {
	every membership, row in free {
		every cabin, each in row {
			nothing_against(updated(membership, cabin, 2 * each, 0))
			denied(updated(membership, cabin, (2 * each) + 1, 0)) == {"baggage_undercharged"}
			nothing_against(updated(membership, cabin, (2 * each) + 1, 1))
			denied(updated(membership, cabin, 2 * each, 1)) == {"baggage_overcharged"}
		}
	}
}

test_booking_reads_the_cabin_of_the_arguments if {
	business := {"cabin": "business", "payment_methods": [{"payment_id": "credit_card_1", "amount": 1200}]}
	regular := ctx(booking, {"user/membership": "regular", "reservation/cabin": "basic_economy"})
	nothing_against(args(regular, object.union(business, {"total_baggages": 4})))
	denied(args(regular, object.union(business, {"total_baggages": 5}))) == {"baggage_undercharged"}
	denied(args(regular, {"total_baggages": 3})) == {"baggage_undercharged"}
}

test_booking_overcharged if {
	denied(args(booking, {
		"nonfree_baggages": 1,
		"payment_methods": [{"payment_id": "credit_card_1", "amount": 450}],
	})) == {"baggage_overcharged"}
}

# Bags already paid for may stay paid
test_update_may_keep_what_is_paid if {
	nothing_against(ctx(updated("gold", "economy", 3, 2), {"reservation/nonfree_baggages": 2}))
	denied(ctx(updated("gold", "economy", 3, 3), {"reservation/nonfree_baggages": 2})) == {"baggage_overcharged"}
}

test_negative_and_huge_counts if {
	denied(args(bags, {"total_baggages": -5})) == {"baggage_removed"}
	denied(args(bags, {"nonfree_baggages": -1})) == {"baggage_undercharged"}
	denied(args(bags, {"total_baggages": 9007199254740991})) == {"baggage_undercharged"}
	denied(args(bags, {"nonfree_baggages": 9007199254740991})) == {"baggage_overcharged"}
}

test_baggage_removed if {
	denied(args(bags, {"total_baggages": 1})) == {"baggage_removed"}
	nothing_against(args(bags, {"total_baggages": 2}))
	denied(without(bags, "reservation/total_baggages")) == {"baggage_removed"}
}

test_an_allowance_that_is_not_known_is_none if {
	unsure := {"baggage_overcharged", "baggage_undercharged"}
	denied(ctx(bags, {"user/membership": "platinum"})) == unsure
	denied(without(bags, "reservation/cabin")) == unsure
	denied(bags) == unsure with data.aioc.packs.airline.free_bags as {}
	denied(ctx(bags, {"user": null})) == set()
}
