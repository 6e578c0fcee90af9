# SPDX-License-Identifier: Apache-2.0
"""A CPU that was throttled, capped or slowed down in the window; tests fail when their check is taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks import frequency as cpu_checks
from linewatt.engine.measuring.clocks import busy_frequency
from linewatt.model import Channel, CpuShares, EndResult, Window
from linewatt.sensors.cpufreq import Cpufreq
from linewatt.sensors.mpstat import Mpstat

WINDOW = Window(100.0, 112.0)
STEADY = [3e9, 3.02e9, 2.98e9, 3e9] * 3
FALLING = [3e9] * 4 + [2.8e9] * 4 + [2.6e9] * 4


def shares(*cpus: int) -> CpuShares:
    return CpuShares(cpus, 0.1, 0.8, 0.0, 0.0, 0.1, 0.0)


END = EndResult("h1", "sender", 2.0, shares(0, 1), shares(4), 2.0, 2.1e9)
UNPINNED = replace(END, app_cpu=None, irq_cpu=None)


def reading(source: str, channels: Sequence[Channel], rows: Sequence[dict[str, float | None]]) -> Reading:
    """A record in the middle of each second of the window, or at its end for means."""
    late_s = 0.5 if source == "cpufreq" else 1.0
    records = tuple(
        Record(WINDOW.start_s + number + late_s, 1.0, "", values) for number, values in enumerate(rows)
    )
    return Reading("h1", source, records, {channel.name: channel for channel in channels})


def cpufreq(**frequencies_hz: Sequence[float | None]) -> Reading:
    """``cpu0=[3e9, …]``: what a CPU ran at, second by second."""
    names = {cpu: f"{cpu}.frequency_hz" for cpu in frequencies_hz}
    rows = [{names[cpu]: values[second] for cpu, values in frequencies_hz.items()} for second in range(12)]
    return reading("cpufreq", [Cpufreq().channel(name) for name in names.values()], rows)


def mpstat(**idle_ratios: float) -> Reading:
    names = {f"{cpu}.idle_ratio": idle for cpu, idle in idle_ratios.items()}
    return reading("mpstat", [Mpstat().channel(name) for name in names], [dict(names)] * 12)


BUSY = mpstat(cpu0=0.05, cpu1=0.1, cpu4=0.3, cpu9=0.0)


def counters(**values: float | None) -> dict[str, float | None]:
    return {name.replace("_", ".", 1): value for name, value in values.items()}


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ({"cpu1_core_throttle_count": 3.0}, "CPU 1: core 3 times"),
        ({"cpu4_package_throttle_count": 12.2}, "CPU 4: package 12 times"),
        ({"cpu0_core_throttle_count": 0.3}, "CPU 0: core 1 times"),
        (
            {"cpu0_core_throttle_count": 2.0, "cpu0_package_throttle_count": 5.0},
            "CPU 0: core 2 times, package 5 times",
        ),
    ],
    ids=["app CPU", "package of the IRQ CPU", "on the window's edge", "both"],
)
def test_a_throttled_cpu_is_told(counted: dict[str, float], said: str) -> None:
    (flag,) = cpu_checks.throttled(replace(END, counters=counters(**counted)))
    assert (flag.code, flag.where) == ("cpu-throttled", "h1")
    assert flag.evidence == f"throttled because of heat in the window: {said}"
    assert "turbostat" in flag.advice


@pytest.mark.parametrize(
    "counted",
    [
        {"cpu0_core_throttle_count": 0.0, "cpu0_package_throttle_count": 0.0},
        {"cpu0_core_throttle_count": None},
        {"cpu9_core_throttle_count": 7.0},
        {"softnet_cpu0.dropped": 7.0},
        {},
    ],
    ids=["none", "not known", "a CPU that takes no part", "another counter", "no counters"],
)
def test_no_throttling_of_the_loads_cpus_raises_nothing(counted: dict[str, float | None]) -> None:
    assert list(cpu_checks.throttled(replace(END, counters=counters(**counted)))) == []


def test_where_nothing_is_pinned_any_throttled_cpu_is_told() -> None:
    end = replace(UNPINNED, counters=counters(cpu9_core_throttle_count=7.0))
    assert [flag.code for flag in cpu_checks.throttled(end)] == ["cpu-throttled"]


def test_a_frequency_that_falls_in_the_window_is_told() -> None:
    (flag,) = cpu_checks.frequency(END, [cpufreq(cpu0=FALLING, cpu1=FALLING), BUSY], WINDOW)
    assert (flag.code, flag.where) == ("frequency-dropped", "h1")
    assert flag.evidence == (
        "app CPU 0-1 ran at 3.00 GHz in the first third of the window, 2.60 GHz in the last"
    )
    assert "governor to performance" in flag.advice


DIPPED: list[float | None] = [*[3.0e9] * 4, *[2.84e9] * 4, *[3.0e9] * 4]


def test_a_frequency_that_dips_in_mid_window_is_told() -> None:
    (flag,) = cpu_checks.frequency(END, [cpufreq(cpu0=DIPPED), BUSY], WINDOW)
    assert flag.evidence == (
        "app CPU 0 ran at 2.84 GHz in the middle third of the window, 3.00 GHz before and 3.00 GHz after"
    )


@pytest.mark.parametrize(
    "course",
    [
        [*[3.0e9] * 4, *[2.86e9] * 4, *[3.0e9] * 4],
        [*[2.84e9] * 8, *[3.0e9] * 4],
        [*[3.0e9] * 4, *[3.3e9] * 4, *[3.0e9] * 4],
        [*[3.0e9] * 4, 2.0e9, 3.4e9, 2.2e9, 3.3e9, *[3.0e9] * 4],
        [*[3.0e9] * 4, 2.4e9, 2.4e9, None, None, *[3.0e9] * 4],
    ],
    ids=["a small dip", "it rises", "it was faster", "wild", "too few readings to tell"],
)
def test_a_middle_third_that_proves_nothing_raises_nothing(course: list[float | None]) -> None:
    end = replace(END, base_frequency_hz=None)
    assert list(cpu_checks.frequency(end, [cpufreq(cpu0=course), BUSY], WINDOW)) == []


def test_a_role_below_the_base_frequency_is_told() -> None:
    capped = cpufreq(cpu0=STEADY, cpu1=STEADY, cpu4=[1.2e9] * 12)
    (flag,) = cpu_checks.frequency(END, [capped, BUSY], WINDOW)
    assert flag.code == "frequency-dropped"
    assert flag.evidence == "IRQ CPU 4 ran at 1.20 GHz, below the base frequency of 2.10 GHz"


def test_where_nothing_is_pinned_busy_cpus_are_judged() -> None:
    (flag,) = cpu_checks.frequency(UNPINNED, [cpufreq(cpu9=FALLING, cpu3=[8e8] * 12), BUSY], WINDOW)
    assert flag.evidence.startswith("busy CPU 9 ran at 3.00 GHz")


def test_a_record_that_lacks_a_cpu_does_not_look_like_a_change() -> None:
    fast: list[float | None] = [3.4e9] * 12
    slow = [2.4e9] * 12
    all_there = cpufreq(cpu0=fast, cpu1=slow)
    records = tuple(
        replace(
            one, values={name: value for name, value in one.values.items() if number < 6 or "cpu1" in name}
        )
        for number, one in enumerate(all_there.records)
    )
    assert list(cpu_checks.frequency(END, [replace(all_there, records=records), BUSY], WINDOW)) == []


@pytest.mark.parametrize(
    ("frequencies", "idle"),
    [
        ({"cpu0": STEADY, "cpu1": STEADY, "cpu4": STEADY}, BUSY),
        ({"cpu0": [3.0e9] * 6 + [2.9e9] * 6}, BUSY),
        ({"cpu0": FALLING, "cpu4": [8e8] * 12}, mpstat(cpu0=0.6, cpu4=0.98)),
        ({"cpu0": STEADY, "cpu9": FALLING}, BUSY),
        ({"cpu0": [4e9, 2.4e9, 3.6e9, 2.9e9, 3e9, 3e9, 3e9, 3e9, 3.5e9, 2.3e9, 3.1e9, 2.7e9]}, BUSY),
        ({"cpu0": [2.0e9] * 12}, BUSY),
        ({"cpu0": [None] * 12}, BUSY),
        ({"cpu0": [None] * 10 + [1e9] * 2}, BUSY),
        ({"cpu0": FALLING}, mpstat(cpu1=0.1)),
    ],
    ids=[
        "steady",
        "a small drop",
        "idle CPUs",
        "a CPU that takes no part",
        "wild but without a trend",
        "a little below the base frequency",
        "no readings",
        "too few readings to tell",
        "its idle share is not known",
    ],
)
def test_a_frequency_that_proves_nothing_raises_nothing(
    frequencies: dict[str, list[float | None]], idle: Reading
) -> None:
    assert list(cpu_checks.frequency(END, [cpufreq(**frequencies), idle], WINDOW)) == []


def test_without_either_sensor_or_base_frequency_nothing_is_told() -> None:
    slow = cpufreq(cpu0=[1e9] * 12)
    assert list(cpu_checks.frequency(END, [slow], WINDOW)) == []
    assert list(cpu_checks.frequency(END, [BUSY], WINDOW)) == []
    assert list(cpu_checks.frequency(END, [reading("cpufreq", [], [{}] * 12), BUSY], WINDOW)) == []
    assert list(cpu_checks.frequency(replace(END, base_frequency_hz=None), [slow, BUSY], WINDOW)) == []


def used(**busy_ratios: float) -> dict[int, CpuShares | None]:
    return {
        int(cpu.removeprefix("cpu")): CpuShares((0,), busy, 0.0, 0.0, 0.0, 1 - busy, 0.0)
        for cpu, busy in busy_ratios.items()
    }


def test_the_clock_of_a_host_is_that_of_its_cpus_by_how_busy_each_was() -> None:
    read = [cpufreq(cpu0=[3e9] * 12, cpu1=[1e9] * 12)]
    assert busy_frequency(used(cpu0=0.9, cpu1=0.3), read, WINDOW)[0] == pytest.approx(2.5e9)
    assert busy_frequency(used(cpu0=0.9, cpu1=0.0), read, WINDOW)[0] == pytest.approx(3e9)


@pytest.mark.parametrize(
    ("shares_of", "read", "why"),
    [
        (used(cpu0=1.0), [], "the frequency of its CPUs was not read"),
        (used(cpu0=1.0), [cpufreq(cpu0=[3e9, 3e9] + [None] * 10)], "fewer than 3 frequency readings"),
        (
            used(cpu0=0.5, cpu1=0.5),
            [cpufreq(cpu0=STEADY)],
            "with a frequency reading did 50 % of the host's work",
        ),
        (used(cpu0=0.0), [cpufreq(cpu0=STEADY)], "no CPU with a frequency reading was busy"),
        ({0: None}, [cpufreq(cpu0=STEADY)], "the use of each of its CPUs is not known"),
        ({}, [cpufreq(cpu0=STEADY)], "the use of each of its CPUs is not known"),
    ],
)
def test_a_clock_that_is_not_known_says_why(
    shares_of: dict[int, CpuShares | None], read: list[Reading], why: str
) -> None:
    found, reason = busy_frequency(shares_of, read, WINDOW)
    assert found is None
    assert why in reason


def test_a_kernel_that_tells_no_clock_says_so_itself() -> None:
    text = "linewatt-cpufreq 1 1|end 2"
    record = Record(105.0, 1.0, text, {}, Cpufreq().reasons(text))
    found, reason = busy_frequency(used(cpu0=1.0), [Reading("h1", "cpufreq", (record,))], WINDOW)
    assert found is None
    assert reason.startswith("no cpufreq: the kernel does not see")
