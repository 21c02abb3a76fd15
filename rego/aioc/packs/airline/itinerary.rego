package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

itinerary_loaded := true

# METADATA
# title: 3.5 origin_changed
# description: The journey no longer starts where the reservation does. JFK, LGA and EWR are three places.
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	ends_known
	not journey[0].origin == reservation.origin
	verdict := verdicts.deny("origin_changed")
}

# METADATA
# title: 3.5 trip_type_changed
# description: No flights at all, a round trip that does not return, or a one way trip that does.
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	_trip_type_differs
	verdict := verdicts.deny("trip_type_changed")
}

# METADATA
# title: 3.5 destination_changed
# description: A journey that comes back must visit the destination; any other one must end there.
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	ends_known
	_must_visit
	not _visits_destination
	verdict := verdicts.deny("destination_changed")
}

# METADATA
# title: 3.5 destination_changed, for a journey that does not come back
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	ends_known
	not _must_visit
	not _last_stop == reservation.destination
	verdict := verdicts.deny("destination_changed")
}

# METADATA
# title: The flights asked for, with the ends of each
# description: Flights whose ends are unknown are left out.
journey := [leg | some flight in args.flights; leg := ends(flight)]

# METADATA
# title: The ends of a flight
# description: As recorded on the reservation if it is there, whatever the cabin; else as its status has them.
ends(flight) := leg if {
	leg := recorded[[flight.flight_number, flight.date]]
} else := leg if {
	leg := status[[flight.flight_number, flight.date]]
}

# METADATA
# title: There are flights, and the ends of each are known
ends_known if {
	size(journey) > 0
	size(journey) == size(args.flights)
}

_last_stop := journey[size(journey) - 1].destination

_visits_destination if {
	some leg in journey
	leg.destination == reservation.destination
}

_round_trip if reservation.flight_type == "round_trip"

_trip_type_differs if size(args.flights) == 0

_trip_type_differs if {
	ends_known
	_round_trip
	not _last_stop == reservation.origin
}

_trip_type_differs if {
	ends_known
	not _round_trip
	not reservation.origin == reservation.destination
	_last_stop == reservation.origin
}

_must_visit if _round_trip

_must_visit if _trip_type_differs
