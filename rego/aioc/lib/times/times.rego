# METADATA
# title: Reading times without a builtin error
# description: |
#   `time.parse_rfc3339_ns` fails on what is no time, which makes the whole decision an error, and engines differ in
#   what they take besides RFC 3339 (a lower-case `t`, a second 60). These functions are undefined instead.
package aioc.lib.times

import future.keywords.not

# METADATA
# scope: document
# title: Whether a text is a date of the calendar, YYYY-MM-DD, of the years 1700 to 2199
# description: Nanoseconds since 1970 fit 64 bits in those years.
is_date(text) if {
	is_string(text)
	regex.match(`^(1[7-9]|2[01])[0-9][0-9]-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])$`, text)
}

is_date(text) if {
	is_string(text)
	regex.match(`^(1[7-9]|2[01])[0-9][0-9]-(0[469]|11)-(0[1-9]|[12][0-9]|30)$`, text)
}

is_date(text) if {
	is_string(text)
	regex.match(`^(1[7-9]|2[01])[0-9][0-9]-02-(0[1-9]|1[0-9]|2[0-8])$`, text)
}

is_date(text) if {
	is_string(text)
	regex.match(`^((1[7-9]|2[01])(0[48]|[2468][048]|[13579][26])|2000)-02-29$`, text)
}

# METADATA
# title: The instant that an RFC 3339 text names, in nanoseconds since 1970
# description: Upper-case T and Z, an offset, at most nine digits of fraction, no leap second; else undefined.
instant(text) := time.parse_rfc3339_ns(text) if {
	is_string(text)
	regex.match(
		`^.{10}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
		text,
	)
	is_date(substring(text, 0, 10))
}
