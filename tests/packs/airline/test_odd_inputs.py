"""RULES.md 0.5: what the schema admits, the policy must decide without an error, whatever the values."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.packs.airline.reference import decide
from tests.packs.airline.test_samples import SAMPLES, read

if TYPE_CHECKING:
    from tests.packs.airline.engines import PackEngine
    from tests.packs.airline.schemas import Schemas

Call = dict[str, Any]
MANY = 2000
PERSON = {"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}
BOOKING = "allowed_booking"
CHANGE = "allowed_flight_change"


def sample(name: str, **changes: Any) -> Call:
    """A sample's call with other arguments, and its context below `context`."""
    call = copy.deepcopy(read(next(path for path in SAMPLES if path.stem == name))["call"])
    call["arguments"] = json.loads(call.pop("rawArguments")) | changes
    return call


def context(call: Call) -> Any:
    return call["runContext"]["context"]


def check(call: Call, pack: PackEngine, schemas: Schemas) -> tuple[str, tuple[str, ...]]:
    schemas.check(call)
    ruling = decide(call["toolName"], call["arguments"], context(call))
    assert pack.rule(call) == ruling
    return ruling


@pytest.mark.parametrize("name", [BOOKING, CHANGE, "passenger_count_changed"])
def test_empty_lists(name: str, pack: PackEngine, schemas: Schemas) -> None:
    call = sample(name)
    for key, value in call["arguments"].items():
        if isinstance(value, list):
            check(sample(name, **{key: []}), pack, schemas)
    emptied = sample(name)
    for key in ("flightStatus", "reservation"):
        if isinstance(context(emptied).get(key), list):
            context(emptied)[key] = []
        elif key in context(emptied):
            context(emptied)[key].update(passengers=[], flights=[])
    check(emptied, pack, schemas)


def test_nothing_at_all_costs_nothing(pack: PackEngine, schemas: Schemas) -> None:
    call = sample(BOOKING, flights=[], passengers=[], payment_methods=[], total_baggages=0)
    assert check(call, pack, schemas) == ("allow", ())


def with_number(number: float) -> list[Call]:
    bags = {"total_baggages": number, "nonfree_baggages": number} if float(number).is_integer() else {}
    broke = sample("payment_balance_insufficient")
    context(broke)["user"]["payment_methods"]["gift_card_1"]["amount"] = number
    return [
        sample("baggage_overcharged", **bags),
        sample(BOOKING, **bags),
        sample(BOOKING, payment_methods=[{"payment_id": "credit_card_1", "amount": number}]),
        sample("certificate_amount_invalid", amount=number),
        broke,
    ]


@pytest.mark.parametrize("number", [0, -1, -0.0, 1.0, 2**53 - 1, -(2**53) + 1, 1e15])
def test_zero_negative_and_huge_numbers(number: float, pack: PackEngine, schemas: Schemas) -> None:
    for call in with_number(number):
        check(call, pack, schemas)


@pytest.mark.parametrize("number", [2**53, 2**64, 1e300, -1e300, 1.7e308, 5e-324])
def test_numbers_that_only_opa_takes(number: float, on_opa: PackEngine, schemas: Schemas) -> None:
    """No error. The embedded engine refuses them before the policy sees them: it would round them."""
    for call in with_number(number):
        schemas.check(call)
        on_opa.rule(call)


@pytest.mark.parametrize(
    "text", ["", " ", "0000-00-00", "9999-99-99", "99999-01-01", "yesterday", "２０２４-05-20", "\u0000"]
)
def test_absurd_dates(text: str, pack: PackEngine, schemas: Schemas) -> None:
    check(sample(BOOKING, flights=[{"flight_number": "HAT001", "date": text}]), pack, schemas)
    check(sample(CHANGE, flights=[{"flight_number": "HAT001", "date": text}]), pack, schemas)
    check(sample(BOOKING, passengers=[{**PERSON, "dob": text}]), pack, schemas)
    for key in ("now", "created_at"):
        call = sample("cancel_not_eligible")
        (context(call) if key == "now" else context(call)["reservation"])[key] = text
        assert check(call, pack, schemas) == ("deny", ("cancel_not_eligible",))


def test_unknown_extra_keys_pass(pack: PackEngine, schemas: Schemas) -> None:
    flights = [{"flight_number": "HAT003", "date": "2024-05-20", "seat": [None, {"row": 1}]}]
    assert check(sample(CHANGE, flights=flights, note={"x": []}), pack, schemas) == ("allow", ())


def test_thousands_of_passengers(pack: PackEngine, schemas: Schemas) -> None:
    crowd = [PERSON] * (3 * MANY)
    check(sample(BOOKING, passengers=crowd), pack, schemas)
    call = sample("passenger_details_missing", passengers=[*crowd, {**PERSON, "dob": "?"}])
    context(call)["reservation"]["passengers"] = [*crowd, PERSON]
    assert check(call, pack, schemas) == ("deny", ("passenger_details_missing",))


def test_thousands_of_instruments(pack: PackEngine, schemas: Schemas) -> None:
    """A search an instrument would take seconds on an engine without an index."""
    ids = [f"gift_card_{number}" for number in range(MANY)]
    payments = [{"payment_id": payment_id, "amount": 0.07} for payment_id in ids * 2]
    call = sample(BOOKING, payment_methods=payments)
    methods = {payment_id: {"source": "gift_card", "amount": 0.14} for payment_id in ids}
    context(call)["user"]["payment_methods"] = methods
    assert check(call, pack, schemas) == ("deny", ("payment_total_mismatch", "too_many_gift_cards"))
    methods[ids[-1]]["amount"] = 0.13
    assert "payment_balance_insufficient" in check(call, pack, schemas)[1]


def test_thousands_of_flights(pack: PackEngine, schemas: Schemas) -> None:
    call = sample(CHANGE)
    legs, entries = context(call)["reservation"]["flights"], context(call)["flightStatus"]
    numbers = [f"HAT{number}" for number in range(MANY)] * 2
    for source, target in ((legs[0], legs), (entries[0], entries)):
        target[1:1] = [{**source, "flight_number": number} for number in numbers]
    call["arguments"]["flights"] = [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in legs]
    check(call, pack, schemas)
    call["arguments"]["cabin"] = "business"
    check(call, pack, schemas)
