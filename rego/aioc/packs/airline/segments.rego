package aioc.packs.airline

import future.keywords.not

segments_loaded := true

# METADATA
# title: The status of each segment, by [flight number, date]
status := last_by_segment(input.runContext.context.flightStatus)

# METADATA
# title: The flights of the reservation, by [flight number, date]
recorded := last_by_segment(reservation.flights)

# METADATA
# title: Entries by segment, of which the last counts (0.9)
# description: |
#   An object comprehension over entries that name a segment twice is a conflict, hence an error. Sorting puts the
#   entries of a segment side by side in their order, so that each one's neighbour says whether it is the last: one
#   pass, where a search a segment would be quadratic on an engine without an index.
last_by_segment(entries) := by_segment if {
	rows := sort([row |
		some position, entry in entries
		row := [[entry.flight_number, entry.date], position]
	])
	by_segment := {row[0]: entries[row[1]] |
		some place, row in rows
		not rows[place + 1][0] == row[0]
	}
}

# METADATA
# title: The segments that the call leaves as they are (3)
# description: Every other flight is priced today; so a change of cabin prices them all.
kept contains segment if {
	input.toolName == "update_reservation_flights"
	args.cabin == reservation.cabin
	some flight in args.flights
	segment := [flight.flight_number, flight.date]
	recorded[segment]
}

# METADATA
# title: The flights of the arguments that are priced today
priced := [flight |
	some flight in args.flights
	not [flight.flight_number, flight.date] in kept
]
