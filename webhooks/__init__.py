"""Outgoing webhooks: signed events about ended jobs, retried until they arrive."""
