"""Drafts: agents as they are edited in the builder, before a change becomes a version."""
