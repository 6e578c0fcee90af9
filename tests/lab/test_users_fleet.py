# SPDX-License-Identifier: Apache-2.0
"""Users on several hosts: Locust over real SSH against a real vsftpd, every byte as the server logged it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
from tests.ftp_server import PASSWORD, Server, vsftpd, why_not
from tests.users_jobs import USUAL

from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import HostError, StoreError
from linewatt.features.lab import api as lab
from linewatt.features.users.fleet import Client, Fleet
from linewatt.features.users.worker.base import Failure
from linewatt.features.users.worker.decisions import arrivals, own_randomness
from linewatt.features.users.worker.job import Limits, Target, UsersJob
from linewatt.features.users.worker.tally import Tally, WorkerReport
from linewatt.hosts.base import Host
from linewatt.hosts.connect import connect_to_host

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=str(why_not()))]

MIB = 1024 * 1024
FILES = {"small": 1000, "odd": 3 * MIB + 17}
LIMITS = Limits(connect_s=2.0, reply_s=10.0, stall_s=10.0, grace_s=5.0)
LIMIT_S = 60.0


@dataclass
class Heard:
    """What a fleet reported and said."""

    reports: list[WorkerReport] = field(default_factory=list)
    said: list[tuple[str, str, str]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    released_s: float = 0.0
    """Unix seconds; no user had begun before"""

    def report(self, report: WorkerReport) -> None:
        self.reports.append(report)
        self.news.set()

    def say(self, kind: str, host: str, text: str) -> None:
        self.said.append((kind, host, text))
        self.news.set()

    async def awaited(self, what: str, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                while not condition():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"{what}: awaited for {LIMIT_S:g} s, heard {self.said}") from None

    @property
    def tally(self) -> Tally:
        tally = Tally()
        for report in self.reports:
            tally.merge(report.tally)
        return tally

    def of(self, host: str) -> list[WorkerReport]:
        return [report for report in self.reports if report.worker == host]

    def kinds(self) -> list[tuple[str, str]]:
        return [(kind, host) for kind, host, _ in self.said]


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where this test's temporary files go, which names its processes among those of other tests.

    Its name is short: the master listens on a socket in it, and unix(7) leaves 107 bytes for that.
    """
    tmp_path_factory.getbasetemp()  # made where it belongs, before this test has a place of its own
    folder = Path(tempfile.mkdtemp(prefix="linewatt-own-", dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    left = list(folder.iterdir())
    shutil.rmtree(folder)
    assert left == []


@pytest.fixture
def server(lab2: lab.Lab, tmp_path: Path) -> Iterator[Server]:
    """In the first host, on its data address."""
    host = lab2.hosts[0]
    with vsftpd(tmp_path, FILES, address=host.data_ipv4, namespace=host.namespace) as running:
        yield running


def job_of(server: Server, **changed: Any) -> UsersJob:
    values: dict[str, Any] = {"users": 5, "duration_s": 3.0, "spread_s": 0.2, "limits": LIMITS}
    values |= {"think_s": 0.05}  # other tests want the CPUs
    values |= {"files": tuple(map(server.file, FILES)), "put_sizes": (2 * MIB + 5, 100)}
    return UsersJob(**{**USUAL, "target": server.target(), "checked_share": 0.2, **values, **changed})


@asynccontextmanager
async def connected(lab2: lab.Lab, tmp_path: Path) -> AsyncIterator[dict[str, Host]]:
    campaign = tmp_path / "campaign.yaml"
    document = {"name": "t", "hosts": str(lab2.inventory), "pairs": ["h1 -> h2"], "tests": ["tcp"]}
    campaign.write_text(json.dumps(document))
    hosts = {name: await connect_to_host(spec) for name, spec in load_campaign(campaign).hosts.items()}
    try:
        yield hosts
    finally:
        for host in hosts.values():
            await host.close()


def clients_of(hosts: dict[str, Host], target: Target) -> list[Client]:
    return [client_of(name, target) for name in sorted(hosts)]


def client_of(name: str, target: Target) -> Client:
    return Client(name, sys.executable, tempfile.gettempdir(), target)


def run(
    lab2: lab.Lab,
    tmp_path: Path,
    job: UsersJob,
    meanwhile: Callable[[Fleet, Heard, dict[str, Host]], Awaitable[None]] | None = None,
    *,
    interval_s: float = 0.5,
    clients: list[Client] | None = None,
) -> Heard:
    """A fleet on both hosts from start to end; ``meanwhile`` is awaited before its end is."""
    heard = Heard()

    async def whole() -> None:
        async with connected(lab2, tmp_path) as hosts:
            on = clients or clients_of(hosts, job.target)
            fleet = Fleet(hosts, on, job, interval_s, heard.report, heard.say)
            try:
                await fleet.start()
                assert heard.reports == []
                heard.released_s = time.time()
                fleet.release()
                if meanwhile is not None:
                    await meanwhile(fleet, heard, hosts)
                await fleet.ended()
            finally:
                await fleet.stop()

    asyncio.run(whole())
    return heard


def locusts() -> dict[int, str]:
    """Processes of this test's users and their master, by number, with arguments and environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            text = words.replace(b"\0", b" ").decode(errors="replace")
            if "-m linewatt.features.users.worker" in text and tempfile.gettempdir() in text:
                found[int(entry.name)] = text
    return found


def locust(word: str) -> int:
    """The process of Python itself, below the leash, that has this word among its arguments."""
    (only,) = (pid for pid, text in locusts().items() if word in text.split() and not text.startswith("bash"))
    return only


def logged_bytes(server: Server, direction: str, *, complete: bool = True) -> int:
    return sum(
        one.transferred_bytes
        for one in server.logged()
        if one.direction == direction and one.complete == complete
    )


def files_of(folder: Path, *more: str) -> list[Path]:
    return [path for path in (*folder.rglob("*"), *map(Path, more)) if path.is_file()]


def balanced(server: Server, tally: Tally) -> None:
    """What clients counted is what the server logged, to the byte."""
    total = tally.total()
    assert total.failures == {}, tally.said
    assert total.unfinished == 0
    assert len(server.logged()) == total.transfers
    assert total.bytes.received_bytes == total.done_received_bytes == logged_bytes(server, "get")
    assert total.bytes.sent_bytes == total.done_sent_bytes == logged_bytes(server, "put")
    assert min(total.gets, total.puts) > 0
    assert server.left() == []


# --- from start to end -------------------------------------------------------------------------------------


def test_reports_of_all_clients_add_up_to_the_servers_log_and_show_the_password_to_nobody(
    lab2: lab.Lab, server: Server, tmp_path: Path, own_folder: Path
) -> None:
    """It is in no argument, in no environment and in no file of ours."""

    async def look(fleet: Fleet, heard: Heard, hosts: dict[str, Host]) -> None:
        await heard.awaited(
            "reports of both", lambda: {report.worker for report in heard.reports} == set(hosts)
        )
        shown = locusts()
        assert len(shown) >= 3
        assert [pid for pid, text in shown.items() if PASSWORD in text] == []
        secrets = [str(seat.secret_file) for seat in fleet._seats.values()]
        assert files_of(own_folder, *secrets) == []

    heard = run(lab2, tmp_path, job_of(server), look)
    balanced(server, heard.tally)
    assert sorted(heard.tally.users) == list(range(5))
    assert heard.tally.total().checked > 0
    shares = {host: {index for one in heard.of(host) for index in one.tally.users} for host in ("h1", "h2")}
    assert shares == {"h1": {0, 2, 4}, "h2": {1, 3}}
    assert heard.said == []
    for host in shares:
        own = heard.of(host)
        assert len(own) >= 5
        assert all(before.end_s == after.start_s for before, after in pairwise(own))
        assert own[-1].running == 0
        assert max(one.running for one in own) == len(shares[host])
        assert 0 < sum(one.cpu_s for one in own) < own[-1].end_s - own[0].start_s + 0.1


def test_users_of_all_clients_start_in_step_each_at_the_address_of_its_client(
    lab2: lab.Lab, tmp_path: Path
) -> None:
    """The server's log tells them apart by the addresses they come from."""

    async def stop(fleet: Fleet, heard: Heard, _: dict[str, Host]) -> None:
        await heard.awaited("transfers of both", lambda: {1, 2} <= moved(heard.tally))
        await fleet.stop()

    def moved(tally: Tally) -> set[int]:
        return {index for index, counts in tally.users.items() if counts.transfers}

    host, users = lab2.hosts[0], 12
    with vsftpd(tmp_path, FILES, address="0.0.0.0", namespace=host.namespace) as server:  # noqa: S104
        inside, outside = (replace(server.target(), host=one) for one in ("127.0.0.1", host.data_ipv4))
        small = {"files": (server.file("small"),), "put_sizes": (), "get_share": 1.0}
        job = job_of(server, target=outside, users=users, duration_s=3600.0, start="synchronised", **small)
        clients = [client_of("h1", inside), client_of("h2", outside)]
        heard = run(lab2, tmp_path, job, stop, clients=clients)
        lines = server.log.read_text().splitlines()
    kinds = ["login" if "OK LOGIN" in line else "moved" for line in lines if " OK " in line]
    assert kinds.index("moved") == kinds.count("login") == users, "the barrier is over both workers"
    assert {one.client for one in server.logged()} == {"127.0.0.1", lab2.hosts[1].data_ipv4}
    assert heard.tally.total().failures == {}


@pytest.mark.full
@pytest.mark.parametrize(
    "changed",
    [{"start": "synchronised", "login_per": "cycle"}, {"start": "ramped", "spread_s": 1.0}],
    ids=["in step, a login a cycle", "ramped"],
)
def test_users_of_all_clients_start_as_the_job_says(
    lab2: lab.Lab, server: Server, tmp_path: Path, changed: dict[str, Any]
) -> None:
    heard = run(lab2, tmp_path, job_of(server, **changed))
    balanced(server, heard.tally)
    total = heard.tally.total()
    lines = server.log.read_text().splitlines()
    kinds = ["login" if "OK LOGIN" in line else "moved" for line in lines if " OK " in line]
    if changed["start"] == "synchronised":
        assert kinds.index("moved") == 5  # the barrier is over both workers
        assert total.logins == pytest.approx(total.transfers / 2, abs=6)
        assert total.logins > 5
    else:
        assert kinds.index("moved") < 5
        assert total.logins == 5


@pytest.mark.full
def test_an_open_loop_over_ipv6_has_the_rate_of_the_job_over_all_clients(
    lab2: lab.Lab, tmp_path: Path
) -> None:
    """At every report as many are done as were due, but for those that need no more than the longest took."""

    async def stop(fleet: Fleet, heard: Heard, _: dict[str, Host]) -> None:
        await heard.awaited("transfers", lambda: heard.tally.total().transfers >= 60)
        await fleet.stop()

    host = lab2.hosts[0]
    with vsftpd(tmp_path, FILES, address=host.data_ipv6, namespace=host.namespace) as server:
        job = job_of(server, duration_s=3600.0, arrival_rate_hz=30.0, users=8)
        heard = run(lab2, tmp_path, job, stop)
        balanced(server, heard.tally)
    times = heard.tally.times
    assert times["wait"].count == heard.tally.total().transfers
    longest_s = max(times[f"{way}.total"].summary().max_s or 0.0 for way in ("get", "put"))
    for first, own in enumerate((heard.of("h1"), heard.of("h2"))):
        done, began_s = 0, own[0].start_s
        for report in own[:-1]:
            done += report.tally.total().transfers
            least = due(job, first, report.end_s - began_s - 1.01 * longest_s)
            assert least <= done <= due(job, first, report.end_s - heard.released_s), (first, longest_s)


def due(job: UsersJob, first: int, elapsed_s: float) -> int:
    """Of one of two clients: its transfers that were due."""
    assert job.arrival_rate_hz is not None
    randomness = own_randomness(job, -1 - first)
    return sum(
        1 for _ in takewhile(lambda at_s: at_s < elapsed_s, arrivals(job.arrival_rate_hz / 2, randomness))
    )


@pytest.mark.full
def test_each_client_has_a_server_address_of_its_own(lab2: lab.Lab, server: Server, tmp_path: Path) -> None:
    here, wrong = server.target(), replace(server.target(), port=server.settings.port + 1)
    clients = [client_of("h1", here), client_of("h2", wrong)]

    async def stop(fleet: Fleet, heard: Heard, _: dict[str, Host]) -> None:
        def tried() -> set[int]:
            return {index for index, one in heard.tally.users.items() if one.transfers or one.failures}

        await heard.awaited("what each user tries", lambda: tried() == {0, 1, 2, 3})
        await fleet.stop()

    heard = run(lab2, tmp_path, job_of(server, users=4, duration_s=3600.0), stop, clients=clients)
    by_user = {index: counts.failures for index, counts in heard.tally.users.items()}
    assert [set(by_user[index]) for index in range(4)] == [set(), {("login", Failure.UNREACHABLE)}] * 2


@pytest.mark.parametrize(
    "interrupted",
    ["its wait is cancelled", pytest.param("a report cannot be kept", marks=pytest.mark.full)],
)
def test_what_ends_the_wait_for_users_loses_no_report_and_leaves_nothing(
    lab2: lab.Lab, server: Server, tmp_path: Path, interrupted: str
) -> None:
    heard = Heard()

    def keep(report: WorkerReport) -> None:
        heard.report(report)
        if interrupted == "a report cannot be kept" and len(heard.reports) > 3:
            raise StoreError("no room")

    async def whole() -> None:
        async with connected(lab2, tmp_path) as hosts:
            job = job_of(server, duration_s=3600.0)
            fleet = Fleet(hosts, clients_of(hosts, job.target), job, 0.5, keep, heard.say)
            try:
                await fleet.start()
                fleet.release()
                ended = asyncio.create_task(fleet.ended())
                await heard.awaited("reports", lambda: len(heard.reports) > 3)
                if interrupted == "its wait is cancelled":
                    ended.cancel()
                with pytest.raises((asyncio.CancelledError, StoreError)):
                    await ended
                assert len(locusts()) >= 3
            finally:
                await fleet.stop()

    asyncio.run(whole())
    balanced(server, heard.tally)
    assert heard.said == []


def each_got(tally: Tally, users: int) -> bool:
    return len(tally.users) == users and all(one.bytes.received_bytes > 0 for one in tally.users.values())


@pytest.mark.full
def test_a_transfer_that_outlasts_the_grace_is_cut_and_is_unfinished(lab2: lab.Lab, tmp_path: Path) -> None:
    async def stop(fleet: Fleet, heard: Heard, _: dict[str, Host]) -> None:
        await heard.awaited("bytes of each user", lambda: each_got(heard.tally, 5))
        await fleet.stop()

    host = lab2.hosts[0]
    files, limits = {**FILES, "big": 30 * MIB}, replace(LIMITS, grace_s=0.5)
    with vsftpd(tmp_path, files, address=host.data_ipv4, namespace=host.namespace) as server:
        server.kill()
        server.start(max_rate_bytes_per_s=MIB // 2)
        job = job_of(
            server, duration_s=3600.0, files=(server.file("big"),), put_sizes=(), get_share=1.0, limits=limits
        )
        total = run(lab2, tmp_path, job, stop).tally.total()
    assert total.unfinished == 5
    assert total.transfers == total.done_received_bytes == 0
    assert 0 < total.bytes.received_bytes < 5 * 30 * MIB


# --- what is lost ------------------------------------------------------------------------------------------


def who_put(reports: list[WorkerReport]) -> set[int]:
    """A user that did so has replaced, and takes back, what it left when it was killed."""
    return {index for one in reports for index, counts in one.tally.users.items() if counts.puts}


def intrude(port: int, secret: str) -> list[str]:
    """Claim to be h2, and to have done something; which kinds of messages come back."""
    import msgpack  # type: ignore[import-untyped]
    import zmq

    start_s = ("guessed", "", "known").index(secret)
    nothing = WorkerReport("h2", start_s, 3.0, 0.0, 0, Tally()).as_dict()
    got: list[str] = []
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.setsockopt(zmq.LINGER, 0)
        stranger.setsockopt(zmq.IDENTITY, f"stranger-{secret}".encode())
        stranger.connect(f"tcp://127.0.0.1:{port}")
        for kind, data in (
            ("client_ready", -1),
            ("users-hello", {"name": "h2", "secret": secret}),
            ("users-joined", None),
            ("users-report", {"final": False, "report": nothing}),
            ("heartbeat", {"state": "ready", "current_cpu_usage": 0}),
        ):
            stranger.send(msgpack.dumps((kind, data, f"stranger-{secret}")))
        while "heartbeat" not in got and stranger.poll(10_000):  # answers come in order
            got.append(msgpack.loads(stranger.recv())[0])
    assert "heartbeat" in got
    return got


@pytest.mark.parametrize("loss", ["its process", pytest.param("its connection", marks=pytest.mark.full)])
def test_a_client_that_is_lost_keeps_what_it_reported_and_comes_back_and_nobody_else_does(
    lab2: lab.Lab, server: Server, tmp_path: Path, loss: str
) -> None:
    """Who claims to be the lost one without its secret is given no job and not believed."""
    before = 0
    got: dict[str, list[str]] = {}

    async def lose(fleet: Fleet, heard: Heard, hosts: dict[str, Host]) -> None:
        nonlocal before
        await heard.awaited("reports of both", lambda: all(len(heard.of(host)) > 1 for host in hosts))
        if loss == "its process":
            os.kill(locust("h2"), signal.SIGKILL)
        else:
            await hosts["h2"].close()
        await heard.awaited("the loss", lambda: ("client-lost", "h2") in heard.kinds())
        if loss == "its connection":
            hosts["h2"] = await connect_to_host(hosts["h2"].spec)
        fleet._master.order("expect", name="h2", secret="known")  # noqa: S106
        before = len(heard.of("h2"))
        for secret in ("guessed", "", "known"):
            got[secret] = await asyncio.to_thread(intrude, fleet._port, secret)
        await heard.awaited("the report of who knows it", lambda: len(heard.of("h2")) > before)
        before = len(heard.of("h2"))
        await fleet.again("h2")
        await heard.awaited("users that put again", lambda: who_put(heard.of("h2")[before:]) == {1, 3})
        await fleet.stop()

    heard = run(lab2, tmp_path, job_of(server, duration_s=3600.0), lose)
    assert heard.kinds() == [("client-lost", "h2"), ("client-back", "h2")]
    assert "users-job" not in got["guessed"] + got[""]
    assert "users-job" in got["known"]
    assert [report.start_s for report in heard.of("h2") if report.start_s < 3] == [2.0], "three said so"
    assert heard.tally.total().failures == {}
    assert {index for one in heard.of("h2")[before:] for index in one.tally.users} == {1, 3}
    assert {index for one in heard.of("h1") for index in one.tally.users} == {0, 2, 4}
    untouched = [counts for index, counts in heard.tally.users.items() if index in {0, 2, 4}]
    address = lab2.hosts[0].data_ipv4
    logged = [one for one in server.logged() if one.client == address]
    assert sum(one.transfers for one in untouched) == len(logged) > 0
    assert all(one.logins == 1 for one in untouched)
    assert server.left() == []


def test_a_master_that_dies_is_said_and_nothing_runs_on(
    lab2: lab.Lab, server: Server, tmp_path: Path
) -> None:
    async def kill(_fleet: Fleet, heard: Heard, hosts: dict[str, Host]) -> None:
        await heard.awaited("reports", lambda: len(heard.reports) > 1)
        os.kill(locust("--master"), signal.SIGKILL)

    clients = [client_of("h2", server.target())]
    with pytest.raises(HostError, match="the Locust master ended"):
        run(lab2, tmp_path, job_of(server, duration_s=3600.0), kill, clients=clients)


# --- who may take part -------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_client_without_locust_is_named_and_nothing_runs_on(
    lab2: lab.Lab, server: Server, tmp_path: Path
) -> None:
    bare = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}")
    clients = [
        client_of("h1", server.target()),
        Client("h2", bare, "/nonexistent", server.target()),
    ]
    with pytest.raises(HostError, match=r"h2: its users cannot run: .*No module named") as raised:
        run(lab2, tmp_path, job_of(server), clients=clients)
    assert "\n" not in str(raised.value)


def test_a_host_whose_sshd_forwards_nothing_is_named_with_what_to_do(lab2: lab.Lab, tmp_path: Path) -> None:
    from tests.lab.test_sessions import _sshd

    host = lab2.hosts[1]
    config = tmp_path / "forbids.conf"
    config.write_text((lab2.inventory.parent / f"{host.name}.conf").read_text() + "AllowTcpForwarding no\n")
    second = _sshd(host.namespace, config, tmp_path / host.name)
    try:
        with pytest.raises(HostError, match=r"h2: its sshd forwards no port.*AllowTcpForwarding") as raised:
            asyncio.run(_forward(lab2, tmp_path))
    finally:
        second.terminate()
        second.wait(10)
    assert "\n" not in str(raised.value)


async def _forward(lab2: lab.Lab, tmp_path: Path) -> None:
    async with connected(lab2, tmp_path) as hosts:
        other = await connect_to_host(replace(hosts["h2"].spec, port=2222))
        try:
            await other.forward(9)
        finally:
            await other.close()
