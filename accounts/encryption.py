"""The site's encryption under the name that the packages above use; `llm`, a neighbour, takes it from `durable`."""

from durable.encryption import CannotUnseal, reseal, seal, unseal

__all__ = ["CannotUnseal", "reseal", "seal", "unseal"]
