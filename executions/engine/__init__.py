"""The engine: runs the graph of an agent so that nothing finished is ever done again."""
