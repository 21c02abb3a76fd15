"""A second implementation of examples/airline/RULES.md, in Python, to hold the Rego pack against.

Written from the text, section by section, and not from the Rego. It takes the contexts that RULES.md describes and
the pack's manifest admits. Where RULES.md leaves something open it says so: those comments begin with "Open".
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from tests.packs.airline.reference_clock import booked_within_a_day

Json = Any

DENY: Final = "deny"
HOLD: Final = "approval_required"

UPDATE_TOOLS: Final = frozenset(
    {"update_reservation_baggages", "update_reservation_flights", "update_reservation_passengers"}
)
RESERVATION_TOOLS: Final = UPDATE_TOOLS | {"cancel_reservation"}
WRITE_TOOLS: Final = RESERVATION_TOOLS | {"book_reservation", "send_certificate"}
OTHER_TOOLS: Final = frozenset(
    {"calculate", "get_reservation_details", "get_user_details", "list_all_airports", "think"}
    | {"search_direct_flight", "search_onestop_flight", "transfer_to_human_agents"}
)
TOLERANCE: Final = Decimal("0.005")
FREE_BAGS: Final = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 3},
}


def money(value: float) -> Decimal:
    """The amount as it is written: RULES.md has two decimals, binary64 has not."""
    return Decimal(repr(value))


def exceeds(left: Decimal, right: Decimal) -> bool:
    return left - right > TOLERANCE


def segment(entry: Json) -> tuple[str, str]:
    return entry["flight_number"], entry["date"]


class Call:
    """One call, and the codes it collects."""

    def __init__(self, tool: str, args: Json, ctx: Json) -> None:
        self.tool, self.args, self.ctx = tool, args, ctx
        self.identity = ctx["identity"]["userId"]
        self.user = ctx.get("user")
        self.reservation = ctx.get("reservation") if tool in RESERVATION_TOOLS else None
        self.status = {segment(entry): entry for entry in ctx.get("flightStatus", [])}
        self.codes: dict[str, str] = {}

    def add(self, code: str, effect: str, *, when: bool) -> None:
        if when:
            self.codes[code] = effect

    def decide(self) -> tuple[str, tuple[str, ...]]:
        self.general()
        if "reservation_not_found" not in self.codes:
            self.passengers()
            if self.tool in {"book_reservation", "update_reservation_flights"}:
                self.flights()
            if self.tool == "update_reservation_flights":
                self.ends()
            if self.tool == "book_reservation":
                self.booking_payment()
            if self.tool in {"update_reservation_flights", "update_reservation_baggages"}:
                self.change_payment()
            if self.tool in {"book_reservation", "update_reservation_baggages"}:
                self.baggage()
            if self.tool == "cancel_reservation":
                self.cancellation()
            if self.tool == "send_certificate":
                self.certificate()
        effects = set(self.codes.values())
        decision = DENY if DENY in effects else HOLD if HOLD in effects else "allow"
        return decision, tuple(sorted(self.codes))

    # 1

    def general(self) -> None:
        self.add("confirmation_missing", HOLD, when=not self.ctx["userConfirmed"])
        # Open: 0.6 says that there is no record exactly when there is no identity. Where a context breaks that,
        # 0.7 holds the call of a tool whose conditions need the record.
        needs_user = self.tool not in {"cancel_reservation", "update_reservation_passengers"}
        unknown = self.identity is None or (needs_user and self.user is None)
        self.add("identity_not_established", HOLD, when=unknown)
        if self.tool in {"book_reservation", "send_certificate"}:
            mismatch = self.identity is not None and self.args["user_id"] != self.identity
            self.add("user_mismatch", DENY, when=mismatch)
        if self.tool in RESERVATION_TOOLS:
            res = self.reservation
            self.add("reservation_not_found", DENY, when=res is None)
            if res is not None:
                foreign = self.identity is not None and res["user_id"] != self.identity
                self.add("reservation_not_owned", DENY, when=foreign)
                self.add("reservation_already_cancelled", DENY, when=res.get("status") == "cancelled")

    # 2

    def passengers(self) -> None:
        if self.tool == "book_reservation":
            self.add("too_many_passengers", DENY, when=len(self.args["passengers"]) > 5)
        if self.tool in {"book_reservation", "update_reservation_passengers"}:
            bad = any(
                person["first_name"] == ""
                or person["last_name"] == ""
                or re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", person["dob"]) is None
                for person in self.args["passengers"]
            )
            self.add("passenger_details_missing", DENY, when=bad)
        if self.tool == "update_reservation_passengers":
            other = len(self.args["passengers"]) != len(self.reservation["passengers"])
            self.add("passenger_count_changed", DENY, when=other)
        if self.tool in UPDATE_TOOLS:
            self.add("insurance_added_after_booking", DENY, when="insurance" in self.args)

    @property
    def npax(self) -> int:
        return len(self.args["passengers"] if self.tool == "book_reservation" else self.reservation["passengers"])

    # 3

    @cached_property
    def recorded(self) -> dict[tuple[str, str], Json]:
        return {segment(entry): entry for entry in self.reservation["flights"]}

    def kept(self, flight: Json) -> bool:
        return (
            self.tool == "update_reservation_flights"
            and segment(flight) in self.recorded
            and self.args["cabin"] == self.reservation["cabin"]
        )

    def price(self, flight: Json) -> Decimal | None:
        entry = self.status.get(segment(flight))
        if entry is None or entry["prices"] is None:
            return None
        return money(entry["prices"][self.args["cabin"]])

    def flights(self) -> None:
        cabin, flights = self.args["cabin"], self.args["flights"]
        self.add("mixed_cabin", DENY, when=any("cabin" in flight and flight["cabin"] != cabin for flight in flights))
        for flight in flights:
            if self.kept(flight):
                continue
            entry = self.status.get(segment(flight))
            available = entry is not None and entry["status"] == "available"
            self.add("flight_not_available", DENY, when=not available)
            if available:
                seats = entry["available_seats"]
                # Open: an available flight that does not say how many seats it has, has none to sell.
                self.add("seats_insufficient", DENY, when=seats is None or seats[cabin] < self.npax)
        if self.tool == "update_reservation_flights":
            old, new = Counter(map(segment, self.reservation["flights"])), Counter(map(segment, flights))
            frozen = self.reservation["cabin"] == "basic_economy"
            self.add("basic_economy_flight_change", DENY, when=frozen and old != new)

    def ends(self) -> None:
        res, flights = self.reservation, self.args["flights"]
        if not flights:
            self.add("trip_type_changed", DENY, when=True)
            return
        legs = [self.recorded.get(segment(flight)) or self.status.get(segment(flight)) for flight in flights]
        if None in legs:
            return
        first, last = legs[0]["origin"], legs[-1]["destination"]
        visits = any(leg["destination"] == res["destination"] for leg in legs)
        self.add("origin_changed", DENY, when=first != res["origin"])
        if res["flight_type"] == "round_trip":
            self.add("trip_type_changed", DENY, when=last != res["origin"])
            self.add("destination_changed", DENY, when=not visits)
            return
        turned = res["origin"] != res["destination"] and last == res["origin"]
        self.add("trip_type_changed", DENY, when=turned)
        self.add("destination_changed", DENY, when=not visits if turned else last != res["destination"])

    # 4

    def kind(self, payment_id: str) -> str | None:
        if self.user is not None and payment_id in self.user["payment_methods"]:
            return str(self.user["payment_methods"][payment_id]["source"])
        for kind in ("certificate", "credit_card", "gift_card"):
            if payment_id.startswith(f"{kind}_"):
                return kind
        return None

    def overdrawn(self, payment_id: str, charge: Decimal) -> bool:
        # Open: an instrument without an amount affords nothing.
        entry = self.user["payment_methods"][payment_id]
        return "amount" not in entry or exceeds(charge, money(entry["amount"]))

    def booking_payment(self) -> None:
        args, payments = self.args, self.args["payment_methods"]
        kinds = Counter(self.kind(payment_id) for payment_id in {payment["payment_id"] for payment in payments})
        self.add("too_many_certificates", DENY, when=kinds["certificate"] > 1)
        self.add("too_many_credit_cards", DENY, when=kinds["credit_card"] > 1)
        self.add("too_many_gift_cards", DENY, when=kinds["gift_card"] > 3)
        prices = [self.price(flight) for flight in args["flights"]]
        known = [price for price in prices if price is not None]
        if len(known) == len(prices):
            due = self.npax * sum(known, Decimal(0)) + 50 * money(args["nonfree_baggages"])
            if args["insurance"] == "yes":
                due += 30 * self.npax
            paid = sum((money(payment["amount"]) for payment in payments), Decimal(0))
            self.add("payment_total_mismatch", DENY, when=exceeds(abs(paid - due), Decimal(0)))
        if self.user is None:
            return
        charges: dict[str, Decimal] = {}
        for payment in payments:
            charges[payment["payment_id"]] = charges.get(payment["payment_id"], Decimal(0)) + money(payment["amount"])
        for payment_id, charge in charges.items():
            mine = payment_id in self.user["payment_methods"]
            self.add("payment_method_not_in_profile", DENY, when=not mine)
            if mine and self.kind(payment_id) in {"gift_card", "certificate"}:
                self.add("payment_balance_insufficient", DENY, when=self.overdrawn(payment_id, charge))

    def change_payment(self) -> None:
        payment_id = self.args["payment_id"]
        self.add("certificate_not_allowed_for_change", DENY, when=self.kind(payment_id) == "certificate")
        if self.user is None:
            return
        if payment_id not in self.user["payment_methods"]:
            self.add("payment_method_not_in_profile", DENY, when=True)
        elif self.kind(payment_id) == "gift_card":
            charge = self.change_charge()
            if charge is not None:
                self.add("payment_balance_insufficient", DENY, when=self.overdrawn(payment_id, charge))

    def change_charge(self) -> Decimal | None:
        args, res = self.args, self.reservation
        if self.tool == "update_reservation_baggages":
            return 50 * max(Decimal(0), money(args["nonfree_baggages"]) - money(res["nonfree_baggages"]))
        fares = [
            money(self.recorded[segment(flight)]["price"]) if self.kept(flight) else self.price(flight)
            for flight in args["flights"]
        ]
        known = [fare for fare in fares if fare is not None]
        if len(known) < len(fares):
            return None
        old = sum((money(flight["price"]) for flight in res["flights"]), Decimal(0))
        return self.npax * (sum(known, Decimal(0)) - old)

    # 5

    def baggage(self) -> None:
        args, booking = self.args, self.tool == "book_reservation"
        if not booking:
            removed = args["total_baggages"] < self.reservation["total_baggages"]
            self.add("baggage_removed", DENY, when=removed)
        if self.user is None:
            return
        cabin = args["cabin"] if booking else self.reservation["cabin"]
        need = max(0, args["total_baggages"] - self.npax * FREE_BAGS[self.user["membership"]][cabin])
        most = need if booking else max(need, self.reservation["nonfree_baggages"])
        self.add("baggage_undercharged", DENY, when=args["nonfree_baggages"] < need)
        self.add("baggage_overcharged", DENY, when=args["nonfree_baggages"] > most)

    # 6

    def cancellation(self) -> None:
        res = self.reservation
        states = {self.status[key]["status"] for key in map(segment, res["flights"]) if key in self.status}
        self.add("cancel_flown_segment", DENY, when=bool(states & {"landed", "flying"}))
        recent = booked_within_a_day(self.ctx["now"], res["created_at"])
        if not (recent or "cancelled" in states or res["cabin"] == "business"):
            insured = res["insurance"] == "yes"
            self.add("cancel_not_eligible", DENY, when=not insured)
            self.add("cancel_reason_unverified", HOLD, when=insured)

    # 7

    def certificate(self) -> None:
        self.add("certificate_grounds_unverified", HOLD, when=True)
        regular = self.user is not None and self.user["membership"] == "regular"
        self.add("certificate_eligibility_unverified", HOLD, when=regular)
        valid = self.args["amount"] in {50, 100, 150, 200, 250, 300, 400, 500}
        self.add("certificate_amount_invalid", DENY, when=not valid)


def decide(tool: str, args: Json, ctx: Json) -> tuple[str, tuple[str, ...]]:
    """The decision and the sorted codes of a call to a registered tool (0.1)."""
    if tool in OTHER_TOOLS:
        return "allow", ()
    if tool not in WRITE_TOOLS:
        raise KeyError(tool)  # 0.4: it is refused before any policy
    return Call(tool, args, ctx).decide()
