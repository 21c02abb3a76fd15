from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engines.opa_server.edges import EDGES, SyncEdge
from tests.opa_process import OpaProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLICY = """package aioc.tool_policy

import future.keywords.not

decision := {
	"decision": "allow", "reason": "allowed", "reasons": [],
	"proposalHash": input.proposalHash, "requestId": input.requestId, "kind": input.kind,
}

padded := {"requestId": input.requestId, "padding": [sprintf("%d", [i]) | some i in numbers.range(1, input.turn)]}

builtin_error if not forbidden

forbidden if to_number(input.requestId) > 1

conflict := 1 if input.kind == "tool"

conflict := 2 if input.kind == "tool"

only_handoffs if input.kind == "handoff"

slow := count([1 | some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); i == j])
"""


@pytest.fixture(params=sorted(EDGES))
def edge(request: pytest.FixtureRequest) -> type[SyncEdge]:
    """Both edges."""
    return EDGES[request.param]


@pytest.fixture(scope="session")
def opa(opa_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaProcess]:
    """A real OPA on TCP with `POLICY`."""
    with OpaProcess(opa_binary, tmp_path_factory.mktemp("opa"), policies={"policy.rego": POLICY}) as process:
        yield process
