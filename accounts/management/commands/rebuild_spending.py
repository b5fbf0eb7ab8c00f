"""rebuild_spending: recompute the hourly sums of the ledger."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from accounts.ledger import rebuild_spending
from accounts.models import SpentHour


class Command(BaseCommand):
    help = "Recompute the hourly sums of the ledger, after it was changed by hand."

    def handle(self, *args: Any, **options: Any) -> None:
        rebuild_spending()
        self.stdout.write(f"{SpentHour.objects.count()} hours were summed up.")
