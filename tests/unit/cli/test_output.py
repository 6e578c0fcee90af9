# SPDX-License-Identifier: Apache-2.0
"""What a process writes is bounded: real processes that never stop writing, on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Stopwatch

from linewatt.engine.live.sensor_feed import SensorFeed
from linewatt.errors import HostError
from linewatt.foreign import KIB, MIB
from linewatt.hosts import output
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import now_s
from linewatt.hosts.local import LocalHost
from linewatt.hosts.output import MOST_LINE_BYTES, Complaints, Flood, Lines, Whole
from linewatt.hosts.process import LeashedProcess
from linewatt.sensors.base import SensorConfig
from linewatt.sensors.qdisc import Qdisc


class Flooding(Qdisc):
    """A sensor of a host on which tc is another program."""

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        return ["yes", "x" * 2000]


HOST = LocalHost(HostSpec("here", "local", "lo"))


def test_chunks_become_lines_wherever_they_are_cut() -> None:
    text = "one\ntwo ±\n\nfour"
    for size in range(1, 8):
        found: list[Line] = []
        lines = Lines(found.append)
        data = text.encode()
        for at in range(0, len(data), size):
            lines.add(data[at : at + size])
        assert [one.text for one in found] == ["one", "two ±", ""]
        lines.add(b"\n")
        assert found[-1].text == "four"


def test_a_line_without_an_end_costs_time_in_proportion_to_its_length() -> None:
    def fed_s(count: int) -> float:
        lines = Lines(lambda line: None)
        watch = Stopwatch()
        for _ in range(count):
            lines.add(chunk)
        return watch.took_s

    chunk = b"x" * 128
    few_s = min(fed_s(4_000) for _ in range(5))
    many_s = min(fed_s(32_000) for _ in range(5))
    assert many_s < 25 * few_s  # eight times the length; copied each time it is 64 times the work


def test_a_line_without_an_end_is_a_flood_that_names_its_bound() -> None:
    lines = Lines(lambda line: None)
    lines.add(b"x" * MOST_LINE_BYTES)
    with pytest.raises(Flood, match="a line of more than 4 MiB"):
        lines.add(b"x")


def test_a_stream_may_bring_much_at_once_but_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    time_s = 1000.0
    monkeypatch.setattr(output, "now_s", lambda: time_s)
    lines = Lines(lambda line: None)
    line = b"x" * 1023 + b"\n"
    lines.add(line * 16 * KIB)
    with pytest.raises(Flood, match="more than 4 MiB a second"):
        lines.add(line)
    time_s += 10
    lines.add(line * 16 * KIB)


def test_more_lines_than_can_be_read_are_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "now_s", lambda: 1000.0)
    lines = Lines(lambda line: None)
    with pytest.raises(Flood, match="more than 20000 lines a second"):
        lines.add(b"\n" * 100_001)


def test_of_output_beyond_its_bound_the_beginning_is_kept() -> None:
    whole = Whole(100 * KIB)
    whole.add(b"begin" + b"x" * 90 * KIB)
    with pytest.raises(Flood, match="more than 100 KiB"):
        whole.add(b"x" * 20 * KIB)
    assert whole.text.startswith("begin")
    assert len(whole.text) == 64 * KIB


def test_of_endless_complaints_the_first_and_the_last_are_kept() -> None:
    complaints = Complaints()
    assert not complaints
    for number in range(200_000):
        complaints.add(f"complaint {number}\n".encode())
    lines = complaints.text.splitlines()
    assert lines[0] == "complaint 0"
    assert lines[-1] == "complaint 199999"
    assert len(complaints.text) < 256 * KIB
    assert all(line == "…" or line.startswith("complaint") for line in lines if line)


def _runs(pid: int | None) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def _ends_by_itself(process: LeashedProcess, said: str) -> None:
    with pytest.raises(HostError, match=said):
        await process.wait(20, "a process that never ends")
    pid = process.pid
    assert pid is not None
    ended = await process.stop()
    assert not _runs(pid)
    assert len(ended.stdout) <= 64 * KIB


def test_a_command_that_never_stops_writing_is_stopped_and_named() -> None:
    async def scene() -> None:
        process = await HOST.start(["yes"])
        await _ends_by_itself(process, r"^here: yes wrote more than 16 MiB, and was stopped$")

    asyncio.run(scene())


def test_a_short_command_that_never_stops_writing_is_stopped_and_named() -> None:
    async def scene() -> None:
        with pytest.raises(HostError, match=r"^here: yes wrote more than 16 MiB, and was stopped$"):
            await HOST.run(["yes"], timeout_s=30)

    asyncio.run(scene())


def test_a_bound_of_its_own_holds_for_a_command() -> None:
    async def scene() -> None:
        process = await HOST.start(["yes"])
        process.bound(200 * KIB)
        await _ends_by_itself(process, r"^here: yes wrote more than 200 KiB, and was stopped$")

    asyncio.run(scene())


def test_a_stream_without_an_end_of_line_is_stopped_and_named() -> None:
    async def scene() -> None:
        process = await HOST.start(["cat", "/dev/zero"], on_line=lambda line: None)
        await _ends_by_itself(process, r"^here: cat wrote a line of more than 4 MiB, and was stopped$")

    asyncio.run(scene())


def test_a_sensor_that_prints_too_much_is_stopped_and_says_so() -> None:
    async def scene() -> None:
        feed = SensorFeed("here", Flooding(), SensorConfig())
        await feed.start(HOST)
        while feed.failure is None:
            await feed.wait_past(now_s() + 60, 20)
        assert feed.failure == "here: env wrote more than 512 KiB a second, and was stopped"
        assert len(feed.whole().raw()) < 4 * MIB

    asyncio.run(scene())


def test_a_command_that_complains_without_end_still_has_its_times_and_last_words() -> None:
    async def scene() -> None:
        process = await HOST.start(["bash", "-c", "yes complaint | head -c 3000000 >&2; echo last >&2"])
        ended = await process.wait(20, "the command")
        assert ended.started_s is not None
        assert ended.ended_s is not None
        assert ended.stderr.endswith("last\n")
        assert len(ended.stderr) < 256 * KIB

    asyncio.run(scene())


def test_control_sequences_of_a_process_enter_as_pictures() -> None:
    async def scene() -> None:
        found: list[Line] = []
        process = await HOST.start(["printf", r"a\033[31mb\000c\n"], on_line=found.append)
        await process.wait(5, "printf")
        assert [one.text for one in found] == ["a␛[31mb␀c"]
        done = await HOST.run(["printf", r"a\033[31mb\000c\n"])
        assert done.stdout == "a␛[31mb␀c\n"
        process = await HOST.start(["sh", "-c", r"printf 'x\033]0;y\007' >&2"])
        assert (await process.wait(5, "sh")).stderr == "x␛]0;y␇"

    asyncio.run(scene())


@pytest.mark.parametrize("word", ["nan", "inf", "1e999", "x", "-", "1e400"])
def test_marks_that_a_command_forges_are_its_own_words(word: str) -> None:
    async def scene() -> None:
        line = f"linewatt-leash: end {word} 0"
        process = await HOST.start(["sh", "-c", f"echo '{line}' >&2"])
        ended = await process.wait(5, "sh")
        assert ended.stderr == f"{line}\n"
        assert ended.ended_s is not None

    asyncio.run(scene())


def test_the_end_of_a_command_is_seen_behind_words_without_an_end_of_line() -> None:
    async def scene() -> None:
        process = await HOST.start(["sh", "-c", "printf x >&2"])
        ended = await process.wait(5, "sh")
        assert ended.ended_s is not None
        assert ended.stderr == "x"

    asyncio.run(scene())
