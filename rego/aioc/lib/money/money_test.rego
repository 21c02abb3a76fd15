package aioc.lib.money_test

import data.aioc.lib.money
import future.keywords.not

test_at_most_within_half_a_cent if {
	money.at_most(100, 100)
	money.at_most(99.99, 100)
	money.at_most(100.004, 100)
	not money.at_most(100.01, 100)
}

test_at_least_within_half_a_cent if {
	money.at_least(100, 100)
	money.at_least(99.996, 100)
	not money.at_least(99.99, 100)
	not money.at_least(-100, 0)
}

test_is_positive if {
	money.is_positive(0.01)
	not money.is_positive(0)
	not money.is_positive(-0.01)
	not money.is_positive(-100000)
}

# 255.005 - 255 is not 0.005 in binary: the comparison is made in whole millionths.
test_fractions_do_not_decide if {
	money.at_most(255.005, 255)
	money.same(0.1 + 0.2, 0.3)
	not money.same(0.1 + 0.21, 0.3)
}

test_what_is_no_number_is_undefined if {
	every odd in [null, "5", [], {}, true] {
		not money.at_most(odd, 100)
		not money.at_most(5, odd)
		not money.at_least(odd, 100)
		not money.is_positive(odd)
		not money.same(odd, odd)
		not money.cents(odd)
	}
}

test_cents if {
	money.cents(1.1) == 110
	money.cents(0) == 0
	money.cents(-2.5) == -250
}
