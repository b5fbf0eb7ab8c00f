"""Measure what the product costs, next to the simplest implementation of the same."""
