package aioc.packs.airline_test

import future.keywords.not

elsewhere(flight, origin, destination) := {"flightStatus/-": open_flight(flight, origin, destination)}

returning := ctx(change, {
	"reservation/flight_type": "round_trip",
	"reservation/flights/-": object.union(back, {"origin": "SEA", "destination": "JFK", "price": 100}),
})

test_origin_changed if {
	denied(args(ctx(change, elsewhere(unknown, "LGA", "SEA")), {"flights": [unknown]})) == {"origin_changed"}
	nothing_against(args(change, {"flights": [direct]}))
	denied(without(change, "reservation/origin")) == {"origin_changed"}
}

test_destination_changed if {
	denied(args(change, {"flights": [to_newark]})) == {"destination_changed"}
	denied(args(change, {"flights": [first]})) == {"destination_changed"}
	denied(without(change, "reservation/destination")) == {"destination_changed"}
}

test_trip_type_changed_for_want_of_flights if {
	denied(args(change, {"flights": []})) == {"trip_type_changed"}
	denied(args(returning, {"flights": []})) == {"trip_type_changed"}
}

test_round_trip if {
	nothing_against(args(returning, {"flights": [first, second, back]}))
	nothing_against(args(returning, {"flights": [direct, back]}))
	denied(args(returning, {"flights": [direct]})) == {"trip_type_changed"}
	denied(args(returning, {"flights": [first]})) == {"trip_type_changed", "destination_changed"}
}

test_round_trip_that_misses_its_destination if {
	round := ctx(returning, elsewhere(unknown, "ATL", "JFK"))
	denied(args(round, {"flights": [first, unknown]})) == {"destination_changed"}
}

test_one_way_trip_that_returns if {
	denied(args(change, {"flights": [direct, back]})) == {"trip_type_changed"}
	round := ctx(change, elsewhere(unknown, "ATL", "JFK"))
	denied(args(round, {"flights": [first, unknown]})) == {"trip_type_changed", "destination_changed"}
}

test_one_way_trip_to_where_it_starts_cannot_change_its_type if {
	circular := ctx(change, {"reservation/destination": "JFK"})
	nothing_against(args(circular, {"flights": [direct, back]}))
	denied(args(circular, {"flights": [direct]})) == {"destination_changed"}
}

# JFK, LGA and EWR are three different places
test_airports_compare_by_code if {
	newark := ctx(change, {"reservation/destination": "LGA"})
	denied(args(newark, {"flights": [to_newark]})) == {"destination_changed"}
}

# If the ends of any segment are unknown, none of the three holds
test_unknown_ends if {
	denied(args(change, {"flights": [unknown]})) == {"flight_not_available"}
	denied(args(change, {"flights": [to_newark, unknown]})) == {"flight_not_available"}
	denied(args(change, {"flights": [direct, back, unknown]})) == {"flight_not_available"}
	denied(args(returning, {"flights": [unknown]})) == {"flight_not_available"}
	denied(args(returning, {"flights": [direct, unknown]})) == {"flight_not_available"}
}

# As recorded on the reservation, whatever the cabin, rather than as the status has them
test_recorded_ends_come_first if {
	moved := ctx(change, {"flightStatus/0/origin": "LGA", "flightStatus/1/destination": "LGA"})
	nothing_against(moved)
	nothing_against(args(moved, {"cabin": "business"}))
}
