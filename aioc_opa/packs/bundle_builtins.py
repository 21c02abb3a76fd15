"""The builtins that a bundle's modules call, and which of them make a decision depend on more than policy and input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aioc_opa.packs.lint.builtins import permitted_builtins
from aioc_opa.packs.lint.linted import rule_name
from aioc_opa.packs.lint.rego_tree import calls

if TYPE_CHECKING:
    from aioc_opa.packs.lint.linted import LintedPolicy

REACHES_OUT: Final = "reaches out"
VARIES: Final = "varies"
LEAVES_TRACES: Final = "writes to the server's log"

EXCEEDING: Final = {
    "http.send": REACHES_OUT,
    "net.lookup_ip_addr": REACHES_OUT,
    "json.match_schema": REACHES_OUT,  # a schema's $ref may be an address
    "json.verify_schema": REACHES_OUT,
    "opa.runtime": VARIES,
    "rand.intn": VARIES,
    "time.now_ns": VARIES,
    "uuid.rfc4122": VARIES,
    "io.jwt.decode_verify": VARIES,  # asks the clock
    "io.jwt.encode_sign": VARIES,
    "io.jwt.encode_sign_raw": VARIES,
    "providers.aws.sign_req": VARIES,
    "rego.parse_module": VARIES,
    "rego.metadata.chain": VARIES,
    "rego.metadata.rule": VARIES,
    "print": LEAVES_TRACES,
    "trace": LEAVES_TRACES,
}
"""Builtins beyond ``capabilities.json``, and why. `bundle build` refuses them; another's bundle may have them."""

_OPERATORS: Final = frozenset(
    ("and", "assign", "div", "eq", "equal", "gt", "gte", "lt", "lte", "minus", "mul", "neq", "or", "plus", "rem")
)


def builtins_used(policy: LintedPolicy) -> dict[str, str]:
    """Name of each builtin that is called, operators left out, and its kind: ``plain`` or one of the above."""
    known = (permitted_builtins() | EXCEEDING.keys()) - _OPERATORS
    found: set[str] = set()
    for module in policy.modules.values():
        functions = {
            rule_name(rule)
            for other in policy.modules.values()
            if other.package == module.package
            for rule in other.rules()
        }
        hidden = functions | module.imports().keys()
        for call in calls(module.tree.get("rules", [])):
            if call.name in known and call.name.partition(".")[0] not in hidden:
                found.add(call.name)
    return {name: EXCEEDING.get(name, "plain") for name in sorted(found)}
