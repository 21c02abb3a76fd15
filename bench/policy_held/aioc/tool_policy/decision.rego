# METADATA
# title: The policy of the benchmark of grants
# description: Holds everything until there is an approval. Small on purpose, as bench/policy is.
package aioc.tool_policy

import future.keywords.not

decision := object.union(echoes, {
	"decision": "approval_required",
	"reason": "order_held",
	"reasons": ["order_held"],
	"approval": {
		"requirements": [{"code": "order_held", "approverRoles": ["approver"], "quorum": 1}],
		"separationOfDuties": true,
		"ttlSeconds": 3600,
	},
}) if {
	not input.approval
}

decision := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []}) if input.approval

echoes := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}
