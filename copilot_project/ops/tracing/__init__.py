"""Send traces to an OpenTelemetry collector; loaded only if one is configured."""
