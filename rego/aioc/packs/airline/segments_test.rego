package aioc.packs.airline_test

import data.aioc.packs.airline
import future.keywords.not

# 0.9: where two entries name the same segment, the last counts
test_the_last_status_counts if {
	denied(ctx(booking, {"flightStatus/-": closed_flight(first, "landed")})) == {"flight_not_available"}
	nothing_against(ctx(booking, {"flightStatus": array.concat([closed_flight(first, "landed")], statuses)}))
}

test_the_last_recorded_flight_counts if {
	twice := array.concat(
		[object.union(first, {"origin": "LGA", "destination": "LGA", "price": 7})],
		record.flights,
	)
	nothing_against(ctx(change, {"reservation/flights": twice}))
	denied(ctx(change, {"reservation/flights": array.reverse(twice)})) == {"origin_changed"}
}

test_a_segment_is_number_and_date if {
	other_day := {"flight_number": "HAT001", "date": "2024-05-21"}
	denied(args(booking, {"flights": [first, second, other_day]})) == {"flight_not_available"}
	by_segment := airline.last_by_segment([first, other_day, first])
	count(by_segment) == 2
	by_segment[["HAT001", "2024-05-21"]] == other_day
}

test_no_entries if airline.last_by_segment([]) == {}
