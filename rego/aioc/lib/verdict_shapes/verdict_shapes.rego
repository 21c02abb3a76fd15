# METADATA
# title: What a well-formed verdict is
# description: |
#   The library counts verdicts, not codes: whatever a pack puts into its sets and is not one of these shapes
#   denies as `malformed_verdict` (design 3.3, 5). Each builtin is asked only after its operand's type.
package aioc.lib.verdict_shapes

import future.keywords.not

# METADATA
# title: Codes that are not a pack's to use
# description: |
#   The reasons that only the runtime may use (aioc_opa/core/reasons.py; a test compares the two), and the two
#   words of a decision that no verdict made.
reserved := {
	"access_deadline_exceeded",
	"allowed",
	"approval_binding_mismatch",
	"approval_consumed",
	"approval_expired",
	"approval_rejected",
	"approval_revoked",
	"approval_timed_out",
	"approval_unavailable",
	"audit_unavailable",
	"budget_exceeded",
	"call_already_executed",
	"no_rule_allows",
	"permit_invalid",
	"policy_binding_mismatch",
	"policy_evaluation_error",
	"policy_input_invalid",
	"policy_malformed_decision",
	"policy_mutated_arguments",
	"policy_revision_rejected",
	"policy_timeout",
	"policy_unavailable",
	"policy_undefined",
	"tool_not_authorized",
	"tool_not_registered",
}

# METADATA
# title: A verdict of `deny` or `allow`
is_plain(verdict) if {
	is_object(verdict)
	object.keys(verdict) - {"code", "publicReason", "metadata"} == set()
	_is_code(verdict.code)
	_has_sound_public_reason(verdict)
	_has_sound_metadata(verdict)
}

# METADATA
# title: A verdict of `require_approval`
is_hold(verdict) if {
	is_object(verdict)
	object.keys(verdict) - {"code", "publicReason", "metadata", "approval"} == set()
	_is_code(verdict.code)
	_has_sound_public_reason(verdict)
	_has_sound_metadata(verdict)
	_is_approval(verdict.approval)
}

_is_code(code) if {
	is_string(code)
	regex.match(`^[a-z][a-z0-9_]{0,63}$`, code)
	not code in reserved
}

_has_sound_public_reason(verdict) if not "publicReason" in object.keys(verdict)

_has_sound_public_reason(verdict) if {
	is_string(verdict.publicReason)
	count(verdict.publicReason) <= 1024

	# Something to read, and one line of it: the decoder refuses control characters.
	regex.match(`[^ ]`, verdict.publicReason)
	not regex.match(`[\x00-\x1f\x7f]`, verdict.publicReason)
}

_has_sound_metadata(verdict) if not "metadata" in object.keys(verdict)

_has_sound_metadata(verdict) if is_object(verdict.metadata)

_is_approval(approval) if {
	is_object(approval)
	object.keys(approval) == {"approverRoles", "quorum", "separationOfDuties", "ttlSeconds"}
	is_array(approval.approverRoles)
	count(approval.approverRoles) >= 1
	count(approval.approverRoles) <= 64
	every role in approval.approverRoles {
		is_string(role)
		count(role) <= 128
		regex.match(`[^ ]`, role)
		not regex.match(`[\x00-\x1f\x7f]`, role)
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
