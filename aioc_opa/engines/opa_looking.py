"""What a running OPA shows to whoever asks: for `aioc-opa doctor`, which looks and changes nothing.

Everything is a GET but one PUT, to `/v1/policies`, of a text that is no Rego. A server that would let us write answers
that it does not parse (400), one that is closed says 401; in neither case is anything stored, because OPA parses a
module before it keeps it. No read can tell the two apart: rules may refuse to list policies and still let them be put.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import requests

from aioc_opa.errors import EngineConfigurationError

if TYPE_CHECKING:
    from aioc_opa.engines.opa_admin import OpaAdmin

NOT_REGO: Final = "this is not Rego {"
PROBE_ID: Final = "aioc_opa_doctor_probe"
REFUSED: Final = frozenset({401, 403, 404, 405})
"""Closed: OPA says 401, a proxy before it may say the others."""

_MAX_BYTES: Final = 32 * 1024 * 1024
_NO_DOCUMENT: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Look:
    """One answer.

    Attributes:
        status: its status code.
        date: its ``Date`` header.
        document: its body, when that is a JSON object; else empty.
    """

    status: int
    date: str | None
    document: dict[str, Any]

    @property
    def refused(self) -> bool:
        """Whether it is closed to us."""
        return self.status in REFUSED


class OpaLooking:
    """Looks at one server.

    Args:
        admin: says where it is, and how to reach it.
        with_token: whether to show the token.
    """

    def __init__(self, admin: OpaAdmin, *, with_token: bool) -> None:
        self._admin: Final = admin
        self._with_token: Final = with_token

    def get(self, path: str) -> Look:
        """Ask for ``path``, such as ``v1/status``.

        Raises:
            EngineConfigurationError: nobody answers.
        """
        return self._ask("GET", path, None)

    def write(self) -> Look:
        """Try to put what cannot be put: see the module.

        Raises:
            EngineConfigurationError: nobody answers.
        """
        return self._ask("PUT", f"v1/policies/{PROBE_ID}", NOT_REGO)

    def _ask(self, method: str, path: str, body: str | None) -> Look:
        try:
            with self._admin.request(method, path, body, with_token=self._with_token) as response:
                content = response.raw.read(_MAX_BYTES, decode_content=True)
                return Look(response.status_code, response.headers.get("Date"), _object(content))
        except (requests.RequestException, OSError) as error:
            raise EngineConfigurationError(f"{path}: {type(error).__name__}") from error


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return _NO_DOCUMENT
    return found if type(found) is dict else _NO_DOCUMENT
