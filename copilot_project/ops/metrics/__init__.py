"""The metrics at /metrics: running totals over rows, and gauges of the current state."""
