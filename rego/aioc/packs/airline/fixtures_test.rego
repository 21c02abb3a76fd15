# METADATA
# scope: package
# title: Tests of the airline pack
# description: One call of each write tool that no rule is against, and ways to change it in a place or two.
package aioc.packs.airline_test

import data.aioc.packs.airline
import future.keywords.not

denied(call) := codes if codes := {verdict.code | some verdict in airline.deny} with input as call

held(call) := codes if codes := {verdict.code | some verdict in airline.require_approval} with input as call

nothing_against(call) if {
	denied(call) == set()
	held(call) == set()
	count(airline.allow) == 1 with input as call
}

# The call with other arguments or context; keys are JSON pointers below either.
args(call, changes) := json.patch(call, [patch |
	some pointer, value in changes
	patch := {"op": "add", "path": sprintf("/parsedArguments/%s", [pointer]), "value": value}
])

ctx(call, changes) := json.patch(call, [patch |
	some pointer, value in changes
	patch := {"op": "add", "path": sprintf("/runContext/context/%s", [pointer]), "value": value}
])

without(call, pointer) := json.patch(call, [{
	"op": "remove",
	"path": sprintf("/runContext/context/%s", [pointer]),
}])

someone := {"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}

first := {"flight_number": "HAT001", "date": "2024-05-20"}

second := {"flight_number": "HAT002", "date": "2024-05-20"}

direct := {"flight_number": "HAT003", "date": "2024-05-20"}

back := {"flight_number": "HAT004", "date": "2024-05-27"}

to_newark := {"flight_number": "HAT005", "date": "2024-05-20"}

unknown := {"flight_number": "HAT999", "date": "2024-05-20"}

open_flight(flight, origin, destination) := object.union(flight, {
	"status": "available",
	"origin": origin,
	"destination": destination,
	"prices": {"basic_economy": 50, "economy": 100, "business": 300},
	"available_seats": {"basic_economy": 9, "economy": 9, "business": 9},
})

closed_flight(flight, state) := object.union(flight, {
	"status": state,
	"origin": "JFK",
	"destination": "SEA",
	"prices": null,
	"available_seats": null,
})

statuses := [
	open_flight(first, "JFK", "ATL"),
	open_flight(second, "ATL", "SEA"),
	open_flight(direct, "JFK", "SEA"),
	open_flight(back, "SEA", "JFK"),
	open_flight(to_newark, "JFK", "EWR"),
]

customer := {
	"membership": "gold",
	"payment_methods": {
		"certificate_1": {"source": "certificate", "amount": 100},
		"certificate_2": {"source": "certificate", "amount": 100},
		"credit_card_1": {"source": "credit_card"},
		"credit_card_2": {"source": "credit_card"},
		"gift_card_1": {"source": "gift_card", "amount": 100},
		"gift_card_2": {"source": "gift_card", "amount": 100},
		"gift_card_3": {"source": "gift_card", "amount": 100},
		"gift_card_4": {"source": "gift_card", "amount": 100},
	},
}

record := {
	"user_id": "mia_li_3668",
	"origin": "JFK",
	"destination": "SEA",
	"flight_type": "one_way",
	"cabin": "economy",
	"flights": [
		object.union(first, {"origin": "JFK", "destination": "ATL", "price": 100}),
		object.union(second, {"origin": "ATL", "destination": "SEA", "price": 100}),
	],
	"passengers": [someone, someone],
	"created_at": "2024-05-15T10:00:00",
	"insurance": "no",
	"total_baggages": 2,
	"nonfree_baggages": 0,
}

call(tool, arguments) := {
	"toolName": tool,
	"parsedArguments": arguments,
	"runContext": {"context": {
		"now": "2024-05-15T15:00:00-05:00",
		"identity": {"userId": "mia_li_3668"},
		"userConfirmed": true,
		"user": customer,
		"reservation": record,
		"flightStatus": statuses,
	}},
}

booking := call("book_reservation", {
	"user_id": "mia_li_3668",
	"origin": "JFK",
	"destination": "SEA",
	"flight_type": "one_way",
	"cabin": "economy",
	"flights": [first, second],
	"passengers": [someone, someone],
	"payment_methods": [{"payment_id": "credit_card_1", "amount": 400}],
	"total_baggages": 2,
	"nonfree_baggages": 0,
	"insurance": "no",
})

cancellation := call("cancel_reservation", {"reservation_id": "JG7FMM"})

certificate := call("send_certificate", {"user_id": "mia_li_3668", "amount": 100})

bags := call("update_reservation_baggages", {
	"reservation_id": "JG7FMM",
	"total_baggages": 3,
	"nonfree_baggages": 0,
	"payment_id": "credit_card_1",
})

change := call("update_reservation_flights", {
	"reservation_id": "JG7FMM",
	"cabin": "economy",
	"flights": [first, second],
	"payment_id": "credit_card_1",
})

people := call("update_reservation_passengers", {"reservation_id": "JG7FMM", "passengers": [someone, someone]})

reservation_calls := [cancellation, bags, change, people]

write_calls := array.concat([booking, certificate], reservation_calls)
