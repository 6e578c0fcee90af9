# SPDX-License-Identifier: Apache-2.0
"""Passwords: looked up once, one line where there is none, and inherited by no process that is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.secrets import notes_on_open_files, read_passwords
from linewatt.errors import InvalidInput
from linewatt.extras import package_install_command
from linewatt.features.users.server_password import server_password

NAME = "LINEWATT_TEST_PASSWORD"
CANARY = "canary-40b7"


def asked(tmp_path: Path, **secret: str) -> str | None:
    """The password of the one source of a campaign."""
    return read_passwords(load_campaign(written(tmp_path, **secret)))["a", "bmc"]


def written(tmp_path: Path, **secret: str) -> Path:
    """A campaign file with one source."""
    power = {"bmc": {"driver": "ipmi", "address": "192.0.2.9", "user": "u", **secret}}
    hosts = {
        "a": {"address": "192.0.2.1", "data": "eth0", "power": power},
        "b": {"address": "192.0.2.2", "data": "eth0"},
    }
    file = tmp_path / "campaign.yaml"
    file.write_text(json.dumps({"name": "n", "hosts": hosts, "tests": ["tcp"]}))
    return file


def test_a_variable_is_taken_out_of_what_processes_inherit_and_can_be_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, CANARY)
    assert asked(tmp_path, password_env=NAME) == CANARY
    assert NAME not in os.environ
    child = [sys.executable, "-c", "import os; print(dict(os.environ))"]
    assert CANARY not in subprocess.run(child, capture_output=True, text=True, check=True).stdout
    assert asked(tmp_path, password_env=NAME) == CANARY
    monkeypatch.setenv(NAME, "another")
    assert asked(tmp_path, password_env=NAME) == "another"


@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_or_empty_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    name = "LINEWATT_TEST_NOWHERE"
    monkeypatch.delenv(name, raising=False)
    if value is not None:
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=rf"^hosts\.a\.power\.bmc\.password_env: {name} is not set here"):
        asked(tmp_path, password_env=name)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "its first line is empty"),
        (b"\nx", "first line is empty"),
        (b"\xff", "text"),
    ],
    ids=["missing", "empty", "second line", "binary"],
)
def test_a_file_without_a_password_is_refused_by_its_name_and_never_its_content(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(InvalidInput, match=said) as caught:
        asked(tmp_path, password_file="secret")  # noqa: S106  a name
    assert str(tmp_path / "secret") in str(caught.value)


def test_a_keyring_that_is_not_installed_is_named_with_the_command_for_this_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(InvalidInput, match="keyring is not installed") as caught:
        asked(tmp_path, password_keyring="bmc/root")  # noqa: S106  a name in a keyring
    assert package_install_command("keyring") in str(caught.value)


def test_a_password_is_the_first_line_of_its_file_beside_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f" {CANARY} \r\na comment\n")
    assert asked(tmp_path, password_file="secret") == f" {CANARY} "  # noqa: S106  a name


def test_a_file_that_every_user_can_read_is_told_and_others_are_not(tmp_path: Path) -> None:
    secret = tmp_path / "the secret"
    secret.write_text(CANARY)
    campaign = load_campaign(written(tmp_path, password_file=secret.name))
    secret.chmod(0o640)
    assert notes_on_open_files(campaign) == []
    secret.chmod(0o644)
    assert notes_on_open_files(campaign) == [
        f"hosts.a.power.bmc.password_file: every user of this machine can read {secret}; chmod o= '{secret}'"
    ]
    secret.unlink()
    assert notes_on_open_files(campaign) == []


def of_users(tmp_path: Path, **server: str) -> Path:
    """A campaign file whose users log in to a server that is there already."""
    file = tmp_path / "campaign.yaml"
    hosts = {"a": {"address": "192.0.2.1", "data": "eth0"}}
    users = {"server": server, "clients": ["a"], "users": 1, "get": {"paths": ["pub/1"]}}
    file.write_text(json.dumps({"name": "n", "hosts": hosts, "soak": "1h", "users": users}))
    return file


def test_the_password_file_of_a_server_of_users_is_looked_at_too(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    secret.chmod(0o604)
    campaign = of_users(tmp_path, url="ftp://u@192.0.2.9/", password_file="secret")  # noqa: S106  a name
    (note,) = notes_on_open_files(load_campaign(campaign))
    assert note.startswith("users.server.password_file: ")


@pytest.mark.parametrize("user", ["anonymous", "ftp"])
def test_anonymous_users_need_no_password_and_may_have_one(tmp_path: Path, user: str) -> None:
    url = f"ftp://{user}@192.0.2.9/"
    assert server_password(load_campaign(of_users(tmp_path, url=url))) is None
    (tmp_path / "secret").write_text(CANARY)
    assert server_password(load_campaign(of_users(tmp_path, url=url, password_file="secret"))) == CANARY  # noqa: S106  a name
    with pytest.raises(InvalidInput, match="needs one of password_env and password_file"):
        load_campaign(of_users(tmp_path, url=url, password_file="secret", password_env=NAME))  # noqa: S106  a name
