"""The two promises about every call: RULES.md 0.5 for the arguments, the pack's manifest for the context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema

from tests.packs.airline.engines import policy_input

if TYPE_CHECKING:
    from pathlib import Path


class Schemas:
    """Validators by tool. A call that breaks a promise proves nothing about the pack."""

    def __init__(self, repository: Path, manifest: dict[str, Any]) -> None:
        tools = json.loads((repository / "examples/airline/tools.json").read_text())
        validator = jsonschema.Draft202012Validator
        self._arguments = {tool["name"]: validator(tool["inputSchema"]) for tool in tools}
        self._context = {name: validator(needs["context"]) for name, needs in manifest["tools"].items()}

    def check(self, call: dict[str, Any]) -> None:
        """Raises `jsonschema.ValidationError`."""
        asked = policy_input(call)
        self._arguments[asked["toolName"]].validate(asked["parsedArguments"])
        self._context[asked["toolName"]].validate(asked["runContext"]["context"])
