"""The rules that a new pack starts with: what stands beside their templates, data and samples.

`roles` says nothing of arguments, so it fits any tool; `amounts` is for tools that move money or another quantity.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aioc_opa.core.json_value import JsonObject, JsonValue


class PackRules(StrEnum):
    """Which rules a new pack starts with; the values are the prefixes of their templates."""

    ROLES = "roles"
    AMOUNTS = "amounts"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingRules:
    """What a pack's data and samples hold.

    Attributes:
        context: schema of ``runContext.context``, for the manifest.
        table: name of the table that the rules read.
        table_schema: its schema, for the manifest.
        table_value: what it holds.
        codes: every code of the rules.
        samples: from a tool's name to the samples by name.
    """

    context: JsonObject
    table: str
    table_schema: JsonObject
    table_value: JsonObject
    codes: tuple[str, ...]
    samples: Callable[[str], Mapping[str, JsonObject]]


def required(properties: dict[str, JsonValue]) -> JsonObject:
    """Schema of an object that has all of `properties`."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _sample(
    title: str, expected: tuple[str, ...], *, tool: str, arguments: JsonObject, context: JsonObject, role: str
) -> JsonObject:
    return {
        "title": title,
        "call": {
            "agentName": "example_agent",
            "toolName": tool,
            "rawArguments": json.dumps(arguments),
            "runContext": {"context": context},
            "turn": 1,
            "principal": {"identity": "kim", "roles": [role]},
        },
        "expected": {"decision": expected[0], "reasons": list(expected[1:])},
    }


def _amount_samples(tool: str) -> Mapping[str, JsonObject]:
    def sample(title: str, amount: float, *expected: str, verified: JsonValue = True) -> JsonObject:
        context: JsonObject = {"customerVerified": verified}
        return _sample(title, expected, tool=tool, arguments={"amount": amount}, context=context, role="operator")

    return {
        "within_limits": sample("Within limits", 50, "allow"),
        "above_limit": sample("Above the limit", 500, "deny", "amount_above_limit"),
        "below_zero": sample("Below zero", -500, "deny", "amount_not_positive"),
        "not_verified": sample(
            "Customer not verified", 50, "approval_required", "customer_not_verified", verified=False
        ),
    }


def _role_samples(tool: str) -> Mapping[str, JsonObject]:
    def sample(title: str, role: str, *expected: str, confirmed: JsonValue = True) -> JsonObject:
        context: JsonObject = {"userConfirmed": confirmed}
        return _sample(title, expected, tool=tool, arguments={"text": "hello"}, context=context, role=role)

    return {
        "confirmed": sample("Confirmed, by an operator", "operator", "allow"),
        "other_role": sample("A role that may not", "guest", "deny", "role_missing"),
        "not_confirmed": sample("Not confirmed", "operator", "approval_required", "not_confirmed", confirmed=False),
    }


STARTING_RULES: Final[Mapping[PackRules, StartingRules]] = {
    PackRules.ROLES: StartingRules(
        context=required({"userConfirmed": {"type": "boolean"}}),
        table="access",
        table_schema=required({"roles": {"type": "array", "items": {"type": "string"}}}),
        table_value={"roles": ["operator", "lead"]},
        codes=("not_confirmed", "role_held", "role_missing"),
        samples=_role_samples,
    ),
    PackRules.AMOUNTS: StartingRules(
        context=required({"customerVerified": {"type": "boolean"}}),
        table="limits",
        table_schema=required({"most": {"type": "number"}}),
        table_value={"most": 100},
        codes=("amount_above_limit", "amount_not_positive", "customer_not_verified", "role_missing", "within_limits"),
        samples=_amount_samples,
    ),
}
