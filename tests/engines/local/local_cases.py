"""How a local OPA is started in tests, and until when."""

from __future__ import annotations

from collections.abc import Callable

from aioc_opa.engines.deadline import Deadline
from aioc_opa.engines.local_opa import LocalOpaEngine
from tests.engines.local.conftest import SECONDS

Start = Callable[..., LocalOpaEngine]


def deadline() -> Deadline:
    return Deadline.after(SECONDS)
