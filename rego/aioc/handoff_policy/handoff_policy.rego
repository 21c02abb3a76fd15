# METADATA
# title: The decision on a handoff from one agent to another
# description: |
#   Dispatched on the exact `toAgentName` in the table data.aioc.handoffs.targets; an agent that is not in it cannot be
#   handed over to. An entry is {"effect": "allow" | "deny" | "approval_required", "from": [agents], "roles"?: [roles of
#   the principal, one of them is needed], "approval"?: terms other than the library's}. Total, like the decision on
#   tools (design 3.1, 3.3).
# schemas:
#   - input: schema.handoff_policy_input
package aioc.handoff_policy

import data.aioc.lib.decisions
import data.aioc.lib.verdicts
import future.keywords.not

# The last resort. Without echoes it answers no question, and the runtime denies it as malformed.
default decision := {"decision": "deny", "reason": "no_rule_allows", "reasons": []}

# METADATA
# title: What the runtime asks for, at data.aioc.handoff_policy.decision
# description: Deny over approval_required over allow; an unknown target is denied.
# entrypoint: true
decision := object.union(decisions.decide(_denials, _holds, _allows), _echoes)

_target := data.aioc.handoffs.targets[input.toAgentName]

# METADATA
# title: The entry of the table is not one
# description: A typing error in a table must not read as permission.
_denials contains verdict if {
	_target
	not _is_target(_target)
	verdict := verdicts.deny("handoff_table_invalid")
}

_denials contains verdict if {
	_target.effect == "deny"
	verdict := verdicts.deny("handoff_denied")
}

_denials contains verdict if {
	_target
	not input.fromAgentName in _target.from
	verdict := verdicts.deny("handoff_source_not_allowed")
}

_denials contains verdict if {
	is_object(_target)
	"roles" in object.keys(_target)
	not _has_role
	verdict := verdicts.deny("handoff_role_missing")
}

_holds contains verdict if {
	_target.effect == "approval_required"
	is_object(_target)
	not "approval" in object.keys(_target)
	verdict := verdicts.hold("handoff_needs_approval")
}

_holds contains verdict if {
	_target.effect == "approval_required"
	verdict := verdicts.hold_with("handoff_needs_approval", _target.approval)
}

_allows contains verdict if {
	_target.effect == "allow"
	verdict := verdicts.allow("handoff_in_table")
}

_has_role if {
	some role in input.principal.roles
	role in _target.roles
}

_is_target(target) if {
	is_object(target)
	object.keys(target) - {"effect", "from", "roles", "approval"} == set()
	target.effect in {"allow", "deny", "approval_required"}
	is_array(target.from)
	_has_sound_roles(target)
}

_has_sound_roles(target) if not "roles" in object.keys(target)

_has_sound_roles(target) if is_array(target.roles)

_echoes := {key: input[key] | some key in ["kind", "proposalHash", "requestId"]}
