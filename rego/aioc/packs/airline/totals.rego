package aioc.packs.airline

import data.aioc.lib.money
import data.aioc.lib.verdicts
import future.keywords.not

totals_loaded := true

# METADATA
# title: 4.4 payment_total_mismatch
# description: |
#   The amounts do not add up to fares, insurance and bags. Does not hold when a flight has no prices, which is
#   `flight_not_available`. A total that cannot be worked out is no match.
deny contains verdict if {
	input.toolName == "book_reservation"
	every flight in args.flights {
		status[[flight.flight_number, flight.date]].prices != null
	}
	not money.same(_amount_paid, booking_total)
	verdict := verdicts.deny("payment_total_mismatch")
}

_amount_paid := sum([payment.amount | some payment in args.payment_methods])

# METADATA
# title: What a booking costs
# description: Undefined unless every price and fee is known.
booking_total := (passenger_count * (sum(prices) + _insurance_fee)) + (args.nonfree_baggages * bag_fee) if {
	prices := [price |
		some flight in args.flights
		price := status[[flight.flight_number, flight.date]].prices[args.cabin]
	]
	size(prices) == size(args.flights)
}

_insurance_fee := _fees.insurance if args.insurance == "yes"

_insurance_fee := 0 if args.insurance == "no"

# METADATA
# title: The price of a bag that is not free
bag_fee := _fees.bag

_fees := data.aioc.packs.airline.fees
