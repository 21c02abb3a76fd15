# METADATA
# title: Whether the evidence of an approval meets every hold of a call
# description: |
#   On resume the runtime shows the votes in `input.approval`, each verified. All holds are met, or none is: a part of
#   the evidence lifts nothing. Evidence of another shape lifts nothing either, and no input makes this err (design
#   3.5, 5). When an approval expires is for the runtime to say: a policy has no clock.
package aioc.lib.evidence

import data.aioc.lib.verdict_shapes
import future.keywords.not

# METADATA
# title: Whether the evidence of a question is for this very proposal, and every hold's terms are met by it
# description: |
#   No vote rejects; for each hold as many distinct persons as it asks for voted with one of its roles, where one vote
#   may count for several holds; and if any hold asks for separation of duties, nobody who asked for the call voted.
meets(holds, question) if {
	_is_evidence(question.approval)
	question.approval.proposalHash == question.proposalHash
	every hold in holds {
		verdict_shapes.is_hold(hold)
		_has_quorum(hold.approval, question.approval.votes)
	}
	_is_separate(holds, question)
}

_has_quorum(terms, votes) if {
	count({vote.personId | some vote in votes; some role in vote.roles; role in terms.approverRoles}) >= terms.quorum
}

_is_separate(holds, _) if not _asks_for_separation(holds)

# Without a list of who asked, nothing shows that none of them voted.
_is_separate(_, question) if {
	_is_list_of_names(question.approval.requesters)
	_has_sound_principal(question)
	asking := _asking(question)
	every vote in question.approval.votes {
		not vote.personId in asking
	}
}

_asks_for_separation(holds) if true in {hold.approval.separationOfDuties | some hold in holds}

# Persons as the runtime resolved them, and the identities of the call itself, for where the two are the same.
_asking(question) := ({question.approval.requestedBy} | {person | some person in question.approval.requesters}) | _named(question)

_named(question) := {name | name := question.principal.identity} | {name | some name in question.principal.onBehalfOf}

_has_sound_principal(question) if not "principal" in object.keys(question)

_has_sound_principal(question) if {
	is_object(question.principal)
	_is_name(question.principal.identity)
	_is_list_of_names(object.get(question.principal, "onBehalfOf", []))
}

_is_evidence(evidence) if {
	is_object(evidence)
	object.keys(evidence) - {"requesters"} == {
		"expiresAt",
		"id",
		"policyRevision",
		"proposalHash",
		"requestedBy",
		"votes",
	}
	every key in ["expiresAt", "id", "policyRevision", "proposalHash"] {
		_is_name(evidence[key])
	}
	is_string(evidence.requestedBy)
	is_array(evidence.votes)
	every vote in evidence.votes {
		_is_approving_vote(vote)
	}
}

_is_approving_vote(vote) if {
	is_object(vote)
	object.keys(vote) == {"at", "personId", "roles", "verdict"}
	vote.verdict == "approved"
	_is_name(vote.personId)
	_is_name(vote.at)
	_is_list_of_names(vote.roles)
}

_is_list_of_names(names) if {
	is_array(names)
	every name in names {
		_is_name(name)
	}
}

_is_name(name) if {
	is_string(name)
	name != ""
}
