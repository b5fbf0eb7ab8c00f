"""How dates and times are written on pages."""
