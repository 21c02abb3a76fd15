package aioc.packs.airline_test

import future.keywords.not

crowd(size) := [someone | some _ in numbers.range(1, size)]

test_too_many_passengers if {
	"too_many_passengers" in denied(args(booking, {"passengers": crowd(6)}))
	not "too_many_passengers" in denied(args(booking, {"passengers": crowd(5)}))
}

test_too_many_passengers_without_the_limit if {
	"too_many_passengers" in denied(booking) with data.aioc.packs.airline.limits as {}
}

test_thousands_of_passengers if {
	denied(args(booking, {"passengers": crowd(3000)})) == {
		"payment_total_mismatch",
		"seats_insufficient",
		"too_many_passengers",
	}
	denied(args(people, {"passengers": crowd(3000)})) == {"passenger_count_changed"}
}

test_passenger_details_missing if {
	every flaw in [{"first_name": ""}, {"last_name": ""}, {"dob": ""}] {
		flawed := {"passengers": [someone, object.union(someone, flaw)]}
		denied(args(booking, flawed)) == {"passenger_details_missing"}
		denied(args(people, flawed)) == {"passenger_details_missing"}
	}
}

# Exactly four digits, dash, two digits, dash, two digits; "digits" are ASCII digits (0.9)
test_passenger_details_missing_by_the_shape_of_the_date if {
	every dob in ["1990-4-5", "90-04-05", " 1990-04-05", "1990-04-05\n", "1990-04-05T00:00", "1990/04/05", "１９９０-04-05"] {
		denied(args(people, {"passengers": [someone, object.union(someone, {"dob": dob})]})) == {"passenger_details_missing"}
	}
}

test_absurd_dates_of_the_right_shape_are_none_of_the_policy_s_business if {
	every dob in ["0000-00-00", "9999-99-99", "2999-02-30"] {
		nothing_against(args(people, {"passengers": [someone, object.union(someone, {"dob": dob})]}))
	}
}

test_no_passengers if {
	"payment_total_mismatch" in denied(args(booking, {"passengers": []}))
	nothing_against(args(booking, {
		"passengers": [],
		"payment_methods": [],
		"total_baggages": 0,
	}))
	nothing_against(args(ctx(people, {"reservation/passengers": []}), {"passengers": []}))
}

test_passenger_count_changed if {
	denied(args(people, {"passengers": [someone]})) == {"passenger_count_changed"}
	denied(args(people, {"passengers": []})) == {"passenger_count_changed"}
	denied(without(people, "reservation/passengers")) == {"passenger_count_changed"}
	nothing_against(args(people, {"passengers": [
		{"first_name": "Somebody", "last_name": "Else", "dob": "2001-01-01"},
		someone,
	]}))
}

test_insurance_added_after_booking if {
	every update in [bags, change, people] {
		every value in ["yes", "no", null, false, "", {}] {
			denied(args(update, {"insurance": value})) == {"insurance_added_after_booking"}
		}
	}
	nothing_against(args(cancellation, {"insurance": "yes"}))
}
