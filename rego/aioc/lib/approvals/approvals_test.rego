package aioc.lib.approvals_test

import data.aioc.lib.approvals
import data.aioc.lib.verdict_shapes
import data.aioc.lib.verdicts
import future.keywords.not

defaults := {"approverRoles": ["approver"], "quorum": 1, "separationOfDuties": true, "ttlSeconds": 3600}

test_by_asks_for_one_of_the_roles if {
	approvals.by(["lead", "cfo"]) == object.union(defaults, {"approverRoles": ["lead", "cfo"]})
}

test_by_persons_asks_for_so_many if {
	approvals.by_persons(["lead"], 3) == object.union(defaults, {"approverRoles": ["lead"], "quorum": 3})
}

test_within_changes_the_lifetime_alone if {
	approvals.within(approvals.by(["lead"]), 60) == object.union(defaults, {"approverRoles": ["lead"], "ttlSeconds": 60})
}

test_the_requester_may_approve_only_where_it_is_said if {
	approvals.by(["lead"]).separationOfDuties == true
	approvals.requester_may_approve(approvals.by(["lead"])).separationOfDuties == false
}

test_a_hold_on_them_is_well_formed if {
	terms := approvals.requester_may_approve(approvals.within(approvals.by_persons(["lead"], 2), 900))
	verdict_shapes.is_hold(verdicts.hold_with("big", terms))
}

# A missing table must not let a call through: the hold is malformed, and so denies.
test_without_the_defaults_a_hold_is_malformed if {
	terms := approvals.within(approvals.by(["lead"]), 60) with data.aioc.lib.approval_defaults as {}
	not verdict_shapes.is_hold(verdicts.hold_with("big", terms))
}

test_terms_that_nobody_can_meet_make_a_malformed_hold if {
	every terms in [
		approvals.by([]),
		approvals.by("lead"),
		approvals.by({"lead"}),
		approvals.by_persons(["lead"], 0),
		approvals.within(approvals.by(["lead"]), 0),
	] {
		not verdict_shapes.is_hold(verdicts.hold_with("big", terms))
	}
}
