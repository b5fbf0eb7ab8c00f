"""Agents: versioned graphs of blocks, imported, validated, repaired, searched and published."""
