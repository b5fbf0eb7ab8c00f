"""The blocks of AutoGPT that are not installed here: their names and providers, and what can take their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "data" / "autogpt_blocks.tsv"
OWN = "AutoGPT"  # the provider of blocks that need no outside service


@dataclass(frozen=True, kw_only=True)
class ForeignBlock:
    """A block that agents from AutoGPT may use."""

    id: str
    name: str
    provider: str

    @property
    def label(self) -> str:
        """The name for people, with the service it needs."""
        return self.name if self.provider.lower() in self.name.lower() else f"{self.name} ({self.provider})"


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A general block that does the work of another: its name, and its pins by those of the other block.

    `caveat` says what is different, in a sentence for people.
    """

    block: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)  # further values, by pin
    caveat: str = ""


@cache
def known_elsewhere() -> Mapping[str, ForeignBlock]:
    """Return the table by id."""
    _, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    blocks = [ForeignBlock(id=id, name=name, provider=provider) for id, name, provider in map(columns, lines)]
    return {block.id: block for block in blocks}


def columns(line: str) -> list[str]:
    return line.split("\t")


def find_foreign(block_id: str) -> ForeignBlock | None:
    return known_elsewhere().get(block_id.lower())


def find_replacement(block_id: str) -> Replacement | None:
    """Return the general block that can take a block's place without further work, or None."""
    known = find_foreign(block_id)
    return REPLACEMENTS.get(known.name) if known else None


def nearest_block(block_id: str) -> str:
    """Return the name of the block with which the work can be done here, if only by hand."""
    if replacement := find_replacement(block_id):
        return replacement.block
    known = find_foreign(block_id)
    return "" if known is None or known.provider == OWN else "Send Authenticated Web Request"


_EMAIL = "It needs a credential with the address and an app password of the mail account."
_SEARCH = "It uses the search service of this site."
_ANSWER = "The model answers from what it knows, without searching."
_PAGE = "It reads the page without running its scripts."
_CODE = "Each run starts afresh: files and variables are not kept between steps."

REPLACEMENTS: Mapping[str, Replacement] = {
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
    "Google Maps Search": Replacement(
        block="Search The Web",
        inputs={"query": "query"},
        outputs={"place": "results", "error": "error"},
        caveat="It finds web pages about places, not entries of a map.",
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
