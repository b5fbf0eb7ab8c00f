"""DATABASE_URL: what it says goes to PostgreSQL's library, over the product's own defaults."""

from __future__ import annotations

from copilot_project import settings

URL = "postgres://ann:s%40cret@db.internal:6432/ratchet"


def test_parts_of_the_url_are_read() -> None:
    made = settings.postgres(URL)
    assert (made["USER"], made["PASSWORD"], made["HOST"], made["PORT"]) == (
        "ann",
        "s@cret",
        "db.internal",
        "6432",
    )


def test_options_of_the_url_come_after_the_products_own_and_so_win() -> None:
    made = settings.postgres(f"{URL}?options=-c%20statement_timeout%3D60s&sslmode=require")["OPTIONS"]
    assert made["options"] == f"{settings.POSTGRES_TIMEOUTS} -c statement_timeout=60s"
    assert made["sslmode"] == "require"


def test_without_options_the_products_own_hold() -> None:
    assert settings.postgres(URL)["OPTIONS"]["options"] == settings.POSTGRES_TIMEOUTS


def test_the_pool_has_the_size_and_the_patience_of_the_environment() -> None:
    pool = settings.postgres(URL)["OPTIONS"]["pool"]
    assert (pool["max_size"], pool["timeout"]) == (
        settings.ENV.database_pool_size,
        settings.ENV.database_pool_timeout,
    )
