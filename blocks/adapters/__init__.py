"""Adapters: implementations of the ports that need no database rows of ours."""
