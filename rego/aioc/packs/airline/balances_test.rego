package aioc.packs.airline_test

import future.keywords.not

split(charges) := args(booking, {"payment_methods": charges})

test_payment_balance_insufficient_booking if {
	every id in ["gift_card_1", "certificate_1"] {
		denied(split([
			{"payment_id": id, "amount": 100.01},
			{"payment_id": "credit_card_1", "amount": 299.99},
		])) == {"payment_balance_insufficient"}
		nothing_against(split([
			{"payment_id": id, "amount": 100},
			{"payment_id": "credit_card_1", "amount": 300},
		]))
	}
}

# The sum of the amounts on that id, wherever they stand
test_payment_balance_insufficient_by_the_sum if {
	denied(split([
		{"payment_id": "gift_card_1", "amount": 60},
		{"payment_id": "credit_card_1", "amount": 280},
		{"payment_id": "gift_card_1", "amount": 60},
	])) == {"payment_balance_insufficient"}
	nothing_against(split([
		{"payment_id": "gift_card_1", "amount": 160},
		{"payment_id": "credit_card_1", "amount": 300},
		{"payment_id": "gift_card_1", "amount": -60},
	]))
}

test_a_negative_balance_does_not_even_pay_nothing if {
	broke := {"user/payment_methods/gift_card_1/amount": -1}
	denied(ctx(
		split([
			{"payment_id": "gift_card_1", "amount": 0},
			{"payment_id": "credit_card_1", "amount": 400},
		]),
		broke,
	)) == {"payment_balance_insufficient"}
}

test_an_instrument_without_an_amount_affords_nothing if {
	half := split([{"payment_id": "gift_card_1", "amount": 100}, {"payment_id": "credit_card_1", "amount": 300}])
	denied(without(half, "user/payment_methods/gift_card_1/amount")) == {"payment_balance_insufficient"}
}

with_gift(call) := args(call, {"payment_id": "gift_card_1"})

# 2 passengers, 200 dollars each so far
test_payment_balance_insufficient_flights if {
	nothing_against(with_gift(change))
	denied(with_gift(args(change, {"cabin": "business"}))) == {"payment_balance_insufficient"}
	dearer := {"flightStatus/2/prices/economy": 250.01}
	denied(ctx(with_gift(args(change, {"flights": [direct]})), dearer)) == {"payment_balance_insufficient"}
	nothing_against(ctx(with_gift(args(change, {"flights": [direct]})), {"flightStatus/2/prices/economy": 250}))
	nothing_against(args(change, {"cabin": "business"}))
}

# A kept flight costs what it did, whatever it costs today
test_kept_flights_keep_their_price if {
	nothing_against(ctx(with_gift(change), {"flightStatus/0/prices/economy": 9999}))
	nothing_against(ctx(with_gift(change), {"flightStatus/0/prices": null}))
}

test_flights_without_prices_do_not_count if {
	denied(with_gift(args(change, {"flights": [first, second, unknown]}))) == {"flight_not_available"}
	dear := ctx(change, {"flightStatus/2/prices/economy": 9999})
	denied(with_gift(args(dear, {"flights": [direct, unknown]}))) == {"flight_not_available"}
}

# `amount` may be below zero; compare as it stands
test_a_refund_may_exceed_a_negative_balance if {
	cheaper := ctx(with_gift(args(change, {"flights": [direct]})), {"user/payment_methods/gift_card_1/amount": -200})
	nothing_against(cheaper)
	denied(ctx(cheaper, {"user/payment_methods/gift_card_1/amount": -200.01})) == {"payment_balance_insufficient"}
}

test_payment_balance_insufficient_bags if {
	nothing_against(with_gift(args(bags, {"total_baggages": 8, "nonfree_baggages": 2})))
	denied(with_gift(args(bags, {"total_baggages": 9, "nonfree_baggages": 3}))) == {"payment_balance_insufficient"}
	nothing_against(ctx(
		with_gift(args(bags, {"total_baggages": 9, "nonfree_baggages": 3})),
		{"reservation/nonfree_baggages": 1},
	))
}

test_fewer_paid_bags_cost_nothing if {
	nothing_against(ctx(with_gift(bags), {
		"reservation/nonfree_baggages": 2,
		"user/payment_methods/gift_card_1/amount": 0,
	}))
}

test_many_charges if {
	coins := [{"payment_id": sprintf("gift_card_%d", [1 + (coin % 2)]), "amount": 0.1} |
		some coin in numbers.range(1, 2000)
	]
	nothing_against(split(array.concat(coins, [{"payment_id": "credit_card_1", "amount": 200}])))
	denied(split(array.concat(coins, [{"payment_id": "gift_card_1", "amount": 200}]))) == {"payment_balance_insufficient"}
}
