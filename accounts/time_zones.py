"""Which time zone names a person may choose."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError

NOT_PLACES = {"Factory", "localtime"}  # entries of some zone databases that name no zone


def validate_time_zone(name: str) -> None:
    """Refuse what is not an IANA name."""
    if name not in known_time_zones():
        raise ValidationError(
            "%(name)s is not a time zone. Use an IANA name such as Europe/Paris.",
            code="unknown_time_zone",
            params={"name": repr(name[:64])},
        )


@lru_cache(maxsize=1)
def known_time_zones() -> frozenset[str]:
    """All names, read once: the standard library walks the zone folder at each call."""
    return frozenset(available_timezones() - NOT_PLACES)
