"""Charges happen once; budgets hold; days are the person's own."""

from __future__ import annotations

import importlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from accounts.budgets import allowances, check_budget, day_of, describe, month_of, usage_by_day
from accounts.errors import OverBudget
from accounts.ledger import Charge, charge_all, charge_answer, charge_once, rebuild_spending, spent
from accounts.models import Budget, LedgerEntry, SpentHour, User
from durable.ids import new_id
from llm.types import Completion, Usage
from tests.accounts.conftest import race

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def charge(user: User | None, key: str, amount: str = "0.25", **more: object) -> bool:
    return charge_once(
        user_id=user.pk if user else None,
        key=key,
        kind="model",
        amount=Decimal(amount),
        **more,  # type: ignore[arg-type]
    )


def charge_at(user: User, moment: datetime, amount: str = "1", tokens: int = 10) -> None:
    key = f"test:{new_id()}"
    charge(user, key, amount, input_tokens=tokens, output_tokens=tokens * 2)
    LedgerEntry.objects.filter(key=key).update(created_at=moment)
    rebuild_spending()


def test_first_charge_is_written_with_everything_it_was_told(ada: User) -> None:
    job = new_id()
    assert charge(
        ada, "step:1", "0.1234567", input_tokens=7, output_tokens=9, job_id=job, description="a step"
    )
    entry = LedgerEntry.objects.get()
    assert (entry.user, entry.kind, entry.amount) == (ada, "model", Decimal("0.123457"))
    assert (entry.input_tokens, entry.output_tokens, entry.job_id, entry.description) == (7, 9, job, "a step")


def test_second_charge_with_the_same_key_changes_nothing_and_says_so(ada: User, bob: User) -> None:
    assert charge(ada, "step:1", "0.25")
    assert not charge(ada, "step:1", "99")
    assert not charge(bob, "step:1", "1")
    assert LedgerEntry.objects.get().amount == Decimal("0.25")


def test_an_answer_of_a_model_is_charged_once_with_its_tokens_and_its_name(ada: User) -> None:
    usage = Usage(input_tokens=11, output_tokens=7)
    answer = Completion(
        text="hi",
        reasoning="",
        tool_calls=(),
        finish_reason="stop",
        usage=usage,
        model="m-1",
        cost=Decimal("0.5"),
    )
    assert charge_answer(answer, user_id=ada.pk, key="title:1")
    assert not charge_answer(answer, user_id=ada.pk, key="title:1")
    entry = LedgerEntry.objects.get()
    assert (entry.kind, entry.amount, entry.description) == ("model", Decimal("0.5"), "m-1")
    assert (entry.input_tokens, entry.output_tokens) == (11, 7)


def test_a_refused_second_charge_leaves_the_callers_transaction_usable(ada: User) -> None:
    charge(ada, "step:1")
    with transaction.atomic():
        assert not charge(ada, "step:1")
        assert charge(ada, "step:2")
        assert spent(ada, LONG_AGO) == Decimal("0.5")
    assert LedgerEntry.objects.count() == 2


def test_a_charge_falls_with_the_transaction_it_was_made_in(ada: User) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        assert charge(ada, "step:1")
        raise RuntimeError
    assert charge(ada, "step:1")


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-0.01", "100000000"])
def test_what_is_not_an_amount_is_refused_and_nothing_is_written(ada: User, amount: str) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        charge(ada, "step:1", amount)
    assert not LedgerEntry.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_cannot_be_kept_is_refused(ada: User, key: str) -> None:
    with pytest.raises(ValueError, match="1 to 200"):
        charge(ada, key)


def test_an_unknown_kind_is_refused(ada: User) -> None:
    with pytest.raises(ValueError, match="gift"):
        charge_once(user_id=ada.pk, key="k", kind="gift", amount=Decimal(1))


def test_only_an_adjustment_may_give_money_back(ada: User) -> None:
    charge(ada, "step:1", "2")
    assert charge_once(user_id=ada.pk, key="refund:1", kind="adjustment", amount=Decimal("-1.5"))
    assert spent(ada, LONG_AGO) == Decimal("0.5")


@pytest.mark.django_db(transaction=True)
def test_of_many_charges_at_once_with_one_key_exactly_one_is_made(ada: User) -> None:
    def attempt() -> bool:
        with transaction.atomic():
            return charge(ada, "step:1")

    assert sorted(race(attempt)) == [False] * 7 + [True]
    assert LedgerEntry.objects.count() == 1


def test_sums_are_exact_to_the_sixth_decimal(ada: User) -> None:
    for number in range(30):
        charge(ada, f"step:{number}", "0.100001")
    assert spent(ada, LONG_AGO) == Decimal("3.000030")


def test_spent_counts_only_this_user_and_only_since_then(ada: User, bob: User) -> None:
    now = timezone.now()
    charge_at(ada, now - timedelta(hours=2), "1")
    charge_at(ada, now - timedelta(minutes=5), "2")
    charge_at(bob, now, "4")
    assert spent(ada, now - timedelta(hours=1)) == Decimal(2)


def test_a_ledger_entry_outlives_its_user(ada: User) -> None:
    charge(ada, "step:1")
    ada.delete()
    assert LedgerEntry.objects.get().user is None


def test_without_a_budget_nothing_is_limited(ada: User) -> None:
    charge(ada, "step:1", "99999")
    check_budget(ada)


@pytest.mark.parametrize("period", ["day", "month"])
def test_a_used_up_limit_raises_over_budget_and_names_limit_amount_and_reset(ada: User, period: str) -> None:
    ada.time_zone = "Asia/Tokyo"
    Budget.objects.create(user=ada, **{f"{period}_limit": Decimal("0.5")})
    charge(ada, "step:1", "0.499999")
    check_budget(ada)
    charge(ada, "step:2", "0.000001")
    with pytest.raises(OverBudget) as caught:
        check_budget(ada)
    text = caught.value.message
    assert caught.value.status == 402
    assert caught.value.code == "over_budget"
    assert f"this {period}" in text
    assert "$0.50 of $0.50" in text
    assert "resets at 00:00" in text
    assert "(Asia/Tokyo)" in text


def test_a_limit_of_zero_allows_nothing(ada: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal(0))
    with pytest.raises(OverBudget):
        check_budget(ada)


def test_the_sites_limit_holds_for_those_without_their_own_and_an_empty_one_lifts_it(
    ada: User, bob: User, settings: Settings
) -> None:
    settings.COPILOT_DAY_BUDGET = Decimal(1)
    Budget.objects.create(user=bob)
    charge(ada, "a", "1")
    charge(bob, "b", "1")
    with pytest.raises(OverBudget):
        check_budget(ada)
    check_budget(bob)


def test_visitors_share_one_budget(db: None, settings: Settings) -> None:
    settings.COPILOT_VISITORS_DAY_BUDGET = Decimal(1)
    check_budget(None)
    charge(None, "v", "1")
    with pytest.raises(OverBudget):
        check_budget(None)


def test_yesterdays_spending_on_the_users_own_clock_no_longer_counts(ada: User) -> None:
    ada.time_zone = "Pacific/Auckland"
    Budget.objects.create(user=ada, day_limit=Decimal(1))
    start = day_of(ada, timezone.now()).starts_at
    charge_at(ada, start - timedelta(seconds=1), "5")
    check_budget(ada)
    charge_at(ada, start, "5")
    with pytest.raises(OverBudget):
        check_budget(ada)


def test_moving_to_another_time_zone_does_not_start_a_fresh_budget(ada: User) -> None:
    now = datetime(2026, 3, 10, 11, 30, tzinfo=UTC)
    ada.time_zone = "Pacific/Kiritimati"  # UTC+14: it is already tomorrow there
    fresh = day_of(ada, now)
    ada.time_zone_changed_at = now - timedelta(minutes=1)
    moved = day_of(ada, now)
    assert fresh.starts_at == datetime(2026, 3, 10, 10, tzinfo=UTC)
    assert moved.starts_at == now - timedelta(hours=24, minutes=1)
    assert moved.resets_at >= now + timedelta(hours=23)
    assert day_of(ada, now + timedelta(days=1)).starts_at == datetime(2026, 3, 11, 10, tzinfo=UTC)


def test_days_and_months_follow_daylight_saving_and_the_calendar(ada: User) -> None:
    ada.time_zone = "Europe/Paris"
    spring = day_of(ada, datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert spring.resets_at.astimezone(UTC) - spring.starts_at.astimezone(UTC) == timedelta(hours=23)
    december = month_of(ada, datetime(2026, 12, 31, 22, 59, tzinfo=UTC))
    assert december.resets_at == datetime(2027, 1, 1, tzinfo=ZoneInfo("Europe/Paris"))
    january = month_of(ada, datetime(2026, 12, 31, 23, 1, tzinfo=UTC))
    assert january.starts_at == datetime(2027, 1, 1, tzinfo=ZoneInfo("Europe/Paris"))


def test_usage_by_day_has_every_day_of_the_users_calendar(ada: User, bob: User) -> None:
    ada.time_zone = "America/New_York"
    today = timezone.now().astimezone(ada.zone).date()
    noon = datetime.combine(today, datetime.min.time(), tzinfo=ada.zone)
    charge_at(ada, noon, "0.5", tokens=3)
    charge_at(ada, noon - timedelta(minutes=1), "0.25", tokens=1)
    charge_at(ada, noon - timedelta(minutes=2), "0.25", tokens=1)
    charge_at(bob, noon, "9")
    days = usage_by_day(ada, 3)
    assert [day.date for day in days] == [today - timedelta(days=2), today - timedelta(days=1), today]
    assert [day.usage.cost for day in days] == [Decimal(0), Decimal("0.5"), Decimal("0.5")]
    assert [day.usage.input_tokens for day in days] == [0, 2, 3]
    assert days[2].usage.credits == Decimal(50)


@pytest.mark.parametrize(("asked", "given"), [(-5, 1), (0, 1), (1, 1), (366, 366), (10**9, 366)])
def test_usage_by_day_stays_between_a_day_and_a_year(ada: User, asked: int, given: int) -> None:
    assert len(usage_by_day(ada, asked)) == given


def test_a_zone_name_the_machine_does_not_know_counts_as_utc(ada: User) -> None:
    for name in ("Mars/Olympus", "../../etc/passwd", "America", ""):
        ada.time_zone = name
        assert ada.zone is UTC
        assert isinstance(usage_by_day(ada, 1)[0].date, date)


def test_small_amounts_are_not_rounded_away_in_the_text(ada: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal("0.0005"))
    charge(ada, "k", "0.0007")
    assert "$0.0007 of $0.0005" in describe(allowances(ada)[0])


# --- sums beside the ledger ---------------------------------------------------------------------


def ledger_sum(user: User | None, since: datetime) -> Decimal:
    return sum(
        LedgerEntry.objects.filter(user=user, created_at__gte=since).values_list("amount", flat=True),
        Decimal(0),
    )


def test_checking_a_budget_reads_no_ledger_however_long_it_is(ada: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal(10_000), month_limit=Decimal(100_000))
    for number in range(50):
        charge(ada, f"k{number}", "0.000001")
    with CaptureQueriesContext(connection) as asked:
        check_budget(ada)
    assert asked.captured_queries
    assert not [query for query in asked.captured_queries if "ledgerentry" in query["sql"]]
    assert spent(ada, LONG_AGO) == ledger_sum(ada, LONG_AGO) == Decimal("0.00005")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "Australia/Eucla", "America/New_York"])
def test_the_sums_agree_with_the_ledger_at_every_boundary(ada: User, zone: str) -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for minutes in range(0, 36 * 60, 17):
        charge_at(ada, moment + timedelta(minutes=minutes), "0.000007")
    ada.time_zone = zone
    for hours in range(0, 40, 3):
        now = moment + timedelta(hours=hours)
        for period in (day_of(ada, now), month_of(ada, now)):
            assert spent(ada, period.starts_at) == ledger_sum(ada, period.starts_at)
    odd = moment + timedelta(hours=5, minutes=3, seconds=1)
    assert spent(ada, odd) == ledger_sum(ada, odd)


@pytest.mark.django_db(transaction=True)
def test_many_charges_at_once_add_up(ada: User) -> None:
    race(lambda: charge(ada, f"k:{new_id()}", "0.1"), 8)
    race(lambda: charge(ada, "the same", "0.1"), 8)
    assert spent(ada, LONG_AGO) == ledger_sum(ada, LONG_AGO) == Decimal("0.9")


def test_a_sum_falls_with_the_transaction_of_its_charge(ada: User) -> None:
    charge(ada, "stays", "1")
    with pytest.raises(RuntimeError), transaction.atomic():
        charge(ada, "goes", "1")
        raise RuntimeError
    assert spent(ada, LONG_AGO) == Decimal(1)


def test_charges_made_together_are_added_once(ada: User) -> None:
    """A worker that takes over charges again for what its predecessor had charged."""
    charges = [Charge(key=f"c{number}", kind="block", amount=Decimal("0.5")) for number in range(4)]
    charge_all(charges[:3], user_id=ada.pk, job_id=new_id())
    charge_all(charges, user_id=ada.pk, job_id=new_id())
    assert spent(ada, LONG_AGO) == ledger_sum(ada, LONG_AGO) == Decimal(2)


def test_money_given_back_is_taken_off_and_summing_up_anew_changes_nothing(ada: User) -> None:
    charge(ada, "a", "2")
    charge_once(user_id=ada.pk, key="b", kind="adjustment", amount=Decimal("-0.5"))
    charge(None, "c", "3")
    before = spent(ada, LONG_AGO), spent(None, LONG_AGO)
    SpentHour.objects.update(micros=7)
    call_command("rebuild_spending", verbosity=0)
    assert (spent(ada, LONG_AGO), spent(None, LONG_AGO)) == before == (Decimal("1.5"), Decimal(3))


@pytest.mark.django_db(transaction=True)
def test_the_migration_sums_up_the_ledger_that_was_there(ada: User) -> None:
    charge(ada, "a", "2")
    charge(None, "b", "0.25")
    backfill = importlib.import_module("accounts.migrations.0002_spent_hours").sum_up
    SpentHour.objects.all().delete()
    backfill(apps, None)
    assert (spent(ada, LONG_AGO), spent(None, LONG_AGO)) == (Decimal(2), Decimal("0.25"))
