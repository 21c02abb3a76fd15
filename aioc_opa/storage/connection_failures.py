"""Why a database cannot be connected to, in words of our own: the driver's text holds addresses, names and more.

libpq gives no code for a connection that is not made (PQerrorMessage alone), so its text is looked at, and none of it
is passed on. A server that speaks another language, or a text of a later release, falls under the last words.
"""

from __future__ import annotations

import re
from typing import Final

_CAUSES: Final[tuple[tuple[str, str], ...]] = (
    (
        r"database \".*\" does not exist",
        "database missing: the server has none of this name; create it, or correct the name in the address",
    ),
    (
        (
            r"password authentication failed|no password supplied|authentication failed|role \".*\" does not exist"
            r"|no pg_hba\.conf entry|is not permitted to log in"
        ),
        (
            "authentication: the server refuses this account; check user and password (PGPASSWORD, .pgpass) and the "
            "server's pg_hba.conf"
        ),
    ),
    (
        r"(?i)\bssl\b|certificate|\btls\b",
        (
            "TLS: no connection that both sides accept; check sslmode, sslrootcert, and the certificate and host name "
            "of the server"
        ),
    ),
    (
        r"failed to resolve|could not translate host name|Name or service not known",
        "host unknown: the name in the address has no entry; correct it, or the resolver",
    ),
    (
        r"Connection refused|No such file or directory|No route to host|Network is unreachable",
        "refused: no server listens there; start it, or correct host and port (or the folder of its socket)",
    ),
    (
        r"timeout|timed out",
        "timeout: nobody answers; check host, port and what filters the network in between",
    ),
    (
        r"too many clients|remaining connection slots|too many connections",
        "full: the server takes no more connections; raise max_connections, or use fewer processes",
    ),
    (
        r"starting up|shutting down|in recovery mode",
        "not ready: the server starts, stops or recovers; try again",
    ),
    (
        r"read-only|hot standby|not accept.* writ",
        "read-only: this server takes no writes, it is a standby; name the primary in the address",
    ),
)
"""The order counts: the text of a refused password says `connection failed` as well."""

_OTHER: Final = "no connection, for a reason that only the server's log or psql tells"


def connection_words(text: str) -> str:
    """The category of a failed connection and what to do, from libpq's text, of which nothing is in it."""
    return next((words for pattern, words in _CAUSES if re.search(pattern, text)), _OTHER)
