# SPDX-License-Identifier: Apache-2.0
"""Preparing this machine as a client, with a made-up Python in the place of a real one and its pip."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linewatt.engine.readiness.checkup import AskedHost
from linewatt.engine.readiness.readiness import Check
from linewatt.errors import HostError
from linewatt.features.users import prepare
from linewatt.features.users import prepare_scripts as scripts
from linewatt.features.users.entries import UsersEntry, users_of
from linewatt.features.users.host_check import users_check
from linewatt.features.users.prepare import Environment, Prepared
from linewatt.features.users.prepare_parcel import code_digest, pins_digest
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost

# What a client's Python is asked, in the order in which it is asked it
FAKE = """#!/bin/bash
case "$*" in
  *ensurepip*) set -- "${@: -1}" $VERSION; echo "$2 $3 $4 $1"; [ "$4" = 1 ] && [ "$3" -ge 11 ];;
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python";;
  "-m pip "*) echo "$*" >>"$HOME/pip.log"; ls >>"$HOME/pip.saw"; . "$HOME/pip.does";;
  *print*cp%d*) set -- $VERSION; echo "cp$1$2";;
  *locustfile*) . "$HOME/import.does"
     ls "$PYTHONPATH/linewatt/features/users/worker/locustfile.py" >>"$HOME/imports";;
  *) echo "$* was not expected" >&2; exit 3;;
esac
"""


class Client:
    """A home of its own on this machine, and a Python that says it is 3.14."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.programs = folder / "bin"
        self.cache = self.home / ".cache"
        self.base = self.cache / "linewatt"
        self.spec = HostSpec("c1", "local", "lo")
        self.home.mkdir()
        self.programs.mkdir()
        self.pip("")
        self.script("import.does", "")
        self.python("3 14 1", "python3.14")

    def python(self, version: str, *names: str) -> None:
        """``version`` as the script prints it: major, minor, whether it makes environments."""
        for name in names:
            path = self.programs / name
            path.write_text(FAKE.replace("$VERSION", version))
            path.chmod(0o755)

    def script(self, name: str, text: str) -> None:
        (self.home / name).write_text(text + "\n")

    def pip(self, does: str) -> None:
        """What installing does from now on, as shell."""
        self.script("pip.does", does)

    @property
    def installations(self) -> list[str]:
        log = self.home / "pip.log"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def env(self) -> Path:
        return self.base / f"users-env-{pins_digest()}-cp314-{os.uname().machine}"

    @property
    def code(self) -> Path:
        return self.base / f"users-code-{code_digest()}"

    @property
    def environment(self) -> Environment:
        return Environment(f"{self.env}/venv/bin/python", str(self.code))

    def look(self) -> Environment:
        return asyncio.run(prepare.environment(LocalHost(self.spec)))

    def given(self, python: str | Path) -> Environment:
        return asyncio.run(prepare.given(LocalHost(self.spec), str(python)))

    def prepare(self, python: str | None = None) -> Prepared:
        (one,) = asyncio.run(prepare.prepare([self.spec], python, None))
        return one

    def remove(self) -> Prepared:
        (one,) = asyncio.run(prepare.remove([self.spec]))
        return one


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(HostError) as raised:
        action()
    assert "\n" not in str(raised.value)
    return str(raised.value)


# --- made and found ----------------------------------------------------------------------------------------


def test_a_client_without_is_told_what_to_run_and_nothing_is_left_by_looking(client: Client) -> None:
    assert refused(client.look) == "c1: no users' environment of this linewatt; run: linewatt prepare FILE"
    assert not client.cache.exists()


def test_what_was_prepared_is_found_and_a_second_time_only_looked_at(client: Client) -> None:
    first = client.prepare()
    assert (first.outcome, first.environment) == ("installed", client.environment), first.problem
    assert client.look() == client.environment
    second = client.prepare()
    assert (second.outcome, second.environment) == ("there", client.environment)
    assert len(client.installations) == 1
    assert second.size_bytes is not None
    assert 50_000 < second.size_bytes < 5_000_000  # code, pins and a made-up Python


def test_packages_are_pinned_by_hash_and_come_from_where_the_clients_pip_is_set_to(client: Client) -> None:
    client.prepare()
    (words,) = client.installations
    assert "--require-hashes --only-binary :all: -r requirements.txt" in words
    assert "index" not in words
    assert "requirements.txt" in (client.home / "pip.saw").read_text()
    assert not (client.env / "sent.tar").exists()


def test_a_cache_elsewhere_is_used_and_a_relative_one_is_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linewatt.hosts.local.KEPT", {"PATH", "HOME", "XDG_CACHE_HOME"})
    monkeypatch.setenv("XDG_CACHE_HOME", str(client.home / "other"))
    done = client.prepare()
    assert done.environment is not None
    assert done.environment.python.startswith(f"{client.home}/other/linewatt/users-env-")
    monkeypatch.setenv("XDG_CACHE_HOME", "other")
    assert refused(client.look).startswith("c1: no users' environment")


@pytest.mark.parametrize("lost", ["complete", "venv/bin/python"])
def test_what_is_not_whole_is_made_anew(client: Client, lost: str) -> None:
    client.prepare()
    (client.env / lost).unlink()
    (client.env / "rest").touch()
    assert "run: linewatt prepare" in refused(client.look)
    assert client.prepare().outcome == "installed"
    assert not (client.env / "rest").exists()
    assert client.look() == client.environment


def test_another_version_of_linewatt_sends_its_code_and_keeps_the_packages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.prepare()
    older = client.code
    monkeypatch.setattr(prepare, "code_digest", lambda: "0" * 16)
    refused(client.look)
    done = client.prepare()
    assert done.outcome == "installed"
    assert done.environment == Environment(client.environment.python, f"{client.base}/users-code-{'0' * 16}")
    assert len(client.installations) == 1
    assert older.is_dir()  # another controller may use it


def test_of_two_at_once_one_makes_it_and_the_other_finds_it(client: Client) -> None:
    client.pip("sleep 0.5")
    both = [client.spec, HostSpec("c2", "local", "lo")]
    done = asyncio.run(prepare.prepare(both, None, None))
    assert sorted(one.outcome for one in done) == ["installed", "there"], [one.problem for one in done]
    assert {one.environment for one in done} == {client.environment}
    assert len(client.installations) == 1


# --- what goes wrong ---------------------------------------------------------------------------------------


def test_a_failed_installation_is_one_line_and_no_environment(client: Client) -> None:
    client.pip("echo 'ERROR: No matching distribution found for gevent==1.0' >&2; exit 1")
    done = client.prepare()
    assert (done.outcome, done.problem) == ("failed", "pip: No matching distribution found for gevent==1.0")
    refused(client.look)
    client.pip("")
    assert client.prepare().outcome == "installed"


def test_what_was_installed_and_does_not_work_is_no_environment(client: Client) -> None:
    client.script("import.does", "echo 'ImportError: no libzmq' >&2; exit 1")
    assert client.prepare().problem == "what was installed does not work: ImportError: no libzmq"
    refused(client.look)


def test_whoever_is_interrupted_leaves_no_process_no_lock_and_nothing_that_looks_whole(
    client: Client,
) -> None:
    client.pip('echo $$ >"$HOME/pid"; sleep 60')
    running = client.home / "pid"

    async def interrupted() -> None:
        task = asyncio.create_task(prepare.prepare([client.spec], None, None))
        await until("pip to run", lambda: running.exists() and bool(running.read_text()))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        pid = running.read_text().strip()
        await until("pip to end", lambda: not Path("/proc", pid).exists())

    asyncio.run(interrupted())
    refused(client.look)
    client.pip("")
    began_s = time.monotonic()
    assert client.prepare().outcome == "installed"
    assert time.monotonic() - began_s < 10


async def until(awaited: str, condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"{awaited} was awaited for {limit_s:g} s"
        await asyncio.sleep(0.02)


def test_a_python_that_is_too_old_is_named(client: Client) -> None:
    client.python("3 9 1", *scripts.PYTHONS)
    problem = client.prepare().problem
    assert problem is not None
    assert problem.startswith("users need Python 3.11 or newer, there is ")
    assert f"{client.programs}/python3 3.9" in problem
    assert not client.cache.exists()


def test_a_python_that_cannot_make_environments_says_which_package_it_lacks(client: Client) -> None:
    client.python("3 12 0", *scripts.PYTHONS)
    problem = client.prepare().problem
    assert problem is not None
    assert "install python3.12-venv" in problem
    client.python("3 11 1", "python3")
    assert client.prepare().outcome == "installed"


def test_a_folder_that_cannot_be_written_is_one_line(client: Client) -> None:
    client.cache.write_text("a file in its place")
    problem = client.prepare().problem
    assert problem is not None
    assert "cannot be locked" in problem


# --- a Python of the user's own ----------------------------------------------------------------------------


def test_a_python_with_this_very_linewatt_needs_nothing(client: Client) -> None:
    assert client.given(sys.executable) == Environment(sys.executable, None)
    done = client.prepare(sys.executable)
    assert (done.outcome, done.environment) == ("there", Environment(sys.executable, None)), done.problem
    assert not client.cache.exists()


def test_a_python_with_another_linewatt_gets_our_code_beside_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "code_digest", lambda: "0" * 16)
    assert "has no linewatt of this version; run: linewatt prepare" in refused(
        lambda: client.given(sys.executable)
    )
    done = client.prepare(sys.executable)
    folder = f"{client.base}/users-code-{'0' * 16}"
    assert (done.outcome, done.environment) == ("installed", Environment(sys.executable, folder)), (
        done.problem
    )
    assert client.given(sys.executable) == done.environment
    assert client.installations == []


@pytest.mark.parametrize(
    ("says", "line"),
    [
        ("echo 3 9", "is 3.9; users need Python 3.11 or newer"),
        ("echo 3 12; echo locust hdrh", "has no locust and no hdrhistogram; install linewatt[users] there"),
        ("echo broken >&2; exit 1", "cannot be used: broken"),
    ],
)
def test_a_python_that_will_not_do_is_one_line(client: Client, says: str, line: str) -> None:
    python = client.programs / "mine"
    python.write_text(f"#!/bin/sh\n{says}\n")
    python.chmod(0o755)
    said = refused(lambda: client.given(python))
    assert said.startswith("c1: ")
    assert line in said


def test_a_python_that_is_not_there_is_one_line(client: Client) -> None:
    assert "correct users.python" in refused(lambda: client.given("/nowhere/python"))


# --- taken away --------------------------------------------------------------------------------------------


def test_everything_goes_that_was_made_and_nothing_else(client: Client, tmp_path: Path) -> None:
    client.prepare()
    older = client.base / f"users-env-{'a' * 16}-cp311-aarch64"
    older.mkdir()
    done = client.remove()
    assert (done.outcome, sorted(done.removed)) == (
        "removed",
        sorted(map(str, (client.code, client.env, older))),
    )
    assert not client.base.exists()
    assert client.remove().outcome == "nothing"
    assert not client.base.exists()


def test_no_link_is_followed_and_what_has_another_name_stays(client: Client, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    client.prepare()
    (client.env / "link").symlink_to(precious)
    (client.base / f"users-code-{'b' * 16}").symlink_to(precious)
    kept = {f"users-code-{'b' * 16}", "users-code-short", f"users-env-{'c' * 16}-cp311-x86_64 copy", "other"}
    for name in kept:
        (client.base / name).mkdir(exist_ok=True)
    assert client.remove().outcome == "removed"
    assert {path.name for path in client.base.iterdir()} == kept
    assert (precious / "file").exists()


@pytest.mark.parametrize("_", range(3))
def test_who_waited_for_the_lock_while_everything_was_removed_takes_the_new_one(
    client: Client, _: int
) -> None:
    both = [client.spec, HostSpec("c2", "local", "lo")]

    async def at_once() -> tuple[list[Prepared], ...]:
        return await asyncio.gather(
            prepare.remove(both), prepare.prepare(both, None, None), prepare.remove(both)
        )

    client.prepare()
    for part in asyncio.run(at_once()):
        assert [one.problem for one in part] == [None, None]


def test_a_lock_that_was_removed_while_it_was_waited_for_is_not_held(client: Client) -> None:
    """Else two who hold different files of one name would both think that they are alone."""
    client.base.mkdir(parents=True)
    lock = client.base / scripts.LOCK
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try_again = ["flock", "-n", str(lock), "echo", "somebody else has it too"]
        with subprocess.Popen(
            [*scripts.locked(str(client.base), 10), *try_again], stdout=subprocess.PIPE, text=True
        ) as waiting:
            asyncio.run(until("the lock to be opened", Path(f"/proc/{waiting.pid}/fd/9").exists))
            lock.unlink()
            fcntl.flock(held, fcntl.LOCK_UN)
            assert waiting.communicate(timeout=10)[0] == ""
    assert lock.exists()


# --- as `check` says it ------------------------------------------------------------------------------------


def checked(client: Client, python: str | None, server: str = "s1") -> Check | None:
    entry = UsersEntry.model_validate({"server": server, "clients": ["c1"], "users": 1, "folder": "/nowhere"})
    users = users_of(entry, None)
    campaign: Any = SimpleNamespace(feature_values={"users": replace(users, python=python)})
    return asyncio.run(users_check(AskedHost(LocalHost(client.spec), campaign, {}, root=True)))


def test_check_says_whether_a_client_is_prepared_and_what_to_run(client: Client) -> None:
    missing = Check("c1", "users", "fail", "no users' environment of this linewatt", "linewatt prepare FILE")
    assert checked(client, None) == missing
    client.prepare()
    ready = checked(client, None)
    assert ready is not None
    assert ready.status == "ok"
    own = checked(client, "/nowhere/python")
    assert own is not None
    assert own.status == "fail"


def test_check_says_what_a_server_of_users_lacks_and_nothing_of_others(client: Client) -> None:
    client.spec = HostSpec("s1", "local", "lo")
    server = checked(client, None)
    assert server is not None
    assert server.status == "fail"  # whoever this is and whatever is installed: /nowhere is no directory
    assert server.advice
    client.spec = HostSpec("c9", "local", "lo")
    assert checked(client, None) is None
