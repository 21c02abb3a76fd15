package system.log_test

import future.keywords.not

import data.system.log

canary := "canary-5f3a"

event := {
	"path": "aioc/tool_policy/decision",
	"input": {
		"contractVersion": "1",
		"kind": "tool",
		"requestId": "r-1",
		"agentName": "concierge",
		"toolName": "refund",
		"proposalHash": "00",
		"turn": 1,
		"rawArguments": sprintf(`{"note": "%s"}`, [canary]),
		"requestedArguments": {"note": canary},
		"parsedArguments": {"note": canary},
		"argsCanonicalJson": sprintf(`{"note": "%s"}`, [canary]),
		"handoffPayload": {"note": canary},
		"payloadCanonicalJson": sprintf(`{"note": "%s"}`, [canary]),
		"runContext": {"runId": "run-1", "context": {"customer": canary}},
		"principal": {"identity": "alice", "roles": ["agent"]},
		"addedByTheNextVersion": canary,
	},
	"result": {
		"decision": "deny",
		"reason": "too_much",
		"reasons": ["too_much"],
		"proposalHash": "00",
		"requestId": "r-1",
		"kind": "tool",
		"publicReason": concat(" ", ["You cannot refund", canary]),
		"metadata": {"note": canary},
		"addedByTheNextVersion": canary,
	},
	"nd_builtin_cache": {"http.send": {canary: canary}},
}

test_no_argument_and_no_context_is_shown if {
	shown := log.mask with input as event
	not contains(json.marshal(shown), canary)
}

test_what_identifies_the_decision_is_shown if {
	shown := log.mask with input as event
	{"op": "upsert", "path": "/input", "value": {
		"contractVersion": "1",
		"kind": "tool",
		"requestId": "r-1",
		"agentName": "concierge",
		"toolName": "refund",
		"proposalHash": "00",
		"turn": 1,
		"runContext": {"runId": "run-1"},
		"principal": {"identity": "alice", "roles": ["agent"]},
	}} in shown
	{"op": "upsert", "path": "/result", "value": {
		"decision": "deny",
		"reason": "too_much",
		"reasons": ["too_much"],
		"proposalHash": "00",
		"requestId": "r-1",
		"kind": "tool",
	}} in shown
}

test_who_approved_is_shown_and_nothing_that_they_said if {
	vote := {"personId": "ann", "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}
	approval := {"id": "apr_1", "proposalHash": "00", "requestedBy": "bot", "requesters": ["kim"], "votes": [vote]}
	said := object.union(approval, {"votes": [object.union(vote, {"reason": canary})], "arguments": {"note": canary}})
	shown := log.mask with input as {"input": {"approval": said}}
	{"op": "upsert", "path": "/input", "value": {"approval": approval}} in shown
}

test_the_question_of_access_is_shown_as_scalars if {
	request := {"identity": "bot", "tenantId": "acme", "toolName": "refund", "deadlineSeconds": 5, "resourceBudget": 1}
	asked := {"kind": "access", "requestId": "r-1", "requestDigest": "00", "request": request}
	spoilt := object.union(asked, {"request": {"arguments": canary, "model": {"note": canary}}})
	shown := log.mask with input as {"input": spoilt, "result": {"decision": "allow", "requestDigest": "00"}}
	{"op": "upsert", "path": "/input", "value": asked} in shown
	{"op": "upsert", "path": "/result", "value": {"decision": "allow", "requestDigest": "00"}} in shown
}

test_the_builtin_cache_is_taken_out if {
	"/nd_builtin_cache" in log.mask with input as event
}

test_an_input_of_another_shape_is_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, 7, null, {"toolName": {"note": canary}}] {
		shown := log.mask with input as {"input": odd, "result": odd}
		{"op": "upsert", "path": "/input", "value": {}} in shown
		{"op": "upsert", "path": "/result", "value": {}} in shown
	}
}

test_a_part_of_another_shape_is_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, null] {
		shown := log.mask with input as {"input": {"principal": odd, "approval": odd, "runContext": odd, "request": odd}}
		expected := {"principal": {}, "approval": {}, "runContext": {}, "request": {}}
		{"op": "upsert", "path": "/input", "value": expected} in shown
	}
}

test_a_result_of_other_shapes_is_replaced_too if {
	every odd in [[canary], {canary: canary}] {
		result := {"kind": odd, "reason": odd, "reasons": [odd], "approval": [canary], "requestId": odd}
		shown := log.mask with input as {"result": result}
		not contains(json.marshal(shown), canary)
	}
	terms := {"requirements": [{"code": "ask"}], "separationOfDuties": false, "ttlSeconds": 60}
	shown := log.mask with input as {"result": {"approval": object.union(terms, {"note": canary})}}
	{"op": "upsert", "path": "/result", "value": {"approval": terms}} in shown
}

test_votes_of_another_shape_are_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, null] {
		shown := log.mask with input as {"input": {"approval": {"votes": odd}}}
		not contains(json.marshal(shown), canary)
	}
}

test_an_event_without_input_and_result_is_replaced_too if {
	shown := log.mask with input as {"path": "x"}
	count(shown) == 3
}

test_an_event_with_an_error_is_dropped if {
	log.drop with input as object.union(event, {"error": {"code": "internal_error", "message": canary}})
}

test_any_other_event_is_kept if {
	not log.drop with input as event
}
