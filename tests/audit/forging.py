"""What somebody does who can write a log and has no key: records that follow, with right hashes, where nobody has signed yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from aioc_opa.audit.log_folder import head_text
from aioc_opa.core.audit.chain import head_of, record_of, seal
from aioc_opa.storage.database import Database
from tests.audit.logs import event

if TYPE_CHECKING:
    from pathlib import Path

    from aioc_opa.core.audit.chain import Head, Sealed

FORGED: dict[str, Any] = {"type": "event", "event": event(666).model_dump(by_alias=True, exclude_defaults=True)}


def forged(head: Head, count: int, writer: str = "one", *contents: dict[str, Any]) -> list[Sealed]:
    """Records that follow `head`."""
    found: list[Sealed] = []
    for content in contents or (FORGED,) * count:
        found.append(
            seal(
                content, writer=writer, log_id=head.log_id, segment=head.segment, at="2026-07-15T09:00:00.000Z",
                before=found[-1].head if found else head,
            )
        )  # fmt: skip
    return found


def forge_lines(folder: Path, count: int = 2, *contents: dict[str, Any], segment: int = 1) -> None:
    """Append to a file, and make the head file fit."""
    path = folder / f"one.{segment:08d}.jsonl"
    head = head_of(record_of(path.read_bytes().splitlines()[-1]))
    records = forged(head, count, "one", *contents)
    with path.open("ab") as file:
        file.write(b"".join(f"{record.text}\n".encode() for record in records))
    last = records[-1].head
    (folder / "one.head").write_bytes(head_text(last.sequence, last.hash))


def forge_rows(target: str, count: int = 2) -> None:
    """Insert rows."""
    database = Database.open(target)
    last = "SELECT record FROM aioc_audit_records WHERE writer = 'one' ORDER BY sequence DESC LIMIT 1"
    insert = "INSERT INTO aioc_audit_records (writer, sequence, hash, record) VALUES ('one', :sequence, :hash, :record)"
    with database.begin() as connection:
        head = head_of(record_of(str(connection.execute(text(last)).scalar_one()).encode()))
        for record in forged(head, count):
            row = {"sequence": record.head.sequence, "hash": record.head.hash, "record": record.text}
            connection.execute(text(insert), row)
    database.close()


def is_forged(line: str) -> bool:
    """Whether the record in a line is a forged one."""
    content = json.loads(line)["content"]
    return bool(content["type"] == "event" and content["event"]["turn"] == 666)
