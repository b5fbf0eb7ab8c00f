"""Traces to an OpenTelemetry collector; loaded only where one is set."""
