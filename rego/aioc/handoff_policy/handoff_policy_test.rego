package aioc.handoff_policy_test

import data.aioc.handoff_policy
import future.keywords.not

terms := {"approverRoles": ["lead"], "quorum": 2, "separationOfDuties": true, "ttlSeconds": 60}

targets := {
	"open": {"effect": "allow", "from": ["triage"]},
	"shut": {"effect": "deny", "from": ["triage"]},
	"held": {"effect": "approval_required", "from": ["triage"]},
	"held_by_lead": {"effect": "approval_required", "from": ["triage"], "approval": terms},
	"by_role": {"effect": "allow", "from": ["triage"], "roles": ["support"]},
}

question(target) := {
	"kind": "handoff",
	"requestId": "r",
	"proposalHash": "h",
	"fromAgentName": "triage",
	"toAgentName": target,
}

decide(question) := decision if {
	decision := handoff_policy.decision with input as question with data.aioc.handoffs.targets as targets
}

test_allow_echoes_the_question if {
	decide(question("open")) == {
		"decision": "allow",
		"reason": "allowed",
		"reasons": [],
		"kind": "handoff",
		"requestId": "r",
		"proposalHash": "h",
	}
}

test_unknown_target_is_denied if decide(question("nobody")).reason == "no_rule_allows"

test_names_are_exact if decide(question("Open")).reason == "no_rule_allows"

test_deny if decide(question("shut")).reasons == ["handoff_denied"]

test_other_source_is_denied if {
	decide(object.union(question("open"), {"fromAgentName": "billing"})).reasons == ["handoff_source_not_allowed"]
	decide(object.remove(question("open"), ["fromAgentName"])).reasons == ["handoff_source_not_allowed"]
}

test_hold_on_default_terms if {
	decision := decide(question("held"))
	decision.decision == "approval_required"
	decision.approval.requirements == [{
		"code": "handoff_needs_approval",
		"approverRoles": data.aioc.lib.approval_defaults.approverRoles,
		"quorum": data.aioc.lib.approval_defaults.quorum,
	}]
}

test_hold_on_terms_of_its_own if {
	decision := decide(question("held_by_lead"))
	decision.approval.requirements == [{"code": "handoff_needs_approval", "approverRoles": ["lead"], "quorum": 2}]
}

test_role_is_needed if {
	decide(question("by_role")).reasons == ["handoff_role_missing"]
	with_role := object.union(question("by_role"), {"principal": {"identity": "i", "roles": ["support"]}})
	decide(with_role).decision == "allow"
	other := object.union(question("by_role"), {"principal": {"identity": "i", "roles": ["guest"]}})
	decide(other).decision == "deny"
}

# A typing error in a table must not read as permission, nor fail as a builtin error.
test_entry_that_is_none_denies if {
	every entry in [
		null,
		5,
		"allow",
		[],
		{},
		{"effect": "allow"},
		{"effect": "allow", "from": "triage"},
		{"effect": "permit", "from": ["triage"]},
		{"effect": "allow", "from": ["triage"], "role": ["support"]},
		{"effect": "allow", "from": ["triage"], "roles": "support"},
		{"effect": "approval_required", "from": ["triage"], "approval": {}},
	] {
		decision := handoff_policy.decision with input as question("x") with data.aioc.handoffs.targets as {"x": entry}
		decision.decision == "deny"
	}
}

test_no_table_denies if {
	decision := handoff_policy.decision with input as question("open") with data.aioc.handoffs as {}
	decision.reason == "no_rule_allows"
}

test_total_for_garbage if {
	every garbage in [null, 5, "x", [], {}, {"toAgentName": 5}, {"toAgentName": ["open"]}, {"toAgentName": null}] {
		decide(garbage).decision == "deny"
	}
}
