"""Render untrusted Jinja templates."""

from blocks.templates.render import render_template

__all__ = ["render_template"]
