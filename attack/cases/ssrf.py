"""Server-side request forgery: nothing in the internal network is reached."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from attack.case import Section, attack, expect, proven_by
from attack.site import Site
from tests.webhooks.push_service import PushedBrowser

SSRF = Section.SSRF
REFUSED = "Only public web addresses can be fetched."
AT_ONCE = 12
MOST_CHARACTERS = 6_000_000
RANGES = [
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("192.0.0.1", "192.0.2.1", "[fc00::1]", "[fe80::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
]


def expect_refused(site: Site, *urls: str) -> None:
    """Expect web_fetch, webhooks and push subscriptions to refuse each URL."""
    if site.stack is not None:
        for first in range(0, len(urls), AT_ONCE):
            part = urls[first : first + AT_ONCE]
            found = site.call_tools(*(("web_fetch", {"url": url}) for url in part))
            for url, result in zip(part, found, strict=True):
                expect(
                    result["type"] == "error" and REFUSED in result["message"],
                    f"{url!r}: {result['message']}",
                )
    for url in urls:
        answer = site.attacker.post("/api/webhooks", json={"url": url, "events": ["turn.finished"]})
        if answer.is_success:
            site.attacker.delete(f"/api/webhooks/{answer.json()['id']}")
        expect(answer.status_code in (400, 422), f"a webhook to {url!r} was answered {answer.status_code}")
        pushed = site.attacker.post("/api/push/subscriptions", json=push_subscription(url))
        expect(pushed.status_code in (400, 422), f"a push to {url!r} was answered {pushed.status_code}")


def push_subscription(url: str) -> dict[str, Any]:
    """Return a subscription with the keys of a real browser."""
    return {"endpoint": url, "keys": PushedBrowser("attack").keys()}


def refused(number: int, what: str, *urls: str) -> None:
    @attack(number, SSRF, what, "refused before a packet is sent, as a page and as a webhook", anywhere=True)
    def run(site: Site) -> None:
        expect_refused(site, *urls)


refused(29, "`http://127.0.0.1:6379/`", "http://127.0.0.1:6379/", "http://127.0.0.1/", "http://127.8.8.8/")
refused(30, "`http://localhost.`", "http://localhost./", "http://localhost/", "http://LOCALHOST:8080/")
refused(31, "`http://[::1]/`", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::]/")
refused(
    32, "`http://[::ffff:169.254.169.254]/`", "http://[::ffff:169.254.169.254]/", "http://[::ffff:7f00:1]/"
)
refused(33, "`http://2130706433/`", "http://2130706433/")
refused(34, "`http://0x7f000001/`", "http://0x7f000001/", "http://0x7f.0.0.1/")
refused(35, "`http://0177.0.0.1/`", "http://0177.0.0.1/", "http://127.000.000.001/")
refused(36, "`http://127.1/`", "http://127.1/", "http://127.0.1/")
refused(37, "`http://0/` and `http://0.0.0.0/`", "http://0/", "http://0.0.0.0/")
refused(
    38,
    "The metadata services of clouds",
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/",
    "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
)
refused(
    39, "Private, shared, multicast, NAT64, 6to4 and Teredo ranges", *(f"http://{one}/" for one in RANGES)
)
refused(
    44,
    "Addresses that parsers read differently",
    "http://user:pass@example.com/",
    "http://evil.example#@127.0.0.1/",
    "http://127.0.0.1\\@evil.example/",
    "http://evil.example\t@127.0.0.1/",
    "http://127.0.0.1\n.evil.example/",
    "http:///127.0.0.1/",
)
refused(
    45,
    "Ports that are not the web's, other schemes",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:6379/",
    "http://example.com:99999/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
)
refused(
    46,
    "Digits and dots of other scripts",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://\uff11\uff12\uff17.0.0.1/",
)

proven_by(
    40,
    SSRF,
    "A name that resolves to a public address and to 127.0.0.1",
    "refused whole",
    "boundary/test_ssrf.py::test_case_40_a_name_with_one_bad_address_is_refused_whole",
)
proven_by(
    41,
    SSRF,
    "A name that resolves to a public address first and to 127.0.0.1 next",
    "resolved once, and the connection goes to the first",
    "boundary/test_ssrf.py::test_case_41_a_rebinding_name_is_resolved_once_and_its_first_address_pinned",
    "boundary/test_ssrf.py::test_case_41_a_name_that_rebinds_between_two_hops_is_refused_at_the_second",
)


def redirect(site: Site, to: str) -> str:
    return site.outside.url(f"/redirect?to={quote(to, safe='')}")


@attack(
    42,
    SSRF,
    "A redirect to 127.0.0.1; more redirects than five",
    "each hop is checked, and the sixth is not made",
)
def redirects(site: Site) -> None:
    inner = [redirect(site, to) for to in (site.url + "/healthz", "http://127.0.0.1:6379/", "http://[::1]/")]
    endless = site.outside.url("/redirect?to=/redirect%3Fto%3D/")
    for _ in range(6):
        endless = redirect(site, endless)
    found = site.call_tools(*(("web_fetch", {"url": url}) for url in (*inner, endless)))
    for result in found:
        expect(result["type"] == "error", f"it answered {str(result)[:200]}")


@attack(43, SSRF, "A redirect to file://, gopher:// and ftp://", "refused")
def redirect_schemes(site: Site) -> None:
    targets = ("file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "ftp://127.0.0.1/x", "data:text/html,x")
    found = site.call_tools(*(("web_fetch", {"url": redirect(site, to)}) for to in targets))
    for to, result in zip(targets, found, strict=True):
        expect(result["type"] == "error" and "root:" not in str(result), f"{to}: {str(result)[:200]}")


@attack(
    47,
    SSRF,
    "An endless answer, a gzip bomb, a byte a second",
    "cut at 5 MB and at 20 s",
    tests=["boundary/test_ssrf.py::test_case_47_a_slow_drip_ends_at_the_total_time"],
)
def endless(site: Site) -> None:
    started = time.monotonic()
    found = site.call_tools(
        ("web_fetch", {"url": site.outside.url("/endless"), "extract_text": False}),
        ("web_fetch", {"url": site.outside.url("/bomb"), "extract_text": False}),
    )
    for result in found:
        cut = result["type"] == "error" or len(result.get("content", "")) <= MOST_CHARACTERS
        expect(cut, f"{len(result.get('content', ''))} characters came through")
    expect(time.monotonic() - started < 60, "it took more than a minute")


proven_by(
    48,
    SSRF,
    "Proxies named by the environment",
    "ignored",
    "boundary/test_ssrf.py::test_case_48_proxies_of_the_environment_are_ignored",
)


@attack(49, SSRF, "The site's own address, directly and by a redirect", "refused")
def own_address(site: Site) -> None:
    urls = (site.url + "/api/me", redirect(site, site.url + "/api/me"))
    for result in site.call_tools(*(("web_fetch", {"url": url}) for url in urls)):
        expect(result["type"] == "error", f"it answered {str(result)[:200]}")


@attack(
    50,
    SSRF,
    "Headers and cookies across a redirect to another host",
    "not sent there",
    tests=["boundary/test_ssrf.py::test_case_50_secrets_are_not_sent_to_another_host"],
)
def cookies_across(site: Site) -> None:
    site.call_tools(("web_fetch", {"url": redirect(site, "/after-the-redirect")}))
    visits = [visit for visit in site.outside.visits if visit.path == "/after-the-redirect"]
    expect(visits, "the redirect was not followed")
    expect("cookie" not in visits[-1].headers, "a stranger's cookie was sent back")
    expect("authorization" not in visits[-1].headers, "a login was sent")
