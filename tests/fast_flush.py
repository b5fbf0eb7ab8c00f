"""A pytest plugin that empties tables after a test that committed, without what Django's `flush` does besides.

`flush` writes every permission and content type anew each time; with some forty tables that took most of a test.
"""

from __future__ import annotations

from functools import cache

from django.db import connections
from django.test import TransactionTestCase

KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})


def empty_tables(case: TransactionTestCase) -> None:
    """The place of Django's own teardown.

    A request whose client hung up may still be committing; where PostgreSQL ends the deadlock by giving up this side,
    the tables are emptied again.
    """
    from durable.database import in_transaction  # needs settings, which are read after plugins

    for alias in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        in_transaction(delete_rows)(alias)


def delete_rows(alias: str) -> None:
    """Delete the rows of all tables, in any order: foreign keys are checked at the commit."""
    with connections[alias].cursor() as cursor:
        for table in table_names(alias):
            cursor.execute(f"DELETE FROM {connections[alias].ops.quote_name(table)}")


@cache
def table_names(alias: str) -> list[str]:
    found = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(found) - KEPT)


TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[attr-defined]
