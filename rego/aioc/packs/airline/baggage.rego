package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

baggage_loaded := true

# METADATA
# title: 5.1 baggage_undercharged
# description: Fewer bags are paid for than exceed the free ones. An allowance that is not known is none.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_baggages"}
	target_known
	not no_user
	not args.nonfree_baggages >= bags_to_pay
	verdict := verdicts.deny("baggage_undercharged")
}

# METADATA
# title: 5.2 baggage_overcharged
# description: More bags are paid for than need be. Bags already paid for may stay paid.
deny contains verdict if {
	input.toolName in {"book_reservation", "update_reservation_baggages"}
	target_known
	not no_user
	not args.nonfree_baggages <= max([bags_to_pay, _bags_already_paid])
	verdict := verdicts.deny("baggage_overcharged")
}

# METADATA
# title: 5.3 baggage_removed
# description: Checked bags can be added and not removed.
deny contains verdict if {
	input.toolName == "update_reservation_baggages"
	is_object(reservation)
	not args.total_baggages >= reservation.total_baggages
	verdict := verdicts.deny("baggage_removed")
}

# METADATA
# title: How many bags exceed the free ones (5, `need`)
bags_to_pay := max([0, args.total_baggages - (passenger_count * free_bags_each)])

# METADATA
# title: Free bags of each passenger
# description: By the customer's membership and the cabin, which an update reads from the reservation.
free_bags_each := _free_bags[user.membership][_booked_cabin]

_free_bags := data.aioc.packs.airline.free_bags

_booked_cabin := args.cabin if input.toolName == "book_reservation"

_booked_cabin := reservation.cabin if input.toolName == "update_reservation_baggages"

_bags_already_paid := 0 if input.toolName == "book_reservation"

_bags_already_paid := reservation.nonfree_baggages if input.toolName == "update_reservation_baggages"
