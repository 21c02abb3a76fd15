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

vote(person) := {"personId": person, "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}

resumed(votes) := object.union(
	question,
	{"approval": {"id": "1", "proposalHash": "h", "requestedBy": "req", "votes": votes}},
)

test_hold_that_is_met_no_longer_holds if {
	routes := {"require_approval": {hold}, "allow": {{"code": "fine"}}}
	met := tool_policy.decision with input as resumed([vote("a")]) with data.aioc.routes as routes
	met.decision == "allow"
	open := tool_policy.decision with input as resumed([]) with data.aioc.routes as routes
	open.decision == "approval_required"
}

# An approval lifts holds. It is no allow of its own, and it never lifts a deny.
test_approval_neither_allows_nor_lifts_a_deny if {
	alone := tool_policy.decision with input as resumed([vote("a")]) with data.aioc.routes as {"require_approval": {hold}}
	alone.reason == "no_rule_allows"
	routes := {"require_approval": {hold}, "deny": {{"code": "over"}}, "allow": {{"code": "fine"}}}
	denied := tool_policy.decision with input as resumed([vote("a")]) with data.aioc.routes as routes
	denied.decision == "deny"
}

test_separation_of_duties_of_one_hold_is_that_of_all if {
	routes := {"require_approval": {hold, separate_hold}, "allow": {{"code": "fine"}}}
	own := tool_policy.decision with input as resumed([vote("req")]) with data.aioc.routes as routes
	own.reasons == ["abroad", "big"]
	other := tool_policy.decision with input as resumed([vote("a")]) with data.aioc.routes as routes
	other.decision == "allow"
}

test_malformed_hold_denies_whatever_the_votes if {
	routes := {"require_approval": {{"code": "big", "approval": {"quorum": 0}}}, "allow": {{"code": "fine"}}}
	decision := tool_policy.decision with input as resumed([vote("a")]) with data.aioc.routes as routes
	decision.reason == "malformed_verdict"
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
