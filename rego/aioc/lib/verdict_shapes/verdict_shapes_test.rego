package aioc.lib.verdict_shapes_test

import data.aioc.lib.verdict_shapes
import future.keywords.not

terms := {"approverRoles": ["approver"], "quorum": 1, "separationOfDuties": true, "ttlSeconds": 3600}

hold := {"code": "big", "approval": terms}

test_plain_verdicts if {
	every verdict in [
		{"code": "a"},
		{"code": "over_limit_2"},
		{"code": "over", "publicReason": "Too much."},
		{"code": "over", "metadata": {"limit": 5}},
	] {
		verdict_shapes.is_plain(verdict)
	}
}

test_garbage_is_no_verdict if {
	every verdict in [null, true, 0, "over", [], {}, set(), ["code"], {"code": null}, {"code": 5}, {"code": ["a"]}] {
		not verdict_shapes.is_plain(verdict)
		not verdict_shapes.is_hold(verdict)
	}
}

test_codes_that_are_not_codes if {
	every code in ["", "Over", "over limit", "1over", "_over", "over-limit", "ovér", "over\n"] {
		not verdict_shapes.is_plain({"code": code})
	}
}

test_code_of_64_characters_is_the_longest if {
	verdict_shapes.is_plain({"code": concat("", ["a" | some _ in numbers.range(1, 64)])})
	not verdict_shapes.is_plain({"code": concat("", ["a" | some _ in numbers.range(1, 65)])})
}

test_reserved_words_are_no_codes if {
	every code in ["allowed", "no_rule_allows", "policy_timeout", "tool_not_registered"] {
		verdict_shapes.is_reserved(code)
		not verdict_shapes.is_plain({"code": code})
		not verdict_shapes.is_hold({"code": code, "approval": terms})
	}
}

test_unknown_keys_are_refused if {
	not verdict_shapes.is_plain({"code": "over", "reason": "x"})
	not verdict_shapes.is_plain({"code": "over", "approval": terms})
	not verdict_shapes.is_hold({"code": "over", "approval": terms, "expiresAt": "x"})
}

# Characters, not bytes, and the same on every engine.
test_public_reasons_at_their_longest if {
	every character in ["a", "é", "😀"] {
		verdict_shapes.is_plain({"code": "a", "publicReason": concat("", [character | some _ in numbers.range(1, 1024)])})
		not verdict_shapes.is_plain({"code": "a", "publicReason": concat("", [character | some _ in numbers.range(1, 1025)])})
	}
}

test_public_reasons_that_are_none if {
	every text in [null, 5, "", "   ", "two\nlines", "bell\u0007", concat("", ["a" | some _ in numbers.range(1, 1025)])] {
		not verdict_shapes.is_plain({"code": "over", "publicReason": text})
	}
}

test_metadata_is_an_object if {
	every metadata in [null, 5, "x", []] {
		not verdict_shapes.is_plain({"code": "over", "metadata": metadata})
	}
}

test_hold_needs_terms if {
	verdict_shapes.is_hold(hold)
	verdict_shapes.is_hold(object.union(hold, {"publicReason": "Ask.", "metadata": {}}))
	not verdict_shapes.is_hold({"code": "big"})
	not verdict_shapes.is_hold({"code": "big", "approval": null})
}

test_terms_have_all_four_parts_and_no_more if {
	every key, _ in terms {
		not verdict_shapes.is_hold({"code": "big", "approval": object.remove(terms, [key])})
	}
	not verdict_shapes.is_hold({"code": "big", "approval": object.union(terms, {"x": 1})})
}

test_terms_out_of_bounds if {
	every change in [
		{"approverRoles": []},
		{"approverRoles": "approver"},
		{"approverRoles": [5]},
		{"approverRoles": [""]},
		{"approverRoles": [" "]},
		{"approverRoles": ["a\tb"]},
		{"approverRoles": [concat("", ["a" | some _ in numbers.range(1, 129)])]},
		{"approverRoles": [format_int(n, 10) | some n in numbers.range(1, 65)]},
		{"quorum": 0},
		{"quorum": 101},
		{"quorum": 1.5},
		{"quorum": "1"},
		{"separationOfDuties": "yes"},
		{"separationOfDuties": null},
		{"ttlSeconds": 0},
		{"ttlSeconds": 31536001},
		{"ttlSeconds": null},
	] {
		not verdict_shapes.is_hold({"code": "big", "approval": object.union(terms, change)})
	}
}
