package aioc.packs.airline_test

import data.aioc.packs.airline
import future.keywords.not

test_passenger_count_is_of_the_arguments_when_booking if {
	airline.passenger_count == 3 with input as args(booking, {"passengers/-": someone})
}

test_passenger_count_is_of_the_reservation_when_updating if {
	every update in [bags, change, people] {
		airline.passenger_count == 3 with input as ctx(update, {"reservation/passengers/-": someone})
	}
}

test_anonymous_only_where_the_context_says_so if {
	airline.anonymous with input as ctx(booking, {"identity/userId": null})
	not airline.anonymous with input as without(booking, "identity")
	not airline.anonymous with input as booking
}

test_no_user_only_where_the_context_says_so if {
	airline.no_user with input as ctx(booking, {"user": null})
	not airline.no_user with input as without(booking, "user")
	not airline.no_user with input as booking
}

test_a_booking_needs_no_target if {
	airline.target_known with input as ctx(booking, {"reservation": null})
	not airline.target_known with input as ctx(change, {"reservation": null})
	airline.target_known with input as change
}
