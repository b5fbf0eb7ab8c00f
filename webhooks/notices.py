"""Notices: queue one in the transaction of its event, let an open page claim it, withdraw it, delete old ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models.functions import Now

from accounts.models import User
from durable import storable
from durable.clock import current_time
from durable.database import after_commit, in_transaction
from durable.ids import new_id
from durable.publisher import poke
from webhooks import limits
from webhooks.events import NoticeKind
from webhooks.models import NotificationSettings, PushNotice
from workspace import limits as workspace_limits


@dataclass(frozen=True, kw_only=True)
class NoticeText:
    """What a notice says beside its kind: the name of what it is about, and the page to open."""

    kind: NoticeKind
    subject: str
    url: str


def event_name(kind: str, subject_id: uuid.UUID | str) -> str:
    """Return the id of an event, the same for a page that claims it and the row that would push it."""
    return f"{kind}:{subject_id}"


def announce(
    *, user: User | None, subject: str, subject_id: uuid.UUID, describe: Callable[[], NoticeText]
) -> None:
    """Queue a push for a user who has a device for it. Inside the transaction of the event; once per event.

    `describe` is called only then. The push waits a little, so that an open page can show the notice instead.
    """
    if user is None or not user.has_push or not user.is_active:
        return
    text = describe()
    if not settings_of(user).wants(text.kind):
        return
    notice = PushNotice(
        id=new_id(),
        status=PushNotice.WAITING,
        run_at=current_time() + timedelta(seconds=limits.PUSH_GRACE_SECONDS),
        user=user,
        event_id=event_name(subject, subject_id),
        kind=text.kind,
        subject=storable.text(text.subject, most=limits.MAX_NOTICE_SUBJECT_CHARACTERS),
        url=text.url,
    )
    PushNotice.objects.bulk_create([notice], ignore_conflicts=True)


def send_test(user: User) -> PushNotice:
    """Push a test to the user's devices at once."""
    notice = PushNotice(
        id=new_id(),
        status=PushNotice.QUEUED,
        user=user,
        event_id=event_name(NoticeKind.TEST, new_id()),
        kind=NoticeKind.TEST,
        url="/account/settings",
    )

    @in_transaction
    def insert() -> None:
        notice.save(force_insert=True)
        after_commit(poke, PushNotice, notice.pk)

    insert()
    return notice


def claim(user: User, event_id: str) -> bool:
    """Return whether the page that asks may show this event: the first one may, unless it was pushed before."""
    notice = PushNotice(
        id=new_id(),
        status=PushNotice.COMPLETED,
        end_reason="shown",
        user=user,
        event_id=event_id,
        kind=NoticeKind.ANSWER,
        url="/",
        seen_at=current_time(),
        ended_at=current_time(),
    )
    return _claim(notice)


@in_transaction
def _claim(notice: PushNotice) -> bool:
    same = PushNotice.objects.filter(user=notice.user, event_id=notice.event_id)
    if same.filter(seen_at=None, delivered_to=[]).exclude(status=PushNotice.RUNNING).update(seen_at=Now()):
        return True
    if same.exists():
        return False
    PushNotice.objects.bulk_create([notice], ignore_conflicts=True)
    return same.filter(pk=notice.pk).exists()


def withdraw(user_id: int | None, subject: str, subject_id: uuid.UUID) -> None:
    """Mark an event as seen, since the person has dealt with it: it is not pushed any more."""
    own = PushNotice.objects.filter(user=user_id, event_id=event_name(subject, subject_id))
    own.filter(seen_at=None).update(seen_at=Now())


def settings_of(user: User) -> NotificationSettings:
    """Return the user's settings; the defaults if nothing was changed."""
    return NotificationSettings.objects.filter(user=user).first() or NotificationSettings(user=user)


def quiet_until(chosen: NotificationSettings, user: User, now: datetime) -> datetime | None:
    """Return when the quiet hours end that this moment lies in; None if it lies in none.

    They are wall-clock times in the user's time zone and may span midnight.
    """
    start, end = chosen.quiet_from, chosen.quiet_until
    if start is None or end is None or start == end:
        return None
    local = now.astimezone(user.zone)
    time = local.time()
    is_quiet = start <= time < end if start < end else (time >= start or time < end)
    if not is_quiet:
        return None
    day = local.date() + timedelta(days=1) if time >= end else local.date()
    return datetime.combine(day, end, tzinfo=user.zone)


def forget_old() -> int:
    """Delete a batch of notices that ended long ago; return how many."""
    before = current_time() - timedelta(seconds=limits.NOTICE_LOG_SECONDS)
    old = PushNotice.objects.filter(ended_at__lt=before).values_list("pk", flat=True)
    return PushNotice.objects.filter(pk__in=list(old[: workspace_limits.PURGE_BATCH])).delete()[0]
