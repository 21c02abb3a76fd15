"""What `aioc-opa doctor` says of the extras: which are installed, what each is for, and how to install one."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from aioc_opa.cli.doctor_finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRAS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "embedded": ("decisions in process, without a server", ("gordon-to-regorus",)),
    "approvals": ("approvals with signed votes, stores in SQL, signed checkpoints", ("cryptography", "sqlalchemy")),
    "postgres": ("approvals and audit in PostgreSQL", ("cryptography", "sqlalchemy", "psycopg", "psycopg-binary")),
    "otel": ("traces and metrics", ("opentelemetry-api",)),
}
"""By name: what it is for, and the distributions that it brings (pyproject.toml; a test compares the two)."""


def extra_findings() -> Iterator[Finding]:
    """One for each extra. None of them is needed, so none of them fails."""
    for name, (purpose, distributions) in EXTRAS.items():
        found = {each: _version(each) for each in distributions}
        missing = [each for each, number in found.items() if number is None]
        if missing:
            text = f"not installed (no {', '.join(missing)}): pip install 'aioc-opa[{name}]', for {purpose}"
            yield Finding(f"extra {name}", None, text)
        else:
            installed = ", ".join(f"{each} {number}" for each, number in found.items())
            yield Finding(f"extra {name}", ok=True, text=f"installed, for {purpose}: {installed}")


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
