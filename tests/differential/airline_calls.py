"""The recorded airline calls as questions, whole and broken: a field gone, or of another type, somewhere."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.differential.values import Values


def recorded_calls(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each recorded call's input document, and what is expected of it."""
    expected = {line["id"]: line for line in map(json.loads, (folder / "expected.jsonl").read_text().splitlines())}
    for line in (folder / "calls.jsonl").read_text().splitlines():
        call = json.loads(line)
        arguments = json.loads(call["rawArguments"])
        yield (
            {
                "contractVersion": "1",
                "kind": "tool",
                "requestId": call["id"],
                "agentName": call["agentName"],
                "toolName": call["toolName"],
                "callId": call["id"],
                "rawArguments": call["rawArguments"],
                "requestedArguments": arguments,
                "parsedArguments": arguments,
                "argsCanonicalJson": "{}",
                "proposalHash": "0" * 64,
                "runContext": call["runContext"],
                "turn": call["turn"],
                "decodeAssurance": "raw",
            },
            expected[call["id"]],
        )


def broken(question: dict[str, Any], values: Values) -> dict[str, Any]:
    """A copy with one to three places of its arguments or context taken away or replaced."""
    spoilt = copy.deepcopy(question)
    for _ in range(values.random.randrange(1, 4)):
        places = [
            (container, key)
            for root in (spoilt["parsedArguments"], spoilt["runContext"]["context"])
            for container, key in _places(root)
        ]
        if not places:
            break
        container, key = values.random.choice(places)
        if values.random.random() < 0.5:
            del container[key]
        else:
            container[key] = values.any()
    return spoilt


def body_of(question: dict[str, Any]) -> bytes:
    """The request body."""
    return json.dumps({"input": question}, ensure_ascii=False, separators=(",", ":")).encode()


def _places(root: Any) -> Iterator[tuple[Any, Any]]:
    stack = [root]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            yield node, key
            stack.append(node[key])
