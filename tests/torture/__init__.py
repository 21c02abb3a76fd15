"""Once means once, between real processes that race and real processes that are killed (issue 4)."""
