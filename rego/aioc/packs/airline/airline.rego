# METADATA
# scope: package
# title: Airline agent
# description: |
#   The authorization rules of the airline corpus (examples/airline/RULES.md), whose sections the comments cite.
#   `deny` and `require_approval` hold every rule that is met; rules do not hide one another, except that
#   `reservation_not_found` stands alone (1.4).
#
#   What RULES.md leaves open, because the context may not be so, is closed here: a missing or broken path makes a
#   rule hold rather than vanish wherever the rule can be written so, and the manifest (data.json) lets the
#   routes deny a context that lacks one.
package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: The pack is loaded
# description: |
#   Each other file says `<file>_loaded := true`. Where one of these is missing, the routes deny as `pack_missing`.
loaded := true

# METADATA
# title: Tools that only read, think or hand over (0.3)
# description: Their arguments are not checked, not even for ownership.
allow contains verdict if {
	input.toolName in {
		"calculate",
		"get_reservation_details",
		"get_user_details",
		"list_all_airports",
		"search_direct_flight",
		"search_onestop_flight",
		"think",
		"transfer_to_human_agents",
	}
	verdict := verdicts.allow("tool_without_effect")
}

# METADATA
# title: Write tools (0.2)
# description: Allowed but for the verdicts of this package.
allow contains verdict if {
	input.toolName in {
		"book_reservation",
		"cancel_reservation",
		"send_certificate",
		"update_reservation_baggages",
		"update_reservation_flights",
		"update_reservation_passengers",
	}
	verdict := verdicts.allow("no_rule_against")
}
