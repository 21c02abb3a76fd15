# METADATA
# title: What the OPA server itself answers
# description: >-
#   OPA's own API is as powerful as the policies it holds: with it anyone could replace a policy, read the data or run
#   a query (https://www.openpolicyagent.org/docs/security). Only three questions are answered, the health check, and,
#   to callers that are known, the status and the metrics. Start OPA with --authorization=basic; whatever is not listed
#   here gets a 401. Who the callers are is for
#   `data.system.callers.groups` to say, which deploy/opa/callers computes from --authentication=token or =tls. Where it
#   is, a decision needs a caller that is known too; where it is not (a Unix socket, a loopback), it needs none, and
#   status and metrics are nobody's.
package system.authz

import future.keywords.not

# METADATA
# description: OPA refuses the request unless this is true.
# entrypoint: true
default allow := false

# A decision is asked without the strict flag only by mistake: an error inside a builtin would then make a deny rule
# undefined, and so silent. Of the forms that OPA takes for true, two are enough; [0] would take ["", "false"] too.
allow if {
	may_ask
	input.method == "POST"
	input.path in decision_paths
	input.params["strict-builtin-errors"] in {[""], ["true"]}
	every name, _ in input.params {
		name in decision_params
	}
}

# Whether it is up, and whether bundles and plugins are ready; a health policy of one's own (/health/…) is not asked.
allow if {
	input.method == "GET"
	input.path == ["health"]
	every name, _ in input.params {
		name in health_params
	}
}

# Which revisions are in force, and since when: a guard that minds the age of its policy asks for it.
allow if {
	some group in {"guards", "operators"}
	is_one_of(group)
	input.method == "GET"
	input.path == ["v1", "status"]
	input.params == {}
}

# Numbers only, but of everything that the server does.
allow if {
	is_one_of("operators")
	input.method == "GET"
	input.path == ["metrics"]
	input.params == {}
}

may_ask if {
	some group in {"guards", "operators"}
	is_one_of(group)
}

may_ask if not callers_are_given

# Assigned, so that a `false` or an empty object in its place closes the server, and does not open it.
callers_are_given if _ := data.system.callers

is_one_of(group) if group in data.system.callers.groups

# Compared whole, segment by segment: no prefix is enough.
decision_paths := {
	["v1", "data", "aioc", "tool_policy", "decision"],
	["v1", "data", "aioc", "handoff_policy", "decision"],
	["v1", "data", "aioc", "tool_access", "decision"],
}

# What a guard sends. Not `explain`, which shows the policy's data to whoever asks, nor `metrics` and `instrument`, which
# show and cost time.
decision_params := {"strict-builtin-errors", "provenance"}

health_params := {"bundles", "exclude-plugin", "plugins"}
