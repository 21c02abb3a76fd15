"""Keys for a laptop: made on first use, kept in a folder, and never quiet about it."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Final

from aioc_opa.approvals.key_holders import AuthorityHolder
from aioc_opa.approvals.signing_key import SigningKey
from aioc_opa.approvals.vote_keys import VoteKeys
from aioc_opa.errors import InputFileError

_FILE: Final = "development-vote-key.json"


class DevelopmentKeysWarning(UserWarning):
    """The key that approves lies beside the application: whoever can read its folder can approve anything."""


def development_keys(folder: str | Path) -> tuple[SigningKey, VoteKeys]:
    """The approval authority's key of a folder, made when there is none yet, and the keys that verify its votes.

    Two processes that come at once get the same key. Warns with `DevelopmentKeysWarning` every time.

    Args:
        folder: made with mode 700 when it is not there.

    Raises:
        InputFileError: the folder or the file cannot be used, or others have rights to the file.
        ConfigurationError: the extra `approvals` is not installed.
    """
    path = Path(folder) / _FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        missing = not path.exists()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputFileError(f"{folder}: cannot be used: {reason or type(error).__name__}") from None
    if missing:
        made = SigningKey.generate(holder=AuthorityHolder())
        with suppress(InputFileError):  # another process was faster; what it wrote is loaded, or says what is wrong
            made.save(path)
    key = SigningKey.load(path)
    warnings.warn(
        f"{path}: a development key signs and checks votes here: whoever can read it can approve anything. "
        "In production give the guard public keys only (VoteKeys.from_file).",
        DevelopmentKeysWarning,
        stacklevel=2,
    )
    return key, VoteKeys([key.public_entry()])
