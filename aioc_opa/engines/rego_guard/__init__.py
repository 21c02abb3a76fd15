"""What the embedded engine refuses when policies are loaded: constructs on which it is known to differ from OPA.

`docs/embedded-engine.md` has the list. A check sees the
syntax tree that regorus itself made, so it judges what will be evaluated.
"""

from aioc_opa.engines.rego_guard.finding import Finding
from aioc_opa.engines.rego_guard.guard import GuardedPolicy, examine, findings_of

__all__ = ["Finding", "GuardedPolicy", "examine", "findings_of"]
