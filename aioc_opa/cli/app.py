"""The typer application. Commands are added by `main`; every error becomes a message and a nonzero exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from aioc_opa.cli.exit_status import ExitStatus
from aioc_opa.cli.terminal import shown, warn
from aioc_opa.errors import AiocOpaError

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_ERROR = 4000


class CommandGroup(TyperGroup):
    """Turns errors of this package's tree into a message, wherever in a command they were raised."""

    def invoke(self, ctx: Any) -> Any:
        """As typer does, with errors reported."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Of the library that converts choices: it means nothing to a reader.
            error.message = error.message.removeprefix("Value error, ")
            raise
        except AiocOpaError as error:
            raise _reported(error, ExitStatus.UNUSABLE) from None


def make_app(help_text: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(
        cls=CommandGroup,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )


def add(app: typer.Typer, name: str, command: Callable[..., None], help_text: str) -> None:
    """Add a command. A backspace character on a line of its own in `help_text` keeps the next paragraph as it is."""
    app.command(name, help=help_text)(command)


def _reported(error: Exception, status: ExitStatus) -> typer.Exit:
    first, *more = (shown(line, longest=LONGEST_ERROR) for line in str(error).split("\n"))
    warn("\n".join([first, *(f"  {line.lstrip()}" for line in more)]))
    return typer.Exit(int(status))
