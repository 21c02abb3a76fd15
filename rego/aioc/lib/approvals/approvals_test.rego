package aioc.lib.approvals_test

import data.aioc.lib.approvals
import future.keywords.not

hold := {
	"code": "big",
	"approval": {"approverRoles": ["lead", "cfo"], "quorum": 2, "separationOfDuties": false, "ttlSeconds": 60},
}

vote(person, role, verdict) := {"personId": person, "roles": [role], "verdict": verdict, "at": "2026-01-01T00:00:00Z"}

question(votes) := {
	"proposalHash": "h",
	"principal": {"identity": "agent_user"},
	"approval": {"id": "1", "proposalHash": "h", "requestedBy": "req", "votes": votes},
}

test_quorum_of_different_persons if {
	approvals.meets(hold, false) with input as question([vote("a", "lead", "approved"), vote("b", "cfo", "approved")])
	not approvals.meets(hold, false) with input as question([vote("a", "lead", "approved")])
	not approvals.meets(hold, false) with input as question([vote("a", "lead", "approved"), vote("a", "cfo", "approved")])
}

test_votes_of_other_roles_do_not_count if {
	not approvals.meets(hold, false) with input as question([vote("a", "lead", "approved"), vote("b", "dev", "approved")])
}

test_one_rejection_is_enough if {
	votes := [vote("a", "lead", "approved"), vote("b", "cfo", "approved"), vote("c", "dev", "rejected")]
	not approvals.meets(hold, false) with input as question(votes)
}

test_separation_of_duties_counts_neither_requester_nor_principal if {
	every person in ["req", "agent_user"] {
		votes := [vote("a", "lead", "approved"), vote(person, "cfo", "approved")]
		approvals.meets(hold, false) with input as question(votes)
		not approvals.meets(hold, true) with input as question(votes)
	}
	approvals.meets(hold, true) with input as question([vote("a", "lead", "approved"), vote("b", "cfo", "approved")])
}

test_votes_on_another_proposal_do_not_count if {
	votes := [vote("a", "lead", "approved"), vote("b", "cfo", "approved")]
	not approvals.meets(hold, false) with input as object.union(question(votes), {"proposalHash": "other"})
}

test_no_evidence_meets_nothing if {
	not approvals.meets(hold, false) with input as {"proposalHash": "h"}
	not approvals.meets(hold, false) with input as {}
	not approvals.meets(hold, false) with input as null
}

# A quorum of zero would be met by nobody's votes.
test_malformed_hold_is_never_met if {
	broken := object.union(hold, {"approval": {"quorum": 0}})
	not approvals.meets(broken, false) with input as question([])
	not approvals.meets({"code": "big"}, false) with input as question([])
}
