# SPDX-License-Identifier: Apache-2.0
"""Memory bandwidth of a host: of its controllers' counters, else of resctrl's, else the reason why not.

The lines are composed after perf-stat(1) and the kernel's resctrl.rst: no machine that we have counts.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from linewatt.features.profiles.perf import memory
from linewatt.features.profiles.perf.memory import (
    CONTROLLERS,
    NOT_MOUNTED,
    NOTHING_COUNTS,
    RESCTRL,
    memory_traffic,
)
from linewatt.features.profiles.perf.model import HostProfile, MemoryTraffic
from linewatt.features.profiles.perf.recording import SCRIPT
from linewatt.features.profiles.report.sentences import host_notes

MIB = 1 << 20
TWO = (
    "perf\t100.00,MiB,uncore_imc_0/cas_count_read/,4000123456,100.00,,",
    "perf\t50.00,MiB,uncore_imc_0/cas_count_write/,4000123456,100.00,,",
    "perf\t300.00,MiB,uncore_imc_1/cas_count_read/,4000123456,100.00,,",
    "perf\t150.00,MiB,uncore_imc_1/cas_count_write/,4000123456,100.00,,",
)


def test_what_controllers_counted_is_summed_up_and_is_a_rate() -> None:
    found = memory_traffic(TWO, 4.0)
    assert found == MemoryTraffic(CONTROLLERS, 100 * MIB, 50 * MIB, 150 * MIB)


def test_where_only_reads_are_counted_no_total_is_made_up() -> None:
    found = memory_traffic(["perf\t8.00,MiB,uncore_imc/data_reads/,4000123456,100.00,,"], 4.0)
    assert found == MemoryTraffic(CONTROLLERS, 2 * MIB)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("<not supported>,MiB,uncore_imc_1/cas_count_read/,0,100.00,,", "it does not count"),
        ("<not counted>,MiB,uncore_imc_1/cas_count_read/,0,0.00,,", "never free"),
        ("9.5,MiB,uncore_imc_1/cas_count_read/,1000,20.00,,", "20 % of the window"),
        ("9.5,MiB,uncore_imc_1/cas_count_read/,1000,nan,,", "nan % of the window"),
        ("950,,uncore_imc_1/cas_count_read/,1000,100.00,,", "which is not a number of MiB"),
        ("nan,MiB,uncore_imc_1/cas_count_read/,1000,100.00,,", "which is not a number of MiB"),
        ("-1,MiB,uncore_imc_1/cas_count_read/,1000,100.00,,", "which is not a number of MiB"),
        ("many,MiB,uncore_imc_1/cas_count_read/,1000,100.00,,", "perf stat says 'many'"),
    ],
)
def test_one_controller_that_does_not_tell_leaves_no_figure(line: str, why: str) -> None:
    found = memory_traffic([*TWO, f"perf\t{line}"], 4.0)
    assert found is not None
    assert (found.read_bytes_per_s, found.written_bytes_per_s, found.total_bytes_per_s) == (None, None, None)
    assert found.reason is not None
    assert found.reason.startswith("uncore_imc_1/cas_count_read/: ")
    assert why in found.reason


def test_a_perf_that_may_not_count_is_quoted() -> None:
    found = memory_traffic(["perf\tNo permission to enable uncore_imc_0/cas_count_read/ event."], 4.0)
    assert found == MemoryTraffic(
        CONTROLLERS,
        reason="perf stat says 'No permission to enable uncore_imc_0/cas_count_read/ event.'",
    )


def test_a_window_of_no_length_has_no_rate() -> None:
    assert memory_traffic(TWO, 0.0) == MemoryTraffic(CONTROLLERS, reason="its window is not known")


def test_what_caches_passed_is_summed_up_by_the_time_between() -> None:
    found = memory_traffic(["before\t100.0 1000 5000", "after\t104.0 5000 9000"], 3.9)
    assert found == MemoryTraffic(RESCTRL, total_bytes_per_s=2000.0)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("100.0 1000", "104.0 5000 9000", "its groups changed"),
        ("100.0 Unavailable", "104.0 5000", "it says '100.0 Unavailable 104.0 5000'"),
        ("100.0 9000", "104.0 5000", "went backwards"),
        ("100.0 1000", "100.0 5000", "went backwards"),
        ("", "", "it says"),
    ],
)
def test_counters_that_cannot_be_compared_leave_no_figure(before: str, after: str, why: str) -> None:
    found = memory_traffic([f"before\t{before}", f"after\t{after}"], 4.0)
    assert found is not None
    assert (found.counted, found.total_bytes_per_s) == (RESCTRL, None)
    assert why in (found.reason or "")


def test_where_nothing_counts_the_reason_is_told_and_what_was_not_asked_is_no_reason() -> None:
    assert memory_traffic(["unmounted\t"], 4.0) == MemoryTraffic(reason=NOT_MOUNTED)
    assert memory_traffic(["nothing\t"], 4.0) == MemoryTraffic(reason=NOTHING_COUNTS)
    assert memory_traffic([], 4.0) is None


def test_a_script_takes_the_events_that_controllers_have(tmp_path: Path) -> None:
    for pmu, events in (
        ("uncore_imc_0", ("cas_count_read", "cas_count_read.unit", "clockticks")),
        ("cpu", ("cas_count_read",)),
    ):
        folder = tmp_path / "sys/bus/event_source/devices" / pmu / "events"
        folder.mkdir(parents=True)
        for event in events:
            (folder / event).touch()
    assert said_by(memory.PREPARE + 'echo "$memory"', tmp_path) == ",uncore_imc_0/cas_count_read/"


def test_a_script_reads_resctrl_of_all_groups_before_and_after(tmp_path: Path) -> None:
    domains = [tmp_path / "sys/fs/resctrl" / group / "mon_data/mon_L3_00" for group in ("", "batch")]
    for domain in domains:
        domain.mkdir(parents=True)
        (domain / "mbm_total_bytes").write_text("1000\n")
    grown = "; ".join(f"echo 4000 >{domain.relative_to(tmp_path)}/mbm_total_bytes" for domain in domains)
    text = said_by(f"{memory.PREPARE}{memory.BEGIN}{grown}\n{memory.AFTER}{memory.END}", tmp_path)
    before, after = (line.removeprefix("M\t") for line in text.splitlines())
    found = memory_traffic([before, after], 4.0)
    assert found is not None
    assert found.reason is None
    assert [before.split()[2:], after.split()[2:]] == [["1000"] * 2, ["4000"] * 2]


def test_a_script_says_where_nothing_counts_and_is_part_of_what_records(tmp_path: Path) -> None:
    whole = f"{memory.PREPARE}{memory.BEGIN}{memory.AFTER}{memory.END}"
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("flags\t: fpu vme cqm_llc\n")
    assert said_by(whole, tmp_path) == "M\tnothing"
    (tmp_path / "proc/cpuinfo").write_text("flags\t: fpu cqm_mbm_total cqm_llc\n")
    assert said_by(whole, tmp_path) == "M\tunmounted"
    assert all(part in SCRIPT for part in (memory.PREPARE, memory.BEGIN, memory.AFTER, memory.END))


def said_by(script: str, root: Path) -> str:
    """What it says where ``/sys`` and ``/proc`` are below a folder."""
    own = script.replace("/sys/", f"{root}/sys/").replace("/proc/", f"{root}/proc/")
    words = ["bash", "-c", own, "linewatt", "", "", "", "0"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            MemoryTraffic(CONTROLLERS, 12.34e9, 4.5e9, 16.84e9),
            "memory of the whole host, by memory controllers: 12.3 GB/s read, 4.50 GB/s written",
        ),
        (
            MemoryTraffic(RESCTRL, total_bytes_per_s=7e9),
            "memory of the whole host, by resctrl: 7.00 GB/s read and written",
        ),
        (MemoryTraffic(reason=NOTHING_COUNTS), f"no memory bandwidth: {NOTHING_COUNTS}"),
        (
            MemoryTraffic(RESCTRL, reason="its groups changed in the window"),
            "no memory bandwidth: resctrl: its groups changed in the window",
        ),
        (None, None),
    ],
)
def test_a_reader_is_told_what_memory_moved_or_why_that_is_not_known(
    found: MemoryTraffic | None, told: str | None
) -> None:
    notes = [one.text for one in host_notes(HostProfile("h2", "receiver", {"app": (0,)}, memory=found))]
    assert [one for one in notes if "memory" in one] == ([] if told is None else [told])
