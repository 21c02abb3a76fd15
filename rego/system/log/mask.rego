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
	{key: value | some key, value in input.input; key in input_names; type_name(value) in scalars},
	{key: shown |
		some key, keys in input_parts
		value := input.input[key]
		shown := {name: part | some name, part in value; name in keys}
	},
)

shown_result := {key: value | some key, value in input.result; key in result_keys}

# Who asked what of whom, and the names that tie events together. No arguments, no context of the application.
input_names := {
	"agentName",
	"callId",
	"contractVersion",
	"decodeAssurance",
	"fromAgentName",
	"kind",
	"proposalHash",
	"requestId",
	"toAgentName",
	"toolName",
	"toolVersion",
	"turn",
}

# A name is a scalar; anything else in its place could hold anything.
scalars := {"string", "number", "boolean", "null"}

input_parts := {
	"approval": {"id", "proposalHash", "requestedBy", "votes", "expiresAt", "policyRevision"},
	"principal": {"identity", "tenant", "roles", "onBehalfOf"},
	"runContext": {"runId"},
}

# Not `publicReason` and `metadata`: a pack may write arguments into them.
result_keys := {
	"approval",
	"decision",
	"expiresAt",
	"kind",
	"policyVersion",
	"proposalHash",
	"reason",
	"reasons",
	"requestId",
	"resultMode",
}
