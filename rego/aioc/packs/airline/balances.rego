package aioc.packs.airline

import data.aioc.lib.money
import data.aioc.lib.verdicts
import future.keywords.not

balances_loaded := true

# METADATA
# title: 4.5 payment_balance_insufficient, booking
# description: A gift card or certificate is charged more, over all its entries, than it is worth.
deny contains verdict if {
	input.toolName == "book_reservation"
	some id, charge in charges
	user.payment_methods[id]
	kinds[id] in {"gift_card", "certificate"}
	not affordable(id, charge)
	verdict := verdicts.deny("payment_balance_insufficient")
}

# METADATA
# title: 4.5 payment_balance_insufficient, flights
# description: A gift card is worth less than the new fares exceed the old. Holds only where all fares are known.
deny contains verdict if {
	input.toolName == "update_reservation_flights"
	is_object(reservation)
	user.payment_methods[args.payment_id]
	kind(args.payment_id) == "gift_card"
	size(new_fares) == size(args.flights)
	not affordable(args.payment_id, _fare_difference)
	verdict := verdicts.deny("payment_balance_insufficient")
}

# METADATA
# title: 4.5 payment_balance_insufficient, bags
# description: A gift card is worth less than the bags that this call pays for.
deny contains verdict if {
	input.toolName == "update_reservation_baggages"
	is_object(reservation)
	user.payment_methods[args.payment_id]
	kind(args.payment_id) == "gift_card"
	not affordable(args.payment_id, _added_bags * bag_fee)
	verdict := verdicts.deny("payment_balance_insufficient")
}

# METADATA
# title: An instrument is worth what it is charged
# description: Its amount may be below zero; without an amount it is worth nothing, and affords nothing.
affordable(id, charge) if money.at_most(charge, user.payment_methods[id].amount)

_added_bags := max([0, args.nonfree_baggages - reservation.nonfree_baggages])

_fare_difference := passenger_count * (sum(new_fares) - sum(_old_fares))

_old_fares := [flight.price | some flight in reservation.flights]

# METADATA
# title: The fares of the flights asked for
# description: A kept flight's is the recorded one. Flights without a price are left out.
new_fares := [price | some flight in args.flights; price := _fare(flight)]

_fare(flight) := recorded[segment].price if {
	segment := [flight.flight_number, flight.date]
	segment in kept
}

_fare(flight) := status[segment].prices[args.cabin] if {
	segment := [flight.flight_number, flight.date]
	not segment in kept
}

# METADATA
# title: What each instrument of a booking is charged, by its id
charges := {id: charge |
	some id, entries in _charged
	charge := sum([entry[1] | some entry in entries])
}

# Grouped by a rule, in one pass: a sum for each distinct id would be quadratic on an engine without an index. The
# position keeps equal amounts apart.
_charged[id] contains entry if {
	some position, payment in args.payment_methods
	id := payment.payment_id
	entry := [position, payment.amount]
}
