# METADATA
# title: The policy of the benchmark
# description: Small on purpose, so that what is measured is the asking and not the deciding.
package aioc.tool_policy

import future.keywords.not

decision := {
	"decision": "allow",
	"reason": "allowed",
	"reasons": [],
	"proposalHash": input.proposalHash,
	"requestId": input.requestId,
	"kind": input.kind,
} if {
	input.toolName == "order"
	input.parsedArguments.express == true
}
