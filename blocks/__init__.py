"""Blocks: the building blocks of agents, each one file with typed pins and examples."""
