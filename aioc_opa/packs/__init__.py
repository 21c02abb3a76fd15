"""What policy authors run: loading, routes, lint, scaffolding."""
