package aioc.packs.airline_test

import future.keywords.not

test_certificate_grounds_unverified if {
	held(certificate) == {"certificate_grounds_unverified"}
	denied(certificate) == set()
	"certificate_grounds_unverified" in held(ctx(certificate, {"user": null, "identity/userId": null}))
}

test_certificate_eligibility_unverified if {
	held(ctx(certificate, {"user/membership": "regular"})) == {
		"certificate_eligibility_unverified",
		"certificate_grounds_unverified",
	}
	held(ctx(certificate, {"user/membership": "silver"})) == {"certificate_grounds_unverified"}
	not "certificate_eligibility_unverified" in held(ctx(certificate, {"user": null}))
	"certificate_eligibility_unverified" in held(without(certificate, "user/membership"))
}

test_certificate_amount_invalid if {
	every amount in [0, -50, 49, 50.01, 350, 450, 550, 1e300] {
		denied(args(certificate, {"amount": amount})) == {"certificate_amount_invalid"}
	}
	every amount in [50, 50.0, 100, 150, 200, 250, 300, 400, 500] {
		denied(args(certificate, {"amount": amount})) == set()
	}
	denied(certificate) == {"certificate_amount_invalid"} with data.aioc.packs.airline.certificate_amounts as []
}
