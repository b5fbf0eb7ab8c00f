"""Faults on purpose: real processes are killed, frozen and cut off under load, then every promise is checked."""
