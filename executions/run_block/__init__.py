"""Run a single block: on the executions queue for the API, or inside a turn for the model."""
