# METADATA
# title: One rule for each answer that an engine can give
package contract

import future.keywords.not

echoes := {"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind}

allow := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})

deny := object.union(echoes, {"decision": "deny", "reason": "too_large", "reasons": ["too_large"]})

hold := object.union(echoes, {
	"decision": "approval_required",
	"reason": "large",
	"reasons": ["large"],
	"approval": {
		"requirements": [{"code": "large", "approverRoles": ["manager"], "quorum": 1}],
		"separationOfDuties": true,
		"ttlSeconds": 600,
	},
})

undefined_rule := allow if input.toolName == "no_such_tool"

just_true := true

just_text := "deny"

looks_undefined := "<undefined>"

just_null := null

just_empty := {}

just_list := []

unknown_field := object.union(allow, {"extra": 1})

other_spelling := object.union(object.remove(allow, ["reasons"]), {"Reasons": []})

no_echo := object.remove(allow, ["requestId"])

other_hash := object.union(allow, {"proposalHash": "0000000000000000000000000000000000000000000000000000000000000000"})

other_request := object.union(allow, {"requestId": "an earlier question"})

other_kind := object.union(allow, {"kind": "handoff"})

reserved_reason := object.union(deny, {"reason": "policy_timeout", "reasons": ["policy_timeout"]})

builtin_error := object.union(allow, {"metadata": {"n": 1 / input.turn}})

# Without strict builtin errors, the negation of a rule that fails would hold, and this would allow.
lenient_allow := allow if not is_forbidden

is_forbidden if 10 / input.turn > 5

conflict := allow

conflict := deny if input.toolName == "act"

slow := object.union(allow, {"metadata": {"n": n}}) if {
	n := count([1 | some i in input.parsedArguments.items; some j in input.parsedArguments.items; i == j])
}

# What the engine made of the question.
shows := object.union(allow, {"metadata": {"parsed": input.parsedArguments, "context": input.runContext.context}})
