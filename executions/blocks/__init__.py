"""Blocks: what an agent is made of; each is one small file with typed pins, examples and no hidden I/O."""
