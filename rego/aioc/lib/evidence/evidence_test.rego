package aioc.lib.evidence_test

import data.aioc.lib.evidence
import future.keywords.not

terms := {"approverRoles": ["lead", "cfo"], "quorum": 1, "separationOfDuties": false, "ttlSeconds": 60}

hold := {"code": "big", "approval": terms}

hold_for(changes) := {"code": "other", "approval": object.union(terms, changes)}

separate := hold_for({"separationOfDuties": true})

vote(person, roles) := {"personId": person, "roles": roles, "verdict": "approved", "at": "2026-01-01T00:00:00Z"}

approval(votes) := {
	"id": "apr_1",
	"proposalHash": "h",
	"requestedBy": "bot",
	"requesters": ["kim"],
	"votes": votes,
	"expiresAt": "2026-01-01T01:00:00Z",
	"policyRevision": "r",
}

question(votes) := {
	"proposalHash": "h",
	"principal": {"identity": "bot", "onBehalfOf": ["desk", "sam"]},
	"approval": approval(votes),
}

by_lead := question([vote("ann", ["lead"])])

test_one_vote_meets_one_hold if evidence.meets({hold}, by_lead)

test_no_evidence_meets_nothing if {
	not evidence.meets({hold}, object.remove(by_lead, ["approval"]))
	not evidence.meets({hold}, question([]))
}

test_evidence_for_another_proposal_meets_nothing if {
	not evidence.meets({hold}, object.union(by_lead, {"proposalHash": "other"}))
	not evidence.meets({hold}, object.remove(by_lead, ["proposalHash"]))
	every odd in [null, 5, ""] {
		both := object.union(by_lead, {"proposalHash": odd, "approval": {"proposalHash": odd}})
		not evidence.meets({hold}, both)
	}
}

test_one_rejection_is_enough if {
	rejecting := object.union(vote("bob", ["cfo"]), {"verdict": "rejected"})
	not evidence.meets({hold}, question([vote("ann", ["lead"]), rejecting]))
	without_a_role := object.union(vote("bob", []), {"verdict": "rejected"})
	not evidence.meets({hold}, question([vote("ann", ["lead"]), without_a_role]))
}

test_a_vote_counts_by_its_roles if {
	evidence.meets({hold}, question([vote("ann", ["guest", "cfo"])]))
	not evidence.meets({hold}, question([vote("ann", ["guest"])]))
	not evidence.meets({hold}, question([vote("ann", ["Lead"])]))
	not evidence.meets({hold}, question([vote("ann", [])]))
}

test_a_quorum_is_of_distinct_persons if {
	two := hold_for({"quorum": 2})
	evidence.meets({two}, question([vote("ann", ["lead"]), vote("bob", ["cfo"])]))
	not evidence.meets({two}, question([vote("ann", ["lead"]), vote("ann", ["cfo"])]))
	not evidence.meets({two}, question([vote("ann", ["lead", "cfo"]), vote("bob", ["guest"])]))
}

test_one_vote_may_count_for_several_holds if {
	evidence.meets({hold, hold_for({"approverRoles": ["cfo"]})}, question([vote("ann", ["lead", "cfo"])]))
}

test_all_holds_or_none if {
	not evidence.meets({hold, hold_for({"approverRoles": ["board"]})}, by_lead)
	not evidence.meets({hold, hold_for({"quorum": 2})}, by_lead)
}

test_separation_of_duties_of_one_hold_is_that_of_all if {
	evidence.meets({hold, separate}, by_lead)
	every person in ["kim", "bot", "desk", "sam"] {
		evidence.meets({hold}, question([vote(person, ["lead"])]))
		not evidence.meets({hold, separate}, question([vote(person, ["lead"])]))
		not evidence.meets({hold, separate}, question([vote("ann", ["lead"]), vote(person, ["lead"])]))
	}
}

test_separation_of_duties_needs_the_list_of_who_asked if {
	silent := object.union(object.remove(by_lead, ["approval"]), {"approval": object.remove(by_lead.approval, ["requesters"])})
	evidence.meets({hold}, silent)
	not evidence.meets({separate}, silent)
	every odd in [null, "kim", {}, [""], [5]] {
		not evidence.meets({separate}, object.union(by_lead, {"approval": {"requesters": odd}}))
	}
}

test_separation_of_duties_needs_a_sound_principal_or_none if {
	evidence.meets({separate}, object.remove(by_lead, ["principal"]))
	nobody := object.remove(by_lead, ["principal"])
	every odd in [null, 5, [], {}, {"identity": ""}, {"identity": 5}, {"identity": "a", "onBehalfOf": "ann"}, {"identity": "a", "onBehalfOf": [5]}] {
		not evidence.meets({separate}, object.union(nobody, {"principal": odd}))
		evidence.meets({hold}, object.union(nobody, {"principal": odd}))
	}
}

test_a_malformed_hold_is_never_met if {
	every odd in [null, 5, {}, {"code": "big"}, {"code": "big", "approval": {}}, hold_for({"quorum": 0})] {
		not evidence.meets({hold, odd}, by_lead)
	}
}

test_each_part_of_the_evidence_is_needed if {
	every key in ["id", "proposalHash", "requestedBy", "votes", "expiresAt", "policyRevision"] {
		poorer := object.remove(by_lead.approval, [key])
		not evidence.meets({hold}, object.union(object.remove(by_lead, ["approval"]), {"approval": poorer}))
		not evidence.meets({hold}, object.union(by_lead, {"approval": {key: 5}}))
	}
	every key in ["personId", "roles", "verdict", "at"] {
		not evidence.meets({hold}, question([object.remove(vote("ann", ["lead"]), [key])]))
		not evidence.meets({hold}, question([object.union(vote("ann", ["lead"]), {key: 5})]))
	}
}

test_evidence_of_another_shape_meets_nothing if {
	every odd in [null, true, 5, "x", [], {}, [by_lead.approval]] {
		not evidence.meets({hold}, object.union(object.remove(by_lead, ["approval"]), {"approval": odd}))
	}
	every odd in [null, 5, "ann", [], ["lead"]] {
		not evidence.meets({hold}, question([odd]))
	}
	not evidence.meets({hold}, object.union(by_lead, {"approval": {"more": 1}}))
	not evidence.meets({hold}, question([object.union(vote("ann", ["lead"]), {"more": 1})]))
	not evidence.meets({hold}, question([object.union(vote("ann", ["lead"]), {"roles": "lead"})]))
}

test_a_question_that_is_none_meets_nothing if {
	every odd in [null, 5, "x", [], {}] {
		not evidence.meets({hold}, odd)
	}
}
