# SPDX-License-Identifier: Apache-2.0
"""A vsftpd that linewatt starts over real sshd: used, killed, started again, and gone without trace."""

from __future__ import annotations

import asyncio
import ftplib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import users_in_threads
from tests.ftp_server import below, content_of, why_not
from tests.users_jobs import USUAL

from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.restore import restore_hosts
from linewatt.engine.undo.settings import Settings
from linewatt.errors import HostError
from linewatt.features.users.folder_knob import CONFIGURATION, PREFIX
from linewatt.features.users.vsftpd import VsftpdServer
from linewatt.features.users.worker import content
from linewatt.features.users.worker.job import Limits, Target, UsersJob
from linewatt.features.users.worker.server_vsftpd import VsftpdSettings
from linewatt.features.users.worker.tally import Tally, UserCounts
from linewatt.hosts import limits
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.inventory.read import read_inventory
from linewatt.hosts.journal.journal import Journal, journal_path

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=str(why_not()))]

SHM = Path("/dev/shm") / f"linewatt-test-{os.getpid()}"
"""in memory, and this process's own: other tests have servers at the same time"""
MIB = 1024 * 1024
HANG_LIMIT_S = 30.0
"""less than vsftpd itself lets a session do nothing"""
SIZES = (1000, 0, 3 * MIB + 17, content.PERIOD_BYTES + 5)
SMALL = SIZES[:1]
"""where it does not matter what there is to get"""


def spec_of(lab: Any, name: str = "h1") -> HostSpec:
    values = read_inventory(lab.inventory)[name].values
    known = {
        key: values[key] for key in ("address", "data", "user", "key_file", "known_hosts") if key in values
    }
    patient = limits.Limits(silence_s=6.0, answer_s=10.0)  # as tests/lab/conftest.py states them
    return HostSpec(name=name, **known, port=int(values.get("port", 22)), lab="t", limits=patient)


class Running:
    """A server, what it said, and the folders and processes it has on its host."""

    def __init__(
        self, host: Host, state: Path, settings: VsftpdSettings, cpus: tuple[int, ...] | None = None
    ) -> None:
        self.journal = Journal(journal_path(state, "run"), create=True)
        self.journal.begin([host.spec])
        self.events: list[tuple[str, str]] = []
        self.hosts = {host.spec.name: host}
        change = Settings(self.hosts, ALL_KNOBS, self.journal)
        self.server = VsftpdServer(
            host, settings, change, lambda kind, _, text: self.events.append((kind, text)), cpus
        )
        self._before = set(folders())

    @property
    def folder(self) -> Path:
        (own,) = set(folders()) - self._before
        return own

    @property
    def pids(self) -> list[int]:
        return processes(self.folder)


@pytest.fixture(autouse=True, scope="module")
def _memory() -> Iterator[None]:
    SHM.mkdir(mode=0o755)
    yield
    shutil.rmtree(SHM)


def folders() -> list[Path]:
    return list(SHM.glob(f"{PREFIX}*"))


def processes(folder: Path) -> list[int]:
    """The processes of a server, the listener first."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:2] == [str(folder / CONFIGURATION).encode()]:
                found.append(int(each.name))
    return sorted(found, key=lambda pid: (parent(pid) in found, pid))


def parent(pid: int) -> int | None:
    """``None`` of a process that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def given_to_processes() -> bytes:
    """Arguments and environments of all processes here."""
    found = b""
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError):
                found += (each / "cmdline").read_bytes() + (each / "environ").read_bytes()
    return found


async def until(what: str, condition: Callable[[], bool], limit_s: float = HANG_LIMIT_S) -> None:
    """For a condition that comes; how soon is not what is tested."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"{what} was awaited for {limit_s:g} s"
        await asyncio.sleep(0.02)


def served(
    lab: Any | None,
    tmp_path: Path,
    use: Callable[[Running, str], Awaitable[None]],
    cpus: tuple[int, ...] | None = None,
    **changed: Any,
) -> Running:
    """Start a server on the first host, use it, stop it; nothing may be left. Without a lab: this machine."""
    spec = HostSpec("h1", "local", "lo") if lab is None else spec_of(lab)
    address = "127.0.0.1" if lab is None else lab.hosts[0].address
    settings = VsftpdSettings(
        (address,), users=4, get_sizes=SIZES, put_sizes=(MIB,), folder=str(SHM), read_every_s=0.3
    )
    settings = replace(settings, **changed)
    before = folders()

    async def whole() -> Running:
        host = await connect_to_host(spec)
        running = Running(host, tmp_path / "state", settings, cpus)
        try:
            await running.server.start()
            folder = running.folder if settings.folder == str(SHM) else None
            try:
                await use(running, address)
            finally:
                await running.server.stop()
            if folder is not None:
                assert processes(folder) == []
            assert running.journal.read()[1] == ()
        finally:
            running.journal.close()
            await running.hosts["h1"].close()
        return running

    running = asyncio.run(whole())
    assert folders() == before
    return running


def login(target: Target) -> ftplib.FTP:
    user = ftplib.FTP()  # noqa: S321
    user.connect(target.host, target.port, timeout=HANG_LIMIT_S)
    user.login(target.user, target.password)
    return user


def fetched(user: ftplib.FTP, path: str) -> bytes:
    kept = io.BytesIO()
    user.retrbinary(f"RETR {path}", kept.write)
    return kept.getvalue()


def job(target: Target, running: Running, **changed: Any) -> UsersJob:
    values: dict[str, Any] = {"users": 4, "duration_s": 1.5, "spread_s": 0.2, "checked_share": 0.3}
    values |= {"files": running.server.files, "put_sizes": (MIB,)}
    values |= {"limits": Limits(connect_s=2.0, reply_s=5.0, stall_s=5.0, grace_s=5.0)}
    return UsersJob(**{**USUAL, "target": target, **values, **changed})


# --- what it serves ----------------------------------------------------------------------------------------


def test_files_are_those_promised_at_every_address_and_users_can_write_only_where_they_should(
    lab2: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the password is in no argument, environment or journal."""
    first, second = lab2.hosts

    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)

        def work() -> None:
            user = login(target)
            for file in running.server.files:
                data = fetched(user, file.path)
                assert len(data) == file.size_bytes
                assert data == content_of(len(data))
            assert user.storbinary("STOR put/a", io.BytesIO(b"x")).startswith("226")
            for path in ("get/00000", "a", "put/../../passwords"):
                with pytest.raises(ftplib.error_perm):
                    user.storbinary(f"STOR {path}", io.BytesIO(b"x"))
            assert sorted(user.nlst("/")) == ["/get", "/put"]
            user.quit()

        def get(address: str) -> int:
            target = running.server.target_for(address)
            host = f"[{address}]" if ":" in address else address
            url = f"ftp://{host}:{target.port}/get/00002"
            words = f'user = "{target.user}:{target.password}"\n'
            argv = ["ip", "netns", "exec", second.namespace, "curl", "-sS", "-K", "-", url]
            done = subprocess.run(
                argv, input=words.encode(), capture_output=True, timeout=HANG_LIMIT_S, check=True
            )
            return len(done.stdout)

        await asyncio.to_thread(work)
        for data_address in (first.data_ipv4, first.data_ipv6):
            assert await asyncio.to_thread(get, data_address) == SIZES[2]
        await running.server.settle()
        assert running.server.logged.sent_bytes == sum(SIZES) + 2 * SIZES[2]
        user = await asyncio.to_thread(login, target)
        secret = target.password.encode()
        assert secret not in given_to_processes()
        monkeypatch.setattr("linewatt.features.users.vsftpd.SETTLE_LIMIT_S", 1.0)
        await running.server.settle()  # says that a session is left
        user.close()
        folder = running.folder
        assert folder.stat().st_mode & 0o777 == 0o700
        for path in (folder / "passwords", folder / "server.log"):
            assert path.stat().st_mode & 0o777 == 0o600
        assert secret not in (folder / CONFIGURATION).read_bytes()
        assert secret not in running.journal.path.read_bytes()
        assert target.password not in json.dumps(running.events) + repr(target)

    addresses = (first.address, first.data_ipv4, first.data_ipv6)
    events = served(lab2, tmp_path, use, addresses=addresses).events
    assert any("sessions of users go on" in text for _, text in events)


def least(users: UserCounts) -> int:
    return min(users.gets, users.puts)


def test_the_servers_totals_are_those_of_its_users(lab2: Any, tmp_path: Path) -> None:
    async def use(running: Running, address: str) -> None:
        stop, tally = threading.Event(), Tally()
        todo = job(running.server.target_for(address), running, duration_s=600.0)
        work = asyncio.create_task(asyncio.to_thread(users_in_threads.run, todo, stop, tally))
        try:
            await until("transfers", lambda: work.done() or least(tally.total()) > 5)
        finally:
            stop.set()
        await work
        await running.server.settle()
        users, counts = tally.total(), running.server.logged
        assert users.failures == {}, tally.said
        assert least(users) > 5
        assert (counts.gets, counts.puts, counts.logins) == (users.gets, users.puts, users.logins)
        assert counts.sent_bytes == users.bytes.received_bytes
        assert counts.received_bytes == users.bytes.sent_bytes
        assert (counts.incomplete_gets, counts.incomplete_puts, counts.logins_refused) == (0, 0, 0)
        assert running.server.starts == 1

    running = served(lab2, tmp_path, use, get_sizes=SIZES[:3])
    assert [kind for kind, _ in running.events] == ["server-started"]


def test_logins_refused_are_counted_whether_for_their_password_or_their_number(
    lab2: Any, tmp_path: Path
) -> None:
    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)

        def work() -> None:
            first = login(target)
            with pytest.raises(ftplib.error_temp, match="421"):
                login(target)
            first.quit()

        await asyncio.to_thread(work)
        listener = running.pids[0]
        await until("the listener to have seen all sessions end", lambda: below(listener) == [])
        with pytest.raises(ftplib.error_perm, match="530"):
            await asyncio.to_thread(login, replace(target, password="guessed"))  # noqa: S106
        await running.server.settle()
        counts = running.server.logged
        assert (counts.logins, counts.logins_refused) == (1, 2)

    served(lab2, tmp_path, use, max_clients=1, get_sizes=SMALL)


# --- what goes wrong ---------------------------------------------------------------------------------------


def test_a_server_that_is_lost_takes_its_sessions_along_and_is_started_again(
    lab2: Any, tmp_path: Path
) -> None:
    """Killed; killed with all its files gone, as after a restart of its host where they are in memory; and
    with its connection."""

    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)

        def starts() -> int:
            return [kind for kind, _ in running.events].count("server-started")

        def get(path: str) -> int:
            user = login(target)
            size_bytes = len(fetched(user, path))
            user.quit()
            return size_bytes

        user = await asyncio.to_thread(login, target)
        assert len(await asyncio.to_thread(fetched, user, "get/00002")) == SIZES[2]
        data = await asyncio.to_thread(user.transfercmd, "RETR get/00003")
        listener, *sessions = running.pids
        assert len(sessions) == 2
        os.kill(listener, signal.SIGKILL)
        await until("its sessions to end", lambda: not {listener, *sessions} & set(running.pids))
        data.close()
        user.close()
        await until("a second one", lambda: starts() == 2)
        assert await asyncio.to_thread(get, "get/00002") == SIZES[2]
        await running.server.settle()

        folder = running.folder
        await asyncio.to_thread(shutil.rmtree, folder)
        os.kill(processes(folder)[0], signal.SIGKILL)
        await until("a third one", lambda: starts() == 3)
        assert await asyncio.to_thread(get, "get/00003") == SIZES[3]
        await running.server.settle()

        user = await asyncio.to_thread(login, target)
        old, pids = running.hosts["h1"], set(running.pids)
        await old.close()
        await until("all of it to end", lambda: not pids & set(running.pids))
        user.close()
        await until("to be told", lambda: [kind for kind, _ in running.events].count("server-ended") == 3)
        running.hosts["h1"] = await connect_to_host(old.spec)
        running.server.use(running.hosts["h1"])
        await until("a fourth one", lambda: starts() == 4)
        await asyncio.to_thread(lambda: login(target).quit())
        await running.server.settle()
        counts = running.server.logged
        assert (counts.gets, counts.sent_bytes) == (3, 2 * SIZES[2] + SIZES[3])
        assert (counts.logins, running.server.starts) == (5, 4)

    running = served(lab2, tmp_path, use)
    kinds = [kind for kind, _ in running.events if kind != "warning"]  # of a host that answers late
    assert kinds == ["server-started", *(["server-ended", "server-started"] * 3)]
    assert running.events[1][1] == "vsftpd ended by signal 9"


def test_a_port_that_is_taken_is_one_line_that_names_who_has_it(lab2: Any, tmp_path: Path) -> None:
    with pytest.raises(HostError) as raised:
        served(lab2, tmp_path, never, port=22, passive_ports=(20000, 20999))
    assert str(raised.value).startswith("h1: port 22 is taken by sshd (process ")
    assert folders() == []


async def never(running: Running, address: str) -> None:
    raise AssertionError("it must not start")


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[Path]:
    """On this machine: what is mounted here later, a host of a lab need not see."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def test_a_disk_that_is_too_small_is_told_before_anything_is_made(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "20m") as disk:
        with pytest.raises(
            HostError, match=r"h1: .*disk \(it is memory\) has 0.02 GB free, and users need 0.03"
        ):
            served(None, tmp_path, never, folder=str(disk))
        assert list(disk.iterdir()) == []


def test_a_disk_that_users_fill_loses_no_line_of_the_log(tmp_path: Path) -> None:
    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)

        def work() -> int:
            user = login(target)
            with pytest.raises(ftplib.all_errors):
                user.storbinary("STOR put/a", io.BytesIO(bytes(60 * MIB)))
            user.close()
            gets = login(target)
            for _ in range(300):
                fetched(gets, "get/00000")
            gets.quit()
            return 300

        assert await asyncio.to_thread(work) == 300
        await running.server.settle()
        counts = running.server.logged
        assert (counts.gets, counts.sent_bytes) == (300, 300_000)
        assert (counts.incomplete_puts, counts.logins) == (1, 2)
        assert 0 < counts.incomplete_received_bytes < 60 * MIB

    with small_disk(tmp_path / "disk", "48m") as disk:
        running = served(None, tmp_path, use, folder=str(disk), get_sizes=(1000,), read_every_s=60.0)
        assert list(disk.iterdir()) == []
    assert "warning" not in [kind for kind, _ in running.events]


# --- a controller that dies --------------------------------------------------------------------------------

CONTROLLER = """
import asyncio, json, sys
from pathlib import Path
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.settings import Settings
from linewatt.features.users.vsftpd import VsftpdServer
from linewatt.features.users.worker.server_vsftpd import VsftpdSettings
from linewatt.hosts.base import HostSpec
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.journal.journal import Journal, journal_path

async def main(state, spec, address, folder):
    host = await connect_to_host(HostSpec(**spec))
    journal = Journal(journal_path(Path(state), "run"), create=True)
    journal.begin([host.spec])
    settings = VsftpdSettings((address,), users=1, get_sizes=(30_000_000,), folder=folder)
    changes = Settings({host.spec.name: host}, ALL_KNOBS, journal)
    server = VsftpdServer(host, settings, changes, lambda *_: None)
    await server.start()
    target = server.target_for(address)
    print(json.dumps([target.host, target.port, target.user, target.password]), flush=True)
    await asyncio.sleep(60)

asyncio.run(main(*json.loads(sys.stdin.readline())))
"""


def test_after_kill_9_of_the_controller_every_session_ends_and_restore_removes_the_rest(
    lab2: Any, tmp_path: Path
) -> None:
    spec, state, before = spec_of(lab2), tmp_path / "state", set(folders())
    values = {name: getattr(spec, name) for name in ("name", "address", "data", "user", "key_file")}
    values |= {"known_hosts": spec.known_hosts, "port": spec.port, "lab": spec.lab}
    with controller([str(state), values, lab2.hosts[0].address, str(SHM)]) as child:
        assert child.stdout is not None
        target = Target(*json.loads(child.stdout.readline()))
        (folder,) = set(folders()) - before
        user = login(target)
        data = user.transfercmd("RETR get/00000")
        data.recv(1000)
        assert len(processes(folder)) == 3
    try:
        asyncio.run(until("every process of the server to end", lambda: processes(folder) == []))
        data.close()
        user.close()
        assert folder.is_dir()
    finally:
        (restored,) = asyncio.run(restore_hosts(state))
    assert (restored.undone, restored.problems) == (1, ())
    assert not folder.exists()


@contextmanager
def controller(told: list[Any]) -> Iterator[subprocess.Popen[str]]:
    """Killed at the end."""
    argv = [sys.executable, "-c", CONTROLLER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdin is not None
            child.stdin.write(json.dumps(told) + "\n")
            child.stdin.flush()
            yield child
        finally:
            child.kill()


def test_restore_ends_a_server_that_nothing_else_ended(lab2: Any, tmp_path: Path) -> None:
    """Its watcher and its leash were killed as well: each of them ends sessions that a listener leaves."""

    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)
        user = await asyncio.to_thread(login, target)
        folder, (listener, *_) = running.folder, running.pids
        watcher, its_leash = _watcher(folder), _parent(_parent(listener))
        for pid in (watcher, its_leash, listener):
            os.kill(pid, signal.SIGKILL)
        await until("the listener to end", lambda: listener not in running.pids)
        assert running.pids, "sessions outlive a listener without its watcher and its leash"
        user.close()

    # what stops it removes the folder as restore does
    served(lab2, tmp_path, use, get_sizes=SMALL)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _watcher(folder: Path) -> int:
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            except OSError:
                continue
            if words[-2:] == [b"linewatt", str(folder / CONFIGURATION).encode()] and len(words) == 5:
                return int(each.name)
    raise AssertionError("no watcher")


def logged_in(tally: Tally) -> list[UserCounts]:
    return [one for one in list(tally.users.values()) if one.logins]


def test_a_burst_of_logins_ends_with_the_server(lab2: Any, tmp_path: Path) -> None:
    async def use(running: Running, address: str) -> None:
        stop, tally = threading.Event(), Tally()
        todo = job(running.server.target_for(address), running, users=20, duration_s=600.0, login_per="cycle")
        runner = threading.Thread(target=users_in_threads.run, args=(todo, stop, tally))
        runner.start()
        try:
            # asked of the users: to go through all processes takes so long beside them that sessions change
            await until("each user to log in", lambda: len(logged_in(tally)) == 20)
            await running.server.stop()
        finally:
            stop.set()
            await asyncio.to_thread(runner.join, HANG_LIMIT_S)
        assert not runner.is_alive()

    served(lab2, tmp_path, use, get_sizes=SMALL)


# --- where it runs ------------------------------------------------------------------------------------------


def test_a_server_its_sessions_and_the_server_that_follows_it_run_on_its_cpus(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))

    async def use(running: Running, address: str) -> None:
        target = running.server.target_for(address)
        user = await asyncio.to_thread(login, target)
        assert len(running.pids) == 3, "the listener, and two processes of the session"
        assert {frozenset(os.sched_getaffinity(pid)) for pid in running.pids} == {frozenset({cpu})}
        user.close()
        listener = running.pids[0]
        os.kill(listener, signal.SIGKILL)
        await until("another listener", lambda: running.server.starts == 2)
        assert os.sched_getaffinity(running.pids[0]) == {cpu}

    served(None, tmp_path, use, cpus=(cpu,), get_sizes=SMALL)


def test_a_server_on_cpus_that_cannot_all_be_used_is_refused(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))

    async def use(running: Running, address: str) -> None:
        raise AssertionError("it was not to be started")

    with pytest.raises(HostError, match=rf"^h1: users\.server_cpus: {cpu},{cpu + 4000}: only {cpu} of them"):
        served(None, tmp_path, use, cpus=(cpu, cpu + 4000), get_sizes=SMALL)
    assert folders() == []
