# METADATA
# title: The decision on whether an identity may use a tool at all
# description: |
#   Step 1, before any argument is looked at: it sees metadata only. The table data.aioc.access decides, or rules of
#   your own do (data.aioc.access_rules), as data.aioc.access.decidedBy says; rules of your own can always deny and
#   hold. Strictest wins, what is not said is denied, and an allow here only lets a call go on to the decision on its
#   arguments. Total, like that one (design 2, 3.3; second seed, "Pre-execution decision").
# schemas:
#   - input: schema.tool_access_input
package aioc.tool_access

import data.aioc.access_rules
import data.aioc.lib.decisions
import data.aioc.lib.routing
import data.aioc.lib.verdicts
import data.aioc.tool_access.table
import future.keywords.not

# The last resort. Without echoes it answers no question, and the runtime denies it as malformed.
default decision := {"decision": "deny", "reason": "no_rule_allows"}

# METADATA
# title: What the runtime asks for, at data.aioc.tool_access.decision
# description: Deny over approval_required over allow; the echoes, and nothing else that a rule could put in.
# entrypoint: true
decision := object.union(object.filter(decisions.decide(_denials, _holds, _allows), ["decision", "reason"]), _echoes)

_decided_by := data.aioc.access.decidedBy

# METADATA
# title: Nothing says who decides
# description: Taken away, it must not leave the decision to whoever is asked last.
_denials contains verdict if {
	not _decided_by in {"rules", "table"}
	verdict := verdicts.deny("access_not_configured")
}

# METADATA
# title: The rules of your own are not loaded
_denials contains verdict if {
	not access_rules.loaded == true
	verdict := verdicts.deny("access_rules_missing")
}

_denials contains verdict if {
	_decided_by == "table"
	some verdict in table.deny
}

_denials contains verdict if some verdict in routing.verdicts(access_rules.deny)

_holds contains verdict if {
	_decided_by == "table"
	some verdict in table.require_approval
}

_holds contains verdict if some verdict in routing.verdicts(access_rules.require_approval)

_allows contains verdict if {
	_decided_by == "table"
	some verdict in table.allow
}

_allows contains verdict if {
	_decided_by == "rules"
	some verdict in routing.verdicts(access_rules.allow)
}

_echoes := {key: input[key] | some key in ["kind", "requestDigest", "requestId"]}
