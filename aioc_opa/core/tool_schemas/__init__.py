"""Tool schemas: what parses the arguments of a registered tool, exactly once per attempt."""
