"""The approval lifecycle: broker, votes and stores (design 3.5)."""
