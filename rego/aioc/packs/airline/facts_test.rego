package aioc.packs.airline_test

import data.aioc.packs.airline
import future.keywords.not

test_passenger_count_is_of_the_arguments_when_booking if {
	airline.passenger_count == 3 with input as args(booking, {"passengers/-": someone})
}

test_passenger_count_is_of_the_reservation_when_updating if {
	every update in [bags, change, people] {
		airline.passenger_count == 3 with input as ctx(update, {"reservation/passengers/-": someone})
	}
}

test_anonymous_only_where_the_context_says_so if {
	airline.anonymous with input as ctx(booking, {"identity/userId": null})
	not airline.anonymous with input as without(booking, "identity")
	not airline.anonymous with input as booking
}

test_no_user_only_where_the_context_says_so if {
	airline.no_user with input as ctx(booking, {"user": null})
	not airline.no_user with input as without(booking, "user")
	not airline.no_user with input as booking
}

test_a_booking_needs_no_target if {
	airline.target_known with input as ctx(booking, {"reservation": null})
	not airline.target_known with input as ctx(change, {"reservation": null})
	airline.target_known with input as change
}

# 0.5: unknown extra keys pass, so another tool's arguments are nobody's business
test_arguments_of_other_tools_are_extra_keys if {
	foreign := {
		"user_id": "omar_davis_3817",
		"cabin": "business",
		"flights": [object.union(unknown, {"cabin": "economy"})],
		"passengers": array.concat([object.union(someone, {"dob": "?"})], [someone | some _ in numbers.range(1, 6)]),
		"payment_methods": [{"payment_id": sprintf("%s_%d", [kind, number]), "amount": 1000} |
			some kind in ["certificate", "credit_card", "gift_card"]
			some number in [1, 2, 3, 4]
		],
		"payment_id": "certificate_9",
		"total_baggages": 0,
		"nonfree_baggages": 9,
		"amount": 7,
	}
	every calm in [booking, cancellation, bags, change, people] {
		nothing_against(args(calm, object.remove(foreign, object.keys(calm.parsedArguments))))
	}
	odd_certificate := args(certificate, object.remove(foreign, ["amount", "user_id"]))
	denied(odd_certificate) == set()
	held(odd_certificate) == {"certificate_grounds_unverified"}
}

test_a_journey_in_the_arguments_of_other_tools_is_extra_keys if {
	every journey in [[], [to_newark], [back], [direct, back]] {
		foreign := {"flights": journey, "cabin": "business", "payment_id": "gift_card_1"}
		every calm in [cancellation, bags, people] {
			nothing_against(args(calm, foreign))
		}
	}
}

# The age of a reservation, and what has flown, is nobody's business but the cancellation's
test_context_of_other_tools_is_not_read if {
	every insurance in ["yes", "no"] {
		every calm in [booking, bags, people] {
			nothing_against(ctx(calm, {
				"reservation/insurance": insurance,
				"reservation/created_at": "2020-01-01T00:00:00",
				"reservation/flights": [object.union(unknown, {"origin": "JFK", "destination": "SEA", "price": 1})],
				"flightStatus/-": closed_flight(unknown, "landed"),
			}))
		}
	}
}
