"""A pytest plugin that empties tables after a test that committed, without what Django's `flush` does besides.

`flush` writes every permission and content type anew each time; with some forty tables that took most of a test.
"""

from __future__ import annotations

from functools import cache

from django.db import connections, transaction
from django.test import TransactionTestCase

KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})


def empty_tables(case: TransactionTestCase) -> None:
    """The place of Django's own teardown."""
    for alias in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            for table in table_names(
                alias
            ):  # foreign keys are checked at the commit: the order does not matter
                cursor.execute(f"DELETE FROM {connections[alias].ops.quote_name(table)}")


@cache
def table_names(alias: str) -> list[str]:
    found = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(found) - KEPT)


TransactionTestCase._fixture_teardown = empty_tables  # type: ignore[attr-defined]
