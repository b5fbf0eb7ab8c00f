"""Code shared by several blocks, one module per topic."""
