"""Authorization for the tool calls of AI agents, decided by OPA."""
