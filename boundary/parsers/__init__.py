"""Parsers of strangers' bytes, each run by `boundary.isolated` in a process of its own.

A module here has one function, `parse(body, arguments)`, that returns JSON or raises `UnreadableContent`. It imports
neither Django nor the rest of the product, and knows only what it is given.
"""
