package system.authz_test

import future.keywords.not

import data.system.authz

question := {
	"method": "POST",
	"path": ["v1", "data", "aioc", "tool_policy", "decision"],
	"params": {"strict-builtin-errors": ["true"], "provenance": ["true"]},
	"headers": {},
}

test_each_decision_may_be_asked if {
	every package_name in ["tool_policy", "handoff_policy", "tool_access"] {
		path := ["v1", "data", "aioc", package_name, "decision"]
		authz.allow with input as object.union(question, {"path": path})
	}
}

test_a_bare_strict_flag_counts if {
	authz.allow with input as asked_with({"strict-builtin-errors": [""]})
}

test_health_may_be_asked if {
	authz.allow with input as {"method": "GET", "path": ["health"], "params": {}, "headers": {}}
}

test_the_health_of_bundles_and_plugins_may_be_asked_and_nothing_else if {
	health := {"method": "GET", "path": ["health"], "headers": {}}
	every name in ["bundles", "plugins", "exclude-plugin"] {
		authz.allow with input as object.union(health, {"params": {name: [""]}})
	}
	every name in ["pretty", "explain", "input"] {
		not authz.allow with input as object.union(health, {"params": {"bundles": [""], name: [""]}})
	}
	not authz.allow with input as health
}

test_no_decision_without_the_strict_flag if {
	every params in [
		{},
		{"strict-builtin-errors": ["false"]},
		{"strict-builtin-errors": ["", "false"]},
		{"strict-builtin-errors": []},
	] {
		not authz.allow with input as asked_with(params)
	}
}

test_no_other_parameter if {
	every name in ["explain", "instrument", "metrics", "pretty", "input", "watch"] {
		not authz.allow with input as asked_with({"strict-builtin-errors": ["true"], name: ["full"]})
	}
}

test_no_other_method_on_a_decision if {
	every method in ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
		not authz.allow with input as object.union(question, {"method": method})
	}
}

test_no_other_method_on_health if {
	every method in ["POST", "PUT", "DELETE"] {
		not authz.allow with input as {"method": method, "path": ["health"], "params": {}, "headers": {}}
	}
}

test_nothing_else_is_answered if {
	every path in [
		[],
		[""],
		["v0", "data", "aioc", "tool_policy", "decision"],
		["v1", "data"],
		["v1", "data", "aioc", "tool_policy"],
		["v1", "data", "aioc", "tool_policy", "decision", ""],
		["v1", "data", "aioc", "tool_policy", "decision", "effect"],
		["v1", "data", "aioc", "packs"],
		["v1", "data", "aioc", "access"],
		["v1", "data", "aioc", "tool_access"],
		["v1", "data", "aioc", "tool_access", "table", "allow"],
		["v1", "data", "system", "authz", "allow"],
		["v1", "query"],
		["v1", "compile"],
		["v1", "config"],
		["v1", "status"],
		["v1", "policies"],
		["v1", "policies", "system"],
		["metrics"],
		["health", "live"],
		["debug", "pprof"],
	] {
		every method in ["GET", "POST"] {
			not authz.allow with input as object.union(question, {"path": path, "method": method})
		}
	}
}

status := {"method": "GET", "path": ["v1", "status"], "params": {}, "headers": {}}

metrics := {"method": "GET", "path": ["metrics"], "params": {}, "headers": {}}

test_where_callers_are_known_a_decision_needs_one if {
	every group in ["guards", "operators"] {
		authz.allow with input as question with data.system.callers as {"groups": {group}}
	}
	every groups in [set(), {"others"}, {"guard"}] {
		not authz.allow with input as question with data.system.callers as {"groups": groups}
	}
}

test_callers_of_another_shape_close_the_server if {
	every odd in [false, null, {}, [], "guards", {"groups": "guards"}, {"groups": null}, {"tokens": {"guards": []}}] {
		every request in [question, status, metrics] {
			not authz.allow with input as request with data.system.callers as odd
		}
	}
}

test_health_needs_no_caller if {
	request := {"method": "GET", "path": ["health"], "params": {}, "headers": {}}
	authz.allow with input as request with data.system.callers as {"groups": set()}
}

test_the_status_is_for_guards_and_operators if {
	authz.allow with input as status with data.system.callers as {"groups": {"guards"}}
	authz.allow with input as status with data.system.callers as {"groups": {"operators"}}
	not authz.allow with input as status with data.system.callers as {"groups": set()}
	not authz.allow with input as status
}

test_metrics_are_for_operators if {
	authz.allow with input as metrics with data.system.callers as {"groups": {"operators"}}
	not authz.allow with input as metrics with data.system.callers as {"groups": {"guards"}}
	not authz.allow with input as metrics
}

test_callers_get_nothing_else if {
	everybody := {"groups": {"guards", "operators"}}
	every path in [
		["v1", "config"],
		["v1", "policies"],
		["v1", "data"],
		["v1", "query"],
		["v1", "status", "x"],
		["metrics", "x"],
	] {
		every method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
			request := {"method": method, "path": path, "params": {}, "headers": {}}
			not authz.allow with input as request with data.system.callers as everybody
		}
	}
	every request in [status, metrics] {
		every method in ["POST", "PUT", "HEAD"] {
			other := object.union(request, {"method": method})
			not authz.allow with input as other with data.system.callers as everybody
		}
		asked := object.union(request, {"params": {"pretty": [""]}})
		not authz.allow with input as asked with data.system.callers as everybody
	}
}

test_a_request_without_its_parts_is_refused if {
	not authz.allow with input as {}
	not authz.allow with input as {"method": "POST", "path": question.path}
	not authz.allow with input as null
}

# `with` does not merge, it replaces; object.union would keep the parameters that the case leaves out.
asked_with(params) := object.union(object.remove(question, ["params"]), {"params": params})
