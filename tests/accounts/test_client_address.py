"""X-Forwarded-For is believed exactly as far as trusted proxies vouch for it."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.test import Client, RequestFactory
from pytest_django import Settings

from accounts.client_address import client_address, client_network, trusted_proxies_are_networks

PROXY = "10.0.0.1"


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "address"),
    [
        ("203.0.113.9", "", [], "203.0.113.9"),
        ("203.0.113.9", "1.2.3.4", [], "203.0.113.9"),
        ("203.0.113.9", "1.2.3.4", ["10.0.0.0/8"], "203.0.113.9"),
        (PROXY, "1.2.3.4", ["10.0.0.0/8"], "1.2.3.4"),
        (PROXY, "6.6.6.6, 1.2.3.4", ["10.0.0.0/8"], "1.2.3.4"),
        (PROXY, "6.6.6.6, 1.2.3.4, 10.0.0.2", ["10.0.0.0/8"], "1.2.3.4"),
        (PROXY, "10.0.0.3, 10.0.0.2", ["10.0.0.0/8"], "10.0.0.3"),
        (PROXY, "nonsense", ["10.0.0.0/8"], PROXY),
        (PROXY, "1.2.3.4, nonsense", ["10.0.0.0/8"], PROXY),
        (PROXY, "", ["10.0.0.0/8"], PROXY),
        (PROXY, ", , ,", ["10.0.0.0/8"], PROXY),
        ("::ffff:10.0.0.1", "1.2.3.4", ["10.0.0.1"], "1.2.3.4"),
        ("", "1.2.3.4", ["10.0.0.1"], ""),
    ],
)
def test_the_address_is_the_last_hop_no_trusted_proxy_vouches_for(
    settings: Settings, peer: str, forwarded: str, trusted: list[str], address: str
) -> None:
    settings.COPILOT_TRUSTED_PROXIES = trusted
    request = RequestFactory().get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == address


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("", "unknown"),
        ("unix", "unknown"),
    ],
)
def test_one_ipv6_customer_is_one_client(peer: str, network: str) -> None:
    assert client_network(RequestFactory().get("/", REMOTE_ADDR=peer)) == network


def test_a_proxy_that_is_no_address_is_named_before_anyone_logs_in(settings: Settings) -> None:
    settings.COPILOT_TRUSTED_PROXIES = ["10.0.0.0/8", "::1", "nginx"]
    errors = trusted_proxies_are_networks()
    assert [error.id for error in errors] == ["accounts.E001"]
    assert "'nginx'" in errors[0].msg
    assert errors[0] in run_checks()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "leads_to_https"), [("10.0.0.7", False), ("203.0.113.5", True), ("", True), ("nonsense", True)]
)
def test_only_a_trusted_proxy_is_believed_that_a_request_came_by_https(
    settings: Settings, peer: str, leads_to_https: bool
) -> None:
    settings.COPILOT_TRUSTED_PROXIES = ["10.0.0.0/8"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    answer = Client(REMOTE_ADDR=peer).get("/login/", headers={"X-Forwarded-Proto": "https"})
    assert (answer.status_code == 301) == leads_to_https
