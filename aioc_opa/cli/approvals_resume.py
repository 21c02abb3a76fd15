"""`aioc-opa approvals resume`: run an approved call through the application's own guard."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from aioc_opa.cli import logs
from aioc_opa.cli.approvals_advice import ADVICE
from aioc_opa.cli.approvals_options import IdArgument, StoreOption, TenantOption, opened_store
from aioc_opa.cli.approvals_show import local_account
from aioc_opa.cli.authorize import VerboseOption
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, shown, warn
from aioc_opa.core.approvals.review_tree import tree
from aioc_opa.core.canonical_json import NotCanonicalError, canonical_text
from aioc_opa.errors import (
    AiocOpaError,
    ApprovalNotFoundError,
    InputFileError,
    PolicyRefusalError,
    ToolArgumentsValidationError,
    ToolCallApprovalRequiredError,
    ToolCallPolicyDeniedError,
    ToolExecutionError,
)

if TYPE_CHECKING:
    from aioc_opa.approvals.records import ApprovalRecord
    from aioc_opa.approvals.resumption import Resumption

HELP: Final = """Run an approved call: the guard judges it once more, uses the approval up, and runs the tool.

--app names MODULE:FACTORY, found from the current folder on. FACTORY is called with the approval's record, which has no
arguments, and returns an aioc_opa.approvals.resumption.Resumption: the guard that has the tool and the same approvals,
the principal as the application authenticates the caller now, the run context of the call's run, fetched anew, and the
capability where the guard's gate asks for one. What the tool returns is not printed unless --show-result is given.

\b
Exit status:
  0   the tool ran and returned
  1   the tool ran and raised: its effect may have happened; do not run it again unlooked
  10  denied; the tool did not run
  11  nobody has decided yet; the tool did not run
  12  the tool's own validators refuse the arguments now; it did not run
  2   wrong usage
  3   no such approval, MODULE:FACTORY is not usable, or the store cannot be used; the tool did not run

\b
Examples:
  aioc-opa approvals resume apr_0123456789abcdef0123456789abcdef --store approvals.db --app service:resumption
  aioc-opa approvals resume apr_0123456789abcdef0123456789abcdef --tenant acme --app service:resumption --show-result
"""


def resume(
    approval: IdArgument,
    *,
    app: Annotated[str, typer.Option("--app", metavar="MODULE:FACTORY", help="Gives guard, principal and context.")],
    store: StoreOption,
    tenant: TenantOption = "",
    show_result: Annotated[bool, typer.Option("--show-result", help="Print what the tool returns.")] = False,
    verbose: VerboseOption = False,
) -> None:
    """The command; see `HELP`."""
    logs.configure(verbose=verbose)
    factory = _factory(app)
    with opened_store(store, None) as opened:
        # Without arguments: the guard reads them itself, with its own key.
        record = opened.get(tenant, approval, payload=False)
        if record is None:
            raise ApprovalNotFoundError("no such approval")
        opened.log_access(tenant, approval, local_account(), "resume")
    made = _made(factory, record, app)
    settings = getattr(made.guard, "settings", None)
    if settings is not None and settings.audit is None:
        warn("no audit record is made of this: the guard of --app has no audit trail")
    result = _run(made, approval)
    outcome = getattr(result, "status", None) if _is_refusal(result) else None
    if outcome is not None:
        warn(f"the tool did not run: {shown(result.code)}: {shown(result.public_reason)}")
        _advise(result.code)
        raise typer.Exit(int(ExitStatus.DENY if outcome == "denied" else ExitStatus.APPROVAL_REQUIRED))
    say(f"the tool ran and returned a value of type {shown(type(result).__name__)}")
    if show_result:
        _print(result)


def _factory(app: str) -> Any:
    """What ``MODULE:FACTORY`` names, with the current folder on the path, as application servers do.

    Raises:
        InputFileError: it cannot be imported, or is no function.
    """
    module_name, colon, name = app.partition(":")
    if not (module_name and colon and name):
        raise typer.BadParameter("--app: write MODULE:FACTORY, for example service.approvals:resumption")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - of the application: its text can hold anything
        raise InputFileError(f"--app {app}: cannot be imported: {type(error).__name__}") from None
    if not callable(found):
        raise InputFileError(f"--app {app}: is no function")
    return found


def _made(factory: Any, record: ApprovalRecord, app: str) -> Resumption:
    from aioc_opa.approvals.resumption import Resumption  # noqa: PLC0415 - with the rest of the approvals

    try:
        made = factory(record)
    except Exception as error:  # noqa: BLE001 - likewise
        raise InputFileError(f"--app {app}: the factory raised {type(error).__name__}; the tool did not run") from None
    if not isinstance(made, Resumption):
        raise InputFileError(f"--app {app}: must return an aioc_opa.approvals.resumption.Resumption")
    return made


def _run(made: Resumption, approval: str) -> Any:
    try:
        result: Any = made.guard.resume(
            approval,
            principal=made.principal,
            run_context=made.run_context,
            capability=made.capability,
            provider=made.provider,
            model=made.model,
        )
        return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result
    except ToolArgumentsValidationError as error:
        warn(f"the tool did not run: {shown(error)}")
        raise typer.Exit(int(ExitStatus.INVALID_ARGUMENTS)) from None
    except PolicyRefusalError as error:
        warn(f"the tool did not run: {shown(error)}")
        _advise(error.denied.audit_code if isinstance(error, ToolCallPolicyDeniedError) else error.code)
        held = isinstance(error, ToolCallApprovalRequiredError)
        raise typer.Exit(int(ExitStatus.APPROVAL_REQUIRED if held else ExitStatus.DENY)) from None
    except AiocOpaError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the tool raises; its text can hold anything
        cause = error.__cause__ if isinstance(error, ToolExecutionError) else error
        warn(
            f"the tool ran and raised {shown(type(cause).__name__)}: its effect may have happened. The approval is "
            "used up; look at what the tool has done before anybody proposes the call again"
        )
        raise typer.Exit(int(ExitStatus.DIFFERENT)) from None


def _advise(code: str) -> None:
    """Say what an operator can do about a refusal: here the code for operators may be shown, as in the audit log."""
    advice = ADVICE.get(code)
    if advice is not None:
        warn(f"{shown(code)}: {advice}")
    warn("--verbose shows what the guard says about it")


async def _awaited(result: Any) -> Any:
    return await result


def _is_refusal(result: Any) -> bool:
    from aioc_opa.models.refusal_result import RefusalResult  # noqa: PLC0415 - beside its only use

    return isinstance(result, RefusalResult)


def _print(result: Any) -> None:
    try:
        canonical_text(result)
    except NotCanonicalError:
        warn("it is no JSON value, and is not printed")
        return
    for line in tree(result):
        say(line)
