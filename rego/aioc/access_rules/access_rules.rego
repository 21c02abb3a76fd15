# METADATA
# title: Rules of your own on who may use a tool at all
# description: |
#   Sets `deny`, `require_approval` and `allow` of verdicts (data.aioc.lib.verdicts), for what the table
#   data.aioc.access cannot say. `allow` counts only where data.aioc.access.decidedBy is "rules". Tables of your own go
#   into data.json beside this file. All rules go into this file: it is the one that says `loaded`.
# schemas:
#   - input: schema.tool_access_input
package aioc.access_rules

import future.keywords.not

# METADATA
# title: The rules are here
# description: Taken away, nobody may use any tool.
loaded := true
