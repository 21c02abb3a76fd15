# The reason codes that a decision log may show. A pack can build a code out of an argument, so one that no manifest
# declares is shown as `undeclared`, as in the guard's audit (aioc_opa/core/audit/labels.py).
package system.log

import future.keywords.not

undeclared := "undeclared"

# METADATA
# description: What to show for the reason of a decision.
code_label(reason) := reason if {
	is_known_code(reason)
} else := undeclared

is_known_code(reason) if reason in library_codes

is_known_code(reason) if {
	some pack
	reason in data.aioc.packs[pack].manifest.codes
}

# A decision on access sees no arguments; its codes may be those of rules of your own, which have no manifest.
is_known_code(reason) if {
	input.path == "aioc/tool_access/decision"
	is_string(reason)
	regex.match(`^[a-z][a-z0-9_]{0,63}$`, reason)
}

# Those of the library's own rules on tools and handoffs; a test compares them with the rules
# (tests/deployment/test_decision_log.py).
library_codes := {
	"allowed",
	"context_missing",
	"data_missing",
	"handoff_denied",
	"handoff_in_table",
	"handoff_needs_approval",
	"handoff_role_missing",
	"handoff_source_not_allowed",
	"handoff_table_invalid",
	"malformed_verdict",
	"no_rule_allows",
	"pack_missing",
	"raw_arguments_required",
}
