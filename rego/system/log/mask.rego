# METADATA
# title: What a decision log may hold
# description: >-
#   OPA logs the whole input and result of a decision, arguments included, and masks nothing by itself
#   (https://www.openpolicyagent.org/docs/management-decision-logs#masking-sensitive-data). A list of what to hide
#   forgets the next field, so this is a list of what to show, and of what each may be: everything else is replaced
#   before it is logged. No hash of arguments either: a PIN or an amount is soon guessed from it. An event is tied to
#   the guard's audit, which is the full record, by `decision_id`, `requestId`, `runId` and `callId`.
package system.log

import future.keywords.not

# METADATA
# description: Puts a projection in the place of the input and of the result, and takes the builtin cache out.
# entrypoint: true
mask contains rule if {
	rule := {"op": "upsert", "path": "/input", "value": shown_input}
}

mask contains rule if {
	rule := {"op": "upsert", "path": "/result", "value": shown_result}
}

mask contains "/nd_builtin_cache"

# METADATA
# description: >-
#   An error's message cannot be masked, and it can quote an argument (`strconv.ParseFloat: parsing "…"`), so the
#   event goes. The caller still gets the error, as a deny.
# entrypoint: true
default drop := false

drop if input.error

# Comprehensions: an input that is no object (or a key that is absent) leaves nothing to show, not something unmasked.
default shown_input := {}

shown_input := object.union(
	{key: value |
		some key, value in input.input
		is_of_kind(value, input_kinds[key])
	},
	object.union(
		{key: of_kinds(part, part_kinds[key]) |
			some key, part in input.input
			part_kinds[key]
		},
		{"approval": object.union(of_kinds(approval, part_kinds.approval), {"votes": shown}) |
			approval := input.input.approval
			votes := approval.votes
			shown := [of_kinds(vote, vote_kinds) | some vote in votes]
		},
	),
)

# A decision repeats some names of its question, so what they may be is checked again.
default shown_result := {}

shown_result := object.union(
	object.union(
		{key: value |
			some key, value in input.result
			is_of_kind(value, result_kinds[key])
		},
		shown_codes,
	),
	{"approval": object.union(of_kinds(approval, terms_kinds), {"requirements": shown}) |
		approval := input.result.approval
		requirements := approval.requirements
		shown := [shown_requirement(requirement) | some requirement in requirements]
	},
)

shown_requirement(requirement) := object.union(
	of_kinds(requirement, requirement_kinds),
	{"code": label |
		code := requirement.code
		label := code_label(code)
	},
)

shown_codes := object.union(
	{"reason": label |
		reason := input.result.reason
		label := code_label(reason)
	},
	{"reasons": labels |
		reasons := input.result.reasons
		labels := [code_label(reason) | some reason in reasons]
	},
)

# The values of `given` that are what they may be. Nothing, when it is no object.
of_kinds(given, kinds) := {name: value |
	some name, value in given
	is_of_kind(value, kinds[name])
}

is_of_kind(value, "name") if is_name(value)

is_of_kind(value, "names") if {
	is_array(value)
	every name in value {
		is_name(name)
	}
}

is_of_kind(value, "number") if is_number(value)

is_of_kind(value, "boolean") if is_boolean(value)

is_of_kind(value, "time") if {
	is_string(value)
	regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$`, value)
}

is_of_kind(value, words) if {
	is_set(words)
	value in words
}

# An identifier, as applications and providers make them: no JSON, no quotes, no control or bidi characters. Longer
# ones than a guard lets into a question (256 characters) are none.
is_name(value) if {
	is_string(value)
	regex.match(`^[\p{L}\p{N}_][\p{L}\p{N}_ .:@/|+=,#-]{0,255}$`, value)
}

# Who asked what of whom, and the names that tie events together. No arguments, no hashes, no application's context.
input_kinds := {
	"agentName": "name",
	"callId": "name",
	"contractVersion": "name",
	"decodeAssurance": {"decoded", "raw"},
	"fromAgentName": "name",
	"kind": question_kinds,
	"requestId": "name",
	"toAgentName": "name",
	"toolName": "name",
	"toolVersion": "name",
	"turn": "number",
}

question_kinds := {"access", "handoff", "tool"}

part_kinds := {
	"approval": {"id": "name", "requestedBy": "name", "requesters": "names", "expiresAt": "time"},
	"principal": {"identity": "name", "tenant": "name", "roles": "names", "onBehalfOf": "names"},
	"request": request_kinds,
	"runContext": {"runId": "name"},
}

# Step 1: metadata by contract.
request_kinds := {
	"capability": "name",
	"deadlineSeconds": "number",
	"executionId": "name",
	"identity": "name",
	"model": "name",
	"provider": "name",
	"requestId": "name",
	"resourceBudget": "number",
	"tenantId": "name",
	"toolName": "name",
	"toolVersion": "name",
}

# Who approved stays readable; the reason that a voter gave is none of the log's.
vote_kinds := {"at": "time", "personId": "name", "roles": "names", "verdict": {"approved", "rejected"}}

# Not `publicReason` and `metadata`: a pack may write arguments into them.
result_kinds := {
	"decision": {"allow", "approval_required", "deny"},
	"expiresAt": "time",
	"kind": question_kinds,
	"policyVersion": "name",
	"requestId": "name",
	"resultMode": {"throw", "tool_result"},
}

terms_kinds := {"separationOfDuties": "boolean", "ttlSeconds": "number"}

requirement_kinds := {"approverRoles": "names", "quorum": "number"}
