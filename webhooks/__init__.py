"""Outgoing webhooks: the outside is told of what ended, signed, and as often as it takes."""
