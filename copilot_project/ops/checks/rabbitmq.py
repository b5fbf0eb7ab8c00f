"""Checks of RabbitMQ, where it is the broker: whether it accepts messages, and its limits."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
from amqp.exceptions import AMQPError
from django.conf import settings
from kombu import Connection, Queue
from kombu.exceptions import OperationalError as BrokerDown

from copilot_project import limits
from copilot_project.celery import app
from copilot_project.ops.checks.check import Check, broken, well
from copilot_project.ops.checks.parts import first_line

OLDEST_RABBITMQ = (3, 8)
MANAGEMENT_PORT = 15672
CONSUMER_TIMEOUT = "consumer_timeout may have any value"
ALARM_HINT = "Free memory or disk space on its host, or raise vm_memory_high_watermark or disk_free_limit"


def rabbitmq() -> Check:
    """Send a message to a temporary queue; during an alarm the server accepts none and says so."""
    if not settings.CELERY_BROKER_URL.startswith("amqp"):
        return well("rabbitmq", "not the broker here", needed=False)
    blocked: list[str] = []
    try:
        version = send_one(blocked)
    except (BrokerDown, AMQPError, OSError) as error:
        if blocked:
            return broken("rabbitmq", "it accepts no messages because of a memory or disk alarm", ALARM_HINT)
        return broken("rabbitmq", first_line(error), "Check CELERY_BROKER_URL and that the server is running")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_RABBITMQ:
        return broken("rabbitmq", version, "Upgrade RabbitMQ to 3.8 or newer")
    return well("rabbitmq", f"{version}, accepts messages; {CONSUMER_TIMEOUT}")


def send_one(blocked: list[str]) -> str:
    """Return the server's version once it has confirmed a message; `blocked` receives its reason for an alarm."""
    seconds = limits.CHECK_SECONDS
    options = {
        "confirm_publish": True,
        "read_timeout": seconds,
        "write_timeout": seconds,
        "on_blocked": blocked.append,
    }
    with app.connection_for_write(connect_timeout=seconds, transport_options=options) as broker:
        broker.ensure_connection(max_retries=1, timeout=int(seconds))
        try:
            confirm_one(broker)
            properties: dict[str, Any] = broker.connection.server_properties
        finally:
            broker.collect()  # without a closing handshake, which a blocked server does not answer
    return str(properties.get("version", "0.0"))


def confirm_one(broker: Connection) -> None:
    channel: Any = broker.channel()
    queue: Any = Queue("", exclusive=True, auto_delete=True)(channel)
    queue.declare()
    broker.Producer(channel).publish({}, routing_key=queue.name, confirm_timeout=limits.CHECK_SECONDS)


def rabbitmq_limits() -> Check:
    """Ask the management plugin, if installed, for alarms and for what is left before the next."""
    if not settings.CELERY_BROKER_URL.startswith("amqp"):
        return well("rabbitmq limits", "not the broker here", needed=False)
    try:
        answer = httpx.get(management_url(), timeout=limits.CHECK_SECONDS)
        nodes = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        reason = f"unknown, because the management plugin does not answer: {first_line(error)}"
        return well("rabbitmq limits", reason, needed=False)
    return limits_of(nodes)


def management_url() -> str:
    broker = app.connection_for_write()
    login = f"{quote(broker.userid or '', safe='')}:{quote(broker.password or '', safe='')}"
    return f"http://{login}@{broker.hostname}:{MANAGEMENT_PORT}/api/nodes"


def limits_of(nodes: list[dict[str, Any]]) -> Check:
    for node in nodes:
        for alarm, what in (("mem_alarm", "memory"), ("disk_free_alarm", "disk")):
            if node.get(alarm):
                return broken("rabbitmq limits", f"{what} alarm on {node.get('name')}", ALARM_HINT)
    usage = ", ".join(
        f"{node.get('name')}: {megabytes(node, 'mem_used')} of {megabytes(node, 'mem_limit')} MB used, "
        f"{megabytes(node, 'disk_free')} MB of disk free, alarm below {megabytes(node, 'disk_free_limit')}"
        for node in nodes
    )
    return well("rabbitmq limits", usage, needed=False)


def megabytes(node: dict[str, Any], name: str) -> str:
    value = node.get(name)
    return f"{value / 2**20:.0f}" if isinstance(value, int | float) else "?"
