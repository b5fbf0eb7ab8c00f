"""The terminal chat, which uses only the public HTTP API."""
