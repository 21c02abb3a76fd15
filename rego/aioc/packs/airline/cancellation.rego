package aioc.packs.airline

import data.aioc.lib.times
import data.aioc.lib.verdicts
import future.keywords.not

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
	age := times.instant(input.runContext.context.now) - times.instant(concat("", [reservation.created_at, offset]))
	age >= 0
	age <= 86400000000000
}

# METADATA
# title: The offset of the current time, with which the time of booking is read (0.10)
# description: What is no time of the years 1700 to 2199 permits nothing.
offset := "Z" if endswith(input.runContext.context.now, "Z")

offset := substring(now, count(now) - 6, 6) if {
	now := input.runContext.context.now
	times.instant(now)
	not endswith(now, "Z")
}
