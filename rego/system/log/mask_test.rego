package system.log_test

import future.keywords.not

import data.system.log

canary := "canary-5f3a"

# Text that an identifier never is: JSON, quotes, lines.
said := sprintf(`{"note": "%s"}`, [canary])

hash := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

event := {
	"path": "aioc/tool_policy/decision",
	"input": {
		"contractVersion": "1",
		"kind": "tool",
		"requestId": "r-1",
		"callId": "call_1",
		"agentName": "concierge",
		"toolName": "refund",
		"proposalHash": hash,
		"turn": 1,
		"decodeAssurance": "raw",
		"rawArguments": said,
		"requestedArguments": {"note": canary},
		"parsedArguments": {"note": canary},
		"argsCanonicalJson": said,
		"handoffPayload": {"note": canary},
		"payloadCanonicalJson": said,
		"runContext": {"runId": "run-1", "context": {"customer": canary}},
		"principal": {"identity": "kim@acme.example", "tenant": "acme", "roles": ["agent"], "onBehalfOf": ["Zoë K."]},
		"addedByTheNextVersion": canary,
	},
	"result": {
		"decision": "deny",
		"reason": "too_much",
		"reasons": ["too_much", sprintf("too_much_for_%s", [canary]), "pack_missing"],
		"proposalHash": hash,
		"requestId": "r-1",
		"kind": "tool",
		"policyVersion": "shop/1",
		"publicReason": concat(" ", ["You cannot refund", canary]),
		"metadata": {"note": canary},
		"addedByTheNextVersion": canary,
	},
	"nd_builtin_cache": {"http.send": {canary: canary}},
}

shown_of(logged) := rules if {
	packs := {"shop": {"manifest": {"codes": ["too_much", "ask"]}}}
	rules := log.mask with input as logged with data.aioc.packs as packs
}

# The masked parts of a masked event.
part(logged, name) := rule.value if {
	some rule in shown_of(logged)
	rule.path == concat("", ["/", name])
}

test_no_argument_no_hash_and_no_context_is_shown if {
	shown := json.marshal(shown_of(event))
	every erased in [canary, hash, "context", "proposalHash"] {
		not contains(shown, erased)
	}
}

test_what_identifies_the_decision_is_shown if {
	part(event, "input") == {
		"contractVersion": "1",
		"kind": "tool",
		"requestId": "r-1",
		"callId": "call_1",
		"agentName": "concierge",
		"toolName": "refund",
		"turn": 1,
		"decodeAssurance": "raw",
		"runContext": {"runId": "run-1"},
		"principal": event.input.principal,
	}
	part(event, "result") == {
		"decision": "deny",
		"reason": "too_much",
		"reasons": ["too_much", "undeclared", "pack_missing"],
		"requestId": "r-1",
		"kind": "tool",
		"policyVersion": "shop/1",
	}
}

test_a_handoff_is_shown_by_its_ends if {
	handoff := {"kind": "handoff", "requestId": "r-2", "fromAgentName": "Triage Agent", "toAgentName": "billing"}
	asked := object.union(handoff, {"handoffPayload": canary, "payloadCanonicalJson": canary, "proposalHash": hash})
	part({"input": asked}, "input") == handoff
	part({"result": {"kind": "handoff", "proposalHash": hash, "reason": "handoff_denied"}}, "result") == {
		"kind": "handoff",
		"reason": "handoff_denied",
	}
}

test_who_approved_is_shown_and_nothing_that_they_said if {
	vote := {"personId": "ann", "roles": ["lead"], "verdict": "approved", "at": "2026-01-01T00:00:00Z"}
	parts := {"id": "apr_1", "requestedBy": "bot", "requesters": ["kim"], "expiresAt": "2026-01-01T00:00:00.125+01:00"}
	approval := object.union(parts, {"votes": [vote]})
	told := {"proposalHash": hash, "policyRevision": said, "arguments": {"note": canary}}
	votes := [object.union(vote, {"reason": canary, "key": canary})]
	full := object.union(object.union(parts, told), {"votes": votes})
	part({"input": {"approval": full}}, "input") == {"approval": approval}
}

test_the_question_of_access_is_shown_without_its_digest if {
	request := {"identity": "bot", "tenantId": "acme", "toolName": "refund", "deadlineSeconds": 5, "resourceBudget": 1}
	asked := {"kind": "access", "requestId": "r-1", "request": request}
	spoilt := object.union(asked, {"requestDigest": hash, "request": {"arguments": canary, "model": {"note": canary}}})
	answer := {"decision": "allow", "kind": "access", "requestDigest": hash, "requestId": "r-1"}
	part({"input": spoilt, "result": answer}, "input") == asked
	part({"input": spoilt, "result": answer}, "result") == object.remove(answer, ["requestDigest"])
}

test_the_builtin_cache_is_taken_out if {
	"/nd_builtin_cache" in log.mask with input as event
}

test_an_input_of_another_shape_is_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, 7, null, {"toolName": {"note": canary}}] {
		part({"input": odd, "result": odd}, "input") == {}
		part({"input": odd, "result": odd}, "result") == {}
	}
}

test_a_part_of_another_shape_is_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, null, 7] {
		logged := {"input": {"principal": odd, "approval": odd, "runContext": odd, "request": odd}}
		part(logged, "input") == {"principal": {}, "approval": {}, "runContext": {}, "request": {}}
	}
}

# Whatever stands in the place of a name, a time, a number or a word, only what is one is copied.
test_no_value_is_copied_unchecked if {
	every odd in [said, {"note": canary}, [said], [[canary]], concat("\n", ["a", canary]), "", over_long, true] {
		names := {name: odd |
			some name in ((object.keys(log.input_kinds) | object.keys(log.request_kinds)) | object.keys(log.vote_kinds))
		}
		inner := object.union(names, {"id": odd, "requestedBy": odd, "requesters": odd, "expiresAt": odd, "tenant": odd})
		logged := object.union(names, {
			"principal": object.union(inner, {"onBehalfOf": odd}),
			"approval": object.union(inner, {"votes": [inner]}),
			"runContext": {"runId": odd},
			"request": inner,
		})
		part({"input": logged}, "input") == {
			"principal": {},
			"approval": {"votes": [{}]},
			"runContext": {},
			"request": {},
		}
	}
}

over_long := concat("", [canary | some _ in numbers.range(1, 30)])

test_only_the_words_that_a_field_may_have_are_shown if {
	words := {"kind": canary, "decodeAssurance": canary, "decision": canary, "resultMode": canary, "expiresAt": canary}
	part({"input": words, "result": words}, "input") == {}
	part({"input": words, "result": words}, "result") == {}
	sound := {"decision": "allow", "resultMode": "tool_result", "expiresAt": "2026-01-01T00:00:00Z", "kind": "tool"}
	part({"result": sound}, "result") == sound
}

test_a_result_of_other_shapes_is_replaced_too if {
	every odd in [[canary], {canary: canary}] {
		result := {"kind": odd, "reason": odd, "reasons": [odd], "approval": [canary], "requestId": odd}
		not contains(json.marshal(shown_of({"result": result})), canary)
	}
}

test_the_terms_of_a_hold_are_shown if {
	terms := {
		"requirements": [{"code": "ask", "approverRoles": ["lead"], "quorum": 2}],
		"separationOfDuties": false,
		"ttlSeconds": 60,
	}
	part({"result": {"approval": object.union(terms, {"note": canary})}}, "result") == {"approval": terms}
	odd := {"requirements": [{"code": said, "approverRoles": [said], "quorum": said}], "ttlSeconds": said}
	part({"result": {"approval": odd}}, "result") == {"approval": {"requirements": [{"code": "undeclared"}]}}
}

test_votes_of_another_shape_are_replaced_too if {
	every odd in [canary, [canary], {canary: canary}, null] {
		not contains(json.marshal(shown_of({"input": {"approval": {"votes": odd}}})), canary)
		not contains(json.marshal(shown_of({"result": {"approval": {"requirements": odd}}})), canary)
	}
}

test_an_event_without_input_and_result_is_replaced_too if {
	part({"path": "x"}, "input") == {}
	part({"path": "x"}, "result") == {}
	count(shown_of({"path": "x"})) == 3
}

test_an_event_with_an_error_is_dropped if {
	log.drop with input as object.union(event, {"error": {"code": "internal_error", "message": canary}})
}

test_any_other_event_is_kept if {
	not log.drop with input as event
}
