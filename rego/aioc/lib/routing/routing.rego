# METADATA
# title: What the generated routes are written with
package aioc.lib.routing

import future.keywords.not

# METADATA
# scope: document
# title: The verdicts of a pack's rule
# description: |
#   A rule that is no set, `deny := true` say, would give none to `some … in`: it gives one that is malformed instead.
verdicts(rule) := rule if is_set(rule)

verdicts(rule) := {null} if not is_set(rule)

# METADATA
# title: True of a number without a fraction
is_integer(value) if {
	is_number(value)
	round(value) == value
}
