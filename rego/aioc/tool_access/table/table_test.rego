package aioc.tool_access.table_test

import data.aioc.tool_access.table
import future.keywords.not

request := {
	"identity": "kim",
	"tenantId": "acme",
	"toolName": "refund",
	"toolVersion": "2",
	"capability": "chat",
	"provider": "openly",
	"model": "small",
	"deadlineSeconds": 5,
	"resourceBudget": 2,
}

open := {"effect": "allow"}

tables := {
	"tools": {"refund": {"effect": "allow", "groups": ["support", "billing"]}},
	"identities": {"kim": {"effect": "allow", "memberOf": ["support"]}, "lee": {"effect": "allow"}},
	"tenants": {"acme": open},
	"capabilities": {"chat": open},
	"providers": {"openly": open},
}

verdicts_for(asked, access) := {"deny": codes(denials), "hold": codes(holds), "allow": codes(allows)} if {
	denials := table.deny with input as {"request": asked} with data.aioc.access as access
	holds := table.require_approval with input as {"request": asked} with data.aioc.access as access
	allows := table.allow with input as {"request": asked} with data.aioc.access as access
}

codes(verdicts) := {verdict.code | some verdict in verdicts}

denied(asked, access) := verdicts_for(asked, access).deny

with_entry(name, key, entry) := object.union(without_entry(name, key), {name: {key: entry}})

without_entry(name, key) := object.union(object.remove(tables, [name]), {name: object.remove(tables[name], [key])})

keys := {"tools": "refund", "identities": "kim", "tenants": "acme", "capabilities": "chat", "providers": "openly"}

tools_entry(changes) := with_entry("tools", "refund", object.union(tables.tools.refund, changes))

test_everything_is_listed_and_allows if {
	verdicts_for(request, tables) == {"deny": set(), "hold": set(), "allow": {"listed_for_access"}}
}

test_what_is_not_named_is_not_asked if {
	asked := object.remove(request, ["tenantId", "capability", "provider", "model", "toolVersion"])
	verdicts_for(asked, object.filter(tables, ["tools", "identities"])).deny == set()
}

test_what_is_named_must_be_listed if {
	unlisted := {
		"tools": "tool_not_listed",
		"identities": "identity_not_listed",
		"tenants": "tenant_not_listed",
		"capabilities": "capability_not_listed",
		"providers": "provider_not_listed",
	}
	every name, key in keys {
		unlisted[name] in denied(request, without_entry(name, key))
		unlisted[name] in denied(request, object.remove(tables, [name]))
		verdicts_for(request, without_entry(name, key)).allow == set()
	}
}

test_the_tool_and_the_identity_are_always_asked_for if {
	denied(object.remove(request, ["toolName"]), tables) == {"tool_not_listed"}
	"identity_not_listed" in denied(object.remove(request, ["identity"]), tables)
}

test_a_name_that_is_no_text_is_listed_nowhere if {
	every odd in [null, 0, true, ["acme"], {}] {
		"tenant_not_listed" in denied(object.union(object.remove(request, ["tenantId"]), {"tenantId": odd}), tables)
		lists := object.union(object.remove(tables, ["tools"]), {"tools": [tables.tools.refund]})
		"tool_not_listed" in denied(object.union(object.remove(request, ["toolName"]), {"toolName": odd}), lists)
	}
}

test_names_are_exact if "tool_not_listed" in denied(object.union(request, {"toolName": "Refund"}), tables)

test_an_entry_that_is_none_denies if {
	every name, key in keys {
		every entry in [5, "allow", [], {}, {"effect": "permit"}, {"effect": "allow", "tenant": ["acme"]}] {
			found := verdicts_for(request, with_entry(name, key, entry))
			found.deny & {"access_entry_invalid"} != set()
			found.allow == set()
		}
		verdicts_for(request, with_entry(name, key, null)).allow == set()
	}
}

test_a_restriction_of_another_shape_is_an_invalid_entry if {
	every key in ["identities", "groups", "tenants", "tools", "versions", "capabilities", "providers", "models"] {
		every odd in ["support", null, {"kim": true}, 5] {
			"access_entry_invalid" in denied(request, tools_entry({key: odd}))
		}
	}
	every key in ["mostResourceBudget", "mostDeadlineSeconds"] {
		"access_entry_invalid" in denied(request, tools_entry({key: "5"}))
	}
}

test_a_tool_says_who if {
	denied(request, with_entry("tools", "refund", open)) == {"access_entry_invalid"}
	denied(request, with_entry("tools", "refund", {"effect": "allow", "identities": ["kim"]})) == set()
	denied(request, with_entry("tools", "refund", {"effect": "allow", "groups": []})) == {"group_not_allowed"}
	denied(request, with_entry("tools", "refund", {"effect": "allow", "identities": []})) == {"identity_not_allowed"}
}

test_any_entry_denies if {
	every name, key in keys {
		entry := object.union(tables[name][key], {"effect": "deny"})
		denied(request, with_entry(name, key, entry)) == {"access_denied_by_table"}
	}
}

test_any_entry_holds if {
	every name, key in keys {
		entry := object.union(tables[name][key], {"effect": "approval_required"})
		verdicts_for(request, with_entry(name, key, entry)).hold == {"access_needs_approval"}
	}
}

restrictions := {
	"capabilities": ["capability", "chat", "capability_not_allowed"],
	"identities": ["identity", "kim", "identity_not_allowed"],
	"models": ["model", "small", "model_not_allowed"],
	"providers": ["provider", "openly", "provider_not_allowed"],
	"tenants": ["tenantId", "acme", "tenant_not_allowed"],
	"tools": ["toolName", "refund", "tool_not_allowed"],
	"versions": ["toolVersion", "2", "version_not_allowed"],
}

test_every_entry_may_be_restricted_to_every_list if {
	every name, key in keys {
		every restriction, told in restrictions {
			entry := tables[name][key]
			denied(request, with_entry(name, key, object.union(entry, {restriction: [told[1], "z"]}))) == set()
			denied(request, with_entry(name, key, object.union(entry, {restriction: ["z"]}))) == {told[2]}
			denied(request, with_entry(name, key, object.union(entry, {restriction: []}))) == {told[2]}
		}
	}
}

test_what_the_request_does_not_say_is_in_no_list if {
	every restriction in ["capabilities", "models", "providers", "tenants", "versions"] {
		told := restrictions[restriction]
		silent := object.remove(request, [told[0]])
		told[2] in denied(silent, tools_entry({restriction: [told[1]]}))
	}
}

test_groups_are_those_of_the_identitys_entry if {
	denied(object.union(request, {"identity": "lee"}), tables) == {"group_not_allowed"}
	every name, key in keys {
		entry := object.union(tables[name][key], {"groups": ["board"]})
		denied(request, with_entry(name, key, entry)) == {"group_not_allowed"}
	}
}

test_limits if {
	denied(request, tools_entry({"mostResourceBudget": 2, "mostDeadlineSeconds": 5})) == set()
	denied(request, tools_entry({"mostResourceBudget": 1})) == {"budget_not_allowed"}
	denied(request, tools_entry({"mostDeadlineSeconds": 4.5})) == {"deadline_not_allowed"}
	every odd in [null, "1", true] {
		asked := object.union(request, {"resourceBudget": odd})
		denied(asked, tools_entry({"mostResourceBudget": 2})) == {"budget_not_allowed"}
	}
}
