"""The rules of the offline model: the first that matches answers; otherwise it says what it can do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from re import Match, Pattern
from typing import Any

from llm.offline import build_followup, completed_work, delegation, flows, smalltalk, todo_flows
from llm.offline.agent_builder import answers as agent_builder
from llm.offline.conversation import OfflineConversation
from llm.offline.describe import describe
from llm.offline.flow_runner import Flow, FlowContext, play
from llm.offline.reply import Reply, say
from llm.offline.schema_values import make_value
from llm.offline.script import MARKER

MAX_RULE_CHARACTERS = 2_000  # longer messages are data, not requests
MAX_SIDE_JOB_PROMPT_CHARACTERS = 4_000
TITLE_WORDS = 6
TITLE_ASKED = re.compile(r"\btitles?\b", re.IGNORECASE)
SUMMARY_ASKED = re.compile(r"\bsummar(y|ies|i[sz]e)|\bcompact", re.IGNORECASE)


def answer(conversation: OfflineConversation) -> Reply:
    """Return the answer to a request without a script."""
    built = agent_builder.answer(conversation)
    if built is not None:
        return built
    wanted = conversation.body.get("response_format")
    if isinstance(wanted, Mapping) and wanted.get("type") in ("json_schema", "json_object"):
        return _structured(conversation, wanted)
    if is_side_job(conversation):
        return _summary(conversation) if not TITLE_ASKED.search(conversation.system) else _title(conversation)
    if notice := completed_work.find_completion_notice(conversation):
        return completed_work.report(conversation, notice)
    if _is_continuation(conversation):
        return say(describe(conversation.all_results[-1]))
    text = conversation.last_user_text.strip()
    if len(text) <= MAX_RULE_CHARACTERS:
        if ASKS_FOR_HELP.search(text):
            return smalltalk.explain(conversation.tools)
        if build_followup.answers_question(conversation, text):
            return play(
                build_followup.resume_build,
                FlowContext(conversation=conversation, text=text, match=_whole(text)),
            )
        for pattern, answer_rule in () if delegation.IN_BACKGROUND.search(text) else SMALL_TALK:
            match = pattern.search(text)
            if match:
                return answer_rule(match)
        for pattern, flow in FLOWS:
            match = pattern.search(text)
            if match:
                return play(flow, FlowContext(conversation=conversation, text=text, match=match))
    return smalltalk.admit(text, conversation.tools)


def is_side_job(conversation: OfflineConversation) -> bool:
    """Return whether the request asks for a title or a summary: a short system prompt that says so, and no tools."""
    system = conversation.system
    if conversation.tools or not system or len(system) > MAX_SIDE_JOB_PROMPT_CHARACTERS:
        return False
    return bool(TITLE_ASKED.search(system) or SUMMARY_ASKED.search(system))


def _is_continuation(conversation: OfflineConversation) -> bool:
    """Return whether the turn continues after background work, with a result and no new request."""
    if not conversation.all_results or conversation.rounds:
        return False
    answered = any(message.get("role") != "system" for message in conversation.turn)
    text = conversation.last_user_text[:MAX_RULE_CHARACTERS]
    return answered or bool(completed_work.FINISHED.search(text))


def _title(conversation: OfflineConversation) -> Reply:
    words = _plain(conversation.last_user_text).split()
    title = " ".join(words[:TITLE_WORDS]).strip(" .,:;!?\"'")
    return say(title or "Untitled conversation", delay=0)


def _summary(conversation: OfflineConversation) -> Reply:
    texts = [_plain(text) for text in conversation.user_texts]
    lines = [f"- The user wrote: {text[:200]}" for text in texts if text]
    return say("Summary of the conversation so far:\n" + "\n".join(lines[-50:]), delay=0)


def _plain(text: str) -> str:
    """Return a message without scripts, tags and speaker labels."""
    text = re.sub(r"<[^>]{0,200}>", " ", text.partition(MARKER)[0])
    return " ".join(re.sub(r"^\s*(user|human|message)\s*:", "", text, flags=re.IGNORECASE).split())


def _structured(conversation: OfflineConversation, wanted: Mapping[str, Any]) -> Reply:
    """Return an answer that matches the requested schema, with the user's words as strings."""
    schema = (wanted.get("json_schema") or {}).get("schema") or {"type": "object", "properties": {"text": {}}}
    value = make_value(schema, _plain(conversation.last_user_text), root=schema)
    return say(json.dumps(value, ensure_ascii=False), delay=0)


def _whole(text: str) -> Match[str]:
    """Return a match without groups, for flows that use the whole text."""
    found = re.match("", text)
    assert found is not None
    return found


def _rule(pattern: str) -> Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


ASKS_FOR_HELP = _rule(r"what (can|do) you do|^\s*help\b|who are you|what are you|which model|your abilities")
SMALL_TALK: list[tuple[Pattern[str], Callable[[Match[str]], Reply]]] = [
    (
        _rule(r"^\s*(hi|hello|hey|hallo|bonjour|good (morning|afternoon|evening))\b[^.!?]{0,20}[.!?]*\s*$"),
        smalltalk.greet,
    ),
    (_rule(r"^Scheduled follow-up: Remind the person: (?P<text>.+)$"), smalltalk.remind),
    (_rule(r"^\s*(thanks|thank you|thx|merci|danke)\b"), smalltalk.thank),
    (_rule(r"^(?:please )?count (?:up )?(?:from 1 )?to (?P<number>\d{1,6})\b"), smalltalk.count),
    (_rule(r"^(?:please )?write (?:me )?(?P<number>\d{1,6}) (?P<unit>words?|sentences?)\b"), smalltalk.write),
    (_rule(r"^(?:please )?(?:repeat|echo|say)(?: after me)?[: ]+(?P<text>.+)$"), smalltalk.echo),
    (_rule(r"^(?:please )?reverse[: ]+(?P<text>.+)$"), smalltalk.reverse),
    (_rule(r"^(?:please )?(?:uppercase|shout)[: ]+(?P<text>.+)$"), smalltalk.shout),
    (
        _rule(r"^(?:how many (?:words|characters|letters)(?: are)? in|count the words in)[: ]+(?P<text>.+)$"),
        smalltalk.measure,
    ),
    (smalltalk.LOOKS_LIKE_A_SUM, smalltalk.calculate),
    (_rule(r"\b(show|give|make|write|draw)\b.{0,30}\btable\b"), smalltalk.show_table),
    (_rule(r"\b(show|give|write)\b.{0,30}\bcode\b"), smalltalk.show_code),
    (_rule(r"\b(show|give|write|make)\b.{0,20}(?<!to-do )(?<!todo )\blist\b(?! of)"), smalltalk.show_list),
]

AGENT = r"(?:agent|workflow|automation)"
SUB_SESSION = r"\bsub-?sessions?\b"
FIND = r"\b(?:find|search|look for|which|list|show)\b"
ABOUT = r"(?: (?:for|to|that|about|named) (?P<query>.+))?"
FLOWS: list[tuple[Pattern[str], Callable[[FlowContext], Flow]]] = [
    (
        _rule(r"\b(?:make|write|start|create)\b.{0,20}\bto-?do list\b[: ]*(?P<items>.*)$"),
        todo_flows.make_list,
    ),
    (_rule(r"^(?:please )?tick off[: ]+(?P<item>.+)$"), todo_flows.tick_off),
    (_rule(rf"^(?:please )?(?:cancel|stop|abort)\b.{{0,20}}{SUB_SESSION}"), delegation.stop_work),
    (
        _rule(
            r"\bis (?:it|that|the [\w-]+) (?:done|ready|finished|still running)|\bhow far\b|\bany news\b|"
            r"\bcheck (?:the |on the )?(?:status|operation|progress|sub-?session)|"
            rf"^(?:what|how|show)\b.{{0,30}}{SUB_SESSION}"
        ),
        delegation.check_work,
    ),
    (
        _rule(
            rf"{SUB_SESSION}(?:.{{0,20}}?\b(?:for (?:this|that)|to|that|which|and|for)\b[: ]*|"
            r"\s*[:,]\s*(?:one )?(?:to )?)?(?P<prompt>.*)$"
        ),
        delegation.start_sub_session,
    ),
    (
        _rule(
            r"\blong(?:-running)? (?:work|task|job)\b(?:[: ]+(?:to )?(?P<prompt>(?!and come)\w.*))?|"
            r"\bcome back (?:later|when)"
        ),
        delegation.start_long_work,
    ),
    (
        _rule(r"^(?:please )?(?P<prompt>.{3,200}?)[,;]? (?:in the background|without waiting)\b"),
        delegation.start_sub_session,
    ),
    (
        _rule(r"^(?:please )?(?:research|investigate|look into|find out about)[: ]+(?P<topic>.+)$"),
        delegation.research,
    ),
    (
        _rule(
            r"\brun (?:the |a |my )?(?P<name>[^.\n]{1,80}?) block\b(?:\s+(?:with|on|for)[: ]+(?P<inputs>.+))?"
        ),
        flows.run_block,
    ),
    (_rule(rf"{FIND}.{{0,20}}\bblocks?\b{ABOUT}"), flows.find_blocks),
    (
        _rule(
            rf"\b(?:build|create|make|generate|design)\b.{{0,40}}?\b{AGENT}\b"
            r"(?:\s+(?:that|which|to|for|who))?[: ]*(?P<goal>.*)$"
        ),
        flows.build_agent,
    ),
    (
        _rule(
            r"\bcustomi[sz]e\b\s+(?:the )?(?P<slug>[\w.@+-]+/[\w-]+)[:,]?\s*"
            r"(?:so that (?:it )?|to |and )?(?P<changes>.*)$"
        ),
        flows.customize_agent,
    ),
    (
        _rule(
            rf"\b(?:change|edit|modify|improve|update|rename)\b.{{0,40}}\b(?:{AGENT}|it)\b|"
            r"^(?:and |now |please |it should )*(?:also|additionally)\b|^(?:please )?remove the output\b"
        ),
        flows.edit_agent,
    ),
    (
        _rule(
            r"^(?:please |now |and |then )*(?:run|start|execute|launch|schedule) "
            rf"(?P<name>(?:the |my |this |that )?(?:it|{AGENT}|[^.\n]{{1,80}}? {AGENT}))\b"
            r".*?(?:\bwith\b[: ]*(?P<inputs>.+))?$"
        ),
        flows.run_agent,
    ),
    (_rule(r"^(?:i (?:have )?(?:approved|rejected|decided)|continue|go on)\b"), flows.continue_after_review),
    (
        _rule(
            r"\b(?:outputs?|results?)\b(?:.{0,30}?\b(?:of|from|for)\b "
            rf"(?P<name>(?!yesterday|today|last)[^.?\n]{{1,80}}?)(?: {AGENT})?(?: from| of|[.?]|$))?|"
            r"what did (?:it|my agent) (?:do|say)"
        ),
        flows.view_output,
    ),
    (_rule(rf"{FIND}.{{0,30}}\b{AGENT}s?\b{ABOUT}"), flows.find_agents),
    (_rule(r"\b(?:list|show|which)\b.{0,20}\bschedules?\b"), flows.list_schedules),
    (
        _rule(
            r"\bremind me in (?P<count>\d{1,4}) (?P<unit>minute|hour|day)s?\b"
            r"(?: (?:to|that|about))?[: ]*(?P<prompt>.+)$"
        ),
        flows.follow_up,
    ),
    (
        _rule(
            r"\bremind me (?P<cron>every \w+(?: at \d{1,2}(?::\d{2})?(?:\s?(?:am|pm))?)?)"
            r"(?: (?:to|that|about))?[: ]*(?P<prompt>.+)$"
        ),
        flows.repeated_follow_up,
    ),
    (_rule(r"\b(?:list|show|which|what)\b.{0,20}\bfollow-?ups?\b"), flows.listing("list_followups")),
    (_rule(r"\b(?:list|show|which|what)\b.{0,20}\btriggers?\b"), flows.listing("list_triggers")),
    (_rule(r"\b(?:list|show|which|what)\b.{0,20}\bcredentials?\b"), flows.listing("list_credentials")),
    (_rule(r"\b(?:list|show|which|what)\b.{0,20}\bpresets?\b"), flows.listing("list_presets")),
    (_rule(r"\bsearch (?:the )?(?:web|internet)(?: for)?[: ]*(?P<query>.+)$"), flows.search_web),
    (_rule(r"(?P<url>https?://\S+)"), flows.fetch_page),
    (_rule(r"\b(?:list|show|which|what)\b.{0,20}\bfiles\b"), flows.list_files),
    (_rule(r"\b(?:keep|save|store|put|write)\b.{0,60}(?:\bfile\b|\bnote\b|\.\w{1,5}\b)"), flows.keep_file),
    (_rule(r"\b(?:read|show|open|print)\b.{0,40}(?:\bfile\b|\bit back\b|\.\w{1,5}\b)"), flows.read_file),
    (
        _rule(
            r"\bremember\b(?: that)?[: ]*(?P<fact>.*)$|"
            r"^(?P<about>my name is|i am an?|i work|i sell|my business)\b"
        ),
        flows.remember,
    ),
    (_rule(r"\b(?:run|execute)\b.{0,20}\bcommand\b[: ]*(?P<command>.*)$"), flows.run_command),
    (_rule(r"\bsearch (?:the )?(?:docs|documentation)(?: for)?[: ]*(?P<query>.*)$"), flows.search_docs),
    (
        _rule(
            r"^(?:please |now |and |then )*(?:run|start|execute|launch|schedule)\b\s*"
            rf"(?P<name>(?:the |my |this |that )?(?:it|{AGENT}|[^.\n]{{1,80}}? {AGENT}))?\b"
            r".*?(?:\bwith\b[: ]*(?P<inputs>.+))?$"
        ),
        flows.run_agent,
    ),
]
