package aioc.packs.airline_test

import future.keywords.not

test_mixed_cabin if {
	every own in ["business", "basic_economy", null, false, 0, {}] {
		every write in [booking, change] {
			denied(args(write, {"flights": [first, object.union(second, {"cabin": own})]})) == {"mixed_cabin"}
		}
	}
	every write in [booking, change] {
		nothing_against(args(write, {"flights": [first, object.union(second, {"cabin": "economy"})]}))
	}
}

test_flight_not_available if {
	every state in ["delayed", "on time", "flying", "landed", "cancelled"] {
		denied(ctx(booking, {"flightStatus/-": closed_flight(second, state)})) == {"flight_not_available"}
	}
}

test_flight_not_available_when_unknown if {
	denied(args(booking, {"flights": [first, unknown]})) == {"flight_not_available"}
	denied(args(booking, {"flights": [object.union(first, {"date": "the 31st of February"})]})) == {"flight_not_available"}
	denied(without(booking, "flightStatus")) == {"flight_not_available"}
	denied(without(booking, "flightStatus/0/status")) == {"flight_not_available"}
}

# 3: a kept flight is not priced, so it need not be available; a change of cabin prices them all
test_kept_flights_may_have_flown if {
	flown := ctx(change, {"flightStatus": [closed_flight(first, "landed"), closed_flight(second, "on time")]})
	nothing_against(flown)
	denied(args(flown, {"cabin": "business"})) == {"flight_not_available"}
}

test_seats_insufficient if {
	scarce := {"flightStatus/1/available_seats/economy": 1}
	denied(ctx(booking, scarce)) == {"seats_insufficient"}
	nothing_against(ctx(change, scarce))
	denied(args(ctx(change, scarce), {"cabin": "business"})) == set()
	denied(ctx(args(change, {"flights": [direct]}), {"flightStatus/2/available_seats/economy": 1})) == {"seats_insufficient"}
	nothing_against(ctx(booking, {"flightStatus/1/available_seats/economy": 2}))
}

test_seats_insufficient_when_nobody_knows_them if {
	denied(ctx(booking, {"flightStatus/1/available_seats": null})) == {"seats_insufficient"}
	denied(without(booking, "flightStatus/1/available_seats/economy")) == {"seats_insufficient"}
}

basic := args(ctx(change, {"reservation/cabin": "basic_economy"}), {"cabin": "basic_economy"})

test_basic_economy_flight_change if {
	denied(args(basic, {"flights": [direct]})) == {"basic_economy_flight_change"}
	denied(args(basic, {"flights": [direct], "cabin": "economy"})) == {"basic_economy_flight_change"}
	nothing_against(args(basic, {"cabin": "economy"}))
	nothing_against(args(change, {"flights": [direct]}))
}

# As a multiset: order is no change, number is
test_basic_economy_flight_change_by_multiset if {
	not "basic_economy_flight_change" in denied(args(basic, {"flights": [second, first]}))
	"basic_economy_flight_change" in denied(args(basic, {"flights": [first, second, second]}))
	"basic_economy_flight_change" in denied(args(basic, {"flights": [first]}))
	"basic_economy_flight_change" in denied(args(basic, {"flights": []}))
}

test_basic_economy_flight_change_when_the_cabin_is_not_known if {
	"basic_economy_flight_change" in denied(without(args(change, {"flights": [direct]}), "reservation/cabin"))
}

test_no_flights_to_book if {
	denied(args(booking, {"flights": []})) == {"payment_total_mismatch"}
	nothing_against(args(booking, {"flights": [], "payment_methods": []}))
}
