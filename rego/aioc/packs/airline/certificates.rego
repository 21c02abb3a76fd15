package aioc.packs.airline

import data.aioc.lib.verdicts
import future.keywords.not

certificates_loaded := true

# METADATA
# title: 7.1 certificate_grounds_unverified
# description: Always. No reservation is named, so the complaint and its facts cannot be checked.
require_approval contains verdict if {
	input.toolName == "send_certificate"
	verdict := verdicts.hold("certificate_grounds_unverified")
}

# METADATA
# title: 7.2 certificate_eligibility_unverified
# description: Only insurance or a business cabin could make a regular member eligible. So it is for no known member.
require_approval contains verdict if {
	input.toolName == "send_certificate"
	not no_user
	not user.membership in {"silver", "gold"}
	verdict := verdicts.hold("certificate_eligibility_unverified")
}

# METADATA
# title: 7.3 certificate_amount_invalid
# description: 50 or 100 dollars for each of one to five passengers.
deny contains verdict if {
	input.toolName == "send_certificate"
	not args.amount in data.aioc.packs.airline.certificate_amounts
	verdict := verdicts.deny("certificate_amount_invalid")
}
