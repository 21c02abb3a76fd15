# METADATA
# title: What a decision log may hold
# description: >-
#   OPA logs the whole input and result of a decision, arguments included, and masks nothing by itself
#   (https://www.openpolicyagent.org/docs/management-decision-logs#masking-sensitive-data). A list of what to hide
#   forgets the next field, so this is a list of what to show: everything else is replaced before it is logged.
#   `proposalHash` still ties an event to the arguments that were judged. The guard's own audit is the full record.
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
shown_input := object.union(
	object.union(
		{key: value | some key, value in input.input; key in input_names; type_name(value) in scalars},
		{key: shown |
			some key, keys in input_parts
			value := input.input[key]
			shown := {name: part | some name, part in value; name in keys}
		},
	),
	object.union(shown_request, shown_votes),
)

# Step 1: metadata by contract, and only as scalars.
shown_request := {"request": shown |
	value := input.input.request
	shown := {name: part | some name, part in value; name in request_names; type_name(part) in scalars}
}

# Who approved stays readable; the reason that a voter gave is none of the log's.
shown_votes := {"approval": {"votes": shown} |
	votes := input.input.approval.votes
	shown := [{name: part | some name, part in vote; name in vote_names} | some vote in votes]
}

# A decision repeats some names of its question, so what they may be is checked again.
shown_result := object.union(
	{key: value | some key, value in input.result; key in result_keys; type_name(value) in scalars},
	object.union(
		{"reasons": shown |
			reasons := input.result.reasons
			shown := [reason | some reason in reasons; is_string(reason)]
		},
		{"approval": shown |
			approval := input.result.approval
			shown := {key: approval[key] | some key in approval_terms; _ = approval[key]}
		},
	),
)

# Who asked what of whom, and the names that tie events together. No arguments, no context of the application.
input_names := {
	"agentName",
	"callId",
	"contractVersion",
	"decodeAssurance",
	"fromAgentName",
	"kind",
	"proposalHash",
	"requestDigest",
	"requestId",
	"toAgentName",
	"toolName",
	"toolVersion",
	"turn",
}

# A name is a scalar; anything else in its place could hold anything.
scalars := {"string", "number", "boolean", "null"}

input_parts := {
	"approval": {"id", "proposalHash", "requestedBy", "requesters", "expiresAt", "policyRevision"},
	"principal": {"identity", "tenant", "roles", "onBehalfOf"},
	"runContext": {"runId"},
}

request_names := {
	"capability",
	"deadlineSeconds",
	"executionId",
	"identity",
	"model",
	"provider",
	"requestId",
	"resourceBudget",
	"tenantId",
	"toolName",
	"toolVersion",
}

vote_names := {"at", "personId", "roles", "verdict"}

# Not `publicReason` and `metadata`: a pack may write arguments into them.
result_keys := {
	"decision",
	"expiresAt",
	"kind",
	"policyVersion",
	"proposalHash",
	"reason",
	"requestDigest",
	"requestId",
	"resultMode",
}

approval_terms := {"requirements", "separationOfDuties", "ttlSeconds"}
