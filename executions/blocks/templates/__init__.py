"""Templates: Jinja for people who are not trusted with this machine."""

from executions.blocks.templates.render import render_template

__all__ = ["render_template"]
