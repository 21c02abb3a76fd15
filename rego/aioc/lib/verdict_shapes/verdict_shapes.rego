# METADATA
# title: What a well-formed verdict is
# description: |
#   The library counts verdicts, not codes: whatever a pack puts into its sets and is not one of these shapes
#   denies as `malformed_verdict` (design 3.3, 5). Each builtin is asked only after its operand's type.
package aioc.lib.verdict_shapes

import future.keywords.not

# METADATA
# title: Whether a code is not a pack's to use
# description: |
#   The reasons that only the runtime may use (aioc_opa/core/reasons.py; a test compares the two), and the two
#   words of a decision that no verdict made.
is_reserved(code) if contains(_reserved, concat(code, ["\n", "\n"]))

# One a line: the embedded engine would build a set anew for every verdict.
_reserved := `
access_deadline_exceeded
allowed
approval_binding_mismatch
approval_consumed
approval_expired
approval_rejected
approval_revoked
approval_timed_out
approval_unavailable
audit_unavailable
budget_exceeded
call_already_executed
no_rule_allows
permit_invalid
policy_binding_mismatch
policy_evaluation_error
policy_input_invalid
policy_malformed_decision
policy_mutated_arguments
policy_revision_rejected
policy_timeout
policy_unavailable
policy_undefined
tool_not_authorized
tool_not_registered
`

# METADATA
# title: A verdict of `deny` or `allow`
is_plain(verdict) if {
	is_object(verdict)
	object.keys(verdict) - {"code", "publicReason", "metadata"} == set()
	_is_told_soundly(verdict)
}

# METADATA
# title: A verdict of `require_approval`
is_hold(verdict) if {
	is_object(verdict)
	object.keys(verdict) - {"code", "publicReason", "metadata", "approval"} == set()
	_is_told_soundly(verdict)
	_is_approval(verdict.approval)
}

# Builtins on text rather than regular expressions where they can say it: several times cheaper on the embedded engine.
# Lengths are measured by what lies beyond them: `count` of a text differs between engines (docs/embedded-engine.md).
_is_told_soundly(verdict) if {
	is_string(verdict.code)
	verdict.code != ""
	trim(verdict.code, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	trim_left(verdict.code, "0123456789_") == verdict.code
	substring(verdict.code, 64, 1) == ""
	not is_reserved(verdict.code)
	is_object(object.get(verdict, "metadata", {}))
	_has_sound_public_reason(verdict)
}

_has_sound_public_reason(verdict) if not "publicReason" in object.keys(verdict)

_has_sound_public_reason(verdict) if {
	_is_line(verdict.publicReason)
	substring(verdict.publicReason, 1024, 1) == ""
}

# Something to read, and one line of it: the decoder refuses control characters.
_is_line(text) if {
	is_string(text)
	regex.match(`[^ ]`, text)
	not regex.match(`[\x00-\x1f\x7f]`, text)
}

_is_approval(approval) if {
	is_object(approval)
	object.keys(approval) == {"approverRoles", "quorum", "separationOfDuties", "ttlSeconds"}
	is_array(approval.approverRoles)
	approval.approverRoles != []
	not approval.approverRoles[64]
	every role in approval.approverRoles {
		_is_line(role)
		substring(role, 128, 1) == ""
	}
	_is_whole(approval.quorum, 1, 100)
	is_boolean(approval.separationOfDuties)
	_is_whole(approval.ttlSeconds, 1, 31536000)
}

_is_whole(number, least, most) if {
	is_number(number)
	number >= least
	number <= most
	round(number) == number
}
