package aioc.packs.airline_test

import future.keywords.not

booked(created_at) := ctx(cancellation, {"reservation/created_at": created_at})

old := booked("2024-05-01T10:00:00")

insured(call) := ctx(call, {"reservation/insurance": "yes"})

test_cancel_not_eligible if {
	denied(old) == {"cancel_not_eligible"}
	held(old) == set()
	denied(without(old, "reservation/insurance")) == {"cancel_not_eligible"}
}

test_cancel_reason_unverified if {
	denied(insured(old)) == set()
	held(insured(old)) == {"cancel_reason_unverified"}
	nothing_against(insured(cancellation))
}

test_business_is_free if nothing_against(ctx(old, {"reservation/cabin": "business"}))

test_a_cancelled_flight_makes_it_free if {
	nothing_against(ctx(old, {"flightStatus": [closed_flight(first, "cancelled")]}))
	denied(ctx(old, {"flightStatus": [closed_flight(direct, "cancelled")]})) == {"cancel_not_eligible"}
}

# Whatever else would permit the cancellation; and 6.2 is evaluated all the same
test_cancel_flown_segment if {
	every state in ["landed", "flying"] {
		flown := {"flightStatus": [closed_flight(second, state)]}
		denied(ctx(cancellation, flown)) == {"cancel_flown_segment"}
		denied(ctx(old, flown)) == {"cancel_flown_segment", "cancel_not_eligible"}
		denied(ctx(insured(old), flown)) == {"cancel_flown_segment"}
		held(ctx(insured(old), flown)) == {"cancel_reason_unverified"}
		denied(ctx(old, object.union(flown, {"reservation/cabin": "business"}))) == {"cancel_flown_segment"}
	}
}

test_flights_without_a_status_are_neither_flown_nor_cancelled if {
	nothing_against(ctx(cancellation, {"flightStatus": []}))
	denied(ctx(old, {"flightStatus": []})) == {"cancel_not_eligible"}
	denied(ctx(old, {"reservation/flights": []})) == {"cancel_not_eligible"}
}

# 0 <= now - created_at <= 24 hours, both ends included
test_within_24_hours if {
	every created_at in ["2024-05-15T15:00:00", "2024-05-14T15:00:00", "2024-05-14T15:00:00.000000001"] {
		nothing_against(booked(created_at))
	}
	every created_at in ["2024-05-15T15:00:01", "2024-05-15T15:00:00.000000001", "2024-05-14T14:59:59", "2024-05-14T14:59:59.999999999"] {
		denied(booked(created_at)) == {"cancel_not_eligible"}
	}
}

# 0.10: created_at is read with the offset of now
test_the_offset_is_that_of_now if {
	every now in ["2024-05-15T15:00:00Z", "2024-05-15T15:00:00+14:00", "2024-05-15T15:00:00-00:00"] {
		nothing_against(ctx(booked("2024-05-14T15:00:00"), {"now": now}))
		denied(ctx(booked("2024-05-14T14:59:59"), {"now": now})) == {"cancel_not_eligible"}
		denied(ctx(booked("2024-05-15T15:00:01"), {"now": now})) == {"cancel_not_eligible"}
	}
}

test_the_calendar if {
	every pair in [
		["2024-02-29T12:00:00", "2024-03-01T12:00:00Z"],
		["2023-02-28T12:00:00", "2023-03-01T12:00:00Z"],
		["1900-02-28T12:00:00", "1900-03-01T12:00:00Z"],
		["2000-02-29T12:00:00", "2000-03-01T12:00:00Z"],
		["2023-12-31T12:00:00", "2024-01-01T12:00:00Z"],
	] {
		nothing_against(ctx(booked(pair[0]), {"now": pair[1]}))
	}
	denied(ctx(booked("2024-02-28T12:00:00"), {"now": "2024-03-01T12:00:00Z"})) == {"cancel_not_eligible"}
}

# What is no time permits nothing, and is no error
test_absurd_times if {
	every created_at in [
		"", "yesterday", "2024-05-15", "2024-05-15T15:00", "2024-05-15 10:00:00", "2024-05-15t10:00:00",
		"2024-05-15T24:00:00", "2024-05-15T10:00:60", "2024-13-15T10:00:00", "2023-02-29T10:00:00",
		"2024-05-15T10:00:00Z", "2024-05-15T10:00:00-05:00", "0000-00-00T00:00:00", "0001-01-01T00:00:00",
		"9999-12-31T23:59:59", "2024-05-15T10:00:00.", "2024-05-15T10:00:00.0000000000", "99999-01-01T00:00:00",
	] {
		denied(booked(created_at)) == {"cancel_not_eligible"}
	}
	every now in ["", "now", "2024-05-15T15:00:00", "2024-05-15T15:00:00z", "2024-05-15T15:00:00+24:00", "Z", "-05:00"] {
		denied(ctx(cancellation, {"now": now})) == {"cancel_not_eligible"}
	}
	denied(without(cancellation, "now")) == {"cancel_not_eligible"}
	denied(without(cancellation, "reservation/created_at")) == {"cancel_not_eligible"}
}

# Nanoseconds since 1970 run over in 2262: beyond 2199 nothing is within a day of anything
test_times_that_run_over if {
	denied(ctx(booked("2262-04-12T00:00:00"), {"now": "2262-04-12T01:00:00Z"})) == {"cancel_not_eligible"}
	denied(ctx(booked("9999-12-31T00:00:00"), {"now": "9999-12-31T01:00:00Z"})) == {"cancel_not_eligible"}
	nothing_against(ctx(booked("2199-12-30T23:59:59"), {"now": "2199-12-31T23:59:59-12:00"}))
}
