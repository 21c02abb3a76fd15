"""`resume`: from the approval's id, bound to everything that was approved, judged anew (issue 4; design 3.5)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator

from aioc_opa import Principal, RunContext, ToolGuard, UnsafeAnyRevision
from aioc_opa.approvals.broker import ApprovalBroker
from aioc_opa.core.approvals.states import ApprovalState
from aioc_opa.core.fingerprint import tool_proposal_hash
from aioc_opa.models.outcome import Suspended
from tests.approvals.desk import Desk
from tests.doubles import Meanwhile

if TYPE_CHECKING:
    from aioc_opa.engines.protocol import Engine
    from tests.approvals.store_cases import SqlCase
    from tests.approvals.treasury import Treasury


MISMATCH = "approval_binding_mismatch"


DECIDED = '{"to": "A7", "amount": 500}'


# Every binding, changed one by one.


def test_nothing_changed_runs(desk: Desk) -> None:
    assert desk.resume(desk.approved()) == "moved 500.0 to A7"
    assert desk.ran == [("A7", 500.0)]


def _other_guard(
    treasury: Treasury, *, version: str = "1", description: str = "Move money.", wider: bool = False
) -> Any:
    desk = Desk(treasury)
    guard = ToolGuard(
        treasury.engine, revision_gate=UnsafeAnyRevision(), approvals=treasury.broker, result_mode="tool_result"
    )

    def transfer(to: str, amount: float) -> None:
        desk.ran.append((to, amount))

    def wide(to: str, amount: float | str) -> None:
        desk.ran.append((to, amount))

    guard.register_function(wide if wider else transfer, name="transfer", version=version, description=description)
    desk.guard = guard
    return desk


@pytest.mark.parametrize("change", [{"version": "2"}, {"description": "Move money fast."}, {"wider": True}])
def test_another_version_description_or_schema_of_the_tool_is_not_what_was_approved(
    treasury: Treasury, change: dict[str, Any]
) -> None:
    approval_id = Desk(treasury).approved()
    other = _other_guard(treasury, **change)
    other.refuses(MISMATCH, approval_id)
    assert other.ran == []


def test_another_run_is_not_the_one_that_was_approved(desk: Desk) -> None:
    approval_id = desk.approved()
    desk.refuses(MISMATCH, approval_id, run_context=RunContext(run_id="run-2", context={"frozen": False}))


@pytest.mark.parametrize("context", [{"frozen": False}, "run-1"])
def test_a_run_context_of_another_type_is_refused(desk: Desk, context: Any) -> None:
    desk.refuses(MISMATCH, desk.approved(), run_context=context)


@pytest.mark.parametrize("name", ["call_id", "agent_name", "turn"])
def test_call_and_agent_come_from_the_store_and_from_nowhere_else(desk: Desk, name: str) -> None:
    approval_id = desk.approved()
    with pytest.raises(TypeError, match="unknown option"):
        desk.authorize_resume(approval_id, **{name: "another"})


@pytest.mark.parametrize(
    "principal",
    [
        Principal(identity="theo", tenant="acme", roles=("clerk",)),
        Principal(identity="kim", tenant="acme", roles=("clerk",), on_behalf_of=("vic",)),
        Principal(identity="tess-admin", tenant="acme"),
    ],
    ids=["identity", "onBehalfOf", "another-person"],
)
def test_another_principal_of_the_tenant_is_not_who_asked(desk: Desk, principal: Principal) -> None:
    desk.refuses(MISMATCH, desk.approved(), principal=principal)


@pytest.mark.parametrize("principal", [None, Principal(identity="kim"), Principal(identity="kim", tenant="other")])
def test_in_another_tenant_the_approval_does_not_exist(desk: Desk, principal: Principal | None) -> None:
    desk.refuses("approval_unavailable", desk.approved(), principal=principal)


@pytest.mark.parametrize("approval_id", ["", "apr_x", "'; DROP TABLE aioc_approvals", "\ud800", "a" * 100_000, None, 7])
def test_an_id_of_any_kind_that_is_none_is_unavailable(desk: Desk, approval_id: Any) -> None:
    desk.refuses("approval_unavailable", approval_id)


def test_roles_of_the_principal_are_fetched_anew_and_not_bound(desk: Desk) -> None:
    approval_id = desk.approved()
    assert desk.resume(approval_id, principal=Principal(identity="kim", tenant="acme")) == "moved 500.0 to A7"


def test_another_policy_revision_is_not_the_one_that_was_voted_under(
    treasury: Treasury, treasury_engines: dict[str, Engine]
) -> None:
    approval_id = Desk(treasury).approved()
    treasury.engine = treasury_engines["embedded-stricter"]
    Desk(treasury).refuses(MISMATCH, approval_id)


@pytest.mark.parametrize("engine", ["opa", "embedded"])
def test_a_policy_that_now_denies_wins_whatever_its_revision(
    treasury: Treasury, treasury_engines: dict[str, Engine], engine: str
) -> None:
    treasury.engine = treasury_engines[engine]
    approval_id = Desk(treasury).approved()
    frozen = RunContext(context={"frozen": True})
    Desk(treasury).refuses("accounts_frozen", approval_id, run_context=frozen)
    treasury.engine = treasury_engines[f"{engine}-stricter"]
    Desk(treasury).refuses("accounts_frozen", approval_id, run_context=frozen)


@pytest.mark.parametrize("engine", ["opa", "embedded"])
def test_a_policy_that_now_holds_for_more_is_not_what_was_approved(
    treasury: Treasury, treasury_engines: dict[str, Engine], engine: str
) -> None:
    treasury.engine = treasury_engines[engine]
    desk = Desk(treasury)
    approval_id = desk.approved()
    desk.refuses(MISMATCH, approval_id, run_context=RunContext(context={"frozen": False, "heightened": True}))
    assert desk.resume(approval_id) == "moved 500.0 to A7"


def test_two_persons_meet_what_two_are_asked_for(desk: Desk) -> None:
    approval_id = desk.held('{"to": "A7", "amount": 5000}')
    assert desk.treasury.vote(approval_id, "tess").state == "pending"
    assert isinstance(desk.authorize_resume(approval_id), Suspended)
    assert desk.treasury.vote(approval_id, "carla").state == "approved"
    assert desk.resume(approval_id) == "moved 5000.0 to A7"


# What is fetched anew, and what is judged again.


def test_the_context_is_fetched_anew_and_the_run_id_is_the_stored_one(treasury: Treasury) -> None:
    treasury.engine = engine = Meanwhile(treasury.engine)
    desk = Desk(treasury)
    approval_id = desk.approved()
    desk.refuses("accounts_frozen", approval_id, run_context=None)
    fresh = RunContext(context={"frozen": False, "fetched": "anew"})
    assert desk.resume(approval_id, run_context=fresh) == "moved 500.0 to A7"
    asked = engine.questions[-1]
    assert asked["runContext"] == {"runId": "run-1", "context": {"frozen": False, "fetched": "anew"}}
    assert (asked["callId"], asked["agentName"]) == ("call-1", "clerk")
    evidence = asked["approval"]
    assert (evidence["id"], evidence["requestedBy"], evidence["requesters"]) == (approval_id, "kim", ["p-kim"])
    assert [(vote["personId"], vote["verdict"]) for vote in evidence["votes"]] == [("p-tess", "approved")]
    assert "approval" not in engine.questions[0]


@pytest.mark.parametrize("raw", [DECIDED, {"amount": 500, "to": "A7"}], ids=["raw", "decoded"])
def test_a_string_stays_raw_and_an_object_stays_decoded(treasury: Treasury, raw: Any) -> None:
    treasury.engine = engine = Meanwhile(treasury.engine)
    desk = Desk(treasury)
    approval_id = desk.approved(raw)
    assert desk.resume(approval_id) == "moved 500.0 to A7"
    first, again = engine.questions
    same = {"rawArguments", "requestedArguments", "parsedArguments", "argsCanonicalJson", "proposalHash", "turn"}
    assert {name: first[name] for name in same} == {name: again[name] for name in same}
    assert first["decodeAssurance"] == again["decodeAssurance"] == ("raw" if type(raw) is str else "decoded")


parses = 0


def _counted(text: str) -> str:
    global parses  # noqa: PLW0603 - counts how often the schema's validator runs
    parses += 1
    return text.strip().upper()


def _numbered(text: str) -> str:
    """What a validator gives that looks at something outside."""
    return f"{_counted(text)}{parses}"


def _parsing_desk(treasury: Treasury) -> Desk:
    """A desk whose tool changes what it is given: requested and parsed arguments differ."""
    desk = Desk(treasury)
    desk.guard = ToolGuard(
        treasury.engine, revision_gate=UnsafeAnyRevision(), approvals=treasury.broker, result_mode="tool_result"
    )

    def transfer(to: Annotated[str, AfterValidator(_counted)], amount: float) -> str:
        desk.ran.append((to, amount))
        return to

    desk.guard.register_function(transfer, name="transfer", version="1")
    return desk


def test_validators_run_once_for_each_attempt(treasury: Treasury) -> None:
    desk = _parsing_desk(treasury)
    before = parses
    approval_id = desk.approved('{"to": " a7 ", "amount": 500}')
    assert parses == before + 1
    permit = desk.authorize_resume(approval_id).permit
    assert parses == before + 2
    assert desk.execute(permit) == "A7"
    assert parses == before + 2
    assert desk.ran == [("A7", 500.0)]


def test_a_validator_that_decides_otherwise_now_is_not_what_was_approved(treasury: Treasury) -> None:
    desk = Desk(treasury)

    def transfer(to: Annotated[str, AfterValidator(_numbered)], amount: float) -> None:
        desk.ran.append((to, amount))

    desk.guard = ToolGuard(
        treasury.engine, revision_gate=UnsafeAnyRevision(), approvals=treasury.broker, result_mode="tool_result"
    )
    desk.guard.register_function(transfer, name="transfer", version="1")
    desk.refuses(MISMATCH, desk.approved())
    assert desk.ran == []


def test_a_grant_for_the_hash_of_the_requested_unparsed_arguments_never_counts(
    treasury: Treasury, sqlite_case: SqlCase
) -> None:
    """RFC-0015: grants for a hash of the unparsed arguments must be reissued; no second hash is accepted.

    A store with such a request, voted on by real people with real signatures, is the best that could be migrated.
    """
    desk = _parsing_desk(treasury)
    requested = '{"amount":500,"to":" a7 "}'
    approval_id = desk.held('{"to": " a7 ", "amount": 500}')
    record = treasury.record(approval_id)
    old_hash = tool_proposal_hash(agent_name="clerk", tool_name="transfer", args_canonical_json=requested)
    assert record.bindings.proposal_hash != old_hash
    bindings = record.bindings.model_copy(update={"proposal_hash": old_hash})
    payload = json.loads(record.payload or "")
    payload["argsCanonicalJson"] = requested
    voted_on = replace(record, bindings=bindings, payload=json.dumps(payload))
    vote = treasury.signed(approval_id, "tess", record=voted_on)

    class Migrated:
        """The store as it would be after such a migration: consistent in itself."""

        def __getattr__(self, name: str) -> Any:
            return getattr(sqlite_case.store, name)

        def get(self, *_: Any) -> Any:
            return replace(voted_on, state=ApprovalState.APPROVED, votes=(vote,))

    treasury.broker = ApprovalBroker(Migrated(), keys=treasury.keys, people=treasury.directory)  # type: ignore[arg-type] # all of a store
    migrated = _parsing_desk(treasury)
    migrated.refuses(MISMATCH, approval_id)
    assert migrated.ran == []
    # The new hash, approved, runs: the old one was all that was wrong.
    treasury.broker = ApprovalBroker(sqlite_case.store, keys=treasury.keys, people=treasury.directory)
    treasury.vote(approval_id)
    assert _parsing_desk(treasury).resume(approval_id) == "A7"


# States and times.
