package aioc.packs.airline_test

import data.aioc.packs.airline
import future.keywords.not

test_every_file_says_that_it_is_loaded if {
	airline.loaded
	airline.baggage_loaded
	airline.balances_loaded
	airline.cancellation_loaded
	airline.certificates_loaded
	airline.facts_loaded
	airline.flights_loaded
	airline.general_loaded
	airline.itinerary_loaded
	airline.passengers_loaded
	airline.payment_loaded
	airline.segments_loaded
	airline.totals_loaded
}

test_write_tools_are_allowed_when_no_rule_is_against if {
	every calm in [booking, cancellation, bags, change, people] {
		nothing_against(calm)
	}
}

# 0.3: always allow, whoever asks and whatever the arguments
test_other_tools_are_allowed if {
	every tool in [
		"get_user_details",
		"get_reservation_details",
		"search_direct_flight",
		"search_onestop_flight",
		"list_all_airports",
		"calculate",
		"think",
		"transfer_to_human_agents",
	] {
		nothing_against({"toolName": tool, "parsedArguments": {}, "runContext": {"context": {}}})
	}
}

# 0.4: no verdict at all for any other name
test_an_unknown_tool_is_not_allowed if {
	stranger := object.union(booking, {"toolName": "delete_user"})
	denied(stranger) == set()
	held(stranger) == set()
	airline.allow == set() with input as stranger
}

# The manifest lists the tools that the rules allow, and the 33 codes beside those of the two allow verdicts.
test_manifest if {
	count(airline.manifest.tools) == 14
	every tool, _ in airline.manifest.tools {
		count(airline.allow) == 1 with input as {"toolName": tool}
	}
	count({code | some code in airline.manifest.codes} - {"no_rule_against", "tool_without_effect"}) == 33
}
