"""Ports: the wanted one, the next free one, or a clear no."""

from __future__ import annotations

import socket

import pytest

from copilot_project.launcher.bind_addresses import NoFreePort, free_port, listen

HOST = "127.0.0.1"


def port_of(bound: socket.socket) -> int:
    number: int = bound.getsockname()[1]
    return number


def test_a_free_port_is_taken_as_wanted() -> None:
    wanted = free_port(HOST, 20_000)
    with listen(HOST, wanted) as bound:
        assert port_of(bound) == wanted


def test_a_taken_port_gives_the_next_free_one() -> None:
    with listen(HOST, 20_000) as first, listen(HOST, port_of(first)) as second:
        assert port_of(second) > port_of(first)
        assert free_port(HOST, port_of(first)) > port_of(second)


def test_a_held_port_answers_although_nobody_serves_yet() -> None:
    with (
        listen(HOST, 20_000) as bound,
        socket.create_connection((HOST, port_of(bound)), timeout=60) as visitor,
    ):
        assert visitor.getpeername()[1] == port_of(bound)


def test_an_address_of_another_machine_is_refused_in_words() -> None:
    with pytest.raises(NoFreePort, match=r"Set HOST to an address of this machine"):
        listen("192.0.2.1", 20_000)


def test_no_port_left_is_said() -> None:
    with listen(HOST, 65_535), pytest.raises(NoFreePort, match="No port from 65535 on is free"):
        listen(HOST, 65_535)
