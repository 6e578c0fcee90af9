# SPDX-License-Identifier: Apache-2.0
"""Logging in to a real sshd of this machine's loopback: what a first day shows, and what is said of it."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from linewatt.engine.undo.host_lock import Holder, take
from linewatt.errors import HostError
from linewatt.features.lab.system import search_path
from linewatt.hosts.base import HostSpec
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.limits import Limits

pytestmark = pytest.mark.lab


class Server:
    """An sshd that listens on a port of 127.0.0.1 and knows one key."""

    def __init__(self, base: Path, key: Path, lines: str = "") -> None:
        base.mkdir()
        self.port = _free_port()
        self.log = base / "log"
        self.home = base / "home"
        self.home.mkdir()
        self.key = base / "host_key"
        _keygen(self.key)
        (base / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
        Path("/run/sshd").mkdir(exist_ok=True)
        (base / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{self.port}\nHostKey {self.key}\nPidFile none\nUsePAM no\nUseDNS no\n"
            f"AuthorizedKeysFile {base}/authorized_keys\nStrictModes no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nSetEnv HOME={self.home}\n{lines}\n"
        )
        program = shutil.which("sshd", path=search_path())
        assert program is not None
        self.process = subprocess.Popen(
            [program, "-D", "-f", str(base / "sshd_config"), "-E", str(self.log)], stdin=subprocess.DEVNULL
        )
        self._until_it_listens()

    def _until_it_listens(self) -> None:
        end_s = time.monotonic() + 20
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < end_s, f"sshd does not listen: {self.log.read_text()}"
            time.sleep(0.02)

    def known(self, port: int | None = None) -> str:
        public = self.key.with_suffix(".pub").read_text()
        return f"[127.0.0.1]:{port or self.port} {public}"

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _keygen(path: Path, phrase: str = "") -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", str(path)], check=True)


Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Servers that end with the test; nothing of the user's own SSH settings is looked at."""
    own = tmp_path / "own"
    (own / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    _keygen(tmp_path / "key")
    servers: list[Server] = []

    def one(lines: str = "") -> Server:
        servers.append(Server(tmp_path / f"server{len(servers)}", tmp_path / "key", lines))
        with (tmp_path / "known_hosts").open("a") as known:
            known.write(servers[-1].known())
        return servers[-1]

    try:
        yield one
    finally:
        for server in servers:
            server.close()


def spec(tmp_path: Path, server: Server) -> HostSpec:
    return HostSpec(
        name="dut",
        address="127.0.0.1",
        data="lo",
        port=server.port,
        user=getpass.getuser(),
        key_file=str(tmp_path / "key"),
        known_hosts=str(tmp_path / "known_hosts"),
    )


def said(host: HostSpec, *argv: str) -> str:
    """What a command on a host prints."""

    async def run() -> str:
        opened = await connect_to_host(host)
        try:
            return (await opened.run(argv)).stdout
        finally:
            await opened.close()

    return asyncio.run(run())


def refused(host: HostSpec) -> str:
    """The one line of a connection that fails."""
    with pytest.raises(HostError) as caught:
        said(host, "true")
    text = str(caught.value)
    assert text.startswith("dut")
    assert "\n" not in text
    return text


def test_a_login_that_prints_before_each_command_is_named_with_what_it_prints(
    start: Start, tmp_path: Path
) -> None:
    server = start()
    (server.home / ".bashrc").write_text("echo Welcome to the lab\n")
    text = refused(spec(tmp_path, server))
    assert "its login prints 'Welcome to the lab'" in text
    assert ".bashrc" in text


def test_a_login_that_prints_to_stderr_is_no_obstacle(start: Start, tmp_path: Path) -> None:
    server = start()
    (server.home / ".bashrc").write_text("echo Welcome to the lab >&2\n")
    assert said(spec(tmp_path, server), "echo", "hello") == "hello\n"


def test_a_login_that_waits_is_named_with_its_host_and_where_to_look(start: Start, tmp_path: Path) -> None:
    server = start()
    (server.home / ".bashrc").write_text("read -r -t 60 line <> <(:)\n")
    text = refused(replace(spec(tmp_path, server), limits=Limits(login_s=3.0)))
    assert "no answer to its first command in 3 s" in text
    assert ".bashrc" in text
    assert text.endswith("if it is that slow, say so: limits: {login: 6 s}")


def test_a_login_that_runs_nothing_says_what_it_says(start: Start, tmp_path: Path) -> None:
    text = refused(spec(tmp_path, start("ForceCommand echo no shell here >&2; exit 1")))
    assert "no command can be run: no shell here" in text


LOGIN_OF_CSH = 'ForceCommand exec tcsh -f -c "$SSH_ORIGINAL_COMMAND"'
"""as sshd does it for a user whose login shell that is"""


@pytest.mark.skipif(shutil.which("tcsh") is None, reason="tcsh is not installed")
def test_csh_as_the_login_shell_is_no_obstacle(start: Start, tmp_path: Path) -> None:
    host = spec(tmp_path, start(LOGIN_OF_CSH))
    hostile = "it's 5 !! $HOME `id` \\n\n%s é"
    assert said(host, "printf", "%s", hostile) == hostile


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("set -eu\n[ $NOBODY ]\n", ".bashrc: line 2: NOBODY"), ("set -e\nfalse\n", "it said nothing")],
)
def test_a_bashrc_that_ends_before_the_command_is_named(
    start: Start, tmp_path: Path, lines: str, expected: str
) -> None:
    server = start()
    (server.home / ".bashrc").write_text(lines)
    text = refused(spec(tmp_path, server))
    assert expected in text
    assert "~/.bashrc, which runs first, must not end it (set -e, set -u, exit)" in text


def test_options_that_a_bashrc_exports_are_for_no_script_on_the_host(start: Start, tmp_path: Path) -> None:
    server = start()
    (server.home / ".bashrc").write_text("set -eu\nexport SHELLOPTS\n")
    assert said(spec(tmp_path, server), "bash", "-c", 'false; echo "$UNSET_BY_ALL" >&2; echo $-') == "hBc\n"


def test_a_slow_bashrc_makes_a_host_slow_and_is_told_by_how_much(start: Start, tmp_path: Path) -> None:
    server = start()
    (server.home / ".bashrc").write_text("read -r -t 2.5 line <> <(:)\n")

    async def met() -> float:
        opened = await connect_to_host(spec(tmp_path, server))
        try:
            held = await take(opened, Holder("test"))
            await held.release()
            return opened.limits.start_s
        finally:
            await opened.close()

    assert 2.5 <= asyncio.run(met()) < 10


def test_an_sshd_that_allows_one_session_on_a_connection_is_named(start: Start, tmp_path: Path) -> None:
    text = refused(spec(tmp_path, start("MaxSessions 1")))
    assert "MaxSessions 1" in text
    assert text.endswith("set MaxSessions 10 in sshd_config there, and reload sshd")


def test_an_unknown_host_key_is_shown_with_the_way_to_compare_it(start: Start, tmp_path: Path) -> None:
    server = start()
    (tmp_path / "known_hosts").write_text("")
    text = refused(spec(tmp_path, server))
    assert "its host key is not known: ssh-ed25519 SHA256:" in text
    assert f"ssh -p {server.port} -o UserKnownHostsFile={tmp_path}/known_hosts" in text
    assert "CHANGED" not in text


def test_a_changed_host_key_is_told_from_an_unknown_one(start: Start, tmp_path: Path) -> None:
    server, other = start(), start()
    (tmp_path / "known_hosts").write_text(other.known(server.port))
    text = refused(spec(tmp_path, server))
    assert "its host key has CHANGED" in text
    match = re.search(r"`ssh-keygen -f (\S+) -R (\S+)`", text)
    assert match
    subprocess.run(["ssh-keygen", "-f", match[1], "-R", match[2].strip("'")], check=True, capture_output=True)
    assert (tmp_path / "known_hosts").read_text() == ""


def test_host_keys_cannot_be_turned_off_by_the_users_own_settings(start: Start, tmp_path: Path) -> None:
    server = start()
    (tmp_path / "own" / ".ssh" / "config").write_text("Host *\n  UserKnownHostsFile none\n")
    text = refused(replace(spec(tmp_path, server), known_hosts=None))
    assert "always checks them" in text


def test_a_key_that_the_host_does_not_know_is_named_with_where_it_must_stand(
    start: Start, tmp_path: Path
) -> None:
    server = start()
    _keygen(tmp_path / "other")
    text = refused(replace(spec(tmp_path, server), key_file=str(tmp_path / "other")))
    assert f"login refused for {getpass.getuser()} with the key {tmp_path}/other" in text
    assert "authorized_keys" in text


def test_no_key_at_all_is_said(start: Start, tmp_path: Path) -> None:
    text = refused(replace(spec(tmp_path, start()), key_file=None))
    assert "there is no key here to show" in text


@pytest.mark.parametrize(
    ("phrase", "suffix", "expected"), [("secret", "", "is encrypted"), ("", ".pub", "is a public key")]
)
def test_a_key_file_of_another_kind_is_named(
    start: Start, tmp_path: Path, phrase: str, suffix: str, expected: str
) -> None:
    server = start()
    _keygen(tmp_path / "own_key", phrase)
    named = f"{tmp_path}/own_key{suffix}"
    assert f"{named} {expected}" in refused(replace(spec(tmp_path, server), key_file=named))


def test_nothing_that_listens_is_said_without_python_in_it(tmp_path: Path, start: Start) -> None:
    server = start()
    text = refused(replace(spec(tmp_path, server), port=_free_port()))
    assert "connection refused: nothing listens there" in text
    assert "(" not in text.partition("): ")[2]


def test_an_address_that_does_not_resolve_is_said(tmp_path: Path, start: Start) -> None:
    text = refused(replace(spec(tmp_path, start()), address="nowhere.invalid"))
    assert "no IP address is known for host name nowhere.invalid (" in text


def test_what_is_no_sshd_is_said(tmp_path: Path, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(20)
        port = int(other.getsockname()[1])

        async def refuse() -> str:
            def answer() -> None:
                with other.accept()[0] as one:
                    one.recv(100)
                    one.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

            answering = asyncio.create_task(asyncio.to_thread(answer))
            with pytest.raises(HostError) as caught:
                await connect_to_host(replace(spec(tmp_path, start()), port=port))
            await answering
            return str(caught.value)

        assert "is it sshd that listens on this port" in asyncio.run(refuse())


def test_a_server_that_takes_no_login_in_time_is_told_from_one_that_does_not_answer(
    tmp_path: Path, start: Start
) -> None:
    limits = Limits(login_s=0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = int(silent.getsockname()[1])
        text = refused(replace(spec(tmp_path, start()), port=port, limits=limits))
    assert "answers, but the login took more than 0.5 s" in text


POLICIES = """
own=$(ps -o ppid= "$PPID" | tr -d ' ')
for child in $(pgrep -P "$own"); do
  tr '\\0' ' ' <"/proc/$child/cmdline" | grep -q "EPOCH[R]EALTIME" && chrt -p "$child"
done
chrt -p "$own"; chrt -p $$
"""
"""of the script that answers heartbeats, of the connection's process, and of a command"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a real-time class needs root")
@pytest.mark.parametrize("raises", [True, False])
def test_a_session_that_is_raised_leaves_what_it_starts_in_the_ordinary_class(
    start: Start, tmp_path: Path, raises: bool
) -> None:
    host = replace(spec(tmp_path, start()), raise_session=raises)
    told = said(host, "sh", "-c", POLICIES)
    of_each = [line.rpartition(": ")[2] for line in told.splitlines() if "scheduling policy" in line]
    own = "SCHED_RR|SCHED_RESET_ON_FORK" if raises else "SCHED_OTHER"
    assert of_each == [own, own, "SCHED_OTHER"]


def test_a_host_is_reached_through_jump_hosts(start: Start, tmp_path: Path) -> None:
    first, second, server = start(), start(), start()
    user = getpass.getuser()
    host = replace(
        spec(tmp_path, server), jump=f"{user}@127.0.0.1:{first.port},{user}@127.0.0.1:{second.port}"
    )
    seen = said(host, "bash", "-c", 'echo "$SSH_CONNECTION"').split()
    assert int(seen[3]) == server.port
    for jump in (first, second):
        assert "Accepted publickey" in jump.log.read_text()


def test_jump_hosts_of_the_users_own_settings_count(start: Start, tmp_path: Path) -> None:
    jump, server = start(), start()
    (tmp_path / "own" / ".ssh" / "config").write_text(
        f"Host 127.0.0.1\n  ProxyJump {getpass.getuser()}@localhost:{jump.port}\n"
    )
    with (tmp_path / "known_hosts").open("a") as known:
        known.write(jump.known().replace("127.0.0.1", "localhost"))
    assert said(spec(tmp_path, server), "echo", "hello") == "hello\n"
    assert "Accepted publickey" in jump.log.read_text()


def test_the_host_key_of_a_jump_host_is_checked(start: Start, tmp_path: Path) -> None:
    jump, server = start(), start()
    (tmp_path / "known_hosts").write_text(server.known())
    text = refused(replace(spec(tmp_path, server), jump=f"127.0.0.1:{jump.port}"))
    assert text.startswith(f"dut, jump host 127.0.0.1:{jump.port}: its host key is not known")
    assert "Accepted" not in jump.log.read_text()


def test_the_host_key_behind_a_jump_host_is_checked(start: Start, tmp_path: Path) -> None:
    jump, server = start(), start()
    (tmp_path / "known_hosts").write_text(jump.known())
    text = refused(replace(spec(tmp_path, server), jump=f"{getpass.getuser()}@127.0.0.1:{jump.port}"))
    assert text.startswith(f"dut (127.0.0.1:{server.port}): its host key is not known")
    assert "Accepted" not in server.log.read_text()


def test_a_jump_host_that_forwards_nothing_is_named(start: Start, tmp_path: Path) -> None:
    jump, server = start("AllowTcpForwarding no"), start()
    text = refused(replace(spec(tmp_path, server), jump=f"{getpass.getuser()}@127.0.0.1:{jump.port}"))
    assert "the jump host before it does not reach it" in text
    assert "AllowTcpForwarding" in text


def test_nothing_is_left_of_a_connection_through_a_jump_host(start: Start, tmp_path: Path) -> None:
    jump, server = start(), start()
    host = replace(spec(tmp_path, server), jump=f"{getpass.getuser()}@127.0.0.1:{jump.port}")
    assert said(host, "echo", "hello") == "hello\n"
    end_s = time.monotonic() + 20
    while "Disconnected from user" not in jump.log.read_text():
        assert time.monotonic() < end_s, "waited 20 s for the jump host's connection to end"
        time.sleep(0.02)
