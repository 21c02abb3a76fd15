"""The report of a period: its figures, its page in a real browser, and its command."""
