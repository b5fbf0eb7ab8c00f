"""Fault injection: kill, freeze and disconnect real processes under load, then check every guarantee."""
