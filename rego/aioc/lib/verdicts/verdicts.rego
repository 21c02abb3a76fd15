# METADATA
# title: Constructors of verdicts
# description: |
#   A pack's `deny`, `require_approval` and `allow` are sets of verdicts, and these functions are the only
#   constructors. A verdict that is made otherwise and does not have their shape denies as
#   `malformed_verdict` (design 3.3, 5).
package aioc.lib.verdicts

import future.keywords.not

# METADATA
# title: A verdict that denies the call
# description: The code is [a-z][a-z0-9_]{0,63}, is listed in the pack's manifest, and is not one of the runtime's.
deny(code) := {"code": code}

# METADATA
# title: A verdict that denies the call, with a sentence that the model and the user may see
# description: Never put an argument's value into the sentence.
deny_because(code, public_reason) := {"code": code, "publicReason": public_reason}

# METADATA
# title: A verdict that holds the call until it is approved on the library's default terms
hold(code) := {"code": code, "approval": default_approval}

# METADATA
# title: A verdict that holds the call until it is approved on terms of its own
# description: |
#   `approval` is {"approverRoles": [one or more], "quorum": persons, "separationOfDuties": bool, "ttlSeconds": n}.
hold_with(code, approval) := {"code": code, "approval": approval}

# METADATA
# title: A verdict that allows the call, unless another pack or rule denies or holds it
# description: Only the allow verdicts of a tool's owner count.
allow(code) := {"code": code}

# METADATA
# title: The approval terms of `hold`
# description: |
#   They are the library's data. Without them a hold has no terms, is malformed, and so denies: a missing table
#   must not let a call through.
default default_approval := {}

default_approval := data.aioc.lib.approval_defaults
