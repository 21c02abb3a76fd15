"""Our Rego lint: what `opa check` and Regal cannot know (design 5; docs/embedded-engine.md)."""
