# METADATA
# title: Who asks this OPA
# description: >-
#   Copied into a policy as `system/callers/`, this closes the server to whom it does not know (`system.authz`). Beside it,
#   `tokens/data.json` holds SHA-256 digests, so that the bundle shows no token:
#   `{"guards": ["<digest>", …], "operators": ["<digest>", …]}`. With --authentication=token they are of the tokens, with
#   =tls of the certificates' subjects. It is not part of the library, because the embedded engine has no crypto.sha256
#   and no callers.
package system.callers

import future.keywords.not

# METADATA
# description: The groups that the caller of this request belongs to.
groups contains group if {
	some group in {"guards", "operators"}
	crypto.sha256(input.identity) in data.system.callers.tokens[group]
}
