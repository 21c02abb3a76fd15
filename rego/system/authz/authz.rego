# METADATA
# title: What the OPA server itself answers
# description: >-
#   OPA's own API is as powerful as the policies it holds: with it anyone could replace a policy, read the data or run
#   a query (https://www.openpolicyagent.org/docs/security). Only three questions are answered, and the health check.
#   Start OPA with --authorization=basic; whatever is not listed here gets a 401. Who may connect at all is for TLS,
#   a token or the network to say: add a rule on `input.identity` there.
package system.authz

import future.keywords.not

# METADATA
# description: OPA refuses the request unless this is true.
# entrypoint: true
default allow := false

# A decision is asked without the strict flag only by mistake: an error inside a builtin would then make a deny rule
# undefined, and so silent. Of the forms that OPA takes for true, two are enough; [0] would take ["", "false"] too.
allow if {
	input.method == "POST"
	input.path in decision_paths
	input.params["strict-builtin-errors"] in {[""], ["true"]}
	every name, _ in input.params {
		name in decision_params
	}
}

allow if {
	input.method == "GET"
	input.path == ["health"]
}

# Compared whole, segment by segment: no prefix is enough.
decision_paths := {
	["v1", "data", "aioc", "tool_policy", "decision"],
	["v1", "data", "aioc", "handoff_policy", "decision"],
	["v1", "data", "aioc", "tool_access", "decision"],
}

# Not `explain` or `instrument`: the first shows the policy's data to whoever asks, the second is slow.
decision_params := {"strict-builtin-errors", "provenance", "metrics", "pretty"}
