# METADATA
# title: Which holds the evidence of an approval meets
# description: |
#   On resume the runtime shows the votes it has verified in `input.approval` (design 3.1, 3.5), and policy is asked
#   again: a hold whose terms they meet no longer holds. Expiry, revocation and single use are the runtime's: a policy
#   has no clock. Without evidence nothing is met.
# schemas:
#   - input: schema.tool_policy_input
package aioc.lib.approvals

import data.aioc.lib.verdict_shapes
import future.keywords.not

# METADATA
# title: Whether the votes meet the terms of a hold
# description: |
#   The votes are on this very proposal, nobody rejects, and enough different persons of a named role approve.
#   With separation of duties, which any hold of the call asks for all of them, neither the requester nor the
#   principal of the call counts.
meets(hold, separation) if {
	verdict_shapes.is_hold(hold)
	input.approval.proposalHash == input.proposalHash
	rejections := {vote.personId | some vote in input.approval.votes; not vote.verdict == "approved"}
	count(rejections) == 0
	count(_approvers(hold.approval.approverRoles, separation)) >= hold.approval.quorum
}

_approvers(roles, separation) := {vote.personId |
	some vote in input.approval.votes
	vote.verdict == "approved"
	some role in vote.roles
	role in roles
	_may_vote(vote.personId, separation)
}

_may_vote(_, false) := true

_may_vote(person, true) if {
	not person == input.approval.requestedBy
	not person == input.principal.identity
}
