package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

payment_loaded := true

# METADATA
# title: 4.1 payment_method_not_in_profile, booking
# description: Some instrument is none of the customer's.
deny contains verdict if {
	input.toolName == "book_reservation"
	not no_user
	some payment in args.payment_methods
	not user.payment_methods[payment.payment_id]
	verdict := verdicts.deny("payment_method_not_in_profile")
}

# METADATA
# title: 4.1 payment_method_not_in_profile, changes
# description: The instrument is none of the customer's.
deny contains verdict if {
	input.toolName in {"update_reservation_flights", "update_reservation_baggages"}
	is_object(reservation)
	not no_user
	not user.payment_methods[args.payment_id]
	verdict := verdicts.deny("payment_method_not_in_profile")
}

# METADATA
# title: 4.2 too_many_certificates
# description: More than one travel certificate pays for the booking. Distinct ids, zero amounts included.
deny contains verdict if {
	input.toolName == "book_reservation"
	not count([1 | some source in kinds; source == "certificate"]) <= booking_limits.certificates
	verdict := verdicts.deny("too_many_certificates")
}

# METADATA
# title: 4.2 too_many_credit_cards
# description: More than one credit card pays for the booking.
deny contains verdict if {
	input.toolName == "book_reservation"
	not count([1 | some source in kinds; source == "credit_card"]) <= booking_limits.credit_cards
	verdict := verdicts.deny("too_many_credit_cards")
}

# METADATA
# title: 4.2 too_many_gift_cards
# description: More than three gift cards pay for the booking.
deny contains verdict if {
	input.toolName == "book_reservation"
	not count([1 | some source in kinds; source == "gift_card"]) <= booking_limits.gift_cards
	verdict := verdicts.deny("too_many_gift_cards")
}

# METADATA
# title: 4.3 certificate_not_allowed_for_change
# description: Changes are not paid by certificate. For baggage this is derived from the system, not from the policy.
deny contains verdict if {
	input.toolName in {"update_reservation_flights", "update_reservation_baggages"}
	is_object(reservation)
	kind(args.payment_id) == "certificate"
	verdict := verdicts.deny("certificate_not_allowed_for_change")
}

# METADATA
# title: The kinds of the instruments of a booking, each once, by their ids
kinds := {id: source |
	some payment in args.payment_methods
	id := payment.payment_id
	source := kind(id)
}

# METADATA
# title: The kind of an instrument (0.8)
# description: As the profile has it; without a profile, or an entry in it, as the id begins; else none.
kind(id) := source if {
	source := user.payment_methods[id].source
} else := "certificate" if {
	startswith(id, "certificate_")
} else := "credit_card" if {
	startswith(id, "credit_card_")
} else := "gift_card" if {
	startswith(id, "gift_card_")
}
