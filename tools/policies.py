"""Which rule a call of a tool falls under: of the site, the person and the conversation."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Q
from django.dispatch import Signal

from executions.models import Review
from tools.base import Rule, Tool
from tools.models import ToolPolicy

rule_set = Signal()  # a rule was written; for caches of this process
ALWAYS_ALLOWED = frozenset({"continue_run_block", "check_operation_status", "ask_question", "find_tool"})


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules that hold for one person in one conversation, by the name of the tool."""

    site: Mapping[str, Rule] = field(default_factory=dict)
    person: Mapping[str, Rule] = field(default_factory=dict)
    session: Mapping[str, Rule] = field(default_factory=dict)

    def of(self, tool: Tool) -> Rule:
        """Return the rule for a tool. A refusal of the site or the person is final; else the nearest rule counts."""
        if tool.name in ALWAYS_ALLOWED or tool.for_client:
            return Rule.ALLOW
        known = [found for rules in (self.session, self.person, self.site) if (found := rules.get(tool.name))]
        if Rule.DENY in known:
            return Rule.DENY
        return known[0] if known else tool.default_rule

    def denies(self, name: str) -> bool:
        return Rule.DENY in (self.site.get(name), self.person.get(name), self.session.get(name))


NO_RULES = Rules()


def rules_for(user_id: int | None, session_id: uuid.UUID | None) -> Rules:
    """Return the rules of a person in a conversation, with one query."""
    whose = Q(user=None, session_id=None)
    if user_id is not None:
        whose |= Q(user=user_id, session_id=None)
    if session_id is not None:
        whose |= Q(session_id=session_id)
    found: dict[str, dict[str, Rule]] = {"site": {}, "person": {}, "session": {}}
    rows = ToolPolicy.objects.filter(whose).values_list("tool_name", "user_id", "session_id", "rule")
    for name, owner, conversation, rule in rows:
        scope = "session" if conversation else "person" if owner else "site"
        found[scope][name] = Rule(rule)
    return Rules(site=found["site"], person=found["person"], session=found["session"])


def set_rule(
    tool_name: str, rule: Rule | None, *, user_id: int | None, session_id: uuid.UUID | None = None
) -> None:
    """Set the rule of a tool for a person, or the site; None removes it. Idempotent."""
    rows = ToolPolicy.objects.filter(tool_name=tool_name, user=user_id, session_id=session_id)
    if rule is None:
        rows.delete()
        return
    if not rows.update(rule=rule):
        ToolPolicy.objects.bulk_create(
            [ToolPolicy(tool_name=tool_name, user_id=user_id, session_id=session_id, rule=rule)],
            ignore_conflicts=True,
        )
        rule_set.send(sender=ToolPolicy)


def remember(review: Review, tool_name: str) -> None:
    """Keep what a person decided for later calls too, inside the transaction that writes the decision."""
    if review.state not in (Review.State.APPROVED, Review.State.REJECTED):
        return
    rule = Rule.ALLOW if review.state == Review.State.APPROVED else Rule.DENY
    match review.remember:
        case Review.Remember.SESSION:
            set_rule(tool_name, rule, user_id=review.user_id, session_id=review.session_id)
        case Review.Remember.ALWAYS:
            set_rule(tool_name, rule, user_id=review.user_id)
