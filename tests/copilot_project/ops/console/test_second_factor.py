"""The door of the admin: a visit lasts an hour, and a second factor is asked of those who have one or must have one."""

from __future__ import annotations

import base64
import dataclasses
import html
import re
import time

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django_otp.oath import TOTP
from pytest_django import Settings

from accounts.models import User
from copilot_project.env import BadEnvironment, Environment
from copilot_project.limits import RECOVERY_CODES, WRONG_CODES
from copilot_project.ops.console import groups
from copilot_project.ops.console.access import SEEN_AT
from copilot_project.ops.console.second_factor import factor
from copilot_project.ops.console.second_factor.models import Authenticator, RecoveryCode

pytestmark = pytest.mark.django_db
PASSWORD = "a good password"
ENTER, MINE = "/admin/enter/", "/admin/second-factor/"


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ada() -> User:
    groups.make_groups()
    user = User.objects.create_user("ada", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name=groups.VIEW))
    return user


@pytest.fixture
def with_factor(ada: User) -> tuple[User, list[str]]:
    """Somebody with a second factor, and their recovery codes."""
    codes = factor.confirm(ada, code_of(factor.begin(ada), later=-1))
    assert codes is not None
    return ada, codes


def code_of(device: Authenticator, *, later: int = 0) -> str:
    """What the app shows now, or so many half minutes later."""
    clock = TOTP(base64.b32decode(device.key), drift=later)
    return f"{clock.token():06d}"


def log_in(user: User) -> Client:
    client = Client()
    there = client.post("/login/?next=/admin/", {"username": user.username, "password": PASSWORD})
    assert there.status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def give(client: Client, **answers: str) -> int:
    return client.post(ENTER, answers).status_code


def require(settings: Settings, **rows: object) -> None:
    settings.ENV = dataclasses.replace(settings.ENV, **rows)


# --- setting it up --------------------------------------------------------------------------------


def test_it_is_off_until_somebody_turns_it_on(ada: User) -> None:
    assert is_in(log_in(ada))


def test_it_is_set_up_by_a_picture_that_no_other_server_sees(ada: User) -> None:
    client = log_in(ada)
    page = client.get(MINE).content.decode()
    assert 'src="data:image/svg+xml' in page
    pictures = re.findall(r'<img[^>]*src="([^"]*)"', page)
    assert all(html.unescape(one).startswith(("data:", "/static/")) for one in pictures)
    assert client.get(MINE).context["setup"]["key"] in page, "a reload keeps the key"
    device = Authenticator.objects.get()
    assert not device.confirmed and is_in(log_in(ada)), "what was only begun is asked of nobody"
    done = client.post(MINE, {"do": "confirm", "code": code_of(device)})
    assert len(done.context["codes"]) == RECOVERY_CODES
    assert is_in(client), "who set it up need not give another code"
    assert LogEntry.objects.get().change_message == "Set up a second factor."
    assert done.context["codes"][0] not in client.get(MINE).content.decode()


def test_a_wrong_code_does_not_turn_it_on(ada: User) -> None:
    client = log_in(ada)
    client.get(MINE)
    page = client.post(MINE, {"do": "confirm", "code": "000000"}).content.decode()
    assert "is wrong or has been used" in page
    assert not Authenticator.objects.filter(confirmed=True).exists()


# --- giving a code --------------------------------------------------------------------------------


def test_a_password_alone_does_not_open_the_admin(with_factor: tuple[User, list[str]]) -> None:
    ada, _ = with_factor
    client = log_in(ada)
    for address in ("/admin/", "/admin/board/", "/admin/chat/turn/", MINE, "/admin/password_change/"):
        assert client.get(address, follow=True).redirect_chain[-1][0].startswith(ENTER), address
    assert client.post("/admin/durable/pause/add/", {"kind": "queue", "name": "turns"}).status_code == 302
    assert client.get("/api/me").status_code == 200, "the rest of the site asks for none"


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "000000",
        "12345",
        "abcdef",
        "\uff11\uff12\uff13\uff14\uff15\uff16",
        "9" * 500,
        "aaaa-aaaa-aaaa-aaaa",
    ],
)
def test_a_wrong_code_is_refused(with_factor: tuple[User, list[str]], wrong: str) -> None:
    client = log_in(with_factor[0])
    assert give(client, code=wrong) == 403
    assert not is_in(client)


def test_the_right_code_opens_once(with_factor: tuple[User, list[str]]) -> None:
    ada, _ = with_factor
    code = code_of(Authenticator.objects.get())
    client, thief = log_in(ada), log_in(ada)
    assert give(client, code=f" {code} ") == 302
    assert is_in(client)
    assert give(thief, code=code) == 403
    assert not is_in(thief)


def test_an_older_code_than_the_last_is_refused(with_factor: tuple[User, list[str]]) -> None:
    ada, _ = with_factor
    device = Authenticator.objects.get()
    assert give(log_in(ada), code=code_of(device, later=1)) == 302
    assert give(log_in(ada), code=code_of(device)) == 403


def test_after_some_wrong_codes_even_the_right_one_waits(with_factor: tuple[User, list[str]]) -> None:
    ada, codes = with_factor
    client = log_in(ada)
    assert [give(client, code="000000") for _ in range(WRONG_CODES)] == [403] * WRONG_CODES
    refused = client.post(ENTER, {"code": code_of(Authenticator.objects.get())})
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    assert give(client, code=codes[0]) == 429
    assert not is_in(client)


def test_a_recovery_code_opens_once_however_it_is_typed(with_factor: tuple[User, list[str]]) -> None:
    ada, codes = with_factor
    client = log_in(ada)
    assert give(client, code=codes[0].upper().replace("-", " ")) == 302
    assert is_in(client)
    assert give(log_in(ada), code=codes[0]) == 403
    assert give(log_in(ada), code=codes[1]) == 302
    assert RecoveryCode.objects.count() == RECOVERY_CODES - 2


def test_another_persons_code_opens_nothing(with_factor: tuple[User, list[str]]) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    theirs = factor.confirm(bob, code_of(factor.begin(bob)))
    assert theirs is not None
    assert give(log_in(with_factor[0]), code=theirs[0]) == 403


def test_the_way_on_never_leads_to_another_site(with_factor: tuple[User, list[str]]) -> None:
    ada, codes = with_factor
    for code, target, there in (
        (codes[0], "https://evil.example/", "/admin/"),
        (codes[1], "//evil.example", "/admin/"),
        (codes[2], "/admin/chat/turn/", "/admin/chat/turn/"),
    ):
        assert log_in(ada).post(ENTER, {"code": code, "next": target})["Location"] == there


# --- required of everybody ------------------------------------------------------------------------


def test_where_it_is_required_who_has_none_sets_one_up_first(ada: User, settings: Settings) -> None:
    require(settings, admin_require_second_factor=True)
    client = log_in(ada)
    for address in ("/admin/", "/admin/chat/turn/", "/admin/board/"):
        assert client.get(address, follow=True).redirect_chain[-1][0].startswith(MINE), address
    client.post(MINE, {"do": "confirm", "code": code_of(Authenticator.objects.get())})
    assert is_in(client)


# --- changing it ----------------------------------------------------------------------------------


def test_to_change_it_takes_a_code(with_factor: tuple[User, list[str]]) -> None:
    ada, codes = with_factor
    client = log_in(ada)
    give(client, code=codes[0])
    for what in ("remove", "codes"):
        assert "error" in client.post(MINE, {"do": what, "code": "000000"}).context
    fresh = client.post(MINE, {"do": "codes", "code": codes[1]}).context["codes"]
    assert not factor.use_recovery_code(ada, codes[2]), "new ones take the place of the old"
    client.post(MINE, {"do": "remove", "code": fresh[0]})
    assert factor.confirmed(ada) is None and not RecoveryCode.objects.exists()
    assert is_in(log_in(ada))


def test_an_administrator_takes_it_away_from_who_lost_it_and_sees_no_key(
    with_factor: tuple[User, list[str]],
) -> None:
    ada, _ = with_factor
    device = Authenticator.objects.get()
    operator = User.objects.create_user("op", is_staff=True)
    operator.groups.add(Group.objects.get(name=groups.OPERATE))
    client = Client()
    client.force_login(operator)
    page = f"/admin/second_factor/authenticator/{device.pk}"
    assert client.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    client.force_login(User.objects.create_superuser("root"))
    shown = client.get(f"{page}/change/").content.decode()
    assert device.key not in shown and device.sealed_key not in shown
    client.post(f"{page}/delete/", {"post": "yes"})
    assert not RecoveryCode.objects.exists()
    assert is_in(log_in(ada))
    assert LogEntry.objects.filter(object_repr="second factor of ada").exists()


def test_who_loses_all_of_it_is_helped_by_a_command(with_factor: tuple[User, list[str]]) -> None:
    ada, _ = with_factor
    call_command("remove_second_factor", "ada")
    assert is_in(log_in(ada))


def test_a_login_that_gave_a_code_of_an_old_factor_gives_one_of_the_new(
    with_factor: tuple[User, list[str]],
) -> None:
    ada, codes = with_factor
    client = log_in(ada)
    give(client, code=codes[0])
    factor.remove(ada)
    factor.confirm(ada, code_of(factor.begin(ada)))
    assert not is_in(client)


# --- at rest --------------------------------------------------------------------------------------


def test_the_database_holds_no_key_and_no_code(with_factor: tuple[User, list[str]]) -> None:
    device = Authenticator.objects.get()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM second_factor_authenticator")
        rows = str(cursor.fetchall())
        cursor.execute("SELECT * FROM second_factor_recoverycode")
        rows += str(cursor.fetchall())
    raw = base64.b32decode(device.key)
    for secret in (device.key, raw.hex(), base64.b64encode(raw).decode(), *with_factor[1]):
        assert secret not in rows and secret.replace("-", "") not in rows


def test_a_change_of_keys_takes_it_along(with_factor: tuple[User, list[str]], settings: Settings) -> None:
    key, old = Authenticator.objects.get().key, settings.ENCRYPTION_KEYS
    fresh = Fernet.generate_key().decode()
    settings.ENCRYPTION_KEYS = [fresh, *old]
    call_command("rotate_credentials", verbosity=0)
    settings.ENCRYPTION_KEYS = [fresh]
    assert Authenticator.objects.get().key == key


# --- a visit --------------------------------------------------------------------------------------


def idle(client: Client, seconds: float) -> None:
    session = client.session
    session[SEEN_AT] -= seconds
    session.save()


def test_an_hour_without_a_visit_ends_it_and_the_password_begins_another(ada: User) -> None:
    client = log_in(ada)
    idle(client, 3590)
    assert is_in(client), "which was a visit: the hour begins anew"
    assert client.session[SEEN_AT] > time.time() - 60
    idle(client, 3610)
    assert client.get("/admin/chat/turn/", follow=True).redirect_chain[-1][0].startswith(ENTER)
    assert client.get("/api/me").status_code == 200, "the chat goes on"
    assert give(client, password="wrong") == 403
    assert give(client, password=PASSWORD) == 302
    assert is_in(client)


def test_the_open_front_page_asking_for_news_is_no_visit(ada: User) -> None:
    client = log_in(ada)
    idle(client, 3000)
    seen_at = client.session[SEEN_AT]
    assert client.get("/admin/board/", headers={"X-Console-Refresh": "1"}).status_code == 200
    assert client.session[SEEN_AT] == seen_at


def test_after_too_long_both_password_and_code_are_asked_for(with_factor: tuple[User, list[str]]) -> None:
    ada, codes = with_factor
    client = log_in(ada)
    give(client, code=codes[0])
    idle(client, 3700)
    client.get("/admin/", follow=True)
    assert give(client, code=codes[1]) == 403
    assert give(client, password=PASSWORD) == 403
    assert give(client, password=PASSWORD, code=codes[1]) == 302, (
        "a code is used up only with the right password"
    )
    assert is_in(client)


def test_wrong_passwords_at_the_admins_door_are_limited_like_those_at_the_sites(ada: User) -> None:
    client = log_in(ada)
    idle(client, 3700)
    answers = [give(client, password="wrong") for _ in range(21)]
    assert answers == [403] * 20 + [429]


def test_who_has_no_password_logs_in_again(ada: User) -> None:
    ada.set_unusable_password()
    ada.save()
    client = Client()
    client.force_login(ada)
    idle(client, 3700)
    assert b"with a new link" in client.get("/admin/", follow=True).content
    assert give(client, password="") == 403
    client.force_login(ada)
    assert is_in(client)


# --- its path -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["a/b", "", " ", "api", "login", "é", "..", "a b"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    if not path:
        assert Environment.read({"ADMIN_PATH": path}).admin_path == "admin"
        return
    with pytest.raises(BadEnvironment, match="ADMIN_PATH"):
        Environment.read({"ADMIN_PATH": path})
