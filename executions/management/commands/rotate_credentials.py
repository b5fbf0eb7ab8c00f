"""rotate_credentials: seal every stored secret with the newest of ENCRYPTION_KEYS."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from executions.credentials.rotation import rotate_all


class Command(BaseCommand):
    help = (
        "Seal all credentials and webhook secrets with the newest key, so that older ones can be taken away."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = rotate_all()
        self.stdout.write(f"{done.resealed} sealed anew, {done.fresh} were fresh already.")
        if done.unreadable:
            raise CommandError(
                f"{len(done.unreadable)} cannot be opened with any key of ENCRYPTION_KEYS: "
                f"{', '.join(done.unreadable)}. Put back the key they were sealed with, or set them anew."
            )
        self.stdout.write("Every key but the first may be taken out of ENCRYPTION_KEYS now.")
