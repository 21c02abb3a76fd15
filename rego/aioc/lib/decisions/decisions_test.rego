package aioc.lib.decisions_test

import data.aioc.lib.decisions
import future.keywords.not

terms := {"approverRoles": ["approver"], "quorum": 1, "separationOfDuties": false, "ttlSeconds": 3600}

strict_terms := {"approverRoles": ["cfo"], "quorum": 2, "separationOfDuties": true, "ttlSeconds": 60}

hold(code) := {"code": code, "approval": terms}

test_nothing_allows if {
	decisions.decide(set(), set(), set()) == {"decision": "deny", "reason": "no_rule_allows", "reasons": []}
}

test_allow_gives_no_codes if {
	decisions.decide(set(), set(), {{"code": "fine"}}) == {"decision": "allow", "reason": "allowed", "reasons": []}
}

test_deny_over_hold_over_allow if {
	denied := decisions.decide({{"code": "z_over"}, {"code": "over"}}, {hold("big")}, {{"code": "fine"}})
	denied == {"decision": "deny", "reason": "over", "reasons": ["big", "over", "z_over"]}
	held := decisions.decide(set(), {hold("big")}, {{"code": "fine"}})
	held.decision == "approval_required"
}

# The first code of the winning effect, although a hold's code sorts before it.
test_reason_is_of_the_winning_effect if {
	decisions.decide({{"code": "over"}}, {hold("a_hold")}, set()).reason == "over"
}

test_every_hold_is_a_requirement_and_the_strictest_terms_win if {
	decisions.decide(set(), {hold("big"), {"code": "abroad", "approval": strict_terms}}, set()) == {
		"decision": "approval_required",
		"reason": "abroad",
		"reasons": ["abroad", "big"],
		"approval": {
			"requirements": [
				{"code": "abroad", "approverRoles": ["cfo"], "quorum": 2},
				{"code": "big", "approverRoles": ["approver"], "quorum": 1},
			],
			"separationOfDuties": true,
			"ttlSeconds": 60,
		},
	}
}

test_two_terms_of_one_code_are_two_requirements if {
	decision := decisions.decide(set(), {hold("big"), {"code": "big", "approval": strict_terms}}, set())
	decision.reasons == ["big"]
	count(decision.approval.requirements) == 2
}

# Verdicts are counted, not codes: one that has no code is still a verdict.
test_malformed_verdict_denies_in_every_set if {
	every bad in [null, "over", 5, [], {}, {"code": "Over"}, {"code": "policy_timeout"}] {
		in_deny := decisions.decide({bad}, set(), {{"code": "fine"}})
		in_deny == {"decision": "deny", "reason": "malformed_verdict", "reasons": ["malformed_verdict"]}
		in_hold := decisions.decide(set(), {bad}, {{"code": "fine"}})
		in_hold == in_deny
		in_allow := decisions.decide(set(), set(), {bad, {"code": "fine"}})
		in_allow == in_deny
	}
}

test_hold_without_terms_denies if {
	decisions.decide(set(), {{"code": "big"}}, {{"code": "fine"}}).reason == "malformed_verdict"
}

test_malformed_verdict_hides_no_other_code if {
	decision := decisions.decide({null, {"code": "zz"}}, {hold("big")}, set())
	decision.reasons == ["big", "malformed_verdict", "zz"]
}

test_public_reasons_are_those_of_the_winning_effect_by_code if {
	verdicts := {
		{"code": "b", "publicReason": "Second."},
		{"code": "a", "publicReason": "First."},
		{"code": "c"},
	}
	held := object.union(hold("d"), {"publicReason": "Hold."})
	decisions.decide(verdicts, {held}, set()).publicReason == "First. Second."
}

test_public_reasons_that_are_too_long_together_are_the_first_alone if {
	long := concat("", ["a" | some _ in numbers.range(1, 600)])
	verdicts := {{"code": "a", "publicReason": "First."}, {"code": "b", "publicReason": long}}
	decision := decisions.decide(verdicts, set(), set())
	decision.publicReason == concat(" ", ["First.", long])
	too_long := decisions.decide({{"code": "a", "publicReason": long}, {"code": "b", "publicReason": long}}, set(), set())
	too_long.publicReason == long
}

test_metadata_is_a_list_for_each_code if {
	verdicts := {
		{"code": "a", "metadata": {"limit": 1}},
		{"code": "a", "metadata": {"limit": 2}},
		{"code": "b", "metadata": {}},
		{"code": "c"},
	}
	decisions.decide(verdicts, set(), set()).metadata == {"a": [{"limit": 1}, {"limit": 2}], "b": [{}]}
	not decisions.decide({{"code": "c"}}, set(), set()).metadata
}
