"""Policy engines behind one protocol."""
