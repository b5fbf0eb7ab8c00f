"""Run one block by itself: on the executions queue for the API, or inside a turn for the model."""
