"""The engine: runs the graph of an agent; a node run that has finished is never repeated."""
