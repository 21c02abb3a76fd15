package aioc.packs.airline_test

import future.keywords.not

test_confirmation_missing if {
	every write in write_calls {
		"confirmation_missing" in held(ctx(write, {"userConfirmed": false}))
		not "confirmation_missing" in held(write)
	}
}

test_confirmation_missing_when_the_context_does_not_say_or_says_something_else if {
	every write in write_calls {
		"confirmation_missing" in held(without(write, "userConfirmed"))
		"confirmation_missing" in held(ctx(write, {"userConfirmed": "no"}))
	}
}

anonymous(write) := ctx(write, {"identity/userId": null, "user": null})

test_identity_not_established if {
	every write in write_calls {
		"identity_not_established" in held(anonymous(write))
		not "identity_not_established" in held(write)
		"identity_not_established" in held(without(write, "identity"))
	}
}

# 0.7: rule 1.2 holds the call in the place of conditions that need the record
test_identity_not_established_without_the_record if {
	every write in [booking, certificate, bags, change] {
		"identity_not_established" in held(ctx(write, {"user": null}))
		"identity_not_established" in held(without(write, "user"))
	}
	every write in [cancellation, people] {
		nothing_against(ctx(write, {"user": null}))
	}
}

# 0.7: nothing that needs the record denies
test_nothing_else_against_an_anonymous_call if {
	every write in [booking, cancellation, bags, change, people] {
		denied(anonymous(write)) == set()
		held(anonymous(write)) == {"identity_not_established"}
	}
}

test_user_mismatch if {
	denied(args(booking, {"user_id": "omar_davis_3817"})) == {"user_mismatch"}
	denied(args(certificate, {"user_id": "omar_davis_3817"})) == {"user_mismatch"}
	denied(anonymous(args(certificate, {"user_id": "omar_davis_3817"}))) == set()
}

test_user_mismatch_when_the_context_does_not_say_who if {
	"user_mismatch" in denied(without(booking, "identity"))
	"user_mismatch" in denied(without(booking, "identity/userId"))
}

test_reservation_not_found if {
	every write in reservation_calls {
		denied(ctx(write, {"reservation": null})) == {"reservation_not_found"}
		denied(without(write, "reservation")) == {"reservation_not_found"}
	}
}

# 1.4: it stands alone beyond 1.1 and 1.2, whatever else the arguments would bring up
test_reservation_not_found_stands_alone if {
	worst := [
		cancellation,
		args(bags, {"total_baggages": 0, "nonfree_baggages": 9, "payment_id": "certificate_1", "insurance": "yes"}),
		args(change, {"flights": [], "payment_id": "certificate_1", "insurance": "yes"}),
		args(change, {"flights": [direct], "cabin": "business", "payment_id": "gift_card_1"}),
		args(bags, {"total_baggages": 99, "nonfree_baggages": 99, "payment_id": "gift_card_1"}),
		args(change, {"flights": [object.union(unknown, {"cabin": "business"})], "payment_id": "gone", "insurance": 1}),
		args(people, {"passengers": [object.union(someone, {"dob": ""})], "insurance": "yes"}),
	]
	every write in worst {
		denied(ctx(write, {"reservation": null})) == {"reservation_not_found"}
		held(ctx(write, {"reservation": null})) == set()
		held(anonymous(ctx(write, {"reservation": null, "userConfirmed": false}))) == {
			"confirmation_missing",
			"identity_not_established",
		}
	}
}

test_reservation_not_owned if {
	every write in reservation_calls {
		denied(ctx(write, {"reservation/user_id": "omar_davis_3817"})) == {"reservation_not_owned"}
		denied(without(write, "reservation/user_id")) == {"reservation_not_owned"}
		denied(anonymous(ctx(write, {"reservation/user_id": "omar_davis_3817"}))) == set()
	}
}

test_reservation_already_cancelled if {
	every write in reservation_calls {
		denied(ctx(write, {"reservation/status": "cancelled"})) == {"reservation_already_cancelled"}
		nothing_against(ctx(write, {"reservation/status": null}))
	}
}

test_booking_is_not_about_the_reservation if {
	nothing_against(ctx(booking, {"reservation/status": "cancelled", "reservation/user_id": "omar_davis_3817"}))
	nothing_against(ctx(booking, {"reservation": null}))
}
