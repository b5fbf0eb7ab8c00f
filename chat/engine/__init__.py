"""The engine: answers a turn, step by step."""

from chat.engine.run import run

__all__ = ["run"]
