"""What /metrics says: sums over rows, kept once added up, and how things stand now."""
