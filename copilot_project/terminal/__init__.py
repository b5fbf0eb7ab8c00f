"""Talking to Ratchet in a terminal, over the public HTTP API alone."""
