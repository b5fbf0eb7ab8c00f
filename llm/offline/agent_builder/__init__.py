"""Answers to the agent generator: the offline model builds and changes agents from recipes."""
