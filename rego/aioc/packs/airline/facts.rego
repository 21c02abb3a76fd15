package aioc.packs.airline

import future.keywords.not

facts_loaded := true

# METADATA
# title: The arguments that the tool will get
args := input.parsedArguments

# METADATA
# title: The customer whom the run is about, null until established
identity_id := input.runContext.context.identity.userId

# METADATA
# title: The customer's record, null without identity
user := input.runContext.context.user

# METADATA
# title: The reservation as the system holds it before the call (0.11)
reservation := input.runContext.context.reservation

# METADATA
# title: Nobody is established
# description: Undefined where the context does not say, so rules that ask `not anonymous` hold.
anonymous if identity_id == null

# METADATA
# title: There is no customer's record, and the context says so (0.7)
no_user if user == null

# METADATA
# title: The call has something to act on
# description: A booking needs nothing; any other rule about a reservation waits for the record (1.4).
target_known if {
	input.toolName == "book_reservation"
} else if {
	is_object(reservation)
}

# METADATA
# title: How many passengers the call is about (0.6)
passenger_count := size(args.passengers) if input.toolName == "book_reservation"

passenger_count := size(reservation.passengers) if {
	input.toolName in {
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
}

# METADATA
# title: How many of what one booking may have
booking_limits := data.aioc.packs.airline.limits

# METADATA
# title: How many entries a list has
# description: Not `count(list)`, which would count the characters of a text, and on one engine otherwise than on the other.
size(list) := count([1 | some _ in list])
