# METADATA
# title: Who may use a tool, by a table
# description: |
#   data.aioc.access has tables of tools, identities, tenants, capabilities and providers. Whatever of these a request
#   names must have an entry in its table, and every one of these entries must let the request through:
#
#   {"effect": "allow" | "approval_required" | "deny"}, and what it is restricted to: `identities`, `groups`, `tenants`,
#   `tools`, `versions`, `capabilities`, `providers`, `models` (lists; an empty one is nobody, an absent one everybody),
#   `mostResourceBudget`, `mostDeadlineSeconds`. A tool's entry says who: `groups`, `identities` or both. An identity's
#   entry says in `memberOf` which groups it is in.
#
#   An entry that is missing, or is not one, denies. Entries are looked up by key, and lists in them are searched: put
#   many identities into groups, not into lists (design 5).
# schemas:
#   - input: schema.tool_access_input
package aioc.tool_access.table

import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: The request names something that its table does not have
deny contains verdict if {
	some table, name in _named
	not _is_listed(table, name)
	verdict := verdicts.deny(_unlisted[table])
}

# METADATA
# title: An entry is not one
# description: A typing error in a table must not read as permission.
deny contains verdict if {
	some table, name in _named
	_is_listed(table, name)
	not table in object.keys(_entries)
	verdict := verdicts.deny("access_entry_invalid")
}

# METADATA
# title: An entry denies
deny contains verdict if {
	some entry in _entries
	entry.effect == "deny"
	verdict := verdicts.deny("access_denied_by_table")
}

# METADATA
# title: An entry is restricted to others
# description: What the request does not say is in no list.
deny contains verdict if {
	some entry in _entries
	some restriction, list in entry
	field := _restrictions[restriction]
	not input.request[field] in list
	verdict := verdicts.deny(_refusals[restriction])
}

# METADATA
# title: An entry is restricted to groups that the identity is not in
deny contains verdict if {
	some entry in _entries
	"groups" in object.keys(entry)
	not _is_member_of(entry.groups)
	verdict := verdicts.deny("group_not_allowed")
}

# METADATA
# title: The request asks for more than an entry gives
deny contains verdict if {
	some entry in _entries
	some limit, most in entry
	field := _limits[limit]
	not _is_at_most(input.request[field], most)
	verdict := verdicts.deny(_refusals[limit])
}

# METADATA
# title: An entry wants a person to be asked
require_approval contains verdict if {
	some entry in _entries
	entry.effect == "approval_required"
	verdict := verdicts.hold("access_needs_approval")
}

# METADATA
# title: Everything that the request names is listed, unless something above denies or holds it
allow contains verdict if {
	object.keys(_named) == object.keys(_entries)
	verdict := verdicts.allow("listed_for_access")
}

# What the request names, by the table that it must be in. The tool and the identity are always asked for.
_named := object.union(
	{"identities": null, "tools": null},
	{table: name | some table, field in _tables; name := input.request[field]},
)

_tables := {
	"capabilities": "capability",
	"identities": "identity",
	"providers": "provider",
	"tenants": "tenantId",
	"tools": "toolName",
}

# An entry `false` or `null` is none.
_is_listed(table, name) if {
	is_string(name)
	data.aioc.access[table][name]
}

_entries := {table: entry |
	some table, name in _named
	is_string(name)
	entry := data.aioc.access[table][name]
	_is_entry(table, entry)
}

_unlisted := {
	"capabilities": "capability_not_listed",
	"identities": "identity_not_listed",
	"providers": "provider_not_listed",
	"tenants": "tenant_not_listed",
	"tools": "tool_not_listed",
}

_restrictions := {
	"capabilities": "capability",
	"identities": "identity",
	"models": "model",
	"providers": "provider",
	"tenants": "tenantId",
	"tools": "toolName",
	"versions": "toolVersion",
}

_limits := {"mostDeadlineSeconds": "deadlineSeconds", "mostResourceBudget": "resourceBudget"}

_refusals := {
	"capabilities": "capability_not_allowed",
	"identities": "identity_not_allowed",
	"models": "model_not_allowed",
	"mostDeadlineSeconds": "deadline_not_allowed",
	"mostResourceBudget": "budget_not_allowed",
	"providers": "provider_not_allowed",
	"tenants": "tenant_not_allowed",
	"tools": "tool_not_allowed",
	"versions": "version_not_allowed",
}

_is_member_of(groups) if {
	some group in _entries.identities.memberOf
	group in groups
}

_is_at_most(amount, most) if {
	is_number(amount)
	amount <= most
}

_is_entry(table, entry) if {
	is_object(entry)
	object.keys(entry) - _columns == set()
	entry.effect in {"allow", "approval_required", "deny"}
	every list in object.remove(entry, _no_lists) {
		is_array(list)
	}
	is_number(object.get(entry, "mostDeadlineSeconds", 0))
	is_number(object.get(entry, "mostResourceBudget", 0))
	_says_who(table, entry)
}

_columns := _no_lists | {
	"capabilities",
	"groups",
	"identities",
	"memberOf",
	"models",
	"providers",
	"tenants",
	"tools",
	"versions",
}

_no_lists := {"effect", "mostDeadlineSeconds", "mostResourceBudget"}

_says_who(table, _) if table != "tools"

# A tool for everybody is a group that everybody is in, not a forgotten list.
_says_who(_, entry) if object.keys(entry) & {"groups", "identities"} != set()
