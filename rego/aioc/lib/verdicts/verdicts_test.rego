package aioc.lib.verdicts_test

import data.aioc.lib.verdict_shapes
import data.aioc.lib.verdicts
import future.keywords.not

test_deny_has_a_code_only if verdicts.deny("over") == {"code": "over"}

test_deny_because_has_a_sentence if {
	verdicts.deny_because("over", "Too much.") == {"code": "over", "publicReason": "Too much."}
}

test_allow_has_a_code_only if verdicts.allow("fine") == {"code": "fine"}

test_hold_has_the_default_terms_of_the_library if {
	verdict_shapes.is_hold(verdicts.hold("big"))
	verdicts.hold("big").approval == data.aioc.lib.approval_defaults
}

test_hold_with_has_terms_of_its_own if {
	terms := {"approverRoles": ["cfo"], "quorum": 2, "separationOfDuties": false, "ttlSeconds": 60}
	verdicts.hold_with("big", terms) == {"code": "big", "approval": terms}
}

# A broken table must not make a hold vanish: it is there, and malformed. (tests/opa takes the table away.)
test_hold_on_a_broken_table_is_malformed if {
	verdict := verdicts.hold("big") with data.aioc.lib.approval_defaults as {}
	verdict == {"code": "big", "approval": {}}
	not verdict_shapes.is_hold(verdict)
}
