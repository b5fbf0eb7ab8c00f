"""The blocks of AutoGPT that are not installed here: names, providers and categories, and what comes nearest here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from blocks.replacements import REPLACEMENTS, Replacement

TABLE = Path(__file__).parent / "data" / "autogpt_blocks.tsv"
OWN = "AutoGPT"  # the provider of blocks that need no outside service
ANY_SERVICE = "Send Authenticated Web Request"
TRIGGER = "Generic Webhook Trigger"


@dataclass(frozen=True, kw_only=True)
class ForeignBlock:
    """A block that agents from AutoGPT may use."""

    id: str
    name: str
    provider: str
    category: str

    @property
    def label(self) -> str:
        """The name for people, with the service it needs."""
        return self.name if self.provider.lower() in self.name.lower() else f"{self.name} ({self.provider})"


@cache
def known_elsewhere() -> Mapping[str, ForeignBlock]:
    """Return the table by id."""
    header, *lines = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    blocks = [ForeignBlock(**dict(zip(header, line, strict=True))) for line in lines]
    return {block.id: block for block in blocks}


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
    if known is None or known.provider == OWN:
        return ""
    return TRIGGER if known.category == "trigger" else ANY_SERVICE


def host_of(provider: str) -> str:
    """Return the host of a provider's API, for which a credential is stored; empty if it is not known."""
    return HOSTS.get(provider, "")


HOSTS: Mapping[str, str] = {
    "AgentMail": "api.agentmail.to",
    "Airtable": "api.airtable.com",
    "Apollo": "api.apollo.io",
    "Ayrshare": "api.ayrshare.com",
    "Bannerbear": "api.bannerbear.com",
    "D-ID": "api.d-id.com",
    "DataForSEO": "api.dataforseo.com",
    "Discord": "discord.com",
    "Exa": "api.exa.ai",
    "Firecrawl": "api.firecrawl.dev",
    "GitHub": "api.github.com",
    "Google": "*.googleapis.com",
    "HubSpot": "api.hubapi.com",
    "Ideogram": "api.ideogram.ai",
    "Jina": "api.jina.ai",
    "Linear": "api.linear.app",
    "Mem0": "api.mem0.ai",
    "Notion": "api.notion.com",
    "OpenAI": "api.openai.com",
    "OpenWeatherMap": "api.openweathermap.org",
    "Perplexity": "api.perplexity.ai",
    "Reddit": "oauth.reddit.com",
    "Replicate": "api.replicate.com",
    "Slack": "slack.com",
    "Telegram": "api.telegram.org",
    "Todoist": "api.todoist.com",
    "WordPress": "public-api.wordpress.com",
    "X (Twitter)": "api.x.com",
    "ZeroBounce": "api.zerobounce.net",
}
