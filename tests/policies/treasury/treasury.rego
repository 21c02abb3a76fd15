# METADATA
# title: A treasury whose transfers people approve
package aioc.packs.treasury

import data.aioc.lib.approvals
import data.aioc.lib.verdicts
import future.keywords.not

# METADATA
# title: The pack is here
loaded := true

# METADATA
# title: Nothing moves while the accounts are frozen
deny contains verdict if {
	not input.runContext.context.frozen == false
	verdict := verdicts.deny_because("accounts_frozen", "The accounts are frozen.")
}

# METADATA
# title: More than 100 needs a treasurer
require_approval contains verdict if {
	input.toolName == "transfer"
	not input.parsedArguments.amount <= 100
	verdict := verdicts.hold_with("amount_over_100", approvals.by(["treasurer"]))
}

# METADATA
# title: More than 1,000 needs two persons
require_approval contains verdict if {
	input.toolName == "transfer"
	not input.parsedArguments.amount <= 1000
	verdict := verdicts.hold_with("amount_over_1000", approvals.by_persons(["cfo", "treasurer"], 2))
}

# METADATA
# title: A closing needs somebody, who may be the one who asks
require_approval contains verdict if {
	input.toolName == "close_books"
	verdict := verdicts.hold_with(
		"closing_is_confirmed",
		approvals.requester_may_approve(approvals.within(approvals.by(["treasurer"]), 60)),
	)
}

# METADATA
# title: Everything else is fine
allow contains verdict if {
	input.toolName in {"balance", "close_books", "transfer"}
	verdict := verdicts.allow("treasury_tool")
}
