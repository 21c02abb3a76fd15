"""Random calls of the airline tools: from scratch over a small vocabulary, and by mutating recorded ones.

Every call satisfies its tool's `inputSchema`, and every context what the pack's manifest asks for; the test checks
both with a JSON Schema validator. Amounts keep to two decimals and off the half cent (RULES.md 0.9), and numbers to
what both engines take (2^53-1).
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Json = Any

CABINS = ["basic_economy", "economy", "business"]
MEMBERS = ["regular", "silver", "gold"]
STATES = ["available", "available", "available", "delayed", "on time", "flying", "landed", "cancelled"]
AIRPORTS = ["JFK", "LGA", "EWR", "SEA"]
SEGMENTS = [(number, day) for number in ("HAT001", "HAT002", "hat001") for day in ("2024-05-20", "2024-05-21", "never")]
USERS = ["mia_li_3668", "omar_davis_3817", ""]
IDS = ["gift_card_1", "gift_card_2", "gift_card_3", "gift_card_4", "certificate_1", "certificate_2"]
IDS += ["credit_card_1", "credit_card_2", "Certificate_3", "paypal_1", ""]
NAMES = ["Mia", "Zoë", " ", "李", "x" * 40]
BIRTHDAYS = ["1990-04-05", "9999-99-99", "0000-00-00"]
BAD_BIRTHDAYS = ["", "1990-4-5", "1990-04-05\n", " 1990-04-05", "1990/04/05", "\uff11990-04-05", "1990-04-05T00:00:00"]
TIMES = ["2024-05-15T15:00:00", "2024-05-14T15:00:00", "2024-05-14T14:59:59", "2024-05-14T15:00:00.000000001"]
TIMES += ["2024-05-15T15:00:00.5", "2024-03-01T00:00:00", "2024-02-29T00:00:00", "2023-03-01T00:00:00"]
TIMES += [
    "2023-02-28T00:00:00",
    "2023-02-29T00:00:00",
    "2024-01-01T00:00:00",
    "2023-12-31T00:00:00",
    "9999-12-31T23:59:59",
]
TIMES += [
    "1900-02-28T12:00:00",
    "1900-03-01T12:00:00",
    "2000-02-29T12:00:00",
    "2000-03-01T12:00:00",
    "2024-04-31T00:00:00",
]
TIMES += [
    "0001-01-01T00:00:00",
    "0000-01-01T00:00:00",
    "2200-01-01T00:00:00",
    "2262-04-12T00:00:00",
    "2262-04-12T00:00:00",
    "2262-04-11T23:47:17",
    "2024-05-15T24:00:00",
]
TIMES += [
    "2024-05-15t15:00:00",
    "2024-05-15 15:00:00",
    "2024-05-15",
    "",
    "now",
    "2024-13-01T00:00:00",
    "2024-05-15T15:00:60",
]
OFFSETS = ["-05:00", "Z", "+14:00", "-00:00", "", "z", "+24:00", "-05:60", "-5:00"]
COUNTS = [-1, 0, 1, 1, 2, 3, 4, 5, 6, 7]
BIG = [10**9, -(10**9), 2**53 - 1, -(2**53) + 1]


def seeded(seed: int) -> random.Random:
    """The generator of one call, so that a failure names all it takes to see it again."""
    return random.Random(seed)  # noqa: S311 - test data, no secret


def money(rng: random.Random) -> float:
    return rng.choice([0, 50, 100, 30, 255, rng.randrange(-300, 600), round(rng.randrange(-30000, 60000) / 100, 2)])


def seg(pair: tuple[str, str]) -> Json:
    return {"flight_number": pair[0], "date": pair[1]}


def person(rng: random.Random) -> Json:
    bad = rng.random()
    return {
        "first_name": "" if bad < 0.02 else rng.choice(NAMES),
        "last_name": "" if 0.02 < bad < 0.04 else rng.choice(NAMES),
        "dob": rng.choice(BAD_BIRTHDAYS if bad > 0.96 else BIRTHDAYS),
    }


def people(rng: random.Random, count: int | None = None) -> list[Json]:
    return [person(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5, 6]) if count is None else count)]


def flights(rng: random.Random) -> list[Json]:
    chosen = [seg(rng.choice(SEGMENTS)) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    for flight in chosen:
        if rng.random() < 0.05:
            flight["cabin"] = rng.choice([*CABINS, None, False, 0, {}, []])
    return chosen


def status(rng: random.Random) -> list[Json]:
    pairs = [pair for pair in SEGMENTS if rng.random() < 0.85] + rng.choices(SEGMENTS, k=rng.choice([0, 0, 2]))
    entries = []
    for pair in pairs:
        state = rng.choice(STATES)
        free = state == "available"
        seats = {cabin: rng.choice([0, 1, 2, 5, 20, 20]) for cabin in CABINS}
        fares = {cabin: rng.choice([50, 120, 77.77, 0]) for cabin in CABINS}
        ends = {"origin": rng.choice(AIRPORTS), "destination": rng.choice(AIRPORTS)}
        entries.append({**seg(pair), "status": state, "prices": fares if free else None, **ends})
        entries[-1]["available_seats"] = seats if free else None
    return entries


def profile(rng: random.Random) -> Json:
    methods = {}
    for key in IDS:
        if rng.random() < 0.75:
            kinds = ["gift_card", "certificate", "credit_card"]
            source = next((kind for kind in kinds if key.startswith(kind)), "credit_card")
            methods[key] = {"source": rng.choice([*kinds, "voucher"]) if rng.random() < 0.1 else source}
            if methods[key]["source"] != "credit_card" and rng.random() < 0.97:
                methods[key]["amount"] = money(rng)
    return {"membership": rng.choice(MEMBERS), "payment_methods": methods}


def record(rng: random.Random) -> Json:
    legs = [
        {**seg(rng.choice(SEGMENTS)), "price": rng.choice([50, 120, 99.99])} for _ in range(rng.choice([0, 1, 2, 2, 3]))
    ]
    for leg in legs:
        leg.update(origin=rng.choice(AIRPORTS), destination=rng.choice(AIRPORTS))
    res = {
        "user_id": rng.choice(USERS[:1] * 4 + USERS),
        "cabin": rng.choice(CABINS),
        "flights": legs,
        "passengers": people(rng),
        "origin": rng.choice(AIRPORTS),
        "destination": rng.choice(AIRPORTS),
        "flight_type": rng.choice(["one_way", "round_trip"]),
        "created_at": rng.choice(TIMES),
        "insurance": rng.choice(["yes", "no", "no", "YES"]),
        "total_baggages": rng.choice(COUNTS),
        "nonfree_baggages": rng.choice(COUNTS),
    }
    if rng.random() < 0.1:
        res["status"] = rng.choice(["cancelled", "active", None])
    return res


def context(rng: random.Random) -> Json:
    identity = rng.choice([None, *USERS[:1] * 5, USERS[1]])
    broken = rng.random() < 0.02  # 0.6 says null exactly together; what a broken context does is tested too
    return {
        "now": rng.choice(TIMES[:6] * 4 + TIMES) + rng.choice(OFFSETS[:1] * 20 + OFFSETS),
        "identity": {"userId": identity},
        "userConfirmed": rng.random() < 0.8,
        "user": None if (identity is None) != broken else profile(rng),
        "reservation": None if rng.random() < 0.05 else record(rng),
        "flightStatus": status(rng),
    }


def arguments(rng: random.Random, tool: str, ctx: Json) -> Json:
    res = ctx["reservation"]
    reservation_id = {"reservation_id": "JG7FMM"}
    update = reservation_id | ({"insurance": rng.choice(["yes", None, False, []])} if rng.random() < 0.05 else {})
    bags = {"total_baggages": rng.choice(COUNTS), "nonfree_baggages": rng.choice(COUNTS)}
    match tool:
        case "book_reservation":
            payments = [
                {"payment_id": rng.choice(IDS), "amount": money(rng)} for _ in range(rng.choice([0, 1, 2, 4, 9]))
            ]
            route = {"origin": rng.choice(AIRPORTS), "destination": rng.choice(AIRPORTS), "flight_type": "one_way"}
            chosen = {"cabin": rng.choice(CABINS), "flights": flights(rng), "passengers": people(rng)}
            who = {"user_id": rng.choice(USERS[:1] * 4 + USERS), "insurance": rng.choice(["yes", "no"])}
            return {**who, **route, **chosen, **bags, "payment_methods": payments}
        case "cancel_reservation":
            return reservation_id
        case "send_certificate":
            amount = rng.choice([50, 100, 150, 200, 250, 300, 400, 500, 50.0, 350, 0, -50, 50.01, 1e9])
            return {"user_id": rng.choice(USERS), "amount": amount}
        case "update_reservation_baggages":
            return {**update, **bags, "payment_id": rng.choice(IDS)}
        case "update_reservation_flights":
            chosen = flights(rng)
            if res is not None and rng.random() < 0.6:
                chosen = [seg((leg["flight_number"], leg["date"])) for leg in res["flights"]]
                rng.shuffle(chosen)
            cabin = res["cabin"] if res is not None and rng.random() < 0.5 else rng.choice(CABINS)
            return {**update, "cabin": cabin, "flights": chosen, "payment_id": rng.choice(IDS)}
        case _:
            count = None if res is None or rng.random() < 0.2 else len(res["passengers"])
            return {**update, "passengers": people(rng, count)}


WRITE_TOOLS = [
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
]


def random_call(rng: random.Random) -> Json:
    tool = rng.choice(WRITE_TOOLS)
    ctx = context(rng)
    call = {"toolName": tool, "arguments": arguments(rng, tool, ctx), "runContext": {"context": ctx}}
    if tool == "book_reservation" and rng.random() < 0.6:
        settle(rng, call)
    if rng.random() < 0.2:  # unknown extra keys pass (0.5), those of other tools included
        call["arguments"] = arguments(rng, rng.choice(WRITE_TOOLS), ctx) | call["arguments"]
    return call


def settle(rng: random.Random, call: Json) -> None:
    """Make the amounts of a booking add up, or miss by a cent: random ones never do."""
    args = call["arguments"]
    fares = {
        (entry["flight_number"], entry["date"]): entry["prices"]
        for entry in call["runContext"]["context"]["flightStatus"]
    }
    due = 50 * args["nonfree_baggages"] + (30 * len(args["passengers"]) if args["insurance"] == "yes" else 0)
    for flight in args["flights"]:
        prices = fares.get((flight["flight_number"], flight["date"]))
        due += len(args["passengers"]) * (prices[args["cabin"]] if prices else 0)
    others = sum(payment["amount"] for payment in args["payment_methods"][1:])
    if args["payment_methods"]:
        args["payment_methods"][0]["amount"] = round(due - others + rng.choice([0, 0, 0, 0.01, -0.01]), 2)


def nodes(value: Json) -> list[tuple[Json, Any]]:
    """Every (container, key) of a JSON value."""
    found: list[tuple[Json, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(pairs):
        found += [(value, key), *nodes(child)]
    return found


_VOCABULARY: dict[str, Callable[[random.Random], Json]] = {
    "userConfirmed": lambda rng: rng.random() < 0.5,
    "userId": lambda rng: rng.choice(USERS),
    "user_id": lambda rng: rng.choice(USERS),
    "user": lambda rng: rng.choice([None, profile(rng)]),
    "reservation": lambda rng: rng.choice([None, record(rng)]),
    "membership": lambda rng: rng.choice(MEMBERS),
    "source": lambda rng: rng.choice(["gift_card", "certificate", "credit_card", "voucher"]),
    "cabin": lambda rng: rng.choice(CABINS),
    "amount": money,
    "price": money,
    "basic_economy": lambda rng: rng.choice([0, 1, 50, 77.77]),
    "economy": lambda rng: rng.choice([0, 1, 50, 77.77]),
    "business": lambda rng: rng.choice([0, 1, 50, 77.77]),
    "payment_id": lambda rng: rng.choice(IDS),
    "total_baggages": lambda rng: rng.choice(COUNTS + BIG),
    "nonfree_baggages": lambda rng: rng.choice(COUNTS + BIG[:2]),
    "passengers": people,
    "first_name": lambda rng: rng.choice(["", "Mia"]),
    "last_name": lambda rng: rng.choice(["", "Li"]),
    "dob": lambda rng: rng.choice(BIRTHDAYS + BAD_BIRTHDAYS),
    "insurance": lambda rng: rng.choice(["yes", "no"]),
    "flight_type": lambda rng: rng.choice(["one_way", "round_trip"]),
    "origin": lambda rng: rng.choice(AIRPORTS),
    "destination": lambda rng: rng.choice(AIRPORTS),
    "created_at": lambda rng: rng.choice(TIMES),
    "now": lambda rng: rng.choice(TIMES) + rng.choice(OFFSETS),
    "date": lambda rng: rng.choice(["2024-05-20", "", "31st of May"]),
    "status": lambda rng: rng.choice(["available", "landed", "flying", "cancelled", "delayed", "on time"]),
}


def mutated_call(rng: random.Random, recorded: Json) -> Json:
    """A recorded call of a write tool with one to four places changed, or list entries dropped, doubled, shuffled."""
    call = copy.deepcopy(recorded)
    for _ in range(rng.randint(1, 4)):
        places = nodes(call["arguments"]) + nodes(call["runContext"]["context"])
        container, key = rng.choice(places)
        if isinstance(key, int):
            move = rng.randrange(3)
            if move == 0:
                del container[key]
            elif move == 1:
                container.append(copy.deepcopy(container[key]))
            else:
                rng.shuffle(container)
        elif key in _VOCABULARY:
            container[key] = _VOCABULARY[key](rng)
    return call
