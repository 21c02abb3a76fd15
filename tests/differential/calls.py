"""Random calls and data for the random packs: fields are missing, or of the wrong type, as they are in life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.differential.values import Values


def random_data(values: Values) -> dict[str, Any]:
    """The data document; a table may be missing."""
    tables = {
        "limits": {"default": values.number(), "gold": values.number()},
        "blocked": [values.text() for _ in range(2)],
    }
    return {"fuzz": {name: table for name, table in tables.items() if values.random.random() < 0.9}}


def random_call(values: Values) -> dict[str, Any]:
    """An input document."""
    return {
        "toolName": "fuzz",
        "parsedArguments": _spoil(
            values,
            {
                "amount": values.number(),
                "quantity": values.random.randrange(5),
                "code": values.text(),
                "name": values.text(),
                "items": [_item(values) for _ in range(values.random.randrange(4))],
                "tags": [values.text() for _ in range(values.random.randrange(3))],
                "options": {"gold": values.number(), "deep": {"deeper": values.scalar()}},
                "flag": values.random.random() < 0.5,
            },
        ),
        "runContext": {
            "context": _spoil(
                values,
                {
                    "limit": values.number(),
                    "user": _spoil(values, {"role": values.text(), "id": values.text(), "groups": values.array()}),
                    "bookings": [_item(values) for _ in range(values.random.randrange(3))],
                    "limits": {values.text(): values.number() for _ in range(2)},
                },
            )
        },
    }


def _item(values: Values) -> Any:
    return _spoil(
        values,
        {
            "sku": values.text(),
            "price": values.number(),
            "quantity": values.random.randrange(4),
            "tags": [values.text()],
            "status": values.random.choice(("available", "gold", "a")),
        },
    )


def _spoil(values: Values, fields: dict[str, Any]) -> dict[str, Any]:
    """Each field may be missing, or anything at all."""
    spoilt = {}
    for name, value in fields.items():
        roll = values.random.random()
        if roll >= 0.15:
            spoilt[name] = values.any() if roll < 0.25 else value
    return spoilt
