"""What an approval at step 1 is bound to: SHA-256 of the RFC 8785 text of the call's metadata.

``{"kind":"access","identity":…,"tenant":…,"toolName":…,"toolVersion":…,"runId":…,"callId":…}``, null where there is
none. Its kind keeps it from ever being the hash of a proposal (``"kind":"tool"``): it never counts at step 5.
"""

from __future__ import annotations

import hashlib

from aioc_opa.core.canonical_json import canonical_text


def access_fingerprint(
    *, identity: str, tenant: str | None, tool_name: str, tool_version: str | None, run_id: str, call_id: str
) -> str:
    """64 lower-case hexadecimal digits.

    Raises:
        NotCanonicalError: a name has a lone surrogate.
    """
    document = {
        "kind": "access",
        "identity": identity,
        "tenant": tenant,
        "toolName": tool_name,
        "toolVersion": tool_version,
        "runId": run_id,
        "callId": call_id,
    }
    return hashlib.sha256(canonical_text(document).encode()).hexdigest()
