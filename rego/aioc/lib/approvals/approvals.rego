# METADATA
# title: What it takes to approve a held call
# description: |
#   Terms for `verdicts.hold_with`, starting from the library's defaults (data.aioc.lib.approval_defaults):
#
#   verdicts.hold_with("amount_needs_two", approvals.within(approvals.by_persons(["treasurer", "cfo"], 2), 900))
#
#   Without the defaults the terms are incomplete, and a hold on them denies as `malformed_verdict`.
package aioc.lib.approvals

import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: Terms that one person with one of the roles meets
# description: As many persons as the library's defaults say, one as they are delivered.
by(roles) := object.union(verdicts.default_approval, {"approverRoles": roles})

# METADATA
# title: Terms that so many distinct persons, each with one of the roles, meet
by_persons(roles, quorum) := object.union(verdicts.default_approval, {"approverRoles": roles, "quorum": quorum})

# METADATA
# title: The same terms, where an approval counts for so many seconds from the request on
within(terms, seconds) := object.union(terms, {"ttlSeconds": seconds})

# METADATA
# title: The same terms, where whoever asked for the call may approve it as well
# description: Another hold on the same call that forbids it wins.
requester_may_approve(terms) := object.union(terms, {"separationOfDuties": false})
