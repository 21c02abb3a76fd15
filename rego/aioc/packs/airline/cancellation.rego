package aioc.packs.airline

import data.aioc.lib.times
import data.aioc.lib.verdicts
import future.keywords.not

cancellation_loaded := true

# METADATA
# title: 6.1 cancel_flown_segment
# description: Some flight is in the air or has landed. In every cabin, whatever else would permit the cancellation.
deny contains verdict if {
	input.toolName == "cancel_reservation"
	some flight in reservation.flights
	status[[flight.flight_number, flight.date]].status in {"landed", "flying"}
	verdict := verdicts.deny("cancel_flown_segment")
}

# METADATA
# title: 6.2 cancel_not_eligible
# description: Neither free to cancel nor insured.
deny contains verdict if {
	input.toolName == "cancel_reservation"
	is_object(reservation)
	not free_cancellation
	not reservation.insurance == "yes"
	verdict := verdicts.deny("cancel_not_eligible")
}

# METADATA
# title: 6.2 cancel_reason_unverified
# description: Insured, but the insurance pays for health or weather only, and the arguments give no reason.
require_approval contains verdict if {
	input.toolName == "cancel_reservation"
	is_object(reservation)
	not free_cancellation
	reservation.insurance == "yes"
	verdict := verdicts.hold("cancel_reason_unverified")
}

# METADATA
# title: Free to cancel (6.2)
# description: Booked within the last 24 hours, or a flight was cancelled, or business.
free_cancellation if reservation.cabin == "business"

free_cancellation if {
	some flight in reservation.flights
	status[[flight.flight_number, flight.date]].status == "cancelled"
}

free_cancellation if {
	now := input.runContext.context.now
	age := times.instant(now) - times.instant(concat("", [reservation.created_at, _offset(now)]))
	age >= 0
	age <= 86400000000000
}

# The offset of the current time, with which the time of booking is read (0.10): what follows seconds and fraction.
# Where this is no offset, or either is no time of the years 1700 to 2199, nothing is within a day.
_offset(now) := trim_left(substring(now, 19, -1), ".0123456789")
