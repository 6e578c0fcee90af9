# SPDX-License-Identifier: Apache-2.0
"""The server of users from the controller's side: what a host must have, the log that is followed, totals."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linewatt.errors import HostError, HostLost, InvalidInput, ParseError
from linewatt.features.users import vsftpd
from linewatt.features.users.server import ExistingServer
from linewatt.features.users.soaks import SoakUsers
from linewatt.features.users.vsftpd import CHANNELS, VsftpdServer
from linewatt.features.users.vsftpd_ground import SETTLED, FollowedLog, check_room, ground, parse_piece
from linewatt.features.users.worker import content
from linewatt.features.users.worker.server_vsftpd import LogTotals, VsftpdSettings
from linewatt.features.users.worker.url import parse_url
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.local import LocalHost

LOGS = Path(__file__).parents[3] / "captures" / "vsftpd"
LINE = (
    'Sat Nov 21 16:33:34 2026 [pid 7] [ftp] OK DOWNLOAD: Client "192.0.2.1", "/get/0", '
    "1000 bytes, 553.61Kbyte/sec\n"
)
SAID = """\
uid 0
program /usr/sbin/vsftpd
user ftp
folder /dev/shm
disk tmpfs 1000000 4096
memory 2000000
"""
"""as the script that looks at a host says it"""


# --- what a host must have ---------------------------------------------------------------------------------


def test_what_a_host_has_is_read() -> None:
    found = ground("dut", SAID, "/dev/shm", 2121)
    assert (found.program, found.user, found.folder) == ("/usr/sbin/vsftpd", "ftp", "/dev/shm")
    assert found.in_memory
    assert found.free_bytes == 1_638_400_000, "what is free of the memory, where files are in memory"
    on_disk = ground("dut", SAID.replace("tmpfs", "ext2/ext3"), "/srv", 2121)
    assert (on_disk.free_bytes, on_disk.in_memory) == (4_096_000_000, False)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("uid 0", "uid 1000", "dut: vsftpd is started by root; set sudo"),
        (
            "program /usr/sbin/vsftpd",
            "program ",
            "dut: no vsftpd; install it (apt-get or dnf install vsftpd)",
        ),
        ("user ftp\n", "", "neither a user ftp nor nobody"),
        ("folder /dev/shm\ndisk tmpfs 1000000 4096\n", "", "/dev/shm is not a directory there"),
        (
            "memory",
            'listener LISTEN 0 32 *:2121 *:* users:(("pure-ftpd",pid=713,fd=4))\nmemory',
            "dut: port 2121 is taken by pure-ftpd (process 713)",
        ),
    ],
)
def test_what_is_missing_is_one_line_that_says_what_to_do(old: str, new: str, line: str) -> None:
    with pytest.raises(HostError) as raised:
        ground("dut", SAID.replace(old, new), "/dev/shm", 2121)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_files_that_do_not_fit_are_refused_with_what_they_need() -> None:
    found = ground("dut", SAID, "/dev/shm", 2121)
    check_room("dut", found, 1_000_000_000, 600_000_000)
    with pytest.raises(HostError, match=r"\(it is memory\) has 1.64 GB free, and users need 1.81 GB"):
        check_room("dut", found, 1_000_000_000, 800_000_000)


def test_one_address_is_listened_on_alone_and_several_on_one_socket() -> None:
    def listens(*addresses: str) -> str:
        return VsftpdSettings(addresses, 1).listen_address

    assert listens("192.0.2.1", "192.0.2.1") == "192.0.2.1"
    assert listens("192.0.2.1", "198.51.100.1") == "0.0.0.0"  # noqa: S104
    assert listens("192.0.2.1", "2001:db8::1") == "::"


@pytest.mark.parametrize("changed", [{"addresses": ()}, {"port": 20500}])
def test_settings_that_cannot_be_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        VsftpdSettings(**{"addresses": ("192.0.2.1",), "users": 1, **changed})


@given(st.lists(st.integers(0, 3 * content.PERIOD_BYTES), max_size=4))
@settings(max_examples=15, deadline=None)
def test_checksums_of_many_sizes_at_once_are_those_of_each(sizes: list[int]) -> None:
    assert content.crc32s(sizes) == {size: content.crc32(size) for size in sizes}


# --- its log -----------------------------------------------------------------------------------------------


def follow(log: FollowedLog) -> None:
    asyncio.run(log.read(LocalHost(HostSpec("here", "local", "lo"))))


def taken_bytes(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_a_log_is_read_on_from_where_it_was_left_and_lines_in_the_making_count_once(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = FollowedLog(str(path))
    follow(log)
    assert (log.totals.gets, log.read_s is not None) == (0, True), "no log yet is no error"
    path.write_text(LINE + LINE[:50])
    follow(log)
    follow(log)
    assert (log.totals.gets, log.totals.unknown) == (1, 0)
    with path.open("a") as file:
        file.write(LINE[50:] + LINE)
    follow(log)
    assert (log.totals.gets, log.totals.sent_bytes, log.totals.unknown) == (3, 3000, 0)


def test_what_was_read_of_a_log_gives_its_place_back_while_others_write_on(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = FollowedLog(str(path))
    with path.open("a") as writer:
        for _ in range(4):
            writer.write(LINE * 20_000)
            writer.flush()
            follow(log)
        writer.write(LINE[:20])
        writer.flush()
        follow(log)
        writer.write(LINE[20:])
        writer.flush()
        follow(log)
    assert (log.totals.gets, log.totals.unknown) == (80_001, 0)
    size = len(LINE) * 80_001
    assert path.stat().st_size == size
    ahead = 4 * 1024 * 1024
    if _punches(tmp_path):
        assert taken_bytes(path) <= ahead + 64 * 1024
        assert log.taken_bytes <= ahead + 64 * 1024


def _punches(folder: Path) -> bool:
    """Whether this file system can give back a part of a file."""
    (folder / "probe").write_bytes(bytes(65536))
    argv = ["fallocate", "-p", "-o", "0", "-l", "4096", str(folder / "probe")]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def test_a_log_that_began_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = FollowedLog(str(path))
    path.write_text(LINE * 3 + LINE[:9])
    follow(log)
    (tmp_path / "other").write_text(LINE * 5)
    (tmp_path / "other").rename(path)
    follow(log)
    assert (log.totals.gets, log.totals.unknown) == (8, 1), "the line that was never ended is told"


def test_a_long_log_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linewatt.features.users.vsftpd_ground.PIECE_BYTES", 777)
    path = tmp_path / "server.log"
    path.write_text((LOGS / "3.0.3-one-family" / "server.log").read_text())
    log = FollowedLog(str(path))
    follow(log)
    assert (log.totals.gets, log.totals.logins, log.totals.unknown) == (3, 6, 0)


def test_an_answer_that_is_no_reading_is_told() -> None:
    assert parse_piece("dut", Completed((), 0, "gone\n", "")) is None
    for stdout, stderr in (("", "bash: tail: not found\n"), ("1 2 3\n", ""), ("0 5 5 x 7\n", "")):
        with pytest.raises(ParseError, match="dut: vsftpd's log cannot be read"):
            parse_piece("dut", Completed((), 0, stdout, stderr))


# --- totals and targets ------------------------------------------------------------------------------------


def test_totals_are_samples_of_counters_when_they_were_read() -> None:
    server = server_on(Reached())
    assert {one.time_s for one in server.samples(9.0)} == {9.0}
    assert {one.reason for one in server.samples(9.0)} == {"its log was not read yet", None}
    server._log.read_s, server._log.totals = 5.0, LogTotals(sent_bytes=10, gets=1)  # type: ignore[union-attr]
    samples = {one.channel: one for one in server.samples(9.0)}
    assert set(samples) == set(CHANNELS)
    assert (samples["server.sent_bytes"].value, samples["server.sent_bytes"].time_s) == (10, 5.0)
    assert {channel.kind for channel in CHANNELS.values()} == {"counter"}
    assert (CHANNELS["server.incomplete_sent_bytes"].unit, CHANNELS["server.gets"].unit) == ("B", "count")


def test_an_existing_server_is_told_to_users() -> None:
    server = ExistingServer(parse_url("ftp://perf@192.0.2.10:2121/pub"), "canary", ["a", "/b"], "put")
    assert [file.path for file in server.files] == ["pub/a", "/b"]
    assert server.put_folder == "pub/put"
    target = server.target_for("")
    assert (target.host, target.port, target.user, target.password) == ("192.0.2.10", 2121, "perf", "canary")
    assert server.target_for("2001:db8::10").family == "ipv6"
    assert "canary" not in repr(target)


def test_only_anonymous_users_need_no_password() -> None:
    with pytest.raises(InvalidInput, match="perf needs a password"):
        ExistingServer(parse_url("ftp://perf@192.0.2.10/"), None, [], "put")
    assert ExistingServer(parse_url("ftp://anonymous@192.0.2.10/"), None, [], "put").target_for("").password


# --- the end of a soak -------------------------------------------------------------------------------------


class Reached:
    """A connection to the server's host, and the log as it is there."""

    def __init__(self, lost: str | None = None, log: str = "0 5 5 0 7\nabcde") -> None:
        self.lost, self._log = lost, log
        self.spec = HostSpec("dut", "192.0.2.1", "e0")

    async def run(self, argv: Sequence[str], **_: Any) -> Completed:
        if self.lost:
            raise HostLost(f"dut: {self.lost}")
        return Completed(tuple(argv), 0, "0\n" if argv[2] == SETTLED else self._log, "")


class Reaching:
    """What a soak has of its session when it ends: its connections, and no sensor that would start."""

    def __init__(self, now: Reached, then: Reached | None = None) -> None:
        self.hosts, self._then = {"dut": now}, then

    async def connect_again(self, name: str) -> None:
        assert self.hosts[name].lost, "a connection that is there is used"
        if self._then is None:
            raise HostLost("dut: no answer within 10 s")
        self.hosts[name] = self._then


def server_on(host: Reached) -> VsftpdServer:
    """One that has been started, without its processes."""
    settings = VsftpdSettings(("192.0.2.1",), 1)
    server = VsftpdServer(host, settings, None, lambda *_: None)  # type: ignore[arg-type]
    server._log = FollowedLog("/x/server.log")
    server._place = SimpleNamespace(conf="/x/vsftpd.conf", log=server._log)  # type: ignore[assignment]
    return server


def warnings_of_the_end(server: VsftpdServer, session: Reaching) -> list[str]:
    """What a soak says of its server's log when its users have ended."""
    said: list[str] = []
    users: Any = SimpleNamespace(server_host="dut")
    load = SoakUsers(
        users,
        session,  # type: ignore[arg-type]
        lambda kind, host, text: said.append(f"{kind} {host}: {text}"),
        lambda _: None,
        None,
    )
    load._server = server
    asyncio.run(load.close())
    return said


LOST = "the SSH connection ended"


@pytest.mark.parametrize(
    ("now", "then"),
    [(Reached(), None), (Reached(LOST), Reached())],
    ids=["connected to again already, and the server not told", "lost"],
)
def test_a_log_is_read_to_its_end_over_the_connection_that_its_host_has_now(
    now: Reached, then: Reached | None
) -> None:
    server = server_on(Reached(LOST))
    assert warnings_of_the_end(server, Reaching(now, then)) == []
    assert {one.reason for one in server.samples(9.0)} == {None}


@pytest.mark.parametrize(
    ("host", "why"),
    [
        (Reached(LOST), "dut: no answer within 10 s"),
        (Reached(log="gone\n"), "dut: /x/server.log is gone"),
        (Reached(log="what\n"), "dut: vsftpd's log cannot be read: what"),
    ],
    ids=["out of reach", "gone", "no log"],
)
def test_a_log_that_is_not_read_to_its_end_is_told_with_its_reason(host: Reached, why: str) -> None:
    said = warnings_of_the_end(server_on(host), Reaching(host))
    assert said == [f"warning dut: its log was not read to the end: {why}"]


def test_a_server_that_ends_once_its_users_have_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vsftpd, "BACK_OFF_S", (0.0,))
    server = server_on(Reached())
    starts: list[str] = []

    async def ended(*_: object) -> Any:
        raise HostLost("dut: lost")

    async def launched(place: Any) -> Any:
        starts.append(place.conf)
        if len(starts) == 3:
            server.keep_no_longer()
        return SimpleNamespace(wait=ended)

    monkeypatch.setattr(server, "_launch", launched)
    process: Any = SimpleNamespace(wait=ended)
    asyncio.run(asyncio.wait_for(server._keep_running(server._place, process), 60))  # type: ignore[arg-type]
    assert len(starts) == 3, "as long as it was kept"
