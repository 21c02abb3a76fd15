"""Both kinds of guards."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)
