# METADATA
# title: The policy of the RFC-0015 tests
# description: Decides by the parsed amount, and shows in its metadata what it saw.
package aioc.tool_policy

import future.keywords.not

default effect := "deny"

effect := "allow" if input.parsedArguments.amount <= 100

effect := "approval_required" if {
	input.parsedArguments.amount > 100
	input.parsedArguments.amount <= 1000
}

echo := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}

seen := {"metadata": {
	"parsed": input.parsedArguments,
	"requested": input.requestedArguments,
	"raw": input.rawArguments,
	"canonical": input.argsCanonicalJson,
}}

approval := {
	"requirements": [{"code": "large", "approverRoles": ["manager"], "quorum": 1}],
	"separationOfDuties": true,
	"ttlSeconds": 600,
}

decision := object.union_n([echo, seen, {"decision": "allow", "reason": "allowed", "reasons": []}]) if {
	effect == "allow"
}

decision := object.union_n([
	echo,
	seen,
	{"decision": "approval_required", "reason": "large", "reasons": ["large"], "approval": approval},
]) if {
	effect == "approval_required"
}

decision := object.union_n([echo, seen, {"decision": "deny", "reason": "too_large", "reasons": ["too_large"]}]) if {
	effect == "deny"
}
