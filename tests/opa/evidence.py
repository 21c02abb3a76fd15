"""Evidence of approvals, for questions to the library."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
ASKING = "person-asking"


def vote(person: str, roles: list[str], verdict: str = "approved") -> Json:
    return {"personId": person, "roles": roles, "verdict": verdict, "at": "2026-01-01T00:00:00.000Z"}


def evidence(question: Json, votes: list[Json], *, requesters: list[str] | None = None) -> Json:
    """Evidence for exactly that question."""
    return {
        "id": "apr_" + "0" * 32,
        "proposalHash": question["proposalHash"],
        "requestedBy": question.get("principal", {}).get("identity", ""),
        "requesters": [ASKING] if requesters is None else requesters,
        "votes": votes,
        "expiresAt": "2026-01-01T01:00:00.000Z",
        "policyRevision": "{}",
    }


def everybody(decision: Json) -> list[Json]:
    """The votes that meet all requirements of a held call's decision, and no vote more than the largest quorum."""
    requirements = decision["approval"]["requirements"]
    roles = sorted({role for each in requirements for role in each["approverRoles"]})
    return [vote(f"person-{number}", roles) for number in range(max(each["quorum"] for each in requirements))]


def resumed(question: Json, votes: list[Json]) -> Json:
    return {**question, "approval": evidence(question, votes)}
