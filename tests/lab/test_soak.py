# SPDX-License-Identifier: Apache-2.0
"""Whole soaks on real hosts: real sshd, Locust, vsftpd, iperf3; what they leave on disk, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.ftp_server import PASSWORD, vsftpd, why_not
from tests.lab.test_campaign import GONE_LIMIT_S, HANG_LIMIT_S, Bench, await_event, connection_pids, until
from tests.lab.test_power import of_files

from linewatt.units import format_seconds

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]
MB = 1_000_000
LONG = "300s"
"""a soak that its test ends once all has happened that it looks for"""
SENSOR = "linewatt-netcounters"


class SoakBench(Bench):
    """h1 is the server, h2 and h3 are clients. ``folder``: below it the server's files are made."""

    def __init__(self, lab: Any, tmp: Path, folder: Path) -> None:
        super().__init__(lab, tmp)
        self.folder = folder

    def soak(self, duration: str, **keys: Any) -> Path:
        """A short soak; ``keys`` replace what it says, those of users within."""
        users = {
            "server": "h1",
            "clients": ["h2", "h3"],
            "users": 4,
            "get": {"size": "1M", "files": 3},
            "put": {"size": "500k"},
            "think": "500ms",  # else users leave no CPU to those who answer the controller in time
            "folder": str(self.folder),
            "python": sys.executable,
            "checked": "20%",
            **keys.pop("users", {}),
        }
        users = {name: value for name, value in users.items() if value is not None}
        document = {
            "name": "s",
            "hosts": str(self.lab.inventory),
            "soak": {"duration": duration, "interval": "1s", "segment": "3s"},
            "sensors": {"cpufreq": False},
            "users": users,
            **keys,
        }
        path = self.tmp / "soak.yaml"
        path.write_text(json.dumps(document))
        return path

    def parts(self) -> list[Path]:
        return sorted(self.result.glob("soak/part-*"))

    def once(self, process: subprocess.Popen[str], condition: Callable[[], bool], awaited: str) -> None:
        """Wait for something on disk, looked for with every chunk; the soak's own end bounds the wait."""
        seen = 0

        def news() -> bool:
            return self.chunks() > seen or process.poll() is not None

        while True:
            until(news, HANG_LIMIT_S, "a chunk")
            if process.poll() is not None:
                raise AssertionError(f"the soak ended without {awaited}: {process.communicate()[1]}")
            seen = self.chunks()
            if condition():
                return

    def served(self) -> bool:
        """Whether users of the newest part got something, as it is on disk."""
        return self.total("users.gets", source="users", parts=self.parts()[-1:]) > 0

    def interrupt(self, process: subprocess.Popen[str]) -> str:
        """Ctrl-C, and what it said on stderr until its end."""
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_LIMIT_S)
        assert process.returncode == 130, said
        return said

    def chunks(self) -> int:
        return len(list(self.result.glob("soak/part-*/chunk-*")))

    def span(self, part: Path) -> tuple[float, float]:
        """When a part started and ended, as it says."""
        about = json.loads((part / "part.json").read_text())
        return about["started_s"], json.loads((part / "ended.json").read_text())["ended_s"]

    def leave(self, left_s: float, duration_s: float) -> None:
        """Have the one part of a soak say that it ran until so much was left: nobody waits for that."""
        (part,) = self.parts()
        about = json.loads((part / "part.json").read_text())
        about["started_s"] = self.span(part)[1] - (duration_s - left_s)
        (part / "part.json").write_text(json.dumps(about))

    def rows(self, channel: str, *, source: str, host: str) -> list[tuple[float, float]]:
        """Times and totals of a counter in the newest part."""
        import duckdb

        return duckdb.execute(
            "SELECT time_s, value FROM read_parquet(?) WHERE source = ? AND channel = ? AND host = ? "
            "AND value IS NOT NULL ORDER BY time_s, value",
            [f"{self.parts()[-1]}/chunk-*.parquet", source, channel, host],
        ).fetchall()

    def total(
        self, channel: str, *, source: str, host: str | None = None, parts: list[Path] | None = None
    ) -> float:
        """What counters of a channel grew by in parts (all), by the first and the last row of each."""
        import duckdb

        total = 0.0
        for part in self.parts() if parts is None else parts:
            if not list(part.glob("chunk-*")):
                continue
            rows = duckdb.execute(
                "SELECT arg_max(value, time_s) - arg_min(value, time_s) AS grown, host, channel, source "
                "FROM read_parquet(?) GROUP BY host, channel, source",
                [f"{part}/chunk-*.parquet"],
            ).fetchall()
            total += sum(
                grown
                for grown, of, name, by in rows
                if re.fullmatch(channel, name) and by == source and host in (None, of) and grown is not None
            )
        return total

    def sensor_process(self, number: int) -> int:
        """The bash that reads netcounters on a host."""
        namespace = self.lab.hosts[number - 1].namespace
        done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
        (pid,) = (pid for pid in done.stdout.split() if _words(pid)[3:4] == [SENSOR])
        return int(pid)

    def grown_since(self, time_s: float, channel: str, *, source: str = "users", host: str = "h2") -> float:
        """What totals of a channel grew by on a host after a time."""
        after = [value for at_s, value in self.rows(channel, source=source, host=host) if at_s > time_s]
        return max(after) - min(after) if after else 0.0

    def events(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for part in self.parts()
            for path in sorted(part.glob("events-*.jsonl"))
            for line in path.read_text().splitlines()
        ]

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events()]

    def why(self) -> list[str | None]:
        """Why each part ended; None for one that was cut."""
        ends = [part / "ended.json" for part in self.parts()]
        return [json.loads(end.read_text())["why"] if end.exists() else None for end in ends]

    def server_processes(self) -> list[int]:
        """Every vsftpd of h1, listener and sessions."""
        done = subprocess.run(
            ["ip", "netns", "pids", self.lab.hosts[0].namespace], capture_output=True, text=True, check=True
        )
        return [int(pid) for pid in done.stdout.split() if _name(pid) == "vsftpd"]

    def dropped(self) -> int:
        """What queues of all data interfaces dropped until now, as tc says it here."""
        total = 0
        for number in range(1, len(self.lab.hosts) + 1):
            shown = json.loads(self.on_host(number, "tc", "-s", "-j", "qdisc", "show", "dev", "data0"))
            total += sum(one["drops"] for one in shown if one.get("root"))
        return total


def _words(pid: str) -> list[str]:
    try:
        return Path("/proc", pid, "cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def _name(pid: str) -> str:
    try:
        return Path("/proc", pid, "comm").read_text().strip()
    except OSError:
        return ""


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder of this test's own, in memory; nothing may be left in it."""
    folder = Path(tempfile.mkdtemp(prefix="linewatt-test-", dir="/dev/shm"))
    folder.chmod(0o755)
    yield folder
    left = sorted(folder.iterdir())
    shutil.rmtree(folder)
    assert left == []


@pytest.fixture
def bench(lab3: Any, tmp_path: Path, memory: Path) -> Iterator[SoakBench]:
    one = SoakBench(lab3, tmp_path, memory)
    yield one
    until(lambda: not one.processes() and not one.server_processes(), GONE_LIMIT_S, "all processes to end")


def done_equal(bench: SoakBench) -> None:
    """What clients have of transfers that were done is what the server has of complete ones, byte by byte."""
    assert bench.total("users.done_received_bytes", source="users") == bench.total(
        "server.sent_bytes", source="server"
    )
    assert bench.total("users.done_sent_bytes", source="users") == bench.total(
        "server.received_bytes", source="server"
    )


def done_both_ways(bench: SoakBench) -> bool:
    return all(bench.total(f"users.{way}s", source="users") > 0 for way in ("get", "put"))


def segments(rows: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Seconds and bytes of each segment: its first row says again what the one before had come to."""
    starts = [0, *(at for at, (before, row) in enumerate(pairwise(rows), 1) if before[1] == row[1])]
    own = [rows[first:last] for first, last in pairwise([*starts, len(rows)])]
    return [(one[-1][0] - one[0][0], one[-1][1] - one[0][1]) for one in own]


def test_users_and_iperf3_side_by_side_are_all_counted(bench: SoakBench) -> None:
    users = {"clients": ["h2"]}
    file = bench.soak("8s", pairs=["h2 -> h1"], tests=["tcp"], rate="50M", users=users)
    done = bench.run("run", file)
    assert bench.why() == ["done"]
    done_equal(bench)
    got = bench.total("users.done_received_bytes", source="users")
    put = bench.total("users.done_sent_bytes", source="users")
    sent = bench.total("load.sent_bytes", source="iperf3", host="h2")
    assert got >= MB
    assert put >= MB // 2
    ran = segments(bench.rows("load.sent_bytes", source="iperf3", host="h2"))
    assert max(ran)[0] >= 2.99, "one segment at least was whole"
    assert sum(sent_bytes for _, sent_bytes in ran) == sent
    assert 0.8 * 50e6 <= 8 * sent / sum(ran_s for ran_s, _ in ran) <= 1.05 * 50e6
    # Of a veth a frame of many segments has one header, and TCP may send twice.
    at_server = bench.total("nic.tx_bytes", source="netcounters", host="h1")
    assert got < at_server < 1.25 * got + 0.1 * (put + sent) + MB
    assert bench.total("users.failed.*", source="users") == 0
    assert "segment-failed" not in bench.kinds()
    (part,) = map(bench.span, bench.parts())
    assert 8 <= part[1] - part[0] <= 9
    assert f"{format_seconds(part[1] - part[0])} run;" in done.stderr


@pytest.mark.full
def test_ctrl_c_ends_users_server_and_part_and_resume_runs_the_rest(bench: SoakBench) -> None:
    file, began_s = bench.soak("300s"), time.time()
    process = bench.start("run", file)
    await_event(process, "soaking")
    bench.once(process, bench.served, "gets")
    signalled_s = time.time()
    bench.interrupt(process)
    over_s = time.time()
    assert bench.why() == ["interrupted"]
    assert bench.server_processes() == []
    (part,) = bench.parts()
    started_s, ended_s = bench.span(part)
    assert began_s < started_s < signalled_s < ended_s < over_s
    bench.leave(4, 300)
    done = bench.run("resume", "last")
    assert bench.why() == ["interrupted", "done"]
    done_equal(bench)
    starts, ends = zip(*map(bench.span, bench.parts()), strict=True)
    assert over_s < starts[1], "the gap is between the parts"
    ran_s = sum(ends) - sum(starts)
    assert 300 - 1e-3 <= ran_s <= 301
    assert f"{format_seconds(ran_s)} run;" in done.stderr
    again = bench.run("resume", "last")
    assert "nothing to do" in again.stderr


@pytest.mark.full
def test_a_server_whose_connection_ends_with_the_soak_has_its_log_read_to_the_end(bench: SoakBench) -> None:
    """As where the controller is so busy at the end that a heartbeat comes late."""
    process = bench.start("run", bench.soak(LONG))
    await_event(process, "soaking")
    bench.once(process, bench.served, "gets")
    for pid in connection_pids(bench, 1):
        os.kill(pid, signal.SIGKILL)
    said = bench.interrupt(process)
    assert bench.why() == ["interrupted"]
    assert "not read to the end" not in said
    for way, size in (("sent", MB), ("received", MB // 2)):
        got = "received" if way == "sent" else "sent"
        users = bench.total(f"users.done_{got}_bytes", source="users")
        more = bench.total(f"server.{way}_bytes", source="server") - users
        # one of each of four users may have been done when the server was cut off, its reply still unread
        assert 0 <= more <= 4 * size, (users, more, said)


@pytest.mark.full
def test_a_full_disk_ends_the_soak_in_order_and_all_before_is_readable(bench: SoakBench) -> None:
    bench.results.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "linewatt", bench.results], check=True)
    try:
        process = bench.start("run", bench.soak(LONG))
        await_event(process, "soaking")
        bench.once(process, bench.served, "gets")
        room = os.statvfs(bench.results)
        with (bench.results / "filler").open("wb") as filler:
            filler.write(bytes(room.f_bavail * room.f_frsize - 8192))
        _, said = process.communicate(timeout=HANG_LIMIT_S)
        assert process.returncode == 1
        assert "the disk is full" in said
        assert "Traceback" not in said
        (bench.results / "filler").unlink()
        assert bench.total("users.gets", source="users") > 0
        assert bench.why()[0] in (None, "disk full"), "there may be no room even to say why"
        bench.run("show", "last")
    finally:
        subprocess.run(["umount", bench.results], check=True)


def test_a_client_that_is_cut_off_comes_back_and_after_kill_dash_nine_resume_goes_on(
    bench: SoakBench,
) -> None:
    """The other client never stopped; what was stored when the controller was killed is there."""
    process = bench.start("run", bench.soak(LONG))
    await_event(process, "soaking")
    for pid in connection_pids(bench, 3):
        os.kill(pid, signal.SIGKILL)
    os.kill(bench.sensor_process(2), signal.SIGKILL)
    both = {
        "h3": ("client-back", "users.gets", "users"),
        "h2": ("sensor-ended", "nic.rx_bytes", "netcounters"),
    }

    def counted_again() -> bool:
        at_s = {event["kind"]: event["time_s"] for event in bench.events()}
        return all(
            kind in at_s and bench.grown_since(at_s[kind], channel, source=source, host=host) > 0
            for host, (kind, channel, source) in both.items()
        )

    bench.once(process, counted_again, "users of the one client and counters of the other that go on")
    kinds = bench.kinds()
    (sensor,) = (event for event in bench.events() if event["kind"] == "sensor-ended")
    assert (sensor["host"], sensor["text"].split()[0]) == ("h2", "netcounters")
    assert kinds.index("host-lost") < kinds.index("host-back") < kinds.index("client-back")
    assert {event["host"] for event in bench.events() if event["kind"] == "host-lost"} == {"h3"}
    assert bench.total("users.gets", source="users", host="h2") > 0
    process.kill()
    process.communicate(timeout=HANG_LIMIT_S)
    until(lambda: bench.server_processes() == [], GONE_LIMIT_S, "the server to end with its controller")
    assert bench.why() == [None]
    assert bench.served()
    bench.restore()
    process = bench.start("resume", "last")
    await_event(process, "soaking")
    bench.once(process, bench.served, "gets of the second part")
    bench.interrupt(process)
    assert bench.why() == [None, "interrupted"]


def ledger(bench: SoakBench) -> dict[str, Any]:
    """What ``show --json`` says of the newest result."""
    document: dict[str, Any] = json.loads(bench.run("show", "last", "--json").stdout)
    return document


def counted(document: dict[str, Any], key: str, by: str) -> float:
    """A figure of the ledger: how much of what, as one of those who count it has it."""
    (line,) = (line for line in document["ledger"] if line["key"] == key)
    (value,) = (line[name] for name in (f"{by}_bytes", f"{by}_count") if name in line)
    return float(value)


def whole_for_the_server_alone(document: dict[str, Any]) -> str:
    """The verdict that a killed server must leave.

    vsftpd logs a transfer before it answers 226, and a client asks for SIZE after a put: a server that is
    killed in between, or whose user is stopped there, holds a transfer for complete that for its client
    failed or is unfinished. Those are whole files.
    """
    explained = False
    for way, size in (("get", 400_000), ("put", 300_000)):
        apart = counted(document, f"{way}_done_bytes", "server") - counted(
            document, f"{way}_done_bytes", "clients"
        )
        files, rest = divmod(apart, size)
        most = sum(counted(document, key, "clients") for key in (f"{way}s_failed", "unfinished"))
        assert (rest, 0 <= files <= most) == (0, True), (way, apart)
        explained |= files > 0
    return "explained" if explained else "balanced"


@pytest.mark.full
def test_an_overrun_link_and_a_killed_server_are_in_the_books_and_users_recover(
    make_lab: Any, tmp_path: Path, memory: Path
) -> None:
    bench = SoakBench(make_lab(hosts=3, rate="20mbit"), tmp_path, memory)
    dropped = bench.dropped()
    users = {"users": 12, "get": {"size": "400k", "files": 3}, "put": {"size": "300k"}}
    process = bench.start("run", bench.soak(LONG, users=users))
    await_event(process, "soaking")
    bench.once(process, bench.served, "gets")
    for pid in bench.server_processes():
        with suppress(ProcessLookupError):  # one half of a session takes the other with it
            os.kill(pid, signal.SIGKILL)

    def recovered() -> bool:
        back = [event["time_s"] for event in bench.events() if event["kind"] == "server-started"][1:]
        logins = bench.total("users.logins", source="users")
        return bool(back) and bench.grown_since(back[0], "users.gets") > 0 and logins > 12

    bench.once(process, recovered, "gets from the server's second start")
    bench.interrupt(process)
    kinds = bench.kinds()
    started, ended, again = (index for index, kind in enumerate(kinds) if kind.startswith("server-"))
    assert [kinds[at] for at in (started, ended, again)] == [
        "server-started",
        "server-ended",
        "server-started",
    ]
    document = ledger(bench)
    lost = bench.total(r"users\.failed\.(get|put)\..*", source="users")
    assert lost == counted(document, "gets_failed", "clients") + counted(document, "puts_failed", "clients")
    assert 1 <= lost <= 2 * 12, "each user had one transfer at most, and took back what it had put"
    assert document["balance"]["verdict"] == whole_for_the_server_alone(document), document["balance"]
    assert document["balance"]["unexplained"] == 0, document["balance"]
    dropped = bench.dropped() - dropped
    assert 0 < dropped == sum(counted(document, "qdisc_dropped", by) for by in ("clients", "server"))
    assert bench.why() == ["interrupted"]


SCALES = {
    "small": (1, 24, "10s", {"think": "500ms"}, 1.0),
    "published": (16, 300, "120s", {"think": "5s", "spread": "30s"}, 5.0),
}
"""clients of each of six groups, users, how long, what keeps two CPUs from being all there is to measure,
seconds between readings"""


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scale", SCALES)
def test_six_groups_of_clients_each_on_an_address_of_the_server(
    make_lab: Any, tmp_path: Path, memory: Path, scale: str
) -> None:
    """As published: 96 clients in 6 groups of 16, a group a port. The whole of it takes five minutes."""
    if scale == "published" and not os.environ.get("LINEWATT_SCALE"):
        pytest.skip("97 hosts and 2 minutes of load: LINEWATT_SCALE=1 runs it")
    each, users, duration, pace, interval_s = SCALES[scale]
    bench = SoakBench(make_lab(hosts=6 * each + 1, rate="1gbit", bmc=False), tmp_path, memory)
    groups = {}
    for number in range(6):
        clients = range(2 + number * each, 2 + (number + 1) * each)
        bench.on_host(1, "ip", "address", "add", f"198.51.{100 + number}.1/24", "dev", "data0")
        for client in clients:
            own = f"198.51.{100 + number}.{client}/24"
            bench.on_host(client, "ip", "address", "add", own, "dev", "data0")
        names = [f"h{client}" for client in clients]
        groups[f"port{number + 1}"] = {"clients": names, "server": f"198.51.{100 + number}.1"}
    sensors = {"mpstat": False, "cpufreq": False} | {
        name: {"interval_s": interval_s} for name in ("netcounters", "qdisc")
    }
    file = bench.soak(
        duration,
        soak={"duration": duration, "interval": "5s"},
        sensors=sensors,
        users={"clients": None, "groups": groups, "users": users, "sustained_at": "10k", **pace},
    )
    bench.run("run", file, limit_s=600)
    document = ledger(bench)
    assert document["balance"]["verdict"] == "balanced", document["balance"]
    assert document["balance"]["unexplained"] == 0, document["balance"]
    assert counted(document, "get_done_bytes", "clients") == counted(document, "get_done_bytes", "server") > 0
    assert counted(document, "put_done_bytes", "clients") == counted(document, "put_done_bytes", "server") > 0
    for key in ("gets_failed", "puts_failed", "logins_failed"):
        assert counted(document, key, "clients") == 0
    assert counted(document, "logins", "clients") == users
    assert {group["name"]: group["clients"] for group in document["groups"]} == dict.fromkeys(groups, each)
    assert all(group["got_bytes"] > 0 for group in document["groups"])
    assert document["users"]["sustained_count"] == users


def test_a_server_that_is_there_already_is_used_and_not_touched(bench: SoakBench) -> None:
    host = bench.lab.hosts[0]
    folder = bench.tmp / "theirs"
    folder.mkdir(mode=0o755)
    with vsftpd(folder, {"a": MB, "b": MB}, address=host.data_ipv4, namespace=host.namespace) as theirs:
        url = f"ftp://ftp@{host.data_ipv4}:{theirs.settings.port}/"
        users = {
            "server": {"url": url, "password_env": "LINEWATT_TEST_FTP"},
            "clients": ["h2"],
            "get": {"paths": ["get/a", "get/b"]},
            "folder": None,
        }
        bench.environment["LINEWATT_TEST_FTP"] = PASSWORD
        process = bench.start("run", bench.soak(LONG, users=users))
        await_event(process, "soaking")
        bench.once(process, lambda: done_both_ways(bench), "gets and puts")
        bench.interrupt(process)
        logged = [one for one in theirs.logged() if one.complete]
        document = ledger(bench)
        for way, key in (("get", "get_done_bytes"), ("put", "put_done_bytes")):
            theirs_bytes = sum(one.transferred_bytes for one in logged if one.direction == way)
            assert counted(document, key, "clients") == theirs_bytes > 0
        assert theirs.left() == []
    (check,) = (one for one in document["balance"]["checks"] if one["key"] == "get_done")
    assert (check["verdict"], check["difference"]) == (None, None), "what nobody counted is never balanced"
    kept = b"".join(of_files(bench.result))
    assert PASSWORD.encode() not in kept
