"""Validate time zone names."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError

NOT_ZONES = {"Factory", "localtime"}  # entries of some zone databases that are not zones


def validate_time_zone(name: str) -> None:
    """Raise ValidationError if the name is not an IANA time zone."""
    if name not in known_time_zones():
        raise ValidationError(
            "%(name)s is not a time zone. Use an IANA name such as Europe/Paris.",
            code="unknown_time_zone",
            params={"name": repr(name[:64])},
        )


@lru_cache(maxsize=1)
def known_time_zones() -> frozenset[str]:
    """Return all names, cached because the standard library reads the zone directory at each call."""
    return frozenset(available_timezones() - NOT_ZONES)
