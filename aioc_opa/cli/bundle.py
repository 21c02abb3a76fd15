"""`aioc-opa bundle …`: what publishers, platform teams and auditors do with OPA bundles."""

from __future__ import annotations

from typing import Final

from aioc_opa.cli import bundle_build, bundle_read, bundle_sign, bundle_verify
from aioc_opa.cli.app import add, make_app

app: Final = make_app("""Build, sign, verify and read OPA bundles of a policy.

\b
Example:
  aioc-opa bundle inspect tools.tar.gz --public-key signing.pub.pem
""")

add(app, "build", bundle_build.build, bundle_build.HELP)
add(app, "sign", bundle_sign.sign, bundle_sign.HELP)
add(app, "verify", bundle_verify.verify, bundle_verify.HELP)
add(app, "inspect", bundle_read.inspect, bundle_read.INSPECT_HELP)
add(app, "diff", bundle_read.diff, bundle_read.DIFF_HELP)
