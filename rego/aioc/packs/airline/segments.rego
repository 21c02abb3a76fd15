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
		row := [entry.flight_number, entry.date, position]
	])
	by_segment := {[row[0], row[1]]: entries[row[2]] |
		some place, row in rows
		not _same_segment(row, rows[place + 1])
	}
}

_same_segment(row, next) if {
	row[0] == next[0]
	row[1] == next[1]
}

# METADATA
# title: A flight of the arguments that the call leaves as it is (3)
# description: Every other one is priced today; so a change of cabin prices them all.
kept(flight) if {
	input.toolName == "update_reservation_flights"
	args.cabin == reservation.cabin
	recorded[[flight.flight_number, flight.date]]
}

# METADATA
# title: Today's price of a flight in the cabin asked for
# description: Undefined when the flight has no status or no prices.
price_today(flight) := status[[flight.flight_number, flight.date]].prices[args.cabin]
