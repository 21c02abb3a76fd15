package system.log_test

import future.keywords.not

import data.system.log

packs := {"shop": {"manifest": {"codes": ["too_much"]}}, "bare": {}}

shown_code(path, reason) := rule.value.reason if {
	some rule in log.mask with input as {"path": path, "result": {"reason": reason}} with data.aioc.packs as packs
	rule.path == "/result"
}

test_declared_codes_and_those_of_the_library_are_shown if {
	every code in ["too_much", "allowed", "no_rule_allows", "data_missing", "handoff_denied"] {
		shown_code("aioc/tool_policy/decision", code) == code
	}
}

test_any_other_code_is_undeclared if {
	every code in ["too_much_4711", "", 7, {"code": "too_much"}, ["too_much"], null, "not_at_night"] {
		shown_code("aioc/tool_policy/decision", code) == "undeclared"
	}
}

test_codes_of_rules_of_your_own_on_access_are_shown if {
	shown_code("aioc/tool_access/decision", "not_at_night") == "not_at_night"
	every code in ["Not at night", "", 7, {"code": "x"}, concat("", ["a" | some _ in numbers.range(1, 65)])] {
		shown_code("aioc/tool_access/decision", code) == "undeclared"
	}
}

test_a_policy_without_manifests_declares_nothing if {
	every odd in [{}, {"shop": {}}, {"shop": {"manifest": {"codes": 5}}}, "none", null] {
		logged := {"path": "aioc/tool_policy/decision", "result": {"reasons": ["no_rule_allows", "too_much"]}}
		shown := log.mask with input as logged with data.aioc.packs as odd
		{"op": "upsert", "path": "/result", "value": {"reasons": ["no_rule_allows", "undeclared"]}} in shown
	}
}
