package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

passengers_loaded := true

# METADATA
# title: 2.1 too_many_passengers
# description: One booking takes five passengers at most.
deny contains verdict if {
	input.toolName == "book_reservation"
	not passenger_count <= booking_limits.passengers
	verdict := verdicts.deny("too_many_passengers")
}

# METADATA
# title: 2.2 passenger_details_missing
# description: Some passenger lacks a first name, a last name, or a date of birth of the right shape.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_passengers"}
	target_known
	some passenger in args.passengers
	not complete(passenger)
	verdict := verdicts.deny("passenger_details_missing")
}

# METADATA
# title: A passenger with both names and a date of birth
# description: The date is not looked up in a calendar; `[0-9]`, since `\d` is Unicode on one of the engines.
complete(passenger) if {
	passenger.first_name != ""
	passenger.last_name != ""
	regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, passenger.dob)
}

# METADATA
# title: 2.3 passenger_count_changed
# description: Which passengers, and in which cabin, is free; how many is not.
deny contains verdict if {
	input.toolName == "update_reservation_passengers"
	is_object(reservation)
	not size(args.passengers) == passenger_count
	verdict := verdicts.deny("passenger_count_changed")
}

# METADATA
# title: 2.4 insurance_added_after_booking
# description: Insurance can only be chosen in `book_reservation`; a key `insurance` is too much, whatever its value.
deny contains verdict if {
	input.toolName in {
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	is_object(reservation)
	"insurance" in object.keys(args)
	verdict := verdicts.deny("insurance_added_after_booking")
}
