"""The outside of the sample agents on this machine: a web of three sites over TLS, and a scripted model."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from blocks.adapters.live import GuardedWeb
from blocks.examples import ExamplePage
from boundary.addresses import Address
from boundary.http import Outside
from boundary.policy import NetworkPolicy
from tests.blocks.adapters.certificates import Certificate, make_certificate
from tests.blocks.adapters.test_transcripts import ENGLISH, PLAYER, WATCH, WATCH_PAGE, captions, player
from tests.boundary.servers import LocalServer, Received, Rerouted, reply, serve
from tests.executions.agents.sample_agents import VIDEO
from tests.offline_server import OfflineServer

PUBLIC = "93.184.216.34"  # what every name resolves to; connections to it lead to the local server
SITES = ("search.example.com", "example.com", "www.youtube.com")
SEARCH_URL = f"https://{SITES[0]}/"
HIT = {"title": "A Shop", "url": "https://example.com/shop", "content": "Write to shop@example.com."}
STORIES = "<stories><story>One</story><story>Two</story></stories>"
PAGES = {
    WATCH: WATCH_PAGE,
    PLAYER: player(("en", ENGLISH)),
    ENGLISH: captions("Words of a video"),
    "https://example.com/": ExamplePage(body="<h1>Buy now</h1>"),
}
ANSWERS = {  # by words of the question; a later line goes before an earlier one
    "": "true",
    "shop@example.com": "Here it is: <email>shop@example.com</email>",
    "As XML": STORIES,
    "addresses of videos": json.dumps([VIDEO]),
}


@dataclass(frozen=True, kw_only=True)
class SampleServices:
    """Both servers, with what they were asked."""

    model: OfflineServer
    server: LocalServer
    web: GuardedWeb

    @property
    def fetched(self) -> list[str]:
        return [f"https://{one.headers['host']}{one.path}" for one in self.server.received]


@contextlib.contextmanager
def sample_services(folder: Path) -> Iterator[SampleServices]:
    """Start both servers; everything that is fetched through `web` passes all checks of the boundary."""
    certificate = make_certificate(*SITES)
    with OfflineServer() as model, serve(answer, certificate.server_context(folder)) as server:
        for words, text in ANSWERS.items():
            model.play({"steps": [{"text": text}]}, contains=words)
        yield SampleServices(model=model, server=server, web=GuardedWeb(way_to(server, certificate)))


def way_to(server: LocalServer, certificate: Certificate) -> Outside:
    return Outside(
        policy=NetworkPolicy(),
        resolver=PublicNames(),
        network=Rerouted(routes={PUBLIC: server.port}),
        tls=ssl.create_default_context(cadata=certificate.text),
    )


class PublicNames:
    """Resolves every name to the one public address."""

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]:
        return [ip_address(PUBLIC)]


def answer(handler: BaseHTTPRequestHandler, received: Received) -> None:
    page = find_page(f"https://{received.headers['host']}{received.path}")
    body = page.body.encode() if isinstance(page.body, str) else page.body
    reply(handler, body, status=page.status, headers=[("content-type", page.media_type)])


def find_page(address: str) -> ExamplePage:
    url = urlsplit(address)
    if address.startswith(SEARCH_URL):
        results = [HIT] if parse_qs(url.query).get("q") else []
        return ExamplePage(body=json.dumps({"results": results}), media_type="application/json")
    if url.path == "/results":
        return ExamplePage(body=f"<a href='{VIDEO}'>A video</a>")
    return PAGES.get(address, ExamplePage(status=404))
