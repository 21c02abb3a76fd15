"""Health, status and uploads of an OPA server, through `opa-python-client`. Never decisions.

The client is built for convenience where a guard needs care, so each of its habits is turned off here:

- proxies and ``.netrc`` from the environment (``trust_env``), three retries, and redirects, which turn an upload into
  something else;
- the rewriting of refused policies into what may be newer Rego (``rego_compat``): what is uploaded is what was given,
  or nothing;
- certificates of its own choosing: for https the same authority as for decisions, and no other;
- URLs from unquoted text: names are checked first.

A Unix socket it cannot reach by itself; an adapter of `requests` lends it one. Decisions need exact bytes, one total
deadline and a closed decoder: see `opa_server`.
"""

from __future__ import annotations

import re
import ssl
from typing import TYPE_CHECKING, Any, Final, Self

import requests
from opa_client.errors import RegoParseError
from opa_client.opa import OpaClient
from requests.adapters import HTTPAdapter

from aioc_opa.core.engine_answer import EngineFailureError
from aioc_opa.engines.http_endpoint import TlsFiles, parse_endpoint
from aioc_opa.engines.http_token import authorization
from aioc_opa.engines.http_unix_adapter import UnixAdapter
from aioc_opa.engines.protocol import DecisionPath
from aioc_opa.errors import EngineConfigurationError, PolicyLoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from aioc_opa.core.json_value import JsonObject, JsonValue

DEFAULT_TIMEOUT_SECONDS: Final = 5.0
"""For each connect and each read. No total deadline: nothing here is asked while a call waits."""

_POLICY_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:[/.][A-Za-z0-9_][A-Za-z0-9_-]*)*")


class OpaAdmin:
    """The management side of one OPA server. Arguments as in `opa_server.OpaServerEngine`.

    Args:
        timeout_seconds: for each connect and each read.

    Raises:
        EngineConfigurationError: one of the arguments cannot work.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_file: Path | str | None = None,
        ca_file: Path | str | None = None,
        client_cert_file: Path | str | None = None,
        client_key_file: Path | str | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        files = TlsFiles(ca_file=ca_file, client_cert_file=client_cert_file, client_key_file=client_key_file)
        endpoint = parse_endpoint(url, files)
        self._where: Final = endpoint.text
        self._authorization: Final = authorization(token=token, token_file=token_file)
        host, _, _ = endpoint.host_header.rpartition(":")
        self._client: Final = OpaClient(
            host=host or endpoint.host_header,
            port=endpoint.port or _DEFAULT_PORT,
            ssl=endpoint.tls is not None,
            retries=0,
            timeout=timeout_seconds,
        )
        session: requests.Session = self._client._session  # noqa: SLF001 - it offers no other way to turn these off
        session.trust_env = False
        session.max_redirects = 0
        session.verify = _authorities(ca_file)
        if client_cert_file is not None:
            session.cert = (str(client_cert_file), str(client_key_file or client_cert_file))
        session.mount("https://", HTTPAdapter(max_retries=0))
        plain = HTTPAdapter(max_retries=0) if endpoint.unix_path is None else UnixAdapter(endpoint.unix_path)
        session.mount("http://", plain)
        self._session: Final = session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def is_healthy(self, *, bundles: bool = False, plugins: bool = False) -> bool:
        """Whether ``GET /health`` says 200; False too when nobody answers.

        Args:
            bundles: only when all configured bundles have been activated once. A stale bundle still counts.
            plugins: only when all plugins are up.
        """
        query = {name: "true" for name, wanted in (("bundles", bundles), ("plugins", plugins)) if wanted}
        return bool(self._ask("health", lambda: self._client.check_health(query=query)))

    def status(self) -> JsonObject:
        """OPA's status document: for each bundle its active revision, last activation and last request.

        Raises:
            EngineConfigurationError: it cannot be had; OPA needs its status plugin for it.
        """
        answer = self._ask("status", self._client.get_status)
        result = answer.get("result") if type(answer) is dict else None
        if type(result) is not dict:
            raise EngineConfigurationError(f"{self._where}: the status document is not what OPA's is")
        return result

    def policy_ids(self) -> tuple[str, ...]:
        """The ids of all modules that the server has: those of a bundle begin with the bundle's name and ``/``.

        OPA sends every module whole, and its syntax tree: with a large policy that is much.

        Raises:
            EngineConfigurationError: they cannot be had; OPA's own authorization may refuse it.
        """
        answer = self._ask("the list of policies", self._list_policies)
        found = answer.get("result") if type(answer) is dict else None
        listed = found if type(found) is list else [None]
        ids = [policy["id"] for policy in listed if type(policy) is dict and type(policy.get("id")) is str]
        if len(ids) != len(listed):
            raise EngineConfigurationError(f"{self._where}: the list of policies is not what OPA's is")
        return tuple(ids)

    def _list_policies(self) -> Any:
        # The client's own asks for /v1/policies/, which OPA redirects.
        response = self._session.get(f"{self._client.root_url}/policies", timeout=self._client.timeout)
        response.raise_for_status()
        return response.json()

    def put_policy(self, policy_id: str, rego: str) -> None:
        """Upload one module, as it is.

        Raises:
            PolicyLoadError: the id or the module is refused; the message has the compiler's errors.
            EngineConfigurationError: the server cannot be asked.
        """
        if _POLICY_ID.fullmatch(policy_id) is None:
            raise PolicyLoadError("a policy id is words of A-Z a-z 0-9 _ - joined by / or .")
        if not rego:
            raise PolicyLoadError(f"policy {policy_id!r} is empty")
        self._ask(
            f"policy {policy_id!r}",
            lambda: self._client.update_policy_from_string(rego, policy_id, rego_compat=False),
        )

    def put_data(self, path: str, document: Mapping[str, JsonValue]) -> None:
        """Put a document at `path` below ``data``, in place of what was there.

        Args:
            path: segments joined by ``/``, as in `DecisionPath`.
            document: an object.

        Raises:
            PolicyLoadError: OPA refuses it.
            EngineConfigurationError: the path is not one, or the server cannot be asked.
        """
        place = DecisionPath(path).text
        self._ask(f"data {place!r}", lambda: self._client.update_or_create_data(dict(document), place))

    def request(self, method: str, path: str, body: str | None, *, with_token: bool) -> requests.Response:
        """One request, whatever its answer; for `opa_looking`. Nothing is followed, and the body is not read yet.

        Raises:
            requests.RequestException: nobody answers.
            EngineConfigurationError: the token cannot be read.
        """
        try:
            line = self._authorization.line().decode("ascii").strip() if with_token else ""
        except EngineFailureError as error:
            raise EngineConfigurationError(error.detail) from error
        # requests drops a header of the session whose value is None.
        headers = {"Authorization": line.partition(": ")[2] or None, "Accept-Encoding": "identity"}
        root = self._client.root_url.removesuffix("/v1")
        return self._session.request(
            method,
            f"{root}/{path}",
            data=body,
            headers=headers,
            timeout=self._client.timeout,
            allow_redirects=False,
            stream=True,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close_connection()

    def _ask(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            line = self._authorization.line().decode("ascii").strip()
        except EngineFailureError as error:
            raise EngineConfigurationError(error.detail) from error
        if line:
            self._session.headers["Authorization"] = line.partition(": ")[2]
        try:
            return call()
        except RegoParseError as error:
            if error.expression == "unauthorized":
                raise EngineConfigurationError(f"{self._where}: {what}: unauthorized") from error
            raise PolicyLoadError(f"{self._where}: {what} is refused: {error}") from error
        except (requests.RequestException, ValueError, AttributeError) as error:
            # ValueError, AttributeError: the client reads an error's body as the JSON object that OPA would send.
            raise EngineConfigurationError(f"{self._where}: {what}: {_words(error)}") from error


_DEFAULT_PORT: Final = 8181
"""In the URL for a Unix socket, where it means nothing."""


def _authorities(ca_file: Path | str | None) -> str | bool:
    """Those that the engine trusts: the given file, else the system's; `requests` would take a list of its own."""
    if ca_file is not None:
        return str(ca_file)
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or True


def _words(error: Exception) -> str:
    response = getattr(error, "response", None)
    return f"status {response.status_code}" if response is not None else f"{type(error).__name__}: {error}"
