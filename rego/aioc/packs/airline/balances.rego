package aioc.packs.airline

import data.aioc.lib.money
import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: 4.5 payment_balance_insufficient, booking
# description: A gift card or certificate is charged more, over all its entries, than it is worth.
deny contains verdict if {
	input.toolName == "book_reservation"
	some id, charge in charges
	user.payment_methods[id]
	kind(id) in {"gift_card", "certificate"}
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
	count(new_fares) == count(args.flights)
	not affordable(args.payment_id, fare_difference)
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
	not affordable(args.payment_id, added_bags * bag_fee)
	verdict := verdicts.deny("payment_balance_insufficient")
}

# METADATA
# title: An instrument is worth what it is charged
# description: Its amount may be below zero; without an amount it is worth nothing, and affords nothing.
affordable(id, charge) if money.at_most(charge, user.payment_methods[id].amount)

added_bags := max([0, args.nonfree_baggages - reservation.nonfree_baggages])

fare_difference := passenger_count * (sum(new_fares) - sum(old_fares))

old_fares := [flight.price | some flight in reservation.flights]

# METADATA
# title: The fares of the flights asked for
# description: A kept flight's is the recorded one. Flights without a price are left out.
new_fares := [price | some flight in args.flights; price := fare(flight)]

fare(flight) := recorded[[flight.flight_number, flight.date]].price if kept(flight)

fare(flight) := price_today(flight) if not kept(flight)

# METADATA
# title: What each instrument of a booking is charged, by its id
# description: |
#   Sorted, the entries of an id are a run between two starts: one pass, where a sum a distinct id would be
#   quadratic on an engine without an index.
charges := {rows[start][0]: charge |
	rows := sort([row |
		some position, payment in args.payment_methods
		row := [payment.payment_id, position, payment.amount]
	])
	starts := [place | some place, row in rows; not rows[place - 1][0] == row[0]]
	stops := array.concat(array.slice(starts, 1, count(starts)), [count(rows)])
	some run, start in starts
	charge := sum([row[2] | some row in array.slice(rows, start, stops[run])])
}
