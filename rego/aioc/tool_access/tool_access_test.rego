package aioc.tool_access_test

import data.aioc.tool_access
import future.keywords.not

request := {"identity": "kim", "toolName": "refund", "deadlineSeconds": 5, "resourceBudget": 1}

question := {"kind": "access", "contractVersion": "1", "requestId": "r", "requestDigest": "d", "request": request}

echoes := {"kind": "access", "requestId": "r", "requestDigest": "d"}

tables := {
	"tools": {"refund": {"effect": "allow", "groups": ["support"]}},
	"identities": {"kim": {"effect": "allow", "memberOf": ["support"]}},
}

decide(access, rules) := decision if {
	decision := tool_access.decision with input as question
		with data.aioc.access as access
		with data.aioc.access_rules as rules
}

by_table := object.union(tables, {"decidedBy": "table"})

by_rules := object.union(tables, {"decidedBy": "rules"})

loaded := {"loaded": true}

test_the_table_allows_and_the_question_is_echoed if {
	decide(by_table, loaded) == object.union(echoes, {"decision": "allow", "reason": "allowed"})
}

test_nothing_says_who_decides if {
	every access in [tables, {}, object.union(tables, {"decidedBy": "tables"}), object.union(tables, {"decidedBy": null})] {
		decide(access, object.union(loaded, {"allow": {{"code": "fine"}}})).reason == "access_not_configured"
	}
}

test_no_tables_deny if {
	decide({"decidedBy": "table"}, loaded).decision == "deny"
	decision := tool_access.decision with input as question with data.aioc.access as 5
	decision.decision == "deny"
}

test_rules_of_your_own_must_be_loaded if {
	every rules in [{}, {"loaded": false}, {"loaded": "true"}] {
		decide(by_table, rules).reason == "access_rules_missing"
	}
}

test_rules_of_your_own_deny_and_hold_what_the_table_allows if {
	decide(by_table, object.union(loaded, {"deny": {{"code": "at_night"}}})).reason == "at_night"
	hold := {"code": "first_use", "approval": data.aioc.lib.approval_defaults}
	decide(by_table, object.union(loaded, {"require_approval": {hold}})) == object.union(
		echoes,
		{"decision": "approval_required", "reason": "first_use"},
	)
}

test_rules_of_your_own_allow_only_where_they_decide if {
	rules := object.union(loaded, {"allow": {{"code": "fine"}}})
	decide(by_rules, rules).decision == "allow"
	decide(by_rules, loaded).reason == "no_rule_allows"
	denied := object.union(by_table, {"identities": {"kim": {"effect": "deny"}}})
	decide(denied, rules).reason == "access_denied_by_table"
	decide(object.union(denied, {"decidedBy": "rules"}), rules).decision == "allow"
}

test_rules_that_are_no_sets_deny if {
	every name in ["deny", "require_approval"] {
		decide(by_table, object.union(loaded, {name: true})).reason == "malformed_verdict"
	}
	decide(by_rules, object.union(loaded, {"allow": true})).reason == "malformed_verdict"
	decide(by_rules, object.union(loaded, {"allow": {{"code": "tool_not_authorized"}}})).reason == "malformed_verdict"
}

test_deny_over_hold_over_allow if {
	held := object.union(by_table, {"tools": {"refund": {"effect": "approval_required", "groups": ["support"]}}})
	decide(held, loaded).decision == "approval_required"
	decide(held, object.union(loaded, {"deny": {{"code": "at_night"}}})).decision == "deny"
}

test_nothing_of_a_verdict_but_its_code_is_told if {
	told := {"code": "at_night", "publicReason": "Not now.", "metadata": {"a": 1}}
	decide(by_table, object.union(loaded, {"deny": {told}})) == object.union(
		echoes,
		{"decision": "deny", "reason": "at_night"},
	)
}

test_total_for_garbage if {
	every garbage in [null, true, 5, "x", [], {}, {"request": 5}, {"request": []}, {"request": {"toolName": ["refund"]}}] {
		decision := tool_access.decision with input as garbage with data.aioc.access as by_table
		decision.decision == "deny"
	}
}

test_absent_echo_is_not_made_up if {
	decision := tool_access.decision with input as {"request": request}
	object.keys(decision) == {"decision", "reason"}
}
