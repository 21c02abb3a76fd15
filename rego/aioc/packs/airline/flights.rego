package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

flights_loaded := true

# METADATA
# title: 3.1 mixed_cabin
# description: A flight has a cabin of its own that differs from the call's.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_flights"}
	target_known
	some flight in args.flights
	"cabin" in object.keys(flight)
	not flight.cabin == args.cabin
	verdict := verdicts.deny("mixed_cabin")
}

# METADATA
# title: 3.2 flight_not_available
# description: A priced flight is unknown, or delayed, on time, flying, landed or cancelled.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_flights"}
	target_known
	some flight in priced
	not status[[flight.flight_number, flight.date]].status == "available"
	verdict := verdicts.deny("flight_not_available")
}

# METADATA
# title: 3.3 seats_insufficient
# description: A priced flight has fewer seats in the cabin than there are passengers. Unknown seats are none.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_flights"}
	target_known
	some flight in priced
	entry := status[[flight.flight_number, flight.date]]
	entry.status == "available"
	not entry.available_seats[args.cabin] >= passenger_count
	verdict := verdicts.deny("seats_insufficient")
}

# METADATA
# title: 3.4 basic_economy_flight_change
# description: |
#   A basic economy reservation keeps its segments, in whatever order. The cabin that counts is the one before the
#   call; changing only the cabin is fine. A cabin that is not known to be another one is taken for basic economy.
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	not reservation.cabin in {"economy", "business"}
	not sorted_segments(args.flights) == sorted_segments(reservation.flights)
	verdict := verdicts.deny("basic_economy_flight_change")
}

# METADATA
# title: Segments in sorted order, which are equal for equal multisets
sorted_segments(entries) := sort([row | some entry in entries; row := [entry.flight_number, entry.date]])
