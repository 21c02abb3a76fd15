# METADATA
# title: From verdicts to one decision
# description: |
#   Deny over approval_required over allow; nothing allows: deny `no_rule_allows`. The strictest of merged terms
#   wins, and the outcome does not depend on the order of rules or packs (design 3.3, 5).
package aioc.lib.decisions

import data.aioc.lib.verdict_shapes
import future.keywords.not

# METADATA
# title: The decision that three sets of verdicts make, without the echoes
# description: Total for sets of anything. A verdict that is not well-formed denies, in whichever set it is.
decide(denials, holds, allows) := _weigh(denied | _malformed(bad), held, permitted) if {
	denied := {verdict | some verdict in denials; verdict_shapes.is_plain(verdict)}
	held := {verdict | some verdict in holds; verdict_shapes.is_hold(verdict)}
	permitted := {verdict | some verdict in allows; verdict_shapes.is_plain(verdict)}
	bad := ((count(denials) + count(holds)) + count(allows)) - ((count(denied) + count(held)) + count(permitted))
}

_malformed(0) := set()

_malformed(bad) := {{"code": "malformed_verdict"}} if bad > 0

_weigh(denials, holds, _) := object.union(_explained(denials), {
	"decision": "deny",
	"reason": min(_codes(denials)),
	"reasons": sort(_codes(denials | holds)),
}) if {
	count(denials) > 0
}

_weigh(denials, holds, _) := object.union(_explained(holds), {
	"decision": "approval_required",
	"reason": min(_codes(holds)),
	"reasons": sort(_codes(holds)),
	"approval": _strictest_terms(holds),
}) if {
	count(denials) == 0
	count(holds) > 0
}

_weigh(denials, holds, allows) := object.union(_explained(allows), {
	"decision": "allow",
	"reason": "allowed",
	"reasons": [],
}) if {
	count(denials) == 0
	count(holds) == 0
	count(allows) > 0
}

_weigh(denials, holds, allows) := {"decision": "deny", "reason": "no_rule_allows", "reasons": []} if {
	count(denials) == 0
	count(holds) == 0
	count(allows) == 0
}

_codes(verdicts) := {verdict.code | some verdict in verdicts}

# Every hold is a requirement of its own, and all must be met.
_strictest_terms(holds) := {
	"requirements": [{"code": term[0], "approverRoles": term[1], "quorum": term[2]} | some term in terms],
	"separationOfDuties": true in {hold.approval.separationOfDuties | some hold in holds},
	"ttlSeconds": min({hold.approval.ttlSeconds | some hold in holds}),
} if {
	terms := sort({[hold.code, hold.approval.approverRoles, hold.approval.quorum] | some hold in holds})
}

# Texts and metadata of the winning effect. Sets are ordered, so both are the same in every run.
_explained(verdicts) := object.union(_public_reason(verdicts), _metadata(verdicts))

_public_reason(verdicts) := {} if count(_texts(verdicts)) == 0

_public_reason(verdicts) := {"publicReason": text} if {
	texts := _texts(verdicts)
	count(texts) > 0
	text := _fitting(concat(" ", texts), texts[0])
}

_texts(verdicts) := [pair[1] | some pair in sort({[verdict.code, verdict.publicReason] | some verdict in verdicts})]

# The decoder takes 1,024 characters. Cutting a text could turn its sense round: the first one is shown alone.
_fitting(all_texts, _) := all_texts if count(all_texts) <= 1024

_fitting(all_texts, first_text) := first_text if count(all_texts) > 1024

_metadata(verdicts) := {} if count({1 | some verdict in verdicts; verdict.metadata}) == 0

# A list for each code: two packs may use one code with other metadata, and neither may hide the other's.
_metadata(verdicts) := {"metadata": by_code} if {
	codes := {verdict.code | some verdict in verdicts; verdict.metadata}
	count(codes) > 0
	by_code := {code: [verdict.metadata | some verdict in verdicts; verdict.code == code] | some code in codes}
}
