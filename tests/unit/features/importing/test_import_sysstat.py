# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: rows of mpstat and sar that are no readings, and files of which a part is missing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.conftest import Run
from tests.unit.features.importing.test_import_captures import document, imported
from tests.unit.features.importing.test_import_hosts import write_test

SECONDS = 12
MPSTAT = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
BUSY = {"usr": 20.0, "sys": 10.0, "idle": 70.0}
ZERO: dict[str, float] = {}


def lines(tool: str, cpus: dict[str, list[dict[str, float]]], begun_s: int, sign: str = "") -> list[str]:
    """A table a second from three seconds before the load."""
    names: tuple[str, ...] = (
        MPSTAT if tool == "mpstat" else ("user", "nice", "system", "iowait", "steal", "idle")
    )
    if tool == "old mpstat":
        names = tuple(name for name in MPSTAT if name != "gnice")
    columns = "  ".join(f"%{name}" for name in names)
    found = []
    for second in range(SECONDS):
        before, clock = (
            datetime.fromtimestamp(begun_s - 3 + second + late, UTC).strftime("%H:%M:%S") for late in (0, 1)
        )
        found += ["", f"{before}     CPU  {columns}"]
        for cpu, rows in cpus.items():
            row = rows[second % len(rows)]
            short = {"user": "usr", "system": "sys"}
            shares = "  ".join(f"{row.get(short.get(name, name), 0.0):.2f}{sign}" for name in names)
            found.append(f"{clock}  {cpu:>6}  {shares}")
    return found


def folder(
    into: Path, tool: str, cpus: dict[str, list[dict[str, float]]], top: bool = True, sign: str = ""
) -> Path:
    """A client of two CPUs, its test of 7 s and what a tool wrote beside it."""
    begun_s = int(document(write_test(into / "gen" / "client.json"))["start"]["timestamp"]["timesecs"])
    day = datetime.fromtimestamp(begun_s, UTC).strftime("%Y-%m-%d")
    first = [f"Linux 6.1.0 (gen) \t{day} \t_x86_64_\t({max(1, len(cpus) - 1) if tool != 'sar' else 2} CPU)"]
    text = "\n".join([*(first if top else []), *lines(tool, cpus, begun_s, sign)[0 if top else 1 :]]) + "\n"
    (into / "gen" / "cpu.txt").write_text(text)
    return into


def cores(path: Path) -> float | None:
    trial = imported(path, omit_s=1.0, tail_s=1.0).trials[0].trial
    assert trial.sender is not None
    return trial.sender.cpu_cores


def why(path: Path) -> str:
    trial = imported(path, omit_s=1.0, tail_s=1.0).trials[0].trial
    assert trial.sender is not None
    return str(trial.sender.reasons["cpu_cores"])


@pytest.mark.parametrize("tool", ["mpstat", "old mpstat"])
def test_a_cpu_whose_rows_are_all_zero_was_offline_and_used_nothing(tmp_path: Path, tool: str) -> None:
    cpus = {"all": [BUSY], "0": [BUSY], "1": [BUSY], "2": [ZERO]}
    path = folder(tmp_path, tool, cpus)
    assert cores(path) == pytest.approx(0.6)
    assert "cpus-assumed" not in str(imported(path).trials[0].trial.flags)


def test_a_row_of_the_whole_host_that_is_all_zero_is_no_reading_and_never_busy(tmp_path: Path) -> None:
    assert cores(folder(tmp_path / "whole", "sar", {"all": [BUSY]})) == pytest.approx(0.6)
    damaged = folder(tmp_path / "damaged", "sar", {"all": [BUSY, BUSY, BUSY, ZERO]})
    assert cores(damaged) is None
    assert why(damaged) == (
        "gen: sar does not cover the window; its shares of CPU time add up to 0 %, not 100 %"
    ).removeprefix("gen: ")


@pytest.mark.parametrize("wrong", [{"usr": 20.0, "idle": 40.0}, {"usr": 70.0, "idle": 70.0}])
def test_a_row_that_does_not_add_up_to_100_percent_is_no_reading(
    tmp_path: Path, wrong: dict[str, float]
) -> None:
    assert cores(folder(tmp_path, "sar", {"all": [BUSY, wrong]})) is None


def test_a_cpu_that_came_back_in_mid_load_is_named_and_nothing_is_told_of_it(tmp_path: Path) -> None:
    path = folder(tmp_path, "mpstat", {"all": [BUSY], "0": [BUSY], "1": [BUSY, BUSY, ZERO]})
    assert cores(path) is None
    assert "on CPU 1; cpu 1 went offline or came back" in why(path)


def test_shares_with_their_sign_are_numbers(tmp_path: Path) -> None:
    assert cores(folder(tmp_path, "sar", {"all": [BUSY]}, sign="%")) == pytest.approx(0.6)


def test_without_its_first_line_a_file_is_read_and_that_is_said(tmp_path: Path, run: Run) -> None:
    path = folder(tmp_path / "in", "mpstat", {"all": [BUSY], "0": [BUSY], "1": [BUSY]}, top=False)
    assert cores(path) == pytest.approx(0.6)
    said = run("import", str(path))[2]
    assert re.match(
        r"gen/cpu\.txt: its first line, which names host, date and number of CPUs, is missing", said
    )
