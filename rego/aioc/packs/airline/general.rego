package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

general_loaded := true

# METADATA
# title: 1.1 confirmation_missing
# description: The latest customer message is no explicit go-ahead. Cancellations and certificates included.
require_approval contains verdict if {
	input.toolName in {
		"book_reservation",
		"cancel_reservation",
		"send_certificate",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	not input.runContext.context.userConfirmed == true
	verdict := verdicts.hold("confirmation_missing")
}

# METADATA
# title: 1.2 identity_not_established
# description: Nobody is established as the customer of this run.
require_approval contains verdict if {
	input.toolName in {
		"book_reservation",
		"cancel_reservation",
		"send_certificate",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	not is_string(identity_id)
	verdict := verdicts.hold("identity_not_established")
}

# METADATA
# title: 1.2 identity_not_established, for want of the record
# description: |
#   Conditions that need the customer's record do not hold without it, and this rule holds the call instead (0.7).
#   An application that names a customer and gives no record must not get those conditions waived.
require_approval contains verdict if {
	input.toolName in {
		"book_reservation",
		"send_certificate",
		"update_reservation_baggages",
		"update_reservation_flights",
	}
	not is_object(user)
	verdict := verdicts.hold("identity_not_established")
}

# METADATA
# title: 1.3 user_mismatch
# description: The call names another customer than the run is about.
deny contains verdict if {
	input.toolName in {"book_reservation", "send_certificate"}
	not anonymous
	not args.user_id == identity_id
	verdict := verdicts.deny("user_mismatch")
}

# METADATA
# title: 1.4 reservation_not_found
# description: Every other rule about a reservation asks for the record, so this code stands alone.
deny contains verdict if {
	input.toolName in {
		"cancel_reservation",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	not is_object(reservation)
	verdict := verdicts.deny("reservation_not_found")
}

# METADATA
# title: 1.5 reservation_not_owned
# description: The reservation is another customer's.
deny contains verdict if {
	input.toolName in {
		"cancel_reservation",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	is_object(reservation)
	not anonymous
	not reservation.user_id == identity_id
	verdict := verdicts.deny("reservation_not_owned")
}

# METADATA
# title: 1.6 reservation_already_cancelled
# description: Live reservations have no `status` at all, so its absence cannot be held against the call.
deny contains verdict if {
	input.toolName in {
		"cancel_reservation",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	reservation.status == "cancelled"
	verdict := verdicts.deny("reservation_already_cancelled")
}
