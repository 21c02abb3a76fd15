"""Telemetry: what a guard tells an observer of each decision, and OpenTelemetry traces and metrics made of it."""
