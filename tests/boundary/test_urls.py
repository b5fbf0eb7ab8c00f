"""Reading URLs: whatever is let through means the same to every parser."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundary.addresses import is_public
from boundary.errors import BlockedUrl
from boundary.urls import join_url, parse_url

PIECES = st.sampled_from(
    [
        *"/\\@:#?[]%. \t\n\x00-_",
        *(
            "http",
            "https",
            "file",
            "://",
            "//",
            "127.0.0.1",
            "::1",
            "example.com",
            "①",
            "。",
            "0x7f",
            "localhost",
        ),
        *("80", "8080", "user", "ä", "xn--", "2130706433", "..", "\u202e", "\udc80"),
    ]
)
SCRAMBLED = st.lists(PIECES, max_size=8).map("".join)
URLISH = st.one_of(SCRAMBLED, SCRAMBLED.map(lambda tail: "http://" + tail), st.text(max_size=40))


@given(URLISH)
@example("http://example.com#@127.0.0.1/")
@example("http://127.0.0.1\\@example.com/")
def test_a_url_is_refused_or_read_alike_by_three_parsers(text: str) -> None:
    try:
        target = parse_url(text)
    except BlockedUrl:
        return
    assert target.scheme in ("http", "https")
    assert target.host.isascii() and target.host == target.host.lower()
    assert parse_url(str(target)).origin == target.origin
    assert urlsplit(str(target)).hostname == target.host
    assert httpx.URL(str(target)).raw_host.decode() == target.host
    assert (urlsplit(str(target)).port or {"http": 80, "https": 443}[target.scheme]) == target.port


@given(URLISH)
@example("/ #/")
@example("A://[")
def test_a_redirect_is_refused_or_leads_to_a_readable_url(location: str) -> None:
    base = parse_url("https://example.com/a/b?c=d")
    try:
        target = join_url(base, location)
    except BlockedUrl:
        return
    assert parse_url(str(target)) == target


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_has_one_accepted_spelling(address: IPv4Address) -> None:
    assert parse_url(f"http://{address}/").address == address
    for spelling in (
        str(int(address)),
        hex(int(address)),
        f"0{address}" if str(address)[0] != "0" else "00.0.0.0",
    ):
        with pytest.raises(BlockedUrl):
            parse_url(f"http://{spelling}/")


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_read_in_brackets(address: IPv6Address) -> None:
    target = parse_url(f"http://[{address.exploded}]:8080/")
    assert (target.address, target.authority) == (address, f"[{address}]:8080")


@given(st.ip_addresses())
def test_nothing_the_standard_library_calls_private_is_public(address: IPv4Address | IPv6Address) -> None:
    flags = (
        address.is_private,
        address.is_loopback,
        address.is_link_local,
        address.is_multicast,
        address.is_reserved,
    )
    if is_public(address):
        assert not any(flags)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


def test_spaces_around_and_inside_the_path_are_tolerated() -> None:
    assert parse_url(" https://example.com/a b ").path == "/a%20b"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/x", "https://example.com/x"),
        ("x?y", "https://example.com/a/x?y"),
        ("?q", "https://example.com/a/b?q"),
        ("//other.example/z#f", "https://other.example/z"),
        ("http://other.example", "http://other.example/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
    ],
)
def test_relative_redirects_are_joined(location: str, expected: str) -> None:
    assert str(join_url(parse_url("https://example.com/a/b"), location)) == expected
