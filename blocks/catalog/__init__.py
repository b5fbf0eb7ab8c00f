"""The blocks, one file each."""
