package aioc.packs.airline_test

import future.keywords.not

paid_with(ids) := args(booking, {"payment_methods": array.concat(
	[{"payment_id": id, "amount": 0} | some id in ids],
	[{"payment_id": "credit_card_1", "amount": 400}],
)})

test_payment_method_not_in_profile if {
	denied(paid_with(["credit_cart_1"])) == {"payment_method_not_in_profile"}
	denied(args(bags, {"payment_id": "credit_card_9"})) == {"payment_method_not_in_profile"}
	denied(args(change, {"payment_id": ""})) == {"payment_method_not_in_profile"}
}

test_payment_method_not_in_profile_when_the_profile_is_missing if {
	every write in [booking, bags, change] {
		"payment_method_not_in_profile" in denied(without(write, "user"))
		"payment_method_not_in_profile" in denied(without(write, "user/payment_methods"))
		not "payment_method_not_in_profile" in denied(ctx(write, {"user": null}))
	}
}

test_too_many_certificates if {
	denied(paid_with(["certificate_1", "certificate_2"])) == {"too_many_certificates"}
	nothing_against(paid_with(["certificate_1"]))
}

test_too_many_credit_cards if {
	denied(paid_with(["credit_card_2"])) == {"too_many_credit_cards"}
}

test_too_many_gift_cards if {
	denied(paid_with(["gift_card_1", "gift_card_2", "gift_card_3", "gift_card_4"])) == {"too_many_gift_cards"}
	nothing_against(paid_with(["gift_card_1", "gift_card_2", "gift_card_3"]))
}

# Counted over the distinct ids
test_one_instrument_twice_is_one if {
	nothing_against(paid_with(["certificate_1", "certificate_1", "credit_card_1"]))
}

# 0.8: by prefix where the profile has no entry, or is not there
test_kinds_by_prefix if {
	nobody := ctx(paid_with(["certificate_8", "certificate_9", "credit_card_9", "something_else"]), {"user": null})
	denied(nobody) == {"too_many_certificates", "too_many_credit_cards"}
	denied(paid_with(["gift_card_1", "gift_card_2", "gift_card_3", "gift_card_9"])) == {
		"payment_method_not_in_profile",
		"too_many_gift_cards",
	}
}

# 0.8: the profile comes before the prefix
test_kinds_by_profile if {
	disguised := {"user/payment_methods/certificate_1/source": "credit_card"}
	nothing_against(ctx(args(bags, {"payment_id": "certificate_1"}), disguised))
	denied(ctx(paid_with(["certificate_1", "certificate_2"]), disguised)) == {"too_many_credit_cards"}
}

test_limits_that_are_not_there_are_exceeded if {
	denied(booking) == {"too_many_certificates", "too_many_credit_cards", "too_many_gift_cards", "too_many_passengers"} with data.aioc.packs.airline.limits as {}
}

test_certificate_not_allowed_for_change if {
	every update in [bags, change] {
		denied(args(update, {"payment_id": "certificate_1"})) == {"certificate_not_allowed_for_change"}
		denied(ctx(args(update, {"payment_id": "certificate_9"}), {"user": null})) == {"certificate_not_allowed_for_change"}
		denied(args(update, {"payment_id": "certificate_9"})) == {
			"certificate_not_allowed_for_change",
			"payment_method_not_in_profile",
		}
	}
}

test_nothing_pays if {
	denied(args(booking, {"payment_methods": []})) == {"payment_total_mismatch"}
}

# 4.5 needs the id in the profile; 4.1 says that it is not there
test_a_gift_card_that_is_not_there_has_no_balance if {
	every update in [bags, args(change, {"cabin": "business"})] {
		denied(args(update, {"payment_id": "gift_card_9"})) == {"payment_method_not_in_profile"}
		denied(ctx(args(update, {"payment_id": "gift_card_9"}), {"user": null})) == set()
	}
}
