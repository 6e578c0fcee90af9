# SPDX-License-Identifier: Apache-2.0
"""The feeder of a lab's BMCs: how busy CPUs were, and values that follow it until nobody wants them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.features.lab import feeder
from linewatt.features.lab.bmc_recipe import BEAT, Meters, feeder_arguments, values_line
from linewatt.features.lab.power_model import server_power

# Linux 6.18 on two CPUs, the line of interrupts shortened.
STAT = """cpu  141337 1 60220 2733022 2037 0 24263 1094 0 0
cpu0 71337 1 30220 1366500 1000 0 12000 500 0 0
cpu1 70000 0 30000 1366522 1037 0 12263 594 0 0
intr 40158713 0 0 0 0 17
ctxt 79034012
btime 1763695092
"""


def until(condition: Callable[[], bool], limit_s: float, awaited: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit_s} s for {awaited}"
        time.sleep(0.005)


def test_ticks_of_each_cpu_are_read_and_waiting_for_a_disk_is_idle() -> None:
    assert feeder.cpu_ticks(STAT) == {0: (114058, 1481558), 1: (112857, 1480416)}


@given(st.integers(0, len(STAT)))
def test_of_a_text_that_is_cut_off_no_number_is_believed_that_is_not_whole(length: int) -> None:
    assert feeder.cpu_ticks(STAT[:length]).items() <= feeder.cpu_ticks(STAT).items()


def test_the_machine_itself_can_be_read() -> None:
    assert set(feeder.cpu_ticks(Path("/proc/stat").read_text())) >= os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("before", "after", "busy"),
    [
        ((10, 100), (60, 200), 0.5),
        ((10, 100), (10, 200), 0.0),
        ((10, 100), (110, 200), 1.0),
        ((10, 100), (10, 100), None),  # no tick in between
        ((60, 200), (10, 100), None),  # a CPU went offline
        ((60, 100), (50, 200), None),  # a counter went back
    ],
)
def test_use_is_a_ratio_or_not_known(before: feeder.Ticks, after: feeder.Ticks, busy: float | None) -> None:
    assert feeder.utilisation(before, after) == busy


def test_a_cpu_that_is_offline_counts_as_nothing() -> None:
    assert feeder.sum_of({0: (1, 10), 2: (3, 30)}, (0, 1, 2)) == (4, 40)


def stat_of(busy: int, idle: int) -> str:
    zeros = " 0" * 6
    return f"cpu{zeros} 0 0\ncpu0 {busy} 0 0 {idle}{zeros}\ncpu1 0 0 0 {busy + idle}{zeros}\n"


def shown(path: Path) -> list[str]:
    return path.read_text().split()


def test_a_slow_bmc_holds_what_it_took_and_an_averaging_one_rises_slowly(tmp_path: Path) -> None:
    """h1 goes from idle to full at 10 s; a second BMC beside it is quick."""

    def course(refresh_s: float, average_s: float) -> tuple[list[str], float]:
        file, truth = tmp_path / f"h-{refresh_s:g}-{average_s:g}", tmp_path / f"t-{refresh_s:g}-{average_s:g}"
        with file.open("w+b") as own, truth.open("w+b") as drawn:
            slow = Meters(refresh_s, average_s)
            bmc = feeder.Bmc(own.fileno(), drawn.fileno(), None, str(tmp_path / "h1"), slow)
            seen = []
            for number in range(200):
                busy = max(0, number - 50) * 20
                bmc.take((busy, number * 20), 0.2 * number)
                seen.append(shown(file)[0] if file.read_text() else "")
            return seen, float(shown(truth)[1])

    quick, drawn_j = course(0.0, 0.0)
    held, held_j = course(10.0, 0.0)
    slow, slow_j = course(0.0, 10.0)
    assert drawn_j == held_j == slow_j
    assert drawn_j == pytest.approx(10 * 2 * 36.0 + 30 * 2 * 114.0, rel=0.05)
    assert len(set(held)) <= 5
    assert quick[60] == quick[-1]
    assert quick[40] < slow[75] < quick[60]
    assert slow[110] == quick[-1]


def test_a_bmc_that_is_off_and_late_stands_beside_a_plug_that_is_not(tmp_path: Path) -> None:
    """Idle until 10 s, then full: 182 W in all, which the BMC shows 3 s later."""
    with (tmp_path / "bmc").open("w+b") as own, (tmp_path / "plug").open("w+b") as plug:
        planted = Meters(gain_ratio=0.04, offset_w=6.0, delay_s=3.0)
        bmc = feeder.Bmc(own.fileno(), None, plug.fileno(), str(tmp_path / "h1"), planted)
        seen = []
        for number in range(100):
            bmc.take((max(0, number - 50) * 20, number * 20), 0.2 * number)
            values = (tmp_path / "bmc").read_text().split()
            seen.append((2 * int(values[0]) if values else 0, float((tmp_path / "plug").read_text() or 0)))
    plugs, bmcs = [plug for _, plug in seen], [shown for shown, _ in seen]
    late = next(n for n, w in enumerate(bmcs) if w > 200) - next(n for n, w in enumerate(plugs) if w > 180)
    assert late == pytest.approx(15, abs=1)
    assert bmcs[-1] == pytest.approx(1.04 * plugs[-1] + 6, abs=4)


def test_a_server_is_as_busy_and_its_fans_are_as_fast_as_somebody_wants(tmp_path: Path) -> None:
    fans, busy = tmp_path / "h1.fans", tmp_path / "h1.busy"
    with (tmp_path / "bmc").open("w+b") as own:
        bmc = feeder.Bmc(own.fileno(), None, None, str(tmp_path / "h1"), Meters())
        watts: list[list[str]] = []
        for least in ("", "9000"):
            fans.write_text(least)
            for number in range(2):
                bmc.take((0, 20 * (10 * len(watts) + number)), 0.2 * (10 * len(watts) + number))
            watts.append(shown(tmp_path / "bmc"))
        assert [int(values[6]) for values in watts] == [4000, 9000]
        assert int(watts[1][0]) > int(watts[0][0]) + 10
        fans.unlink()
        busy.write_text("1.0")
        bmc.take((0, 1000), 100.0)
        assert (tmp_path / "bmc").read_text() == values_line(server_power(1.0))


def test_values_follow_the_cpus_of_their_host_until_their_directory_is_gone(tmp_path: Path) -> None:
    values, stat = tmp_path / "values", tmp_path / "stat"
    values.mkdir()
    stat.write_text(stat_of(1000, 1000))
    running = threading.Thread(target=feeder.feed, args=(values, {"h1": (0,), "h2": (1,)}, stat))
    running.start()
    try:
        until((values / BEAT).exists, 60, "the feeder to run")
        # It is there before the first reading, and touched after each.
        made_s = (values / BEAT).stat().st_mtime
        until(lambda: (values / BEAT).stat().st_mtime > made_s, 60, "the first reading")
        # In place, as the kernel's file is: it stays open.
        with stat.open("r+") as file:
            file.write(stat_of(1090, 1010))
        wanted = values_line(server_power(0.9))
        until(lambda: (values / "h1").read_text() == wanted, 60, "h1 to be at 90 %")
        until(lambda: (values / "h2").read_text() == values_line(server_power(0.0)), 60, "h2 to be idle")
    finally:
        values.rename(tmp_path / "moved")  # at once, also while it writes
        running.join(timeout=60)
    assert not running.is_alive()


def test_a_process_of_its_own_beats_and_ends_when_the_lab_is_gone(tmp_path: Path) -> None:
    values = tmp_path / "values"
    values.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "linewatt.features.lab.feeder", *feeder_arguments(values, {"h1": (0,)})],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until((values / BEAT).exists, 60, "the feeder to run")
        began_s = (values / BEAT).stat().st_mtime
        until(lambda: (values / BEAT).stat().st_mtime > began_s, 60, "a beat")
        values.rename(tmp_path / "moved")
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        _, said = process.communicate()
    assert said == ""
