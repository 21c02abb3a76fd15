"""Which modules the embedded engine takes: all but those that an OPA reads about itself.

``system.authz`` and ``system.log`` judge requests to an OPA and mask its log (OPA documentation, "Security" and
"Decision Logs"). There is no OPA here, and no tool call is decided by them; so they need not keep to what both engines
evaluate alike. A policy whose other modules speak of ``data.system`` is taken whole, and checked whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_OPA_ITSELF: Final = "system/"
_SPOKEN_OF: Final = re.compile(r"""data\s*\.\s*system\b|["`]system["`]""")


def deciding_modules(modules: Mapping[str, str]) -> dict[str, str]:
    """The modules, path to source, that can take part in a decision on a call."""
    deciding = {name: text for name, text in modules.items() if not name.startswith(_OF_OPA_ITSELF)}
    if not deciding or any(_SPOKEN_OF.search(text) for text in deciding.values()):
        return dict(modules)
    return deciding
