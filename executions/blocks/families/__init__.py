"""What several blocks share: one module per kinship."""
