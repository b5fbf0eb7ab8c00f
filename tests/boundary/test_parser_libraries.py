"""No code that parses a stranger's bytes runs beside other people's work: what is imported where, by construction.

Whatever is not known to be harmless is taken for a parser. A new library has to be put on one of the lists here, or be
used in `boundary.parsers`.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    *(
        "accounts",
        "blocks",
        "boundary",
        "doors",
        "chat",
        "copilot_project",
        "durable",
        "connections",
        "executions",
        "llm",
        "tools",
        "webhooks",
    ),
    "workspace",
)
ISOLATED = "boundary/parsers/"
# Of the standard library, what reads formats that others write.
STANDARD_PARSERS = frozenset(
    [
        *("zipfile", "tarfile", "gzip", "bz2", "lzma", "zlib", "csv", "xml", "html", "email", "mailbox"),
        *("plistlib", "pickle", "marshal", "shelve", "configparser", "netrc", "xmlrpc", "cgi", "aifc"),
        *("sndhdr", "imghdr", "wave", "chunk", "audioop", "tomllib", "ast", "tokenize", "gettext"),
        *("http.cookies", "imaplib", "nntplib"),
    ]
)
# Libraries that get their input from us, from our own servers, or are the ways to the outside themselves.
NO_PARSERS = frozenset(
    [
        *("aiohttp", "amqp", "asgiref", "celery", "certifi", "channels", "cronsim", "cryptography", "daphne"),
        *("django", "django_celery_beat", "django_otp", "drf_spectacular", "hiredis", "httpcore", "httpx"),
        *(
            "httpx2",
            "idna",
            "kombu",
            "openai",
            "opentelemetry",
            "prometheus_client",
            "psycopg",
            "publicsuffixlist",
            "pydantic",
        ),
        *("pydantic_core", "pyseccomp", "rapidfuzz", "redis", "referencing", "requests", "rest_framework"),
        *("segno", "sentry_sdk", "setproctitle", "snowballstemmer", "standardwebhooks", "structlog"),
        *("twisted", "whitenoise", "zope"),
    ]
)
# What may stay, and why it cannot hold anybody up.
BOUNDED = {
    ("boundary/content_encoding.py", "zlib"): "block by block, in linear time, as far as the reader wants",
    ("boundary/http.py", "email"): "the parameters of one header, which has a limit of its own",
    (
        "executions/triggers/receive.py",
        "email",
    ): "the parameters of one header, which has a limit of its own",
    ("blocks/adapters/mail.py", "email"): "writes messages, reads none",
    ("llm/retry.py", "email"): "the date in one header",
    ("llm/offline/smalltalk.py", "ast"): "the built-in model, a process of its own",
    ("workspace/media_types.py", "puremagic"): "the first 8 kB of a file against a table",
    ("durable/event_log.py", "zlib"): "what we packed ourselves",
    ("copilot_project/launcher/flower.py", "flower"): "the operator's monitor, a process of its own",
    ("copilot_project/limits_page.py", "ast"): "our own source, in a command of its own",
    ("copilot_project/limits_page.py", "tokenize"): "our own source, in a command of its own",
    ("copilot_project/ops/backup/archive.py", "tarfile"): "an operator's own backup, in a command of its own",
    ("executions/inputs.py", "jsonschema"): "schemas and values within the limits of an agent's graph",
    (
        "blocks/support/schemas.py",
        "jsonschema",
    ): "schemas and values within the limits of a block",
    ("connections/definitions.py", "mcp_types"): "one definition of a tool, of limited size, field by field",
    ("webhooks/push_sender.py", "webpush"): "encrypts what we wrote",
    ("webhooks/subscriptions.py", "webpush"): "two keys of fixed length",
    ("webhooks/vapid_keys.py", "webpush"): "a key that we made ourselves",
    ("blocks/support/patterns.py", "regex"): "with a time limit of its own",
    ("blocks/support/statements.py", "sqlparse"): "the first word, of at most 100,000 characters",
    ("blocks/templates/render.py", "jinja2"): "syntax only; rendering is isolated",
    ("blocks/templates/safe.py", "jinja2"): "syntax only; rendering is isolated",
    ("blocks/templates/isolated.py", "jinja2"): "runs in a process of its own",
    (
        "blocks/adapters/transcripts.py",
        "youtube_transcript_api",
    ): "its captions are parsed in isolation",
}


@functools.cache
def imports() -> frozenset[tuple[str, str]]:
    """Which file imports which library, lazily or not."""
    return frozenset(
        (path.relative_to(ROOT).as_posix(), name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in imported(path.read_text())
    )


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (outer(alias.name) for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield outer(module)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield outer(name)


def outer(name: str) -> str:
    return name if name in STANDARD_PARSERS else name.partition(".")[0]


def is_parser(name: str) -> bool:
    if name in sys.stdlib_module_names or name == "http.cookies":
        return name in STANDARD_PARSERS
    return name not in NO_PARSERS and name not in PACKAGES and name != "__future__"


def test_parsers_are_imported_in_isolated_processes_only() -> None:
    found = {
        (file, name)
        for file, name in imports()
        if is_parser(name) and not file.startswith(ISOLATED) and (file, name) not in BOUNDED
    }
    assert not found, (
        f"{sorted(found)}: put what parses strangers' bytes into boundary/parsers and call it through "
        "boundary.parser_process, or list it here with the bound that keeps it harmless."
    )


@pytest.mark.parametrize("entry", sorted(BOUNDED))
def test_what_is_listed_as_bounded_is_still_imported(entry: tuple[str, str]) -> None:
    assert entry in imports()


@pytest.mark.parametrize(
    "source",
    [
        "import yaml",
        "from lxml import etree",
        "def f():\n import pypdf",
        "import xml.sax",
        "import_module('bs4')",
    ],
)
def test_a_new_parser_is_noticed(source: str) -> None:
    assert any(map(is_parser, imported(source)))
