# METADATA
# title: The handoff policy of the RFC-0015 tests
# description: Only the billing agent may be handed over to; a person approves a handoff to the refunds agent.
package aioc.handoff_policy

import future.keywords.not

echo := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}

default effect := "deny"

effect := "allow" if input.toAgentName == "billing"

effect := "approval_required" if input.toAgentName == "refunds"

approval := {
	"requirements": [{"code": "refunds_handoff", "approverRoles": ["manager"], "quorum": 1}],
	"separationOfDuties": true,
	"ttlSeconds": 600,
}

decision := object.union(echo, {"decision": "allow", "reason": "allowed", "reasons": []}) if effect == "allow"

decision := object.union(echo, {
	"decision": "approval_required",
	"reason": "refunds_handoff",
	"reasons": ["refunds_handoff"],
	"approval": approval,
}) if {
	effect == "approval_required"
}

decision := object.union(echo, {"decision": "deny", "reason": "not_here", "reasons": ["not_here"]}) if effect == "deny"
