"""What somebody who can write a log, and may have a key, does to it. Each step changes what the log says, or it is no step."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aioc_opa.core.audit.chain import GENESIS, checkpoint_statement, record_hash
from aioc_opa.core.canonical_json import canonical_text
from tests.audit.logs import KEY, OTHER_KEY

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from aioc_opa.audit.keys import AuditKey

Files = dict[str, bytes]
Record = dict[str, Any]


@dataclass
class Log:
    """One writer's records, by file, in a form that can be changed."""

    files: dict[str, list[Record]] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Files, writer: str) -> Log:
        return cls({
            name: [json.loads(line) for line in content.splitlines()]
            for name, content in sorted(files.items())
            if name.startswith(f"{writer}.") and name.endswith(".jsonl")
        })  # fmt: skip

    @property
    def places(self) -> list[tuple[str, int]]:
        return [(name, index) for name, records in self.files.items() for index in range(len(records))]

    def rechain(self, start: int, key: AuditKey | None) -> None:
        """Make everything from the record `start` on follow again; checkpoints too, with a key."""
        places = self.places
        before = self.files[places[start - 1][0]][places[start - 1][1]] if start else None
        for name, index in places[start:]:
            record = self.files[name][index]
            record["sequence"] = 1 if before is None else before["sequence"] + 1
            record["prevHash"] = GENESIS if before is None else before["hash"]
            if key is not None and record["content"].get("type") == "checkpoint":
                sign(record, key)
            rehash(record)
            before = record

    def written(self) -> Files:
        return {
            name: b"".join(canonical_text(record).encode() + b"\n" for record in records)
            for name, records in self.files.items()
        }


def rehash(record: Record) -> None:
    record["hash"] = record_hash(record)


def sign(record: Record, key: AuditKey) -> None:
    record["content"]["keyId"] = key.key_id
    statement = checkpoint_statement(
        writer=record["writer"], log_id=record["logId"], segment=record["segment"], sequence=record["sequence"],
        at=record["at"], prev_hash=record["prevHash"], key_id=key.key_id,
    )  # fmt: skip
    record["content"]["signature"] = key.sign(statement)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))]
    return [path]


def changed(value: Any, chance: random.Random) -> Any:
    """Another value of the same look."""
    if isinstance(value, int | float):
        return value + chance.choice((1, -1, 7)) if value else 1
    text = str(value)
    digits = [index for index, character in enumerate(text) if character in "0123456789abcdef"]
    if digits and chance.random() < 0.8:
        at = chance.choice(digits)
        other = chance.choice([one for one in "0123456789" if one != text[at]])
        return text[:at] + other + text[at + 1 :]
    return text + "x"


def edit(log: Log, chance: random.Random) -> None:
    """One field of one record, then nothing, its hash, or all hashes after it are made to fit, by one with or without a key."""
    start = chance.randrange(len(log.places))
    name, index = log.places[start]
    record = log.files[name][index]
    path = chance.choice(leaves(record))
    node: Any = record
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = changed(node[path[-1]], chance)
    _cover_up(log, start, chance, rehashes=path != ("hash",))


def _cover_up(log: Log, start: int, chance: random.Random, *, rehashes: bool = True) -> None:
    how = chance.randrange(5)
    if how == 1 and rehashes and start < len(log.places):
        name, index = log.places[start]
        rehash(log.files[name][index])
    elif how > 1 and rehashes and start < len(log.places):
        # Without a key, with another one, or with the very key of the writer: then only an anchor knows.
        log.rechain(start, (None, OTHER_KEY, KEY)[how - 2])


def delete(log: Log, chance: random.Random) -> None:
    start = chance.randrange(len(log.places))
    for _ in range(chance.choice((1, 1, 3))):
        if start < len(log.places):
            name, index = log.places[start]
            del log.files[name][index]
    _cover_up(log, start, chance)


def insert(log: Log, chance: random.Random) -> None:
    # Not after the last one: what is added there with the writer's key is what the writer does.
    start = chance.randrange(len(log.places) - 1)
    name, index = log.places[start]
    new = json.loads(json.dumps(log.files[name][index]))
    if chance.random() < 0.5:
        new["content"] = {"type": "events_dropped", "count": 1}
        rehash(new)
    log.files[name].insert(index, new)
    _cover_up(log, start, chance)


def swap(log: Log, chance: random.Random) -> None:
    first, second = sorted(chance.sample(range(len(log.places)), 2))
    (one, i), (other, j) = log.places[first], log.places[second]
    log.files[one][i], log.files[other][j] = log.files[other][j], log.files[one][i]
    _cover_up(log, first, chance)


def truncate(log: Log, chance: random.Random) -> None:
    start = chance.randrange(len(log.places))
    for name, index in reversed(log.places[start:]):
        del log.files[name][index]
    log.files = {name: records for name, records in log.files.items() if records or chance.random() < 0.5}


def resign(log: Log, chance: random.Random) -> None:
    """Another key's signatures: under its own name, or under the name of the writer's key."""
    start = chance.randrange(len(log.places))
    for name, index in log.places[start:]:
        content = log.files[name][index]["content"]
        if content["type"] == "writer_started":
            content["keyId"] = OTHER_KEY.key_id
            content["publicKey"] = base64.b64encode(OTHER_KEY.public_key).decode()
    log.rechain(start, OTHER_KEY)
    if chance.random() < 0.5:
        for name, index in log.places[start:]:
            if log.files[name][index]["content"]["type"] == "checkpoint":
                log.files[name][index]["content"]["keyId"] = KEY.key_id
        log.rechain(start, None)


STEPS: dict[str, Callable[[Log, random.Random], None]] = {
    "edit": edit,
    "delete": delete,
    "insert": insert,
    "swap": swap,
    "truncate": truncate,
    "resign": resign,
}


def splice(files: Files, others: Files, writer: str, chance: random.Random) -> Files:
    """The beginning of one log and the end of another one of the same writer's name, made to fit or not."""
    log, other = Log.of(files, writer), Log.of(others, writer)
    at = chance.randrange(1, min(len(log.places), len(other.places)))
    (name, index), tail = log.places[at], [other.files[n][i] for n, i in other.places[at:]]
    log.files = {n: records for n, records in log.files.items() if n <= name}
    log.files[name] = [*log.files[name][:index], *tail]
    _cover_up(log, at, chance)
    return log.written()


def files_moved(files: Files, writer: str, chance: random.Random) -> Files:
    """Files are left out, exchanged, joined or renamed."""
    names = sorted(name for name in files if name.startswith(f"{writer}.") and name.endswith(".jsonl"))
    kept = {name: files[name] for name in names}
    one, other = chance.sample(names, 2)
    how = chance.randrange(4)
    if how == 0:
        del kept[one]
    elif how == 1:
        kept[one], kept[other] = kept[other], kept[one]
    elif how == 2:
        kept[one] += kept.pop(other)
    else:
        kept[f"{writer}.{len(names) + chance.randrange(1, 3):08d}.jsonl"] = kept.pop(one)
    return kept


def bytes_changed(files: Files, writer: str, chance: random.Random) -> Files:
    """Bytes are flipped, put in or cut off, in a place that no crash would leave so."""
    names = sorted(name for name in files if name.startswith(f"{writer}.") and name.endswith(".jsonl"))
    name = chance.choice(names)
    content, how = files[name], chance.randrange(5)
    at = chance.randrange(len(content) - 1)
    if how == 0:
        content = content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
    elif how == 1:
        content = content[:at] + chance.choice((b" ", b"\n", b"\x1e", b"x", b"\0")) + content[at:]
    elif how == 2:
        content = content[:at]  # at least one byte of a record goes
    elif how == 3:
        lines = content.splitlines(keepends=True)
        line = chance.randrange(len(lines))
        lines[line] = chance.choice((b"{\x1e", b"\n", b"\r")) + lines[line]
        content = b"".join(lines)
    else:
        content = content.replace(b",", b", ", 1)
    return {**{each: files[each] for each in names}, name: content}
