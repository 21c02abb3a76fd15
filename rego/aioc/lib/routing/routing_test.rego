package aioc.lib.routing_test

import data.aioc.lib.routing
import future.keywords.not

test_a_set_of_verdicts_is_itself if {
	routing.verdicts({{"code": "a"}}) == {{"code": "a"}}
	routing.verdicts(set()) == set()
}

test_a_rule_that_is_no_set_gives_a_malformed_verdict if {
	every rule in [true, false, null, 5, "deny", [], {}, {"code": "a"}] {
		routing.verdicts(rule) == {null}
	}
}

test_integers if {
	every number in [0, 1, -1, 1.0, 9007199254740991] {
		routing.is_integer(number)
	}
	every odd in [1.5, "1", null, [1]] {
		not routing.is_integer(odd)
	}
}
