package aioc.packs.airline_test

import future.keywords.not

paid(amount) := args(booking, {"payment_methods": [{"payment_id": "credit_card_1", "amount": amount}]})

test_payment_total_mismatch if {
	every amount in [0, -400, 399.99, 400.01, 4000000000000000, 1e300] {
		denied(paid(amount)) == {"payment_total_mismatch"}
	}
	nothing_against(paid(400))
	nothing_against(paid(400.001))
}

test_insurance_is_thirty_dollars_a_passenger if {
	denied(args(paid(400), {"insurance": "yes"})) == {"payment_total_mismatch"}
	nothing_against(args(paid(460), {"insurance": "yes"}))
}

test_a_bag_is_fifty_dollars if {
	seven := {"total_baggages": 7, "nonfree_baggages": 1}
	denied(args(paid(400), seven)) == {"payment_total_mismatch"}
	nothing_against(args(paid(450), seven))
}

test_negative_amounts_and_bags_add_up if {
	nothing_against(args(booking, {"payment_methods": [
		{"payment_id": "credit_card_1", "amount": 500},
		{"payment_id": "gift_card_1", "amount": -100},
	]}))
	denied(args(paid(350), {"nonfree_baggages": -1})) == {"baggage_undercharged"}
}

# Sums of cents are inexact in binary, and the tolerance is half a cent
test_cents if {
	cents := ctx(booking, {"flightStatus/0/prices/economy": 0.1, "flightStatus/1/prices/economy": 0.2})
	nothing_against(args(cents, {"payment_methods": [{"payment_id": "credit_card_1", "amount": 0.6}]}))
	denied(args(cents, {"payment_methods": [{"payment_id": "credit_card_1", "amount": 0.61}]})) == {"payment_total_mismatch"}
}

test_a_flight_twice_is_paid_twice if {
	denied(args(paid(400), {"flights": [first, second, second]})) == {"payment_total_mismatch"}
	nothing_against(args(paid(600), {"flights": [first, second, second]}))
}

test_the_total_does_not_count_when_a_flight_has_no_prices if {
	denied(args(paid(1), {"flights": [first, unknown]})) == {"flight_not_available"}
	denied(ctx(paid(1), {"flightStatus": [closed_flight(first, "landed"), closed_flight(second, "landed")]})) == {"flight_not_available"}
}

test_a_total_that_cannot_be_worked_out_is_no_match if {
	denied(without(booking, "flightStatus/0/prices/economy")) == {"payment_total_mismatch"}
	denied(without(paid(200), "flightStatus/0/prices/economy")) == {"payment_total_mismatch"}
	denied(booking) == {"payment_total_mismatch"} with data.aioc.packs.airline.fees as {}
}
