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
	bad := ((denials - denied) | (holds - held)) | (allows - permitted)
}

_malformed(bad) := {{"code": "malformed_verdict"} | some _ in bad}

_weigh(denials, holds, allows) := decision if {
	denials != set()
	decision := object.union(_explained(denials), {
		"decision": "deny",
		"reason": min(_codes(denials)),
		"reasons": sort(_codes(denials | holds)),
	})
} else := decision if {
	holds != set()
	decision := object.union(_explained(holds), {
		"decision": "approval_required",
		"reason": min(_codes(holds)),
		"reasons": sort(_codes(holds)),
		"approval": _strictest_terms(holds),
	})
} else := decision if {
	allows != set()
	decision := object.union(_explained(allows), {"decision": "allow", "reason": "allowed", "reasons": []})
} else := {"decision": "deny", "reason": "no_rule_allows", "reasons": []}

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
_explained(verdicts) := explained if {
	told := {verdict | some verdict in verdicts; object.keys(verdict) & {"publicReason", "metadata"} != set()}
	told != set()
	explained := object.union(_public_reason(_texts(told)), _metadata(told))
} else := {}

_texts(verdicts) := [pair[1] | some pair in sort({[verdict.code, verdict.publicReason] | some verdict in verdicts})]

# The decoder takes 1,024 characters. Cutting a text could turn its sense round: the first one is shown alone.
_public_reason(texts) := told if {
	texts != []
	all_texts := concat(" ", texts)
	substring(all_texts, 1024, 1) == ""
	told := {"publicReason": all_texts}
} else := told if {
	first_text := texts[0]
	told := {"publicReason": first_text}
} else := {}

# A list for each code: two packs may use one code with other metadata, and neither may hide the other's.
_metadata(verdicts) := told if {
	codes := {verdict.code | some verdict in verdicts; verdict.metadata}
	codes != set()
	by_code := {code: [verdict.metadata | some verdict in verdicts; verdict.code == code] | some code in codes}
	told := {"metadata": by_code}
} else := {}
