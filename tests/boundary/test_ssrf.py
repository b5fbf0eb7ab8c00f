"""SECURITY.md cases 29-50: what a user or a model may not make the product fetch."""

# ruff: noqa: RUF001 (look-alike characters are the point of case 46)

from __future__ import annotations

import gzip
import http.server
import itertools
import socket
import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from boundary import limits
from boundary.errors import BlockedReason, BlockedUrl, ResponseTooLarge, TooManyRedirects, TooSlow
from boundary.http import OutboundRequest, Outside, fetch
from boundary.policy import AllowList, NetworkPolicy, policy_from_settings
from tests.boundary.servers import ListedResolver, LocalServer, Received, Rerouted, listen, reply, serve

PUBLIC = "93.184.216.34"
OTHER_PUBLIC = "151.101.1.69"


def assert_blocked(url: str, reason: BlockedReason, **settings: Any) -> BlockedUrl:
    """Refused, and neither a name was resolved nor a connection tried."""
    network, resolver = Rerouted(), ListedResolver(answers={})
    outside = Outside(policy=NetworkPolicy(**settings), resolver=resolver, network=network)
    with pytest.raises(BlockedUrl) as caught:
        fetch(OutboundRequest(url=url), outside)
    assert caught.value.reason == reason
    assert caught.value.code == "blocked_url"
    assert network.connected == []
    assert resolver.asked == []
    return caught.value


def allowing(*servers: LocalServer, **more: Any) -> Outside:
    return Outside(policy=NetworkPolicy(allowed=AllowList.of([server.host for server in servers])), **more)


def test_case_29_loopback_redis_port_is_refused() -> None:
    assert_blocked("http://127.0.0.1:6379/", BlockedReason.NOT_PUBLIC)


def test_case_30_localhost_with_trailing_dot_is_refused() -> None:
    assert_blocked("http://localhost.", BlockedReason.INTERNAL_NAME)
    assert_blocked("http://LOCALHOST/", BlockedReason.INTERNAL_NAME)
    assert_blocked("http://a.localhost/", BlockedReason.INTERNAL_NAME)


def test_case_31_ipv6_loopback_is_refused() -> None:
    assert_blocked("http://[::1]/", BlockedReason.NOT_PUBLIC)


def test_case_32_mapped_ipv4_metadata_address_is_refused() -> None:
    assert_blocked("http://[::ffff:169.254.169.254]/", BlockedReason.NOT_PUBLIC)
    assert_blocked("http://[::ffff:a9fe:a9fe]/", BlockedReason.NOT_PUBLIC)


def test_case_33_loopback_as_one_decimal_number_is_refused() -> None:
    assert_blocked("http://2130706433/", BlockedReason.AMBIGUOUS_ADDRESS)


def test_case_34_loopback_in_hexadecimal_is_refused() -> None:
    assert_blocked("http://0x7f000001/", BlockedReason.AMBIGUOUS_ADDRESS)
    assert_blocked("http://0x7f.0x0.0x0.0x1/", BlockedReason.AMBIGUOUS_ADDRESS)


def test_case_35_loopback_in_octal_is_refused() -> None:
    assert_blocked("http://0177.0.0.1/", BlockedReason.AMBIGUOUS_ADDRESS)


def test_case_36_shortened_loopback_is_refused() -> None:
    assert_blocked("http://127.1/", BlockedReason.AMBIGUOUS_ADDRESS)
    assert_blocked("http://127.0.1/", BlockedReason.AMBIGUOUS_ADDRESS)


def test_case_37_the_zero_address_is_refused() -> None:
    assert_blocked("http://0/", BlockedReason.AMBIGUOUS_ADDRESS)
    assert_blocked("http://0.0.0.0/", BlockedReason.NOT_PUBLIC)
    assert_blocked("http://[::]/", BlockedReason.NOT_PUBLIC)


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "192.0.0.192", "168.63.129.16"]
)
def test_case_38_metadata_addresses_are_refused(host: str) -> None:
    assert_blocked(f"http://{host}/latest/meta-data/", BlockedReason.NOT_PUBLIC)


@pytest.mark.parametrize("name", ["metadata.google.internal", "metadata", "instance-data", "x.cluster.local"])
def test_case_38_metadata_names_are_refused_without_resolving(name: str) -> None:
    assert_blocked(f"http://{name}/computeMetadata/v1/", BlockedReason.INTERNAL_NAME)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "10.0.0.1",
            "10.255.255.255",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.127.255.255",
        ),
        *(
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "127.9.9.9",
        ),
        *(
            "[fc00::1]",
            "[fdff::1]",
            "[fe80::1]",
            "[febf::1]",
            "[ff02::1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::1]",
        ),
        *(
            "[2002:7f00:1::]",
            "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
            "[2001:db8::1]",
            "[::127.0.0.1]",
            "[100::1]",
        ),
    ],
)
def test_case_39_private_and_tunnelled_ranges_are_refused(host: str) -> None:
    assert_blocked(f"http://{host}/", BlockedReason.NOT_PUBLIC)


def test_case_40_a_name_with_one_bad_address_is_refused_whole() -> None:
    network = Rerouted()
    for answer in ([PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], [PUBLIC, "::1"], ["fe80::1%eth0"]):
        resolver = ListedResolver(answers={"mixed.example.com": [answer]})
        with pytest.raises(BlockedUrl) as caught:
            fetch(
                OutboundRequest(url="http://mixed.example.com/"),
                Outside(policy=NetworkPolicy(), resolver=resolver, network=network),
            )
        assert caught.value.reason == BlockedReason.NOT_PUBLIC
    assert network.connected == []


def test_case_41_a_rebinding_name_is_resolved_once_and_its_first_address_pinned() -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, b"pinned")

    with serve(answer) as server:
        resolver = ListedResolver(answers={"rebind.example.com": [[PUBLIC], ["127.0.0.1"]]})
        network = Rerouted({PUBLIC: server.port})
        response = fetch(
            OutboundRequest(url="http://rebind.example.com/x?y=1"),
            Outside(policy=NetworkPolicy(), resolver=resolver, network=network),
        )
    assert response.body == b"pinned"
    assert network.connected == [(PUBLIC, 80)]
    assert resolver.asked == ["rebind.example.com"]
    assert server.received[0].headers["host"] == "rebind.example.com"
    assert server.received[0].path == "/x?y=1"


def test_case_41_a_name_that_rebinds_between_two_hops_is_refused_at_the_second() -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, status=302, headers=[("location", "/again")])

    with serve(answer) as server:
        resolver = ListedResolver(answers={"rebind.example.com": [[PUBLIC], ["127.0.0.1"]]})
        network = Rerouted({PUBLIC: server.port})
        with pytest.raises(BlockedUrl):
            fetch(
                OutboundRequest(url="http://rebind.example.com/"),
                Outside(policy=NetworkPolicy(), resolver=resolver, network=network),
            )
    assert network.connected == [(PUBLIC, 80)]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:8080/",
        "//127.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "http://169.254.169.254/",
    ],
)
def test_case_42_a_redirect_to_an_inner_address_is_refused(location: str) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, status=302, headers=[("location", location)])

    with serve(answer) as server, pytest.raises(BlockedUrl):
        fetch(OutboundRequest(url=server.url()), allowing(server))
    assert len(server.received) == 1


def test_case_42_more_than_five_redirects_are_refused() -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, status=302, headers=[("location", f"/{int(received.path[1:]) + 1}")])

    with serve(answer) as server, pytest.raises(TooManyRedirects):
        fetch(OutboundRequest(url=server.url("/0")), allowing(server))
    assert len(server.received) == 1 + limits.MAX_REDIRECTS == 6


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://example.com/x"]
)
def test_case_43_a_redirect_to_another_scheme_is_refused(location: str) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, status=302, headers=[("location", location)])

    with serve(answer) as server, pytest.raises(BlockedUrl) as caught:
        fetch(OutboundRequest(url=server.url()), allowing(server))
    assert caught.value.reason == BlockedReason.SCHEME
    assert_blocked(location, BlockedReason.SCHEME)


@pytest.mark.parametrize(
    "url", ["http://user:pass@example.com/", "http://example.com#@127.0.0.1/", "http://@example.com/"]
)
def test_case_44_credentials_in_a_url_are_refused(url: str) -> None:
    assert_blocked(url, BlockedReason.CREDENTIALS)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://127.0.0.1\\@example.com/",
            "http://exam\tple.com/",
            "http://example.com\n/",
            "http://exa\r\nmple.com/",
        ),
        *(
            "http://example.com\x00/",
            "http://exam ple.com/",
            "http://%31%32%37.0.0.1/",
            "http://[fe80::1%25eth0]/",
        ),
        *(
            "http://example.com:80:80/",
            "http://[::1",
            "http:///x",
            "http://",
            "//example.com/",
            "example.com",
            "",
        ),
        *(
            "http://exam\u202eple.com/",
            "http://-example.com/",
            "http://a..b/",
            "http://" + "a" * 300 + ".com/",
        ),
        "http://example.com/" + "a" * limits.MAX_URL_CHARACTERS,
    ],
)
def test_case_44_urls_that_parsers_read_differently_are_refused(url: str) -> None:
    assert_blocked(url, BlockedReason.MALFORMED)


@pytest.mark.parametrize("port", [22, 25, 3306, 5432, 6379, 11211, 1, 65535])
def test_case_45_ports_that_are_not_the_webs_are_refused(port: int) -> None:
    assert_blocked(f"http://example.com:{port}/", BlockedReason.PORT)


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_case_45_numbers_that_are_no_ports_are_refused(port: str) -> None:
    assert_blocked(f"http://example.com:{port}/", BlockedReason.PORT)


@pytest.mark.parametrize("port", [80, 443, 8080, 8443])
def test_case_45_the_webs_ports_are_open(port: int) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, b"ok")

    with serve(answer) as server:
        network = Rerouted({PUBLIC: server.port})
        response = fetch(
            OutboundRequest(url=f"http://{PUBLIC}:{port}/"), Outside(policy=NetworkPolicy(), network=network)
        )
    assert (response.body, network.connected) == (b"ok", [(PUBLIC, port)])


@pytest.mark.parametrize("host", ["①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "𝟏𝟐𝟕.𝟎.𝟎.𝟏"])
def test_case_46_digits_of_other_scripts_are_normalised_then_refused(host: str) -> None:
    assert_blocked(f"http://{host}/", BlockedReason.NOT_PUBLIC)


def test_case_46_letters_of_other_forms_are_normalised_then_refused() -> None:
    assert_blocked("http://ｌｏｃａｌｈｏｓｔ/", BlockedReason.INTERNAL_NAME)
    assert_blocked("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", BlockedReason.INTERNAL_NAME)


def test_case_47_an_endless_answer_is_cut_at_the_cap() -> None:
    sent = itertools.count()

    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(10 * 1024**3))
        handler.end_headers()
        while True:
            next(sent)
            handler.wfile.write(b"x" * 65536)

    with serve(answer) as server:
        with pytest.raises(ResponseTooLarge):
            fetch(OutboundRequest(url=server.url()), allowing(server))
        response = fetch(OutboundRequest(url=server.url(), cut=True), allowing(server))
    assert response.cut
    assert len(response.body) == limits.MAX_FETCH_BYTES
    assert next(sent) * 65536 < 64 * 1024**2


def test_case_47_a_gzip_bomb_is_cut_at_the_cap() -> None:
    bomb = gzip.compress(b"\0" * 64 * 1024**2)

    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, bomb, headers=[("content-encoding", "gzip")])

    with serve(answer) as server:
        with pytest.raises(ResponseTooLarge):
            fetch(OutboundRequest(url=server.url()), allowing(server))
        response = fetch(OutboundRequest(url=server.url(), cut=True, max_bytes=1000), allowing(server))
    assert response.body == b"\0" * 1000


@pytest.mark.parametrize(
    "opening", [b"", b"HTTP/1.1 200 OK\r\nx-slow: ", b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n"]
)
def test_case_47_a_slow_drip_ends_at_the_total_time(opening: bytes) -> None:
    """Whether the server is silent, drips its headers or drips its body."""
    stop = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(opening)
                while opening and not stop.wait(0.02):
                    connection.sendall(b"a")
                stop.wait(10)
            except ConnectionError:
                return

    with listen() as listener:
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        outside = Outside(policy=NetworkPolicy(allowed=AllowList.of([url.split("/")[2]])))
        with pytest.raises(TooSlow):
            fetch(OutboundRequest(url=url, timeout=0.3), outside)
        stop.set()
        thread.join(5)
    assert OutboundRequest(url=url).timeout == 20.0


def test_case_48_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, b"direct")

    with serve(answer) as server, serve(answer) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        response = fetch(OutboundRequest(url=server.url()), allowing(server))
    assert response.body == b"direct"
    assert proxy.received == []


def test_case_49_the_sites_own_host_is_refused(settings: Any) -> None:
    settings.SITE_URL = "https://copilot.example.org"
    settings.ALLOWED_HOSTS = ["copilot.example.org", "www.example.org", ".example.net", "*"]
    policy = policy_from_settings()
    assert policy.own_hosts == {"copilot.example.org", "www.example.org"}
    for url in (
        "https://copilot.example.org/api/sessions",
        "http://COPILOT.example.org.:8080/",
        "https://www.example.org/",
    ):
        assert_blocked(url, BlockedReason.OWN_HOST, own_hosts=policy.own_hosts)


def test_case_49_a_redirect_to_the_sites_own_host_is_refused() -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        reply(handler, status=307, headers=[("location", "https://copilot.example.org/")])

    with serve(answer) as server:
        policy = NetworkPolicy(
            allowed=AllowList.of([server.host]), own_hosts=frozenset({"copilot.example.org"})
        )
        with pytest.raises(BlockedUrl) as caught:
            fetch(OutboundRequest(url=server.url()), Outside(policy=policy))
    assert caught.value.reason == BlockedReason.OWN_HOST


def redirecting(to: str, status: int = 302) -> Any:
    def answer(handler: http.server.BaseHTTPRequestHandler, received: Received) -> None:
        if received.path == "/":
            reply(handler, status=status, headers=[("location", to), ("set-cookie", "a=1")])
        else:
            reply(handler, b"end")

    return answer


SECRETS = {
    "Authorization": "Bearer s3cret",
    "Cookie": "session=s3cret",
    "X-Api-Key": "s3cret",
    "Accept": "text/html",
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_case_50_secrets_are_not_sent_to_another_host(status: int) -> None:
    with serve(redirecting("/end")) as second, serve(redirecting(second.url("/end"), status)) as first:
        request = OutboundRequest(url=first.url(), headers=SECRETS)
        assert fetch(request, allowing(first, second)).body == b"end"
    assert "s3cret" in first.received[0].headers["authorization"]
    assert not any("s3cret" in value or "a=1" in value for value in second.received[0].headers.values())
    assert second.received[0].headers["accept"] == "text/html"
    assert second.received[0].headers["host"] == second.host


def test_case_50_headers_stay_on_the_same_host_but_cookies_set_there_are_not_sent() -> None:
    with serve(redirecting("/end")) as server:
        fetch(OutboundRequest(url=server.url(), headers=SECRETS), allowing(server))
    assert server.received[1].headers["authorization"] == "Bearer s3cret"
    assert server.received[1].headers["cookie"] == "session=s3cret"


def test_case_83_the_egress_log_names_the_host_and_nothing_secret() -> None:
    with serve(redirecting("/end")) as server, capture_logs() as lines:
        fetch(OutboundRequest(url=server.url("/end?key=s3cret"), headers=SECRETS), allowing(server))
    assert [line["host"] for line in lines if line["event"] == "outbound request"] == ["127.0.0.1"]
    assert "s3cret" not in repr(lines)
