"""The billing functions that other packages use."""

from accounts.budgets import check_budget, hold_once, release_hold
from accounts.charges import Charge, charge_all, charge_answer, charge_once, usage_by_day
from accounts.errors import OverBudget
from accounts.spent_hours import spent

__all__ = [
    "Charge",
    "OverBudget",
    "charge_all",
    "charge_answer",
    "charge_once",
    "check_budget",
    "hold_once",
    "release_hold",
    "spent",
    "usage_by_day",
]
