package aioc.packs.access_table_test

import data.aioc.packs.access_table
import future.keywords.not

terms := {"approverRoles": ["owner"], "quorum": 2, "separationOfDuties": true, "ttlSeconds": 60}

tools := {
	"read": {"effect": "allow", "roles": ["support"]},
	"refund": {
		"effect": "allow",
		"roles": ["support"],
		"tenants": ["acme"],
		"limits": {"amount": 500},
		"approvalAbove": {"amount": 100},
	},
	"adjust": {
		"effect": "allow",
		"roles": ["support"],
		"limits": {"amount": 500, "fee": 5},
		"least": {"amount": -50},
	},
	"close": {"effect": "approval_required", "roles": ["support"], "approval": terms},
	"export": {"effect": "approval_required", "roles": ["support"]},
	"purge": {"effect": "deny", "roles": ["support"]},
	"nobody": {"effect": "allow", "roles": []},
}

support := {"identity": "sam", "tenant": "acme", "roles": ["guest", "support"]}

call(tool, arguments) := {"toolName": tool, "parsedArguments": arguments, "principal": support}

denials(question) := codes if {
	codes := {verdict.code | some verdict in access_table.deny} with input as question
		with data.aioc.packs.access_table.tools as tools
}

holds(question) := codes if {
	codes := {verdict.code | some verdict in access_table.require_approval} with input as question
		with data.aioc.packs.access_table.tools as tools
}

allows(question) := codes if {
	codes := {verdict.code | some verdict in access_table.allow} with input as question
		with data.aioc.packs.access_table.tools as tools
}

test_allow if {
	denials(call("read", {})) == set()
	holds(call("read", {})) == set()
	allows(call("read", {})) == {"in_table"}
}

test_tool_without_an_entry_is_denied if {
	denials(call("other", {})) == {"table_entry_invalid"}
	allows(call("other", {})) == set()
}

test_effect_deny if {
	denials(call("purge", {})) == {"tool_denied_by_table"}
	allows(call("purge", {})) == set()
}

test_role if {
	denials(object.union(call("read", {}), {"principal": {"roles": ["guest"]}})) == {"role_not_allowed"}
	denials(object.remove(call("read", {}), ["principal"])) == {"role_not_allowed"}
	denials(call("nobody", {})) == {"role_not_allowed"}
}

test_tenant if {
	within := call("refund", {"amount": 5})
	denials(within) == set()
	denials(object.union(within, {"principal": {"tenant": "initech"}})) == {"tenant_not_allowed"}
	denials(object.union(within, {"principal": {"tenant": null}})) == {"tenant_not_allowed"}
}

test_limit if {
	denials(call("refund", {"amount": 500})) == set()
	denials(call("refund", {"amount": 500.01})) == {"limit_exceeded"}
}

# Whatever the unit: half a cent would let 0.006 through a limit of 0.001.
test_limits_are_exact if {
	entry := {"effect": "allow", "roles": ["support"], "limits": {"btc": 0.001}, "least": {"btc": 0.0005}, "approvalAbove": {"btc": 0.0007}}
	every case in [
		{"btc": 0.0004, "denials": {"amount_below_least"}, "holds": set()},
		{"btc": 0.0005, "denials": set(), "holds": set()},
		{"btc": 0.0007, "denials": set(), "holds": set()},
		{"btc": 0.0008, "denials": set(), "holds": {"amount_needs_approval"}},
		{"btc": 0.001, "denials": set(), "holds": {"amount_needs_approval"}},
		{"btc": 0.0011, "denials": {"limit_exceeded"}, "holds": {"amount_needs_approval"}},
	] {
		asked := call("pay", {"btc": case.btc})
		{verdict.code | some verdict in access_table.deny} == case.denials with input as asked
			with data.aioc.packs.access_table.tools as {"pay": entry}
		{verdict.code | some verdict in access_table.require_approval} == case.holds with input as asked
			with data.aioc.packs.access_table.tools as {"pay": entry}
	}
}

test_argument_that_is_missing_or_no_number_is_not_within_its_limit if {
	every arguments in [{}, {"amount": null}, {"amount": "5"}, {"amount": [5]}, null, [], 5] {
		denials(call("refund", arguments)) == {"amount_not_positive", "limit_exceeded"}
		holds(call("refund", arguments)) == {"amount_needs_approval"}
	}
}

# Any negative amount is below a limit.
test_amount_that_is_zero_or_below_is_denied if {
	every amount in [0, -0.01, -100000] {
		denials(call("refund", {"amount": amount})) == {"amount_not_positive"}
	}
	held := {"t": {"effect": "allow", "roles": ["support"], "approvalAbove": {"amount": 5}}}
	codes := {verdict.code | some verdict in access_table.deny} with input as call("t", {"amount": -1})
		with data.aioc.packs.access_table.tools as held
	codes == {"amount_not_positive"}
}

test_least_of_an_entry_stands_for_zero if {
	denials(call("adjust", {"amount": -50, "fee": 1})) == set()
	denials(call("adjust", {"amount": -50.01, "fee": 1})) == {"amount_below_least"}
	denials(call("adjust", {"amount": 1, "fee": -1})) == {"amount_not_positive"}
	denials(call("adjust", {"amount": "1", "fee": 1})) == {"amount_below_least", "limit_exceeded"}
}

test_hold_above_an_amount if {
	holds(call("refund", {"amount": 100})) == set()
	holds(call("refund", {"amount": 100.01})) == {"amount_needs_approval"}
}

test_hold_on_terms_of_its_own_or_the_defaults if {
	own := {verdict.approval | some verdict in access_table.require_approval} with input as call("close", {})
		with data.aioc.packs.access_table.tools as tools
	own == {terms}
	defaults := {verdict.approval | some verdict in access_table.require_approval} with input as call("export", {})
		with data.aioc.packs.access_table.tools as tools
	defaults == {data.aioc.lib.approval_defaults}
}

# A hold is over an allow, not instead of one.
test_held_tool_is_allowed_too if allows(call("close", {})) == {"in_table"}

test_entry_that_is_none_denies if {
	every entry in [
		null,
		5,
		"allow",
		[],
		{},
		{"effect": "allow"},
		{"effect": "permit", "roles": ["support"]},
		{"effect": "allow", "roles": "support"},
		{"effect": "allow", "roles": ["support"], "tenant": ["acme"]},
		{"effect": "allow", "roles": ["support"], "tenants": "acme"},
		{"effect": "allow", "roles": ["support"], "limits": ["amount"]},
		{"effect": "allow", "roles": ["support"], "limits": {"amount": "500"}},
		{"effect": "allow", "roles": ["support"], "approvalAbove": {"amount": null}},
		{"effect": "allow", "roles": ["support"], "least": {"amount": "0"}},
		{"effect": "allow", "roles": ["support"], "least": 0},
	] {
		codes := {verdict.code | some verdict in access_table.deny} with input as call("x", {})
			with data.aioc.packs.access_table.tools as {"x": entry}
		codes == {"table_entry_invalid"}
		allowed := access_table.allow with input as call("x", {}) with data.aioc.packs.access_table.tools as {"x": entry}
		allowed == set()
	}
}

test_loaded if access_table.loaded
