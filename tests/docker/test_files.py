"""The files of docker/: that they are well-formed, safe, and speak of things that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client

from copilot_project import deployment_page
from copilot_project.env import ROOT, Environment
from tests.needs import COMPOSE, require

DOCKER = ROOT / "docker"
ENTRYPOINT = (DOCKER / "entrypoint").read_text()
MONITORING = DOCKER / "monitoring"
OUTSIDE_VARIABLES = {
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "COPILOT_ALIVE_END",  # read by docker/healthcheck
    "FLOWER_ADDRESS",
    "PGPASSWORD",  # of PostgreSQL's library, for an address without a password
}
NOT_HANDED_OVER = {  # what the image sets itself, and what means nothing in a container
    "COPILOT_PRODUCTION",
    "COPILOT_HOME",
    "COPILOT_ALIVE_FILE",
    "HOST",
    "PORT",
    "DEBUG",  # refused in production
    "COPILOT_FROZEN_SECONDS",  # of ./copilot up
    "COPILOT_OFFLINE_MODEL_PORT",
    "FLOWER_PORT",  # fixed, for the port that is published
    "COPILOT_URL",  # of ./copilot chat
    "COPILOT_API_KEY",
    "COPILOT_TEST_TOOLS",
    "COPILOT_TEST_APPS",
    "COPILOT_CRASH_AT",
}
FROM_THE_SCRAPER = {"up"}
PROFILES = ("postgres", "redis", "rabbitmq", "s3", "clamav", "monitoring", "flower")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return found


def product_services(compose: dict[str, Any]) -> dict[str, Any]:
    return {name: row for name, row in compose["services"].items() if row["image"].startswith("ratchet:")}


def test_the_linter_finds_nothing_in_the_dockerfile() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_image_runs_as_nobody_in_particular_with_packages_of_known_hashes() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    assert re.search(r"^USER 10001", text, re.MULTILINE)
    assert "--require-hashes" in text
    assert text.count("\nFROM ") >= 2, "the tools that build are not in what runs"


# What `apt-get install postgresql-client` gives in each release; pg_dump refuses a server newer than itself.
POSTGRES_CLIENTS = {"bookworm": 15, "trixie": 17}


def test_the_image_can_back_up_the_database_of_compose(compose: dict[str, Any]) -> None:
    releases = re.findall(
        r"^FROM python:[0-9.]+-slim-([a-z]+)", (DOCKER / "Dockerfile").read_text(), re.MULTILINE
    )
    server = re.search(r"^postgres:(\d+)", compose["services"]["postgres"]["image"])
    assert server is not None
    assert POSTGRES_CLIENTS[releases[-1]] >= int(server[1])


def test_every_image_is_pinned_to_one_version(compose: dict[str, Any]) -> None:
    bases = re.findall(r"^FROM (\S+)", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    images = [row["image"] for row in compose["services"].values() if not row["image"].startswith("ratchet:")]
    for image in [*bases, *images]:
        assert re.search(r":(v?\d+\.\d+|RELEASE\.\d{4}-)", image), image


@pytest.mark.parametrize("name", ["entrypoint", "healthcheck"])
def test_what_the_image_runs_is_a_shell_script_that_can_be_run(name: str) -> None:
    path = DOCKER / name
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0


def test_every_service_of_the_product_has_a_role_the_entrypoint_knows(compose: dict[str, Any]) -> None:
    for name, service in product_services(compose).items():
        assert re.search(rf"^    {service['command'][0]}\)", ENTRYPOINT, re.MULTILINE), name


def test_every_service_says_whether_it_is_healthy(compose: dict[str, Any]) -> None:
    """The image does so for every role; what ends by itself and what is no role of ours says it in compose."""
    assert "HEALTHCHECK" in (DOCKER / "Dockerfile").read_text()
    for name, service in compose["services"].items():
        own = service.get("healthcheck")
        assert own or name in product_services(compose), name
    assert compose["services"]["migrate"]["healthcheck"] == {"disable": True}


def test_the_profile_s3_makes_its_bucket(compose: dict[str, Any], tmp_path: Path) -> None:
    """Its script, with a client that writes down what it was told."""
    service = compose["services"]["bucket"]
    assert service["profiles"] == compose["services"]["minio"]["profiles"] == ["s3"]
    said = tmp_path / "said"
    client = tmp_path / "mc"
    client.write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    client.chmod(0o755)
    [script] = service["command"]
    command = [*service["entrypoint"], script.replace("$$", "$")]
    told = {"PATH": f"{tmp_path}:/usr/bin:/bin", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "a/b c"}
    nameless = subprocess.run(command, env=told | {"COPILOT_S3_BUCKET": ""}, capture_output=True, check=False)
    assert nameless.returncode == 1 and b"Set COPILOT_S3_BUCKET" in nameless.stdout and not said.exists()
    subprocess.run(command, env=told | {"COPILOT_S3_BUCKET": "ratchet"}, check=True)
    assert said.read_text().splitlines() == [
        "alias set store http://minio:9000 id a/b c",
        "mb --ignore-existing store/ratchet",
    ]


def test_every_variable_of_the_guide_reaches_the_containers(compose: dict[str, Any]) -> None:
    wanted = {*deployment_page.MUST_CHANGE, *deployment_page.MAY_CHANGE} - {"COPILOT_PRODUCTION", "HOST"}
    assert wanted <= set(compose["services"]["web"]["environment"])


def test_every_variable_of_the_operator_reaches_the_containers(compose: dict[str, Any]) -> None:
    table = {field.metadata["name"] for field in fields(Environment)}
    for name, service in product_services(compose).items():
        assert table - NOT_HANDED_OVER - set(service["environment"]) == set(), name
    set_by_the_image = re.findall(r"^\s+([A-Z_]+)=", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    assert {"COPILOT_PRODUCTION", "COPILOT_HOME", "COPILOT_ALIVE_FILE", "HOST"} <= set(set_by_the_image)


def test_every_variable_keeps_its_name_on_the_way_in(compose: dict[str, Any]) -> None:
    given = {name: f"<{name}>" for name in compose["services"]["web"]["environment"]}
    for name, value in started(compose, given)["web"]["environment"].items():
        if name not in ("COPILOT_ALIVE_END", "PGPASSWORD"):
            assert f"<{name}>" in value, name


def started(compose: dict[str, Any], env_file: dict[str, str]) -> dict[str, Any]:
    """The services that compose starts with that env file, as it understands them."""
    profiles = set(env_file.get("COMPOSE_PROFILES", "").split(","))

    def value_of(found: re.Match[str]) -> str:
        value = env_file.get(found["name"], "")
        if not value and found["mark"] == "?":
            raise LookupError(found["name"])
        return value or (found["rest"] if found["mark"] == "-" else "")

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(item) for name, item in value.items()}
        if isinstance(value, list):
            return [filled(item) for item in value]
        pattern = r"\$\{(?P<name>[A-Z0-9_]+)(?::(?P<mark>[-?])(?P<rest>[^}]*))?\}"
        return re.sub(pattern, value_of, value) if isinstance(value, str) else value

    return {
        name: filled(service)
        for name, service in compose["services"].items()
        if not service.get("profiles") or profiles & set(service["profiles"])
    }


def example(**changes: str) -> dict[str, str]:
    """The example, filled in."""
    lines = re.findall(r"^([A-Z0-9_]+)=(.*)$", (DOCKER / "env.example").read_text(), re.MULTILINE)
    required = {"SECRET_KEY": "s" * 60, "ENCRYPTION_KEYS": "k", "POSTGRES_PASSWORD": "p@ss/word"}
    return dict(lines) | required | changes


def test_the_example_starts_a_database_and_redis_of_its_own(compose: dict[str, Any]) -> None:
    services = started(compose, example())
    assert {"postgres", "redis", "web", "worker", "proxy"} <= set(services)
    web = services["web"]["environment"]
    assert web["DATABASE_URL"] == "postgres://ratchet@postgres:5432/ratchet"
    assert web["PGPASSWORD"] == services["postgres"]["environment"]["POSTGRES_PASSWORD"] == "p@ss/word"
    assert web["REDIS_URL"] == "redis://redis:6379/0"


OWN = {
    "COMPOSE_PROFILES": "",
    "POSTGRES_PASSWORD": "",
    "DATABASE_URL": "postgres://u:p@db.example.com/x?sslmode=require",
    "REDIS_URL": "rediss://:p@redis.example.com:6379/0",
    "CELERY_BROKER_URL": "amqp://u:p@rabbit.example.com:5672/v",
}


def test_servers_of_ones_own_need_nothing_but_the_env_file(compose: dict[str, Any]) -> None:
    services = started(compose, example(**OWN))
    assert not {"postgres", "redis", "rabbitmq"} & set(services)
    for name, service in services.items():
        assert set(service.get("depends_on", [])) <= set(services), f"{name} waits for what is not started"
        if service["image"].startswith("ratchet:"):
            told = service["environment"]
            assert {key: told[key] for key in OWN if key in told} == {
                key: value for key, value in OWN.items() if key in told
            }


def test_compose_understands_the_file(tmp_path: Path) -> None:
    require(COMPOSE)
    text = (DOCKER / "compose.yaml").read_text()
    file, variables = tmp_path / "compose.yaml", tmp_path / "env"
    file.write_text(text.replace("name: ratchet\n", "", 1))  # version 1 does not know that word
    example = (DOCKER / "env.example").read_text()
    variables.write_text(re.sub(r"=$", "=a-value-of-some-length", example, flags=re.MULTILINE))
    profiles = [word for name in PROFILES for word in ("--profile", name)]
    command = ["docker-compose", "--env-file", str(variables), "-f", str(file), *profiles, "config", "-q"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr


def test_every_role_has_a_service(compose: dict[str, Any]) -> None:
    roles = set(re.findall(r"^    ([a-z]+)\)", ENTRYPOINT, re.MULTILINE)) - {"help", "makekeys"}
    assert roles == {service["command"][0] for service in product_services(compose).values()}


def test_every_service_of_the_product_is_locked_down(compose: dict[str, Any]) -> None:
    for name, service in product_services(compose).items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name


def test_only_the_proxy_is_open_to_the_world(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if name != "proxy":
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


def test_a_frozen_role_can_be_ended_from_inside_and_is_started_again(compose: dict[str, Any]) -> None:
    """The health check cannot kill process 1, and Docker restarts only what has ended."""
    for name, service in product_services(compose).items():
        assert service["init"] is True, name
        assert service["environment"]["COPILOT_ALIVE_END"] == "3", name
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped"), name


def test_every_variable_handed_over_is_one_the_product_reads(compose: dict[str, Any]) -> None:
    known = {field.metadata["name"] for field in fields(Environment)} | OUTSIDE_VARIABLES
    for name, service in product_services(compose).items():
        assert set(service["environment"]) <= known, name


def test_every_variable_of_compose_is_in_the_example(compose: dict[str, Any]) -> None:
    text = (DOCKER / "compose.yaml").read_text()
    wanted = set(re.findall(r"\$\{([A-Z0-9_]+):\?", text)) | set(re.findall(r"([A-Z]+_PASSWORD):-", text))
    example = (DOCKER / "env.example").read_text()
    assert {name for name in wanted if not re.search(rf"^{name}=", example, re.MULTILINE)} == set()


def test_every_volume_and_file_that_is_mounted_exists(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (DOCKER / source).exists(), f"{name}: {source}"
            else:
                assert source in compose["volumes"], f"{name}: {source}"


# --- monitoring ---------------------------------------------------------------------------------


def expressions() -> dict[str, str]:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    board = json.loads((MONITORING / "grafana" / "dashboards" / "ratchet.json").read_text())
    found = {rule["alert"]: rule["expr"] for rule in rules}
    for panel in board["panels"]:
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("name", expressions())
def test_every_metric_watched_exists(client: Client, redis_server: object, name: str) -> None:
    page = client.get("/metrics").content.decode()
    known = set(FROM_THE_SCRAPER)
    for metric, kind in re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE):
        suffixes = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        known |= {metric + suffix for suffix in suffixes}
    named = set(re.findall(r"\b(ratchet_\w+|up)\b", expressions()[name]))
    assert named and named <= known


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    for rule in rules:
        assert set(rule["annotations"]) == {"summary", "todo"}, rule["alert"]


@pytest.mark.django_db
def test_prometheus_reads_a_page_the_product_serves_and_rules_that_are_mounted(
    client: Client, redis_server: object, compose: dict[str, Any]
) -> None:
    config = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    for scrape in config["scrape_configs"]:
        answer = client.get(scrape["metrics_path"])
        assert (answer.status_code, answer["Content-Type"].split(";")[0]) == (200, "text/plain")
    mounted = {mount.split(":")[1] for mount in compose["services"]["prometheus"]["volumes"]}
    assert set(config["rule_files"]) <= mounted
