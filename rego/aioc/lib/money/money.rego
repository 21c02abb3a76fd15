# METADATA
# title: Comparing amounts of money
# description: |
#   Fractions are binary: 255.005 - 255 is above 0.005 in one engine and below it in another. So amounts compare after
#   rounding to whole millionths, where half a cent is 5,000. These functions are undefined for what is not a number:
#   write a rule that refuses as `not money.at_most(amount, limit)`, which also refuses a missing amount.
package aioc.lib.money

import future.keywords.not

# METADATA
# title: Whether an amount is at most a limit, to within half a cent
at_most(amount, limit) if {
	is_number(amount)
	is_number(limit)
	round((amount - limit) * 1000000) <= 5000
}

# METADATA
# title: Whether an amount is at least a limit, to within half a cent
at_least(amount, limit) if at_most(limit, amount)

# METADATA
# title: Whether an amount is above zero
# description: A limit has two ends. A refund of -100 is at most 500, and takes the customer's money.
is_positive(amount) if {
	is_number(amount)
	amount > 0
}

# METADATA
# title: Whether two amounts are the same, to within half a cent
same(left, right) if {
	is_number(left)
	is_number(right)
	round(abs(left - right) * 1000000) <= 5000
}

# METADATA
# title: An amount as whole cents
cents(amount) := round(amount * 100) if is_number(amount)
