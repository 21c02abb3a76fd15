package aioc.routes_test

import data.aioc.packs.airline_test
import data.aioc.routes
import future.keywords.not

call := {
	"kind": "tool",
	"requestId": "r",
	"proposalHash": "h",
	"toolName": "support_issue_refund",
	"decodeAssurance": "raw",
	"parsedArguments": {"amount": 5},
	"principal": {"identity": "sam", "tenant": "acme", "roles": ["support"]},
	"runContext": {"context": {}},
}

denials(question) := codes if {
	codes := {verdict.code | some verdict in routes.deny} with input as question
}

test_owner_is_reached if {
	denials(call) == set()
	{verdict.code | some verdict in routes.allow} == {"in_table"} with input as call
	routes.policy_version == "access_table/1" with input as call
	held := {verdict.code | some verdict in routes.require_approval} with input as object.union(
		call,
		{"parsedArguments": {"amount": 200}},
	)
	held == {"amount_needs_approval"}
}

test_tool_without_an_owner_reaches_nothing if {
	every tool in ["nobody_owns_this", "Support_issue_refund", "", null, 5, ["support_issue_refund"], {}] {
		question := object.union(call, {"toolName": tool})
		routes.allow == set() with input as question
		routes.require_approval == set() with input as question
		routes.deny == set() with input as question
		not routes.policy_version with input as question
	}
}

test_pack_that_is_not_loaded_denies if {
	every value in [false, null, "yes", 1] {
		codes := {verdict.code | some verdict in routes.deny} with input as call
			with data.aioc.packs.access_table.loaded as value
		codes == {"pack_missing"}
	}
}

test_table_that_is_missing_denies if {
	codes := {verdict.code | some verdict in routes.deny} with input as call
		with data.aioc.packs.access_table.tools as null
	"data_missing" in codes
}

test_context_that_is_missing_denies if {
	every context in [null, 5, "x", []] {
		denials(object.union(call, {"runContext": {"context": context}})) == {"context_missing"}
	}
	denials(object.remove(call, ["runContext"])) == {"context_missing"}
}

test_decoded_arguments_deny_where_raw_ones_are_required if {
	denials(object.union(call, {"decodeAssurance": "decoded"})) == {"raw_arguments_required"}
	denials(object.remove(call, ["decodeAssurance"])) == {"raw_arguments_required"}
}

test_rule_that_is_no_set_gives_a_malformed_verdict if {
	every rule in [true, false, "deny", {"code": "x"}] {
		verdicts := routes.deny with input as call with data.aioc.packs.access_table.deny as rule
		verdicts == {null}
	}
}

# Whatever a pack of this folder governs, it is asked for its context; and an empty call is no permission.
test_empty_call_of_any_owned_tool_is_denied if {
	every tool, _ in data.aioc.owners {
		"context_missing" in denials({"toolName": tool})
	}
}

test_any_owned_tool_has_a_policy_version if {
	every tool, pack in data.aioc.owners {
		version := routes.policy_version with input as {"toolName": tool}
		version == concat("/", [pack, data.aioc.packs[pack].manifest.version])
	}
}

airline_calls := [
	airline_test.booking,
	airline_test.cancellation,
	airline_test.certificate,
	airline_test.bags,
	airline_test.change,
	airline_test.people,
]

test_context_that_is_whole_passes if {
	every question in airline_calls {
		denials(question) == set()
		allowed := routes.allow with input as question
		count(allowed) == 1
	}
}

# The manifest's schemas say where null may stand: nobody is identified, no reservation was found.
test_context_with_the_nulls_that_are_declared_passes if {
	every question in airline_calls {
		anonymous := airline_test.ctx(question, {"identity/userId": null, "user": null, "reservation": null})
		not "context_missing" in denials(anonymous)
	}
	cancelled := airline_test.ctx(airline_test.cancellation, {"reservation/status": "cancelled"})
	not "context_missing" in denials(cancelled)
}

test_context_that_lacks_a_deep_path_denies if {
	every pointer in ["identity", "identity/userId", "userConfirmed", "user/membership", "flightStatus/0/prices/economy"] {
		"context_missing" in denials(airline_test.without(airline_test.booking, pointer))
	}
}
