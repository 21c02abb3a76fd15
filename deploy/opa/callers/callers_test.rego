package system.callers_test

import future.keywords.not

import data.system.authz
import data.system.callers

known := {"guards": [crypto.sha256("g")], "operators": {"monitoring": crypto.sha256("o")}}

test_a_caller_is_known_by_its_digest if {
	callers.groups == {"guards"} with input as {"identity": "g"} with data.system.callers.tokens as known
	callers.groups == {"operators"} with input as {"identity": "o"} with data.system.callers.tokens as known
}

test_nobody_else_is_known if {
	every request in [{}, {"identity": ""}, {"identity": "x"}, {"identity": crypto.sha256("g")}, {"identity": null}, null] {
		callers.groups == set() with input as request with data.system.callers.tokens as known
	}
}

test_digests_of_another_shape_know_nobody if {
	every odd in [false, null, [], "g", {"guards": "g"}, {"others": [crypto.sha256("g")]}] {
		callers.groups == set() with input as {"identity": "g"} with data.system.callers.tokens as odd
	}
}

test_authorization_goes_by_it if {
	status := {"method": "GET", "path": ["v1", "status"], "params": {}, "headers": {}, "identity": "g"}
	authz.allow with input as status with data.system.callers.tokens as known
	not authz.allow with input as object.union(status, {"identity": "x"}) with data.system.callers.tokens as known
}

test_without_digests_the_server_is_closed if {
	question := {
		"method": "POST",
		"path": ["v1", "data", "aioc", "tool_policy", "decision"],
		"params": {"strict-builtin-errors": ["true"]},
	}
	not authz.allow with input as question
}
