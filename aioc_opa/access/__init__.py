"""Step 1 of a call: may this identity use this tool at all? Metadata only (design 2)."""
