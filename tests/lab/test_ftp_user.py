# SPDX-License-Identifier: Apache-2.0
"""FTP users against a real vsftpd: what moves, what is counted, and each failure under its own name."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import users_in_threads
from tests.clock import Stopwatch
from tests.ftp_server import Server, vsftpd, why_not
from tests.users_jobs import USUAL

from linewatt.features.lab import api as lab
from linewatt.features.users.worker.base import ActionFailed, ByteCount, Failure, RemoteFile
from linewatt.features.users.worker.content import MemoryFile
from linewatt.features.users.worker.ftp import FtpUser, Surroundings
from linewatt.features.users.worker.job import Limits, Target, UsersJob, as_dict
from linewatt.features.users.worker.tally import Tally, UserCounts

pytestmark = pytest.mark.skipif(bool(why_not()), reason=str(why_not()))

MIB = 1024 * 1024
HANG_LIMIT_S = 60.0
FILES = {"small": 1000, "odd": 3 * MIB + 17, "empty": 0}
LIMITS = Limits(connect_s=1.0, reply_s=5.0, stall_s=5.0, grace_s=5.0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with vsftpd(tmp_path, FILES) as running:
        yield running


@contextmanager
def one_user(target: Target, limits: Limits = LIMITS) -> Iterator[tuple[FtpUser, ByteCount]]:
    with MemoryFile() as source:
        counted = ByteCount()
        until_s = time.monotonic() + 60
        around = Surroundings(source, limits, until_s, users_in_threads.wait_writable)
        user = FtpUser(target, "put/one", counted, around)
        try:
            yield user, counted
        finally:
            user.drop()


def job_of(server: Server, **changed: Any) -> UsersJob:
    files = tuple(server.file(name) for name in ("small", "odd"))
    values: dict[str, Any] = {"users": 6, "duration_s": 1.5, "spread_s": 0.2, "limits": LIMITS}
    values |= {"files": files, "put_sizes": (2 * MIB + 5, 100)}
    return UsersJob(**{**USUAL, "target": server.target(), **values, **changed})


def run_until(what: str, enough: Callable[[UserCounts], bool], job: UsersJob) -> Tally:
    """Users at work until they have done what is asked for, however long this machine takes to do it."""
    stop, tally = threading.Event(), Tally()
    job = replace(job, duration_s=10 * HANG_LIMIT_S)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(users_in_threads.run, job, stop, tally)
        try:
            awaited(what, lambda: running.done() or enough(tally.total()))
        finally:
            stop.set()
        return running.result(HANG_LIMIT_S)


def awaited(what: str, condition: Callable[[], bool], limit_s: float = HANG_LIMIT_S) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s, f"{what} was awaited for {limit_s:g} s"
        time.sleep(0.02)


def refused(failure: Failure, action: Callable[[], object]) -> str:
    with pytest.raises(ActionFailed) as raised:
        action()
    line = str(raised.value)
    assert raised.value.failure is failure, line
    assert str(failure) in line
    assert "\n" not in line
    return line


def logged_bytes(server: Server, direction: str) -> int:
    return sum(one.transferred_bytes for one in server.logged() if one.direction == direction)


# --- what moves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_user_gets_and_puts_over_both_families_and_leaves_no_file(tmp_path: Path, address: str) -> None:
    with vsftpd(tmp_path, FILES, address=address) as server, one_user(server.target()) as (user, counted):
        user.login()
        for name in FILES:
            assert user.get(server.file(name), check=True).is_checked
        for size in (0, 1, 20 * MIB + 3):  # beyond one period of the pattern
            assert user.put(size).transferred_bytes == size
        back = user.written()
        assert back is not None
        assert user.get(back, check=True).transferred_bytes == 20 * MIB + 3
        assert server.left() == ["one"]
        user.leave()
        assert server.left() == []
        assert counted.received_bytes == sum(FILES.values()) + 20 * MIB + 3
        assert counted.sent_bytes == 1 + 20 * MIB + 3


@pytest.mark.parametrize("start", ["independent", "ramped", "synchronised"])
def test_bytes_of_many_users_are_those_of_the_servers_log(server: Server, start: str) -> None:
    job = job_of(server, start=start, checked_share=0.3)
    done = run_until("transfers", lambda one: min(one.gets, one.puts) > 20 and one.checked > 5, job)
    total = done.total()
    assert total.failures == {}, done.said
    assert min(total.gets, total.puts) > 20
    assert total.checked > 5
    awaited("the log", lambda: len(server.logged()) >= total.transfers)
    assert total.bytes.received_bytes == logged_bytes(server, "get") > 0
    assert total.bytes.sent_bytes == logged_bytes(server, "put") > 0
    assert server.left() == []
    assert done.times["get.total"].count == total.gets
    first, whole = (done.times[f"get.{part}"].summary() for part in ("first_byte", "total"))
    assert first.mean_s is not None
    assert whole.mean_s is not None
    assert 0 < first.mean_s <= whole.mean_s


def test_a_login_for_each_cycle_logs_in_as_often(server: Server) -> None:
    job = job_of(server, users=2, login_per="cycle", cycle_transfers=2)
    done = run_until("logins", lambda one: one.logins > 10, job)
    total = done.total()
    assert total.failures == {}
    assert total.logins == pytest.approx(total.transfers / 2, abs=3)
    assert total.logins > 10


def test_an_open_loop_moves_what_arrives_and_no_more(server: Server) -> None:
    total = users_in_threads.run(job_of(server, duration_s=3.0, arrival_rate_hz=40.0)).total()
    assert total.failures == {}
    assert 75 <= total.transfers <= 165  # Poisson of mean 120, four standard deviations


def test_users_in_step_all_log_in_before_the_first_gets_a_byte(server: Server) -> None:
    run_until("a transfer", lambda one: one.transfers > 0, job_of(server, users=8, start="synchronised"))
    lines = server.log.read_text().splitlines()
    kinds = ["login" if "OK LOGIN" in line else "moved" for line in lines if " OK " in line]
    assert kinds.index("moved") == 8


def test_nothing_is_left_on_a_disk_of_the_client(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "here", tmp_path / "temporary"]
    for place in places:
        place.mkdir()
    monkeypatch.chdir(places[0])
    monkeypatch.setattr(tempfile, "tempdir", str(places[1]))
    run_until("transfers", lambda one: min(one.gets, one.puts) > 5, job_of(server))
    assert [path for place in places for path in place.iterdir()] == []
    assert list(Path("/tmp").glob("*linewatt-users*")) == []
    open_files = [os.readlink(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _open(each)]  # noqa: PTH115, PTH208
    assert not [name for name in open_files if "linewatt-users" in name]


def _open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


# --- what fails --------------------------------------------------------------------------------------------


def test_wrong_credentials(server: Server) -> None:
    with one_user(server.target("guessed")) as (user, _):
        line = refused(Failure.WRONG_CREDENTIALS, user.login)
    assert "530 Login incorrect" in line
    assert "guessed" not in line


def test_a_full_server_refuses_the_last_user_only(tmp_path: Path) -> None:
    with (
        vsftpd(tmp_path, FILES, max_clients=1) as server,
        one_user(server.target()) as (first, _),
        one_user(server.target()) as (second, _),
    ):
        first.login()
        assert "421" in refused(Failure.SERVER_FULL, second.login)
        assert first.get(server.file("odd"), check=True).transferred_bytes == FILES["odd"]


def test_a_full_disk_and_the_user_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with vsftpd(tmp_path, FILES, memory="8m") as server, one_user(server.target()) as (user, counted):
        user.login()
        refused(Failure.DISK_FULL, lambda: user.put(40 * MIB))
        assert 0 < counted.sent_bytes < 40 * MIB
        assert user.put(1 * MIB).transferred_bytes == MIB  # the same session
        user.leave()
        assert server.left() == []


def test_a_missing_file(server: Server) -> None:
    with one_user(server.target()) as (user, _):
        user.login()
        line = refused(Failure.FILE_MISSING, lambda: user.get(RemoteFile("get/none"), check=False))
        assert "550" in line
        assert user.get(server.file("small"), check=True).is_checked


def test_a_file_that_shrinks_while_it_is_sent_is_short(tmp_path: Path) -> None:
    with vsftpd(tmp_path, {"big": 8 * MIB}, max_rate_bytes_per_s=4 * MIB) as server:
        path = server.home / "get" / "big"
        with one_user(server.target()) as (user, counted):
            user.login()
            file = server.file("big")
            cutter = threading.Thread(target=_cut_once_sent, args=(path, counted))
            cutter.start()
            line = refused(Failure.FILE_SHORT, lambda: user.get(file, check=False))
            cutter.join()
        assert f"of {8 * MIB} came" in line
        assert counted.received_bytes < 8 * MIB


def _cut_once_sent(path: Path, counted: ByteCount) -> None:
    awaited("the first byte", lambda: counted.received_bytes > 0)
    os.truncate(path, 3 * MIB)


def test_a_file_of_another_size_or_content_than_promised_is_named_so(server: Server) -> None:
    with one_user(server.target()) as (user, _):
        user.login()
        file = server.file("odd")
        for size, failure in ((file.size_bytes + 1, Failure.FILE_SHORT), (5, Failure.FILE_LONG)):  # type: ignore[operator]
            wrong = replace(file, size_bytes=size)
            refused(failure, lambda: user.get(wrong, check=False))  # noqa: B023
        (server.home / "get" / "odd").write_bytes(bytes(FILES["odd"]))
        refused(Failure.CHECKSUM, lambda: user.get(file, check=True))
        assert user.get(file, check=False).transferred_bytes == FILES["odd"]


def test_nothing_listens(server: Server) -> None:
    server.kill()
    with one_user(server.target()) as (user, _):
        refused(Failure.UNREACHABLE, user.login)


@pytest.mark.parametrize("action", ["get", "put"])
def test_a_server_killed_in_a_transfer_is_a_lost_connection(tmp_path: Path, action: str) -> None:
    with (
        vsftpd(tmp_path, {"big": 30 * MIB}, max_rate_bytes_per_s=4 * MIB) as server,
        one_user(server.target()) as (user, counted),
    ):
        user.login()
        killer = threading.Thread(target=_kill_once_moved, args=(server, counted))
        killer.start()
        file = server.file("big")
        refused(
            Failure.CONNECTION_LOST,
            (lambda: user.get(file, check=False)) if action == "get" else (lambda: user.put(30 * MIB)),
        )
        killer.join()


def test_a_put_whose_server_dies_before_it_is_checked_failed_though_the_server_logged_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why the books of a soak may hold a transfer as complete at the server and as failed at the client."""
    with one_user(server.target()) as (user, _):
        user.login()
        control = user._control
        assert control is not None
        answered = control.voidresp

        def killed_once_it_answered() -> str:
            reply = answered()
            if reply.startswith("226"):
                server.kill()
            return reply

        monkeypatch.setattr(control, "voidresp", killed_once_it_answered)
        refused(Failure.CONNECTION_LOST, lambda: user.put(5000))
        assert [one.transferred_bytes for one in server.logged() if one.direction == "put"] == [5000]
        assert user.written() is None


def _kill_once_moved(server: Server, counted: ByteCount) -> None:
    awaited("a first byte", lambda: counted.received_bytes + counted.sent_bytes > 0)
    server.kill()


def test_users_recover_when_the_server_is_killed_and_started_again(server: Server) -> None:
    tally, job, stop = Tally(), job_of(server, duration_s=10 * HANG_LIMIT_S), threading.Event()
    runner = threading.Thread(target=users_in_threads.run, args=(job, stop, tally))
    runner.start()
    try:
        awaited("logins", lambda: tally.total().logins == job.users and tally.total().transfers > 20)
        server.kill()
        awaited("users that notice", lambda: sum(tally.total().failures.values()) >= job.users)
        before = tally.total()
        server.start()
        awaited("users that log in again", lambda: all(one.logins >= 2 for one in tally.users.values()))
        awaited("transfers again", lambda: tally.total().transfers > before.transfers + 20)
    finally:
        stop.set()
        runner.join(HANG_LIMIT_S)
    after = tally.total()
    names = {name for _, name in after.failures}
    assert names <= {Failure.CONNECTION_LOST, Failure.UNREACHABLE}
    assert after.transfers > before.transfers + 20
    assert not runner.is_alive()
    assert server.left() == []


@pytest.mark.parametrize("process", [0, 1], ids=["with more rights", "with less rights"])
def test_a_session_of_which_one_process_died_is_a_lost_connection(server: Server, process: int) -> None:
    """The other process says 500 OOPS, which is no refusal."""
    with one_user(server.target()) as (user, _):
        user.login()
        os.kill(server.sessions()[process], signal.SIGKILL)
        refused(Failure.CONNECTION_LOST, lambda: user.get(server.file("small"), check=False))


def test_a_connection_that_was_reset_is_a_lost_one_whatever_is_asked_of_it(server: Server) -> None:
    for action in ("get", "put"):
        with one_user(server.target()) as (user, _):
            user.login()
            reset(user)
            refused(
                Failure.CONNECTION_LOST,
                (lambda: user.get(server.file("small"), check=False))
                if action == "get"
                else (lambda: user.put(5)),
            )


def reset(user: FtpUser) -> None:
    """As the kernel leaves a socket once the other end has reset it."""
    control = user._control
    assert control is not None
    assert control.sock is not None
    control.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    control.sock.shutdown(socket.SHUT_RDWR)
    end_s = time.monotonic() + 5
    while True:
        try:
            control.sock.getpeername()
        except OSError:
            return
        assert time.monotonic() < end_s, "the socket to be without a peer was awaited for 5 s"
        time.sleep(0.01)


# --- on a network of its own -------------------------------------------------------------------------------


def much(total: UserCounts) -> bool:
    return min(total.bytes.received_bytes, total.bytes.sent_bytes) > 10 * MIB


@pytest.mark.lab
def test_bytes_are_those_of_the_network_card_within_protocol_overhead(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    host = make_lab(hosts=1).hosts[0]
    with vsftpd(tmp_path, FILES, address=host.address, namespace=host.namespace) as server:
        before = _card(host.namespace)
        total = run_until("bytes both ways", much, job_of(server, get_share=0.7)).total()
        after = _card(host.namespace)
    assert total.failures == {}
    assert much(total)
    for moved, key in ((total.bytes.received_bytes, "tx"), (total.bytes.sent_bytes, "rx")):
        frames = after[key] - before[key]
        # 66 bytes of headers on 1448 or, with segmentation offload, on up to 64 KiB; acknowledgements of
        # the other direction and the control connections beside it
        assert moved < frames < 1.10 * moved + 0.05 * (total.bytes.received_bytes + total.bytes.sent_bytes)


@pytest.mark.lab
def test_blocked_passive_ports_are_named_so_and_the_login_was_fine(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    host = make_lab(hosts=1).hosts[0]
    with vsftpd(tmp_path, FILES, address=host.address, namespace=host.namespace) as server:
        _drop_ports(host.namespace, server.settings.passive_ports)
        with one_user(server.target()) as (user, _):
            user.login()
            file, watch, began_s = server.file("odd"), Stopwatch(), time.monotonic()
            line = refused(Failure.PASSIVE_PORT_BLOCKED, lambda: user.get(file, check=False))
            assert time.monotonic() - began_s >= LIMITS.connect_s
            assert watch.took_s < LIMITS.connect_s + 2
        failed = run_until("failures", lambda one: one.failures.total() >= 2, job_of(server, users=2))
    done = failed
    assert "no data connection to port 20" in line
    assert {name for _, name in done.total().failures} == {Failure.PASSIVE_PORT_BLOCKED}
    assert done.total().logins >= 2


def _card(namespace: str) -> dict[str, int]:
    inside = ["ip", "netns", "exec", namespace]
    text = subprocess.run(
        [*inside, "cat", "/proc/net/dev"], capture_output=True, text=True, check=True
    ).stdout
    (row,) = (line for line in text.splitlines() if line.strip().startswith("mgmt0:"))
    fields = [int(word) for word in row.partition(":")[2].split()]
    return {"rx": fields[0], "tx": fields[8]}


def _drop_ports(namespace: str, ports: tuple[int, int]) -> None:
    """Swallow what comes for these ports, as a firewall that drops does: by routing rules alone."""
    inside = ["ip", "-n", namespace, "rule"]
    first, last = ports
    for words in (
        ["add", "pref", "2", "lookup", "local"],
        ["add", "pref", "1", "iif", "mgmt0", "ipproto", "tcp", "dport", f"{first}-{last}", "blackhole"],
        ["del", "pref", "0"],
    ):
        subprocess.run([*inside, *words], check=True)


# --- under Locust ------------------------------------------------------------------------------------------


def _needed_s(job: UsersJob, folder: Path) -> float:
    """How long as many users in threads take here and now for 40 transfers, of another server."""
    (folder / "first").mkdir()
    with vsftpd(folder / "first", FILES) as server:
        job = replace(job, target=server.target())
        begun_s = time.monotonic()
        run_until("transfers", lambda one: one.transfers >= 40, job)
        return time.monotonic() - begun_s


def _locust(folder: Path, job: UsersJob) -> tuple[Tally, str]:
    """One process of Locust by hand: what it counted, and what Locust said."""
    folder.mkdir()
    given, result = folder / "job.json", folder / "result.json"
    given.write_text(json.dumps(as_dict(job)))
    argv = [sys.executable, "-m", "linewatt.features.users.worker", "--headless", "--json"]
    argv += ["--users", str(job.users), "--spawn-rate", str(job.users), "--exit-code-on-error", "0"]
    argv += ["--run-time", f"{math.ceil(job.duration_s) + 2}s", "--stop-timeout", "20"]
    argv += ["--users-job", str(given), "--users-result", str(result)]
    limit_s = job.duration_s + 2 * HANG_LIMIT_S
    done = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Tally.from_dict(json.loads(result.read_text())), done.stdout


@pytest.mark.parametrize("start", ["independent", pytest.param("synchronised", marks=pytest.mark.full)])
def test_under_locust_users_add_up_to_the_servers_log(server: Server, tmp_path: Path, start: str) -> None:
    job = job_of(server, start=start, checked_share=0.2)
    tally, said = _locust(
        tmp_path / "locust", replace(job, duration_s=max(3.0, 5 * _needed_s(job, tmp_path)))
    )
    total = tally.total()
    assert total.failures == {}, tally.said
    assert sorted(tally.users) == list(range(6))
    assert min(total.gets, total.puts) > 20
    assert total.checked > 0
    assert total.bytes.received_bytes == logged_bytes(server, "get") > 0
    assert total.bytes.sent_bytes == logged_bytes(server, "put") > 0
    assert tally.times["get.total"].count == total.gets
    assert {row["name"]: row["num_requests"] for row in json.loads(said)} == {
        "login": total.logins,
        "get": total.gets,
        "put": total.puts,
    }
    assert server.left() == []
    if start == "synchronised":
        lines = server.log.read_text().splitlines()
        kinds = ["login" if "OK LOGIN" in line else "moved" for line in lines if " OK " in line]
        assert kinds.index("moved") == 6


def test_under_locust_failures_have_the_same_names(server: Server, tmp_path: Path) -> None:
    # in step each tries to log in, however late it begins
    job = job_of(server, target=server.target("guessed"), users=2, duration_s=2.0, start="synchronised")
    tally, said = _locust(tmp_path / "locust", job)
    assert set(tally.total().failures) == {("login", Failure.WRONG_CREDENTIALS)}
    (row,) = json.loads(said)
    assert row["num_failures"] == sum(tally.total().failures.values()) >= 2
