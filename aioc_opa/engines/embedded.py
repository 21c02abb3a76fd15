"""Rego evaluated in process, by regorus: for trying out, CI and replay. Production asks OPA (design 4).

1. Chosen explicitly, never a silent fallback. What is known to differ from OPA is refused when the policy is loaded
   (`rego_guard`); what only an input can show is denied (`embedded_input`).
2. A regorus engine belongs to the thread that made it; used from another it panics. So each thread makes its own, at
   its first question, and drops it when it ends. A forked process makes new ones.
3. Anything that regorus raises is a deny, its panics included, which are no `Exception`; only cancellation, exit and
   the keyboard pass. After a panic the thread's engine is thrown away: it may be broken from then on.
4. **It holds the interpreter while it evaluates**, and cannot be interrupted: other threads and the event loop wait,
   and the deadline is looked at before and after. A verdict that comes late is a deny (`policy_timeout`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aioc_opa.core.canonical_json import canonical_text
from aioc_opa.core.engine_answer import UNDEFINED, EngineAnswer, EngineFailureError
from aioc_opa.core.limits import RESPONSE_LIMITS
from aioc_opa.core.reasons import Reason
from aioc_opa.core.strict_json import StrictJsonError, decode
from aioc_opa.engines.embedded_constants import resolve_constants
from aioc_opa.engines.embedded_input import input_text
from aioc_opa.engines.embedded_modules import deciding_modules
from aioc_opa.engines.embedded_runtime import error_text, installed_version, new_engine
from aioc_opa.engines.rego_guard import examine
from aioc_opa.packs.declared_codes import declared_codes
from aioc_opa.packs.policy_folder import load_policy

if TYPE_CHECKING:
    from aioc_opa.engines.deadline import Deadline
    from aioc_opa.engines.protocol import DecisionPath
    from aioc_opa.packs.policy_folder import LoadedPolicy

_log: Final = logging.getLogger(__name__)
_UNDEFINED_TEXT: Final = '"<undefined>"'
_PASS: Final = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)


class _Table(dict["_Owner", Any]):
    """One thread's engines; a class of its own so that it can be watched to go with its thread."""


class _ThreadEngines(threading.local):
    """The calling thread's regorus engines, by `EmbeddedEngine`. Dropped by this thread only: see rule 2."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.by_owner: _Table = _Table()

    def of(self, owner: _Owner) -> Any:
        if self.pid != os.getpid():
            self.__init__()  # type: ignore[misc] # the same as for a new thread, which calls it too
        for closed in [other for other in self.by_owner if other.closed]:
            del self.by_owner[closed]
        return self.by_owner.get(owner)


class _Owner:
    """Stands for one `EmbeddedEngine` in every thread's table, so that a table keeps no policy alive."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


_threads: Final = _ThreadEngines()


class EmbeddedEngine:
    """The embedded engine, sync and async. Thread-safe.

    Args:
        policy: a loaded policy, or the path of the folder or bundle to load.
        unsafe_without_load_checks: take policies on which this engine is known to answer otherwise than OPA.
            For finding out how it differs; logs a warning.

    Raises:
        EngineConfigurationError: regorus is missing, or is not the version that the checks were made for.
        PolicyLoadError: the policy cannot be read, or holds what this engine evaluates otherwise than OPA; the
            message names file, line, what is wrong and the cure.
    """

    def __init__(self, policy: LoadedPolicy | Path | str, *, unsafe_without_load_checks: bool = False) -> None:
        loaded = load_policy(Path(policy)) if isinstance(policy, (str, Path)) else policy
        self._owner: Final = _Owner()
        weakref.finalize(self, self._owner.close).atexit = False
        self._loaded: Final = loaded
        self._unsafe: Final = unsafe_without_load_checks
        self._modules = deciding_modules(loaded.modules)
        self._data: Final = loaded.data
        ast_json = self._thread_engine().get_ast_as_json()
        self._guarded: Final = examine(ast_json, loaded.data, unsafe_without_load_checks=unsafe_without_load_checks)
        if unsafe_without_load_checks:
            _log.warning("embedded engine without its load checks: verdicts may differ from OPA's")
        elif (resolved := resolve_constants(self._thread_engine(), ast_json, self._modules)) != self._modules:
            self._modules = resolved
            del _threads.by_owner[self._owner]  # the next question makes an engine of what was resolved
        self._revision: Final = canonical_text({"local": loaded.revision})
        self._version: Final = installed_version()

    @property
    def name(self) -> str:
        """``"embedded"``."""
        return "embedded"

    @property
    def declared_codes(self) -> frozenset[str]:
        """The reason codes that the packs of its policy declare.

        Raises:
            PolicyLoadError: as `packs.declared_codes.declared_codes`.
        """
        return declared_codes(self._loaded)

    def evaluate(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """As `Engine.evaluate`. Cannot be interrupted: a runaway policy ends when it ends, and then is a deny."""
        if self._owner.closed:
            raise EngineFailureError(Reason.POLICY_UNAVAILABLE, "the embedded engine is closed")
        if deadline.passed():
            raise EngineFailureError(Reason.POLICY_TIMEOUT, "the deadline had passed before the evaluation")
        question = input_text(body, self._guarded.refused_characters, unsafe_any_number=self._unsafe)
        text = self._ask(path, question) if path.segments in self._guarded.rules else None
        if deadline.passed():
            raise EngineFailureError(Reason.POLICY_TIMEOUT, "the verdict came after the deadline")
        try:
            result = UNDEFINED if text is None else decode(text, RESPONSE_LIMITS)
        except StrictJsonError as error:
            raise EngineFailureError(Reason.POLICY_MALFORMED_DECISION, f"the decision: {error}") from error
        return EngineAnswer(result=result, policy_revision=self._revision, engine=self._version)

    async def evaluate_async(self, path: DecisionPath, body: bytes, deadline: Deadline) -> EngineAnswer:
        """As `evaluate`, on the event loop itself: a worker thread would hold the interpreter just as long."""
        return self.evaluate(path, body, deadline)

    def close(self) -> None:
        """Later questions are denied. Each thread drops its own engine when it next asks anything, or ends."""
        self._owner.close()

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    def _ask(self, path: DecisionPath, question: str) -> str | None:
        """JSON text of the rule's value; None when it is undefined."""
        engine = None
        try:
            engine = self._thread_engine()
            engine.set_input_json(question)
            text: str = engine.eval_rule_as_json(path.rule)
            if text != _UNDEFINED_TEXT:
                return text
            # regorus writes undefined as this very string. Ask which of the two it is.
            (row,) = engine.eval_query(f"is_string({path.rule})")["result"] or ({"expressions": [{"value": None}]},)
            return text if row["expressions"][0]["value"] is True else None
        except _PASS:
            raise
        except BaseException as error:  # a Rust panic is a BaseException
            detail = error_text(error)
            if type(error) is not RuntimeError:  # regorus' own errors are exactly that, and leave the engine whole
                _threads.by_owner.pop(self._owner, None)
                detail = f"{type(error).__name__}: {detail}"
            raise EngineFailureError(Reason.POLICY_EVALUATION_ERROR, detail) from error
        finally:
            # A traceback keeps this frame, and another thread's garbage collection may free it: without the engine.
            del engine

    def _thread_engine(self) -> Any:
        engine = _threads.of(self._owner)
        if engine is None:
            engine = _threads.by_owner[self._owner] = new_engine(self._modules, self._data)
        return engine
