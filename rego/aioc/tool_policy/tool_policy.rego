# METADATA
# title: The decision on a tool call
# description: |
#   Packs decide; this package makes one decision of their verdicts and echoes the question. It is total: whatever the
#   input is, there is a decision, and it never depends on the order of rules (design 3.3, 5).
# schemas:
#   - input: schema.tool_policy_input
package aioc.tool_policy

import data.aioc.lib.decisions
import data.aioc.lib.evidence
import data.aioc.routes
import future.keywords.not

# The last resort. Without echoes it answers no question, and the runtime denies it as malformed.
default decision := {"decision": "deny", "reason": "no_rule_allows", "reasons": []}

# METADATA
# title: What the runtime asks for, at data.aioc.tool_policy.decision
# description: |
#   Deny over approval_required over allow; a tool without an owner, or without an allow, is denied. Evidence of an
#   approval that meets every hold lifts them all; it lifts no deny, and it allows nothing by itself.
# entrypoint: true
decision := object.union(object.union(decisions.decide(_denials, _unmet_holds, _allows), _version), _echoes)

# METADATA
# title: The same decision in the shape of the TypeScript runtime
# description: |
#   Its word for approval_required is require_approval, and it knows neither the echoes nor approval terms: it binds an
#   approval by itself (aioc RFC-0002, RFC-0005).
# entrypoint: true
decision_typescript := object.union(
	object.remove(decision, ["approval", "decision", "kind", "proposalHash", "reasons", "requestId"]),
	{"decision": _typescript_word[decision.decision]},
)

_typescript_word := {"allow": "allow", "approval_required": "require_approval", "deny": "deny"}

_denials contains verdict if some verdict in routes.deny

_holds contains verdict if some verdict in routes.require_approval

_unmet_holds contains verdict if {
	not _is_approved
	some verdict in _holds
}

_is_approved if evidence.meets(_holds, input)

_allows contains verdict if some verdict in routes.allow

_echoes := {key: input[key] | some key in ["kind", "proposalHash", "requestId"]}

default _version := {}

_version := {"policyVersion": routes.policy_version}
