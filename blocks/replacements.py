"""General blocks that can take the place of blocks of AutoGPT: their names, and pin by pin what means the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A general block that does the work of another: its name, and its pins by those of the other block.

    A pin may be a nested one, such as `body_#_text`. `caveat` says what is different, in a sentence for people.
    """

    block: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)  # further values, by pin
    caveat: str = ""


_EMAIL = "It needs a credential with the address and an app password of the mail account."
_SEARCH = "It uses the search service of this site."
_ANSWER = "The model answers from what it knows, without searching."
_PAGE = "It reads the page without running its scripts."
_FIRST_PAGE = "It reads one page, without running its scripts and without following its links."
_CODE = "Each run starts afresh: files and variables are not kept between steps."


def _request(
    method: str,
    url: str,
    *,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    host: str,
    headers: Mapping[str, str] | None = None,
) -> Replacement:
    """Return the web request that does the same; its inputs are fields of the body, its outputs of the answer."""
    values: dict[str, Any] = {"url": url, "method": method}
    if headers:
        values["headers"] = dict(headers)
    return Replacement(
        block="Send Authenticated Web Request",
        inputs={pin: f"body_#_{name}" for pin, name in inputs.items()},
        outputs={pin: f"response_#_{name}" for pin, name in outputs.items()} | {"error": "error"},
        values=values,
        caveat=f"It needs a credential for {host}.",
    )


REPLACEMENTS: Mapping[str, Replacement] = {
    "Send Slack Message": _request(
        "POST",
        "https://slack.com/api/chat.postMessage",
        inputs={
            name: name
            for name in (
                "channel",
                "text",
                "thread_ts",
                "username",
                "icon_emoji",
                "unfurl_links",
                "mrkdwn",
            )
        },
        outputs={"ts": "ts", "channel": "channel"},
        host="slack.com",
    ),
    "Github Create Repository": _request(
        "POST",
        "https://api.github.com/user/repos",
        inputs={name: name for name in ("name", "description", "private", "auto_init", "gitignore_template")},
        outputs={"url": "html_url", "clone_url": "clone_url"},
        host="api.github.com",
        headers={"Accept": "application/vnd.github+json"},
    ),
    "Notion Search": _request(
        "POST",
        "https://api.notion.com/v1/search",
        inputs={"query": "query", "limit": "page_size"},
        outputs={"results": "results"},
        host="api.notion.com",
        headers={"Notion-Version": "2022-06-28"},
    ),
    "Airtable List Bases": _request(
        "GET",
        "https://api.airtable.com/v0/meta/bases",
        inputs={},
        outputs={"bases": "bases", "offset": "offset"},
        host="api.airtable.com",
    ),
    "Search Reddit": Replacement(
        block="Search The Web",
        inputs={"query": "query"},
        outputs={"results": "results", "result": "results", "error": "error"},
        caveat="It searches the whole web, with the search service of this site.",
    ),
    "Ask Wolfram": Replacement(
        block="AI Text Generator",
        inputs={"question": "prompt"},
        outputs={"answer": "response", "error": "error"},
        caveat="The model answers from what it knows; check what it calculates.",
    ),
    "Firecrawl Crawl": Replacement(
        block="Extract Website Content",
        inputs={"url": "url"},
        outputs={
            "markdown": "content",
            "data": "content",
            "html": "content",
            "raw_html": "content",
            "error": "error",
        },
        caveat=_FIRST_PAGE,
    ),
    "Gmail Send": Replacement(
        block="Send Email",
        inputs={"to": "to_email", "subject": "subject", "body": "body"},
        outputs={"result": "status", "error": "error"},
        values={"config": {"smtp_server": "smtp.gmail.com", "smtp_port": 587}},
        caveat=_EMAIL,
    ),
    "Exa Search": Replacement(
        block="Search The Web",
        inputs={"query": "query"},
        outputs={"results": "results", "result": "results", "context": "results", "error": "error"},
        caveat=_SEARCH,
    ),
    "Firecrawl Search": Replacement(
        block="Search The Web",
        inputs={"query": "query"},
        outputs={"data": "results", "site": "results", "error": "error"},
        caveat=_SEARCH,
    ),
    "Exa Code Context": Replacement(
        block="Search The Web",
        inputs={"query": "query"},
        outputs={"response": "results", "error": "error"},
        caveat=_SEARCH,
    ),
    "Exa Answer": Replacement(
        block="AI Text Generator",
        inputs={"query": "prompt"},
        outputs={"answer": "response", "error": "error"},
        caveat=_ANSWER,
    ),
    "Perplexity": Replacement(
        block="AI Text Generator",
        inputs={"prompt": "prompt", "system_prompt": "sys_prompt", "max_tokens": "max_tokens"},
        outputs={"response": "response", "error": "error"},
        caveat=_ANSWER,
    ),
    "Code Generation": Replacement(
        block="AI Text Generator",
        inputs={"prompt": "prompt", "system_prompt": "sys_prompt"},
        outputs={"response": "response", "error": "error"},
    ),
    "Firecrawl Scrape": Replacement(
        block="Extract Website Content",
        inputs={"url": "url"},
        outputs={
            "markdown": "content",
            "data": "content",
            "html": "content",
            "raw_html": "content",
            "error": "error",
        },
        caveat=_PAGE,
    ),
    "Execute Code Step": Replacement(
        block="Execute Code",
        inputs={"step_code": "code", "language": "language"},
        outputs={
            "main_result": "main_result",
            "results": "results",
            "response": "response",
            "stdout_logs": "stdout_logs",
            "stderr_logs": "stderr_logs",
            "error": "error",
        },
        caveat=_CODE,
    ),
    "Instantiate Code Sandbox": Replacement(
        block="Execute Code",
        inputs={
            "setup_code": "code",
            "setup_commands": "setup_commands",
            "language": "language",
            "timeout": "timeout",
        },
        outputs={
            "response": "response",
            "stdout_logs": "stdout_logs",
            "stderr_logs": "stderr_logs",
            "error": "error",
        },
        caveat=_CODE,
    ),
}
