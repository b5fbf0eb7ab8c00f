"""What the product costs, measured beside the simplest thing that could do the same."""
