package aioc.tool_policy_test

import data.aioc.tool_policy
import future.keywords.not

terms := {"approverRoles": ["lead"], "quorum": 1, "separationOfDuties": false, "ttlSeconds": 60}

hold := {"code": "big", "approval": terms}

separate_hold := {"code": "abroad", "approval": object.union(terms, {"separationOfDuties": true})}

question := {"kind": "tool", "requestId": "r", "proposalHash": "h", "toolName": "t"}

echoes := {"kind": "tool", "requestId": "r", "proposalHash": "h"}

decide(routes) := decision if {
	decision := tool_policy.decision with input as question with data.aioc.routes as routes
}

test_echoes_the_question if {
	allowed := object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})
	decide({"allow": {{"code": "fine"}}}) == allowed
}

test_nothing_allows if {
	decide({}) == object.union(echoes, {"decision": "deny", "reason": "no_rule_allows", "reasons": []})
}

test_deny_over_hold_over_allow if {
	routes := {"deny": {{"code": "over"}}, "require_approval": {hold}, "allow": {{"code": "fine"}}}
	decide(routes).decision == "deny"
	decide(object.remove(routes, ["deny"])).decision == "approval_required"
	decide(object.remove(routes, ["deny", "require_approval"])).decision == "allow"
}

test_policy_version_is_that_of_the_owner if {
	decide({"allow": {{"code": "fine"}}, "policy_version": "payments/3"}).policyVersion == "payments/3"
}

vote := {"personId": "ann", "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}

evidence := {
	"id": "apr_1",
	"proposalHash": "h",
	"requestedBy": "kim",
	"requesters": ["kim"],
	"votes": [vote],
	"expiresAt": "2026-01-01T01:00:00Z",
	"policyRevision": "r",
}

resume(routes, shown) := decision if {
	resumed := object.union(question, {"approval": shown})
	decision := tool_policy.decision with input as resumed with data.aioc.routes as routes
}

held_routes := {"require_approval": {hold, separate_hold}, "allow": {{"code": "fine"}}}

test_evidence_that_meets_every_hold_lifts_them if {
	resume(held_routes, evidence) == object.union(echoes, {"decision": "allow", "reason": "allowed", "reasons": []})
}

test_evidence_that_does_not_meet_every_hold_lifts_none if {
	two := {"code": "two", "approval": object.union(terms, {"quorum": 2})}
	routes := object.union(held_routes, {"require_approval": {hold, separate_hold, two}})
	decide(routes).reasons == ["abroad", "big", "two"]
	resume(routes, evidence) == decide(routes)
}

test_evidence_lifts_no_deny if {
	denied := resume(object.union(held_routes, {"deny": {{"code": "over"}}}), evidence)
	denied.decision == "deny"
	denied.reasons == ["over"]
}

test_evidence_allows_nothing_by_itself if {
	resume({"require_approval": {hold}}, evidence).reason == "no_rule_allows"
	resume({}, evidence).reason == "no_rule_allows"
}

test_evidence_lifts_no_malformed_hold if {
	resume(object.union(held_routes, {"require_approval": {{"code": "big"}}}), evidence).reason == "malformed_verdict"
}

test_malformed_evidence_lifts_nothing if {
	every shown in [null, true, 5, "x", [], {}, [evidence], object.remove(evidence, ["votes"])] {
		resume(held_routes, shown) == decide(held_routes)
	}
}

test_holds_of_several_verdicts_are_all_named if {
	decide({"require_approval": {hold, separate_hold}, "allow": {{"code": "fine"}}}).reasons == ["abroad", "big"]
}

test_malformed_hold_denies if {
	decide({"require_approval": {{"code": "big", "approval": {"quorum": 0}}}}).reason == "malformed_verdict"
}

test_total_for_garbage if {
	every garbage in [null, true, 5, "x", [], {}, {"toolName": 5}, {"toolName": null}, {"toolName": ["t"]}, {"kind": {}}] {
		decision := tool_policy.decision with input as garbage
		decision.decision == "deny"
	}
}

# The echo of what is absent is absent: it answers no question.
test_absent_echo_is_not_made_up if {
	decision := tool_policy.decision with input as {"toolName": "t"}
	not decision.requestId
	not decision.proposalHash
	not decision.kind
}

test_unknown_tool_is_denied if {
	decision := tool_policy.decision with input as object.union(question, {"toolName": "nobody_owns_this"})
	decision.reason == "no_rule_allows"
}

test_typescript_shape if {
	routes := {"require_approval": {object.union(hold, {"publicReason": "Ask."})}, "policy_version": "p/1"}
	decision := tool_policy.decision_typescript with input as question with data.aioc.routes as routes
	decision == {"decision": "require_approval", "reason": "big", "publicReason": "Ask.", "policyVersion": "p/1"}
	allowing := {"allow": {{"code": "fine"}}}
	allowed := tool_policy.decision_typescript with input as question with data.aioc.routes as allowing
	allowed == {"decision": "allow", "reason": "allowed"}
	denied := tool_policy.decision_typescript with input as question with data.aioc.routes as {"deny": {{"code": "over"}}}
	denied == {"decision": "deny", "reason": "over"}
}

test_typescript_is_total if {
	every garbage in [null, 5, [], {}] {
		decision := tool_policy.decision_typescript with input as garbage
		decision == {"decision": "deny", "reason": "no_rule_allows"}
	}
}
