"""Run known attacks against a running site."""
