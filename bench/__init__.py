"""What a decision costs, by ratio to its peers in one run (design 8)."""
