package aioc.access_rules_test

import data.aioc.access_rules
import future.keywords.not

test_loaded if access_rules.loaded
