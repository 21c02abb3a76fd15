"""Our Rego lint: what `opa check` and Regal cannot know (design 5; reference embedded.md)."""
