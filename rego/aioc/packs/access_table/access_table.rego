# METADATA
# title: Decide by a table, without Rego
# description: |
#   data.json has an entry a tool: who may use it (roles, tenants), within which limits, and whether it is allowed,
#   denied or held. See README.md for the columns. An entry that is missing or is not one denies.
# schemas:
#   - input: schema.tool_policy_input
package aioc.packs.access_table

import data.aioc.lib.money
import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: The pack is here
loaded := true

_entry := data.aioc.packs.access_table.tools[input.toolName]

# METADATA
# title: The tool has no entry, or its entry is not one
# description: A typing error in the table must not read as permission.
deny contains verdict if {
	not _is_sound
	verdict := verdicts.deny("table_entry_invalid")
}

# METADATA
# title: The table denies the tool
deny contains verdict if {
	_entry.effect == "deny"
	verdict := verdicts.deny_because("tool_denied_by_table", "This tool is switched off.")
}

# METADATA
# title: The principal has none of the roles
# description: Without a principal there is no role.
deny contains verdict if {
	_is_sound
	not _has_role
	verdict := verdicts.deny("role_not_allowed")
}

# METADATA
# title: The principal's tenant is not one of the tenants
# description: An entry without tenants is for all of them.
deny contains verdict if {
	_is_sound
	not _is_of_tenant
	verdict := verdicts.deny("tenant_not_allowed")
}

# METADATA
# title: An argument is above its limit
# description: An argument that is missing, or is not a number, is not within a limit.
deny contains verdict if {
	_is_sound
	some argument, most in _entry.limits
	not _is_at_most(input.parsedArguments[argument], most)
	verdict := verdicts.deny_because("limit_exceeded", "An amount is above what this tool may handle.")
}

# METADATA
# title: An argument with a limit is zero or below
# description: Any negative amount is below a limit. An entry that means to take one says so with `least`.
deny contains verdict if {
	_is_sound
	some argument in (_limited - object.keys(_least))
	not money.is_positive(input.parsedArguments[argument])
	verdict := verdicts.deny_because("amount_not_positive", "An amount must be above zero.")
}

# METADATA
# title: An argument is below its least
deny contains verdict if {
	_is_sound
	some argument, least in _least
	not _is_at_most(least, input.parsedArguments[argument])
	verdict := verdicts.deny_because("amount_below_least", "An amount is below what this tool may handle.")
}

# METADATA
# title: The table holds the tool
require_approval contains verdict if {
	_is_sound
	_entry.effect == "approval_required"
	verdict := _hold("tool_needs_approval")
}

# METADATA
# title: An argument is above what goes without approval
require_approval contains verdict if {
	_is_sound
	some argument, most in _entry.approvalAbove
	not _is_at_most(input.parsedArguments[argument], most)
	verdict := _hold("amount_needs_approval")
}

# METADATA
# title: The table lets the tool through, unless something above denies or holds it
allow contains verdict if {
	_is_sound
	_entry.effect in {"allow", "approval_required"}
	verdict := verdicts.allow("in_table")
}

# Asked by every rule, and so a rule of its own, which is evaluated once a call.
_is_sound if _is_entry(_entry)

# For entries that are ones: each of the three is an object where it is given.
_limited := object.keys(object.get(_entry, "limits", {})) | object.keys(object.get(_entry, "approvalAbove", {}))

_least := object.get(_entry, "least", {})

# Exactly: a column has no unit of its own, and half a cent would be five times a limit of 0.001.
_is_at_most(amount, limit) if {
	is_number(amount)
	is_number(limit)
	amount <= limit
}

_hold(code) := verdicts.hold_with(code, _entry.approval) if "approval" in object.keys(_entry)

_hold(code) := verdicts.hold(code) if not "approval" in object.keys(_entry)

_has_role if {
	some role in input.principal.roles
	role in _entry.roles
}

_is_of_tenant if not "tenants" in object.keys(_entry)

_is_of_tenant if input.principal.tenant in _entry.tenants

_is_entry(entry) if {
	is_object(entry)
	object.keys(entry) - {
		"effect",
		"roles",
		"tenants",
		"limits",
		"least",
		"approvalAbove",
		"approval",
	} == set()
	entry.effect in {"allow", "approval_required", "deny"}
	is_array(entry.roles)
	_is_list_if_given(entry, "tenants")
	_are_limits_if_given(entry, "limits")
	_are_limits_if_given(entry, "least")
	_are_limits_if_given(entry, "approvalAbove")
}

_is_list_if_given(entry, key) if not key in object.keys(entry)

_is_list_if_given(entry, key) if is_array(entry[key])

_are_limits_if_given(entry, key) if not key in object.keys(entry)

_are_limits_if_given(entry, key) if {
	is_object(entry[key])
	every most in entry[key] {
		is_number(most)
	}
}
