"""The environment table: what it accepts, and how it says no."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from copilot_project.env import MAX_SOCKET_PATH, ROOT, BadEnvironment, Environment, embedded_socket, split
from copilot_project.environment_page import environment_page


def test_without_variables_every_default_holds() -> None:
    env = Environment.read({})
    assert env == Environment()
    assert (env.port, env.host, env.lease_seconds, env.debug) == (8000, "127.0.0.1", 15.0, False)


def test_an_empty_variable_counts_as_unset() -> None:
    assert Environment.read({"PORT": "", "DEBUG": "", "SANDBOX": ""}) == Environment()


@pytest.mark.parametrize("word", ["1", "true", "YES", " On "])
def test_words_for_true(word: str) -> None:
    assert Environment.read({"DEBUG": word}).debug is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off"])
def test_words_for_false(word: str) -> None:
    assert Environment.read({"COPILOT_ALLOW_SIGNUP": word}).allow_signup is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "80.5"),
        ("PORT", "-1"),
        ("PORT", "65536"),
        ("FLOWER_PORT", "99999"),
        ("COPILOT_DATABASE_POOL_SIZE", "0"),
        ("COPILOT_LEASE_SECONDS", "soon"),
        ("COPILOT_LEASE_SECONDS", "-3"),
        ("COPILOT_LEASE_SECONDS", "nan"),
        ("COPILOT_LEASE_SECONDS", "inf"),
        ("DEBUG", "maybe"),
        ("SANDBOX", "docker"),
        ("LOG_LEVEL", "LOUD"),
    ],
)
def test_a_bad_value_is_refused_with_the_name_and_the_value(name: str, value: str) -> None:
    with pytest.raises(BadEnvironment) as caught:
        Environment.read({name: value})
    assert name in str(caught.value) and repr(value) in str(caught.value)


def test_choices_are_taken_in_any_case() -> None:
    env = Environment.read({"LOG_LEVEL": "debug", "SANDBOX": "OFF"})
    assert (env.log_level, env.sandbox) == ("DEBUG", "off")


def test_the_broker_follows_redis_unless_it_is_named() -> None:
    assert Environment.read({"REDIS_URL": "redis://r:1/0"}).effective_broker_url == "redis://r:1/0"
    assert Environment.read({"REDIS_URL": "unix:///r.sock"}).effective_broker_url == "redis+socket:///r.sock"
    named = Environment.read({"REDIS_URL": "redis://r:1/0", "CELERY_BROKER_URL": "amqp://b"})
    assert named.effective_broker_url == "amqp://b"


def test_the_offline_model_answers_only_when_no_model_is_configured() -> None:
    assert Environment.read({}).offline_model
    assert not Environment.read({"OPENAI_API_KEY": "k"}).offline_model
    assert not Environment.read({"OPENAI_BASE_URL": "http://m/v1"}).offline_model
    assert not Environment.read({"ANTHROPIC_API_KEY": "k"}).offline_model
    assert not Environment.read({"ANTHROPIC_BASE_URL": "http://m"}).offline_model
    assert not Environment.read({"COPILOT_ENDPOINTS": "/etc/endpoints.json"}).offline_model


def test_a_long_home_gets_a_short_socket_of_its_own() -> None:
    homes = [Path("/h") / ("x" * 200) / name for name in ("a", "b")]
    sockets = [embedded_socket(home) for home in homes]
    assert sockets[0] != sockets[1]
    assert all(len(os.fsencode(path)) <= MAX_SOCKET_PATH for path in sockets)
    assert embedded_socket(Path("/short")) == Path("/short/redis/redis.sock")


def test_lists_are_split_and_trimmed() -> None:
    assert split(" a, b,,c ") == ["a", "b", "c"]


def test_every_variable_is_named_once_and_explained() -> None:
    names = [field.metadata["name"] for field in dataclasses.fields(Environment)]
    assert len(names) == len(set(names))
    assert all(len(field.metadata["help"]) > 10 for field in dataclasses.fields(Environment))
    assert all(f"| `{name}`" in environment_page() for name in names)


def test_the_page_shows_no_secret_defaults() -> None:
    assert all(field.default == "" for field in dataclasses.fields(Environment) if field.metadata["secret"])


# --- settings, as a process sees them -----------------------------------------------------------


def load_settings(tmp_path: Path, **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "COPILOT_HOME": str(tmp_path), **variables}
    result = subprocess.run(
        [sys.executable, "-c", "import copilot_project.settings"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    return result.stderr.strip().splitlines()[-1] if result.returncode else "ok"


GOOD = {
    "COPILOT_PRODUCTION": "1",
    "SECRET_KEY": "x" * 50,
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "COPILOT_TEST_APPS": "",
    "COPILOT_TEST_TOOLS": "",
    "ALLOWED_HOSTS": "ratchet.example",
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "ok"),
        ({"SECRET_KEY": ""}, "Production needs SECRET_KEY"),
        ({"ENCRYPTION_KEYS": ""}, "Production needs ENCRYPTION_KEYS"),
        ({"DEBUG": "1"}, "Production refuses DEBUG"),
        ({"COPILOT_CRASH_AT": "after_claim:/tmp/x"}, "Production refuses COPILOT_CRASH_AT"),
        ({"ALLOWED_HOSTS": "*"}, "Production refuses a wildcard"),
        ({"ALLOWED_HOSTS": "a.example,*"}, "Production refuses a wildcard"),
        ({"ALLOWED_HOSTS": ".com"}, "Production refuses a wildcard in ALLOWED_HOSTS, such as '.com'"),
        ({"ALLOWED_HOSTS": "a.example,."}, "Production refuses a wildcard"),
        ({"ALLOWED_HOSTS": ".ratchet.example"}, "ok"),
        ({"ENCRYPTION_KEYS": "changeme"}, "Production refuses ENCRYPTION_KEYS"),
        ({"ENCRYPTION_KEYS": f"{Fernet.generate_key().decode()},k"}, "Production refuses ENCRYPTION_KEYS"),
        ({"COPILOT_TEST_TOOLS": "1"}, "Production refuses COPILOT_TEST_TOOLS"),
        ({"COPILOT_TEST_APPS": "tests.testjobs"}, "Production refuses COPILOT_TEST_TOOLS"),
        ({"COPILOT_TEST_TOOLS": "1", "ALLOWED_HOSTS": "127.0.0.1,localhost"}, "ok"),
        ({"PORT": "http"}, "PORT='http'"),
        ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL has the scheme 'mysql'"),
    ],
)
def test_production_refuses_what_is_unsafe(tmp_path: Path, change: dict[str, str], said: str) -> None:
    assert said in load_settings(tmp_path, **(GOOD | change))
