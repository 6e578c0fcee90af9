# SPDX-License-Identifier: Apache-2.0
"""Placement read back, and what gives a misplaced load away."""

from __future__ import annotations

import pytest

from linewatt.engine.live.readback import ReadBack, SettingRead, Thread, parse_threads
from linewatt.engine.measuring.checks import placement as checks
from linewatt.engine.measuring.cut import PlacedProcess
from linewatt.errors import ParseError
from linewatt.model import CpuShares

# Linux 6.18, an iperf3 3.12 client pinned to CPU 2 and a process of eight threads that may run anywhere
CAPTURED = """\
4711 4711 2 118 2
4800 4800 0 3 0-3,8
4800 4801 3 912 0-3,8
"""


def seen(*threads: Thread, settings: tuple[SettingRead, ...] = (), problem: str | None = None) -> ReadBack:
    return ReadBack(100.0, threads, settings, problem)


def on(cpu: int, allowed: tuple[int, ...], pid: int = 7, ticks: int = 50) -> Thread:
    return Thread(pid, pid, cpu, ticks, allowed, migrations=0)


def moved(readback: ReadBack | None, cpus: str | None = "2", pid: int | None = 7) -> list[str]:
    return [flag.code for flag in checks.processes("h1", readback, [PlacedProcess(0, cpus, pid, 0)])]


def test_threads_of_a_host_are_read() -> None:
    threads = parse_threads(CAPTURED)
    assert [(one.pid, one.cpu, one.ticks) for one in threads] == [
        (4711, 2, 118),
        (4800, 0, 3),
        (4800, 3, 912),
    ]
    assert threads[1].allowed == (0, 1, 2, 3, 8)
    assert seen(*threads).of(4800) == threads[1:]
    assert parse_threads("") == ()


@pytest.mark.parametrize("text", ["4711 4711 2 118", "4711 4711 2 x 0", "a", "1 2 3 4 0-"])
def test_a_damaged_answer_is_no_placement(text: str) -> None:
    with pytest.raises(ParseError, match="cannot be read"):
        parse_threads(text)


def test_a_process_where_it_was_put_is_no_flag() -> None:
    assert moved(seen(on(2, (2,)))) == []
    assert moved(seen(on(5, (0, 5))), cpus=None) == [], "nobody put it anywhere"
    assert moved(seen(on(3, (2, 3))), cpus="2-3") == []


def test_a_process_elsewhere_is_flagged() -> None:
    assert moved(seen(on(1, (1,)))) == ["process-moved"]
    assert moved(seen(on(2, (0, 1, 2)))) == ["process-moved"], "it may leave at any time"
    assert moved(seen(on(2, (2,)), on(4, (4,)))) == ["process-moved"], "one thread of it is elsewhere"


def test_a_placement_that_could_not_be_read_is_not_taken_for_proven() -> None:
    for readback in (None, seen(), seen(problem="the connection ended"), seen(on(2, (2,), pid=8))):
        (flag,) = checks.processes("h1", readback, [PlacedProcess(0, "2", 7)])
        assert flag.code == "placement-not-read"
        assert flag.evidence
    (flag,) = checks.processes("h1", seen(problem="the connection ended"), [PlacedProcess(0, "2", 7)])
    assert flag.evidence == "the connection ended"


def test_a_process_of_several_that_was_gone_is_not_taken_for_proven() -> None:
    placed = [PlacedProcess(0, "2", 7, 0), PlacedProcess(1, "3", 8, 0), PlacedProcess(2, "4", 9, 0)]
    (flag,) = checks.processes("h1", seen(on(2, (2,))), placed)
    assert (flag.code, flag.where) == ("placement-not-verified", "h1: instances 1-2")
    assert flag.evidence.startswith("placement not verified: its process had ended")
    assert "window.tail" in flag.advice


def test_a_setting_that_somebody_undid_is_flagged() -> None:
    kept = SettingRead("sysctl", "net.core.rmem_max", "1", "1")
    undone = SettingRead("irq_affinity", "eth0", "45=4", "45=0-7")
    lost = SettingRead("mtu", "eth0", "9000", None, "h1: cannot read mtu eth0: gone")
    found = list(checks.settings("h1", seen(settings=(kept, undone, lost))))
    assert [flag.code for flag in found] == ["setting-changed", "setting-not-read"]
    assert found[0].evidence == "reads '45=0-7' in the trial, was set to '45=4'"
    assert "irqbalance" in found[0].advice
    assert found[1].evidence == "h1: cannot read mtu eth0: gone"
    assert list(checks.settings("h1", None)) == []


def test_receive_work_on_cpus_that_were_not_measured_is_not_taken_for_proven() -> None:
    (flag,) = checks.receive_work_unseen("h1", (0, 1), shares(0.6, None), "mpstat ended")
    assert (flag.code, flag.where) == ("placement-not-verified", "h1")
    assert "the use of CPU 1 is not known" in flag.evidence
    assert flag.evidence.endswith("receive work ran on IRQ CPUs 0-1: mpstat ended")
    assert list(checks.receive_work_unseen("h1", (0,), shares(0.6, None), "mpstat ended")) == []


def shares(*soft: float | None) -> dict[int, CpuShares | None]:
    return {
        cpu: None if ratio is None else CpuShares((cpu,), 0.1, 0.1, 0.0, ratio, 0.8 - ratio, 0.0)
        for cpu, ratio in enumerate(soft)
    }


@pytest.mark.parametrize(
    ("soft", "flagged"),
    [
        ((0.02, 0.50, 0.02), False),
        ((0.10, 0.50, 0.02), False),
        ((0.20, 0.50, 0.02), True),
        ((0.00, 0.00, 0.60), True),
        ((0.02, 0.03, 0.02), False),
        ((0.60, None, 0.00), False),
    ],
    ids=[
        "where asked",
        "a fifth of it elsewhere",
        "a third elsewhere",
        "all elsewhere",
        "hardly any",
        "not measured",
    ],
)
def test_receive_work_on_other_cpus_is_flagged(soft: tuple[float | None, ...], flagged: bool) -> None:
    found = list(checks.receive_work("h1", (1,), shares(*soft), {}))
    assert [flag.code for flag in found] == (["interrupts-elsewhere"] if flagged else [])
    if flagged:
        assert "not on IRQ CPUs 1" in found[0].evidence


def test_without_irq_cpus_nothing_is_elsewhere() -> None:
    assert list(checks.receive_work("h1", (), shares(0.5, 0.5), {})) == []


def packets(*processed: float | None) -> dict[str, float | None]:
    return {f"softnet.cpu{cpu}.processed": count for cpu, count in enumerate(processed)}


@pytest.mark.parametrize(
    ("counted", "flagged"),
    [
        (packets(0, 3000, 40), False),
        (packets(0, 3000, 1000), False),
        (packets(0, 3000, 1001), True),
        (packets(0, 3000, 9000), True),
        (packets(0, 0, 0), False),
        (packets(None, 3000, 40), True),
        ({}, True),
    ],
    ids=[
        "timers of a slow host",
        "a quarter of the packets elsewhere",
        "more than that",
        "most elsewhere",
        "no packet at all",
        "not known of a CPU",
        "not known",
    ],
)
def test_interrupt_time_without_the_packets_is_no_receive_work(
    counted: dict[str, float | None], flagged: bool
) -> None:
    """Seen on guests: a timer's softirq takes as long there as a packet's, and every CPU has such."""
    found = list(checks.receive_work("h1", (1,), shares(0.06, 0.10, 0.06), counted))
    assert [flag.code for flag in found] == (["interrupts-elsewhere"] if flagged else [])
