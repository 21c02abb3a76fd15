"""Bundles, the pure part: revisions, what a digest covers, roots."""
