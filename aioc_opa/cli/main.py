"""The `aioc-opa` program: the commands, and the last resort for what nobody expected."""

from __future__ import annotations

import errno
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from aioc_opa.cli import (
    approvals,
    audit,
    authorize,
    bundle,
    doctor,
    hash_call,
    lint,
    new,
    replay,
    routes,
    schema,
    serve,
)
from aioc_opa.cli.app import add, make_app
from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import say, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

app: Final = make_app("""Decide the tool calls of AI agents with Open Policy Agent, before they run.

\b
Examples:
  aioc-opa new policy my-policy
  aioc-opa new pack mail --policy my-policy --tool send_email
  aioc-opa authorize call.json --tools tools.json --policy my-policy
  aioc-opa authorize --help
""")


def _version(given: bool) -> None:  # noqa: FBT001 - a flag's callback
    if given:
        from importlib.metadata import version  # noqa: PLC0415 - only when asked for

        say(f"aioc-opa {version('aioc-opa')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version  # its callback has printed it and left


add(app, "authorize", authorize.authorize, authorize.HELP)
add(app, "replay", replay.replay, replay.HELP)
add(app, "hash", hash_call.hash_call, hash_call.HELP)
add(app, "doctor", doctor.doctor, doctor.HELP)
add(app, "routes", routes.routes, routes.HELP)
add(app, "lint", lint.lint, lint.HELP)
add(app, "serve", serve.serve, serve.HELP)
app.add_typer(schema.app, name="schema")
app.add_typer(new.app, name="new")
app.add_typer(approvals.app, name="approvals")
app.add_typer(audit.app, name="audit")
app.add_typer(bundle.app, name="bundle")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status. No exception leaves it, and no failure gives 0."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="aioc-opa")
    except SystemExit as stop:
        if _of_output(stop.__context__):
            return int(ExitStatus.OUTPUT)  # typer and rich make it 1, which means "an expectation differs" here
        # typer always ends in one: an exit status, or a sentence for standard error.
        return stop.code if isinstance(stop.code, int) else int(ExitStatus.INTERNAL)
    except KeyboardInterrupt:
        return int(ExitStatus.INTERRUPTED)
    except BaseException as error:  # noqa: BLE001 - the last resort; a panic of an engine is a BaseException
        if _of_output(error):
            _last_words("the output cannot be written")
            return int(ExitStatus.OUTPUT)
        # The type only: an unexpected error's text can hold argument values.
        _last_words(
            f"internal error ({type(error).__name__}); nothing was decided. Please report it with the command line"
        )
        return int(ExitStatus.INTERNAL)
    return int(ExitStatus.INTERNAL)


def _of_output(error: BaseException | None) -> bool:
    """Whether `error` comes from an output that takes no more; failures of other files are errors of our tree."""
    return isinstance(error, OSError) and error.errno in {errno.EPIPE, errno.ENOSPC, errno.EIO}


def _last_words(text: str) -> None:
    with suppress(OSError):  # standard error may be closed as well
        warn(text)


def main() -> NoReturn:
    """Entry point."""
    sys.exit(run())
