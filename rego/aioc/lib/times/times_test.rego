package aioc.lib.times_test

import data.aioc.lib.times
import future.keywords.not

test_dates if {
	every date in ["2024-02-29", "2000-02-29", "2023-02-28", "2024-12-31", "2024-04-30", "1700-01-01", "2199-12-31"] {
		times.is_date(date)
	}
}

test_what_is_no_date if {
	every text in [
		"2023-02-29", "1900-02-29", "2100-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00", "2024-01-32",
		"1699-01-01", "2200-01-01", "2024-1-1", "20240101", "2024-01-01T", "", null, 5, ["2024-01-01"],
	] {
		not times.is_date(text)
	}
}

test_instants if {
	times.instant("1970-01-01T00:00:00Z") == 0
	times.instant("1970-01-01T01:00:00+01:00") == 0
	times.instant("1970-01-01T00:00:01.5Z") == 1500000000
	times.instant("2024-05-15T15:00:00-05:00") == times.instant("2024-05-15T20:00:00Z")
}

# Each of these makes the builtin fail, or is read differently by different engines.
test_what_is_no_instant_is_undefined if {
	every text in [
		"2024-05-15t15:00:00Z", "2024-05-15T15:00:00z", "2024-05-15 15:00:00Z", "2024-05-15T15:00:60Z",
		"2024-05-15T24:00:00Z", "2024-05-15T15:60:00Z", "2024-05-15T15:00:00", "2024-02-30T15:00:00Z",
		"2024-05-15T15:00:00+24:00", "2024-05-15T15:00:00.Z", "2024-05-15T15:00:00.1234567890Z",
		"2024-05-15T15:00:00Z\n", "", "now", null, 5, {},
	] {
		not times.instant(text)
	}
}
