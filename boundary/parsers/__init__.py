"""Parsers of untrusted bytes, each run by `boundary.parser_process` in a separate process.

Each module has one entry point, `parse(body, arguments)`, which returns JSON or raises `UnreadableContent`. Parsers
import neither Django nor the rest of the product.
"""
