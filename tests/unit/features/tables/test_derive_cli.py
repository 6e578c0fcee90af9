# SPDX-License-Identifier: Apache-2.0
"""``linewatt derive`` as a process: what it prints, where, and its exit code."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import select
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import forked

from linewatt.units import number_ranges

CAPTURES = Path(__file__).resolve().parents[3] / "captures" / "derive"
SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published"
X64 = SHIPPED / "x64_scaling.csv"


def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return forked.run(["derive", *arguments], input=stdin, text=False)


def document(*arguments: str | Path, stdin: bytes = b"") -> dict[str, Any]:
    done = run(*arguments, "--json", stdin=stdin)
    assert done.returncode == 0
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_json_has_a_schema_version_rows_and_warnings() -> None:
    result = document(X64)
    assert list(result) == ["schema_version", "rows", "warnings"]
    assert result["schema_version"] == 1
    assert result["warnings"] == []
    first = result["rows"][0]
    assert first["instances"] == 1
    assert first["regime"] == "single"
    assert first["cpu_w"] == 104
    assert first["mbps_per_core"] == pytest.approx(14400.19, abs=0.01)


def test_json_has_null_for_what_is_missing_and_says_why() -> None:
    result = document(CAPTURES / "odd_cells.csv")
    row = result["rows"][2]
    assert row["remote_cpu_pct"] is None
    assert row["mbps_per_core"] is None
    assert row["throughput_mbps"] == 79982.62
    (warning,) = [
        item for item in result["warnings"] if (item["row"], item["column"]) == (3, "remote_cpu_pct")
    ]
    assert warning["line"] == 4
    assert warning["message"].startswith("row 3 (line 4), column remote_cpu_pct: 'n/a' is not a number")


def test_the_json_in_the_docs_is_what_it_prints() -> None:
    text = (CAPTURES.parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    assert document("-", stdin=b"throughput_mbps,local_cpu_pct\n24287.36,n/a\n") == shown


def test_json_keeps_names_as_text_and_readings_as_numbers() -> None:
    header = b"kernel,serial,big,fan_rpm,note,power_w,throughput_mbps\n"
    table = header + b"6.10,007,12345678901234567890,4000,,0100,1000\n"
    (row,) = document("-", stdin=table)["rows"]
    assert row["kernel"] == "6.10"
    assert row["serial"] == "007"
    assert row["big"] == "12345678901234567890"
    assert row["fan_rpm"] == 4000
    assert row["note"] is None
    assert row["power_w"] == 100
    assert row["system_mbps_per_w"] == 10


def test_csv_is_the_input_with_the_new_columns_after_it() -> None:
    done = run(X64, "--csv")
    assert done.returncode == 0
    assert done.stderr == b""
    found = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    given = list(csv.DictReader(io.StringIO(X64.read_text())))
    assert [{name: row[name] for name in given[0]} for row in found] == given
    assert list(found[0])[-1] == "energy_pj_per_bit"
    assert float(found[0]["mbps_per_core"]) == pytest.approx(14400.19, abs=0.01)


def test_csv_leaves_missing_cells_empty_and_warns_on_stderr() -> None:
    done = run(CAPTURES / "odd_cells.csv", "--csv")
    assert done.returncode == 0
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert rows[1]["throughput_mbps"] == "45,148.76"
    assert rows[1]["mbps_per_core"] == ""
    assert b"warning: row 2 (line 3), column throughput_mbps: '45,148.76' is not a number" in done.stderr


def test_csv_can_be_derived_again_and_changes_nothing() -> None:
    once = run(X64, "--csv").stdout
    assert run("-", "--csv", stdin=once).stdout == once


def test_the_table_off_a_terminal_shows_every_cell_in_full() -> None:
    done = run(X64)
    assert done.returncode == 0
    assert done.stderr == b""
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 7
    for word in X64.read_text().splitlines()[0].split(","):
        assert word in lines[0]
    for word in ("110831.41", "14400.19", "0.694", "0.485", "…", "\x1b"):
        assert (word in done.stdout.decode()) is word.replace(".", "").isdigit()


def test_a_narrow_terminal_shows_names_and_derived_figures_unbroken() -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"}
    table = SHIPPED / "vxlan.csv"
    with forked.Forked(
        ["derive", table], stdout=follower, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(follower)
        shown = _drain(leader)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 0
    header = shown.splitlines()[0]
    assert "cpu_pct_per_gbps" in header
    assert "app_soft_sd" not in header
    assert "6.9.0-0.rc4.37.eln136" in shown
    assert b"--csv and --json print them" in said


def _drain(descriptor: int) -> str:
    chunks: list[bytes] = []
    while select.select([descriptor], [], [], 30)[0]:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(descriptor)
    return b"".join(chunks).decode()


def test_a_cell_cannot_act_on_the_terminal() -> None:
    done = run("-", stdin=b"throughput_mbps,power_w,note\n1000,\x1b[31m1,\x1b]0;title\x07\n")
    assert b"\x1b" not in done.stdout + done.stderr


def test_warnings_that_say_the_same_are_one_line() -> None:
    done = run("-", stdin=b"throughput_mbps,power_w\n1,\n1,\n1,2\n1,\n")
    assert done.stderr.decode().splitlines() == [
        "warning: rows 1-2, 4, column power_w: the cell is empty; "
        "left empty: system_mbps_per_w, energy_pj_per_bit"
    ]


def test_neighbouring_rows_are_drawn_together() -> None:
    assert number_ranges([1, 2, 3, 7, 9, 10], "-") == "1-3, 7, 9-10"


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.glob("bad_*.csv")))
def test_a_file_that_is_no_table_is_one_line_and_exit_code_2(name: str) -> None:
    done = run(CAPTURES / name, "--json")
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"linewatt: {CAPTURES / name}:")


@pytest.mark.parametrize("name", ["missing.csv", ".", "a\nb.csv", "n\tul.csv"])
def test_a_file_that_cannot_be_read_is_one_line_and_exit_code_2(name: str, tmp_path: Path) -> None:
    done = run(tmp_path / name)
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 1
    assert b"cannot be read: " in done.stderr


def test_an_empty_standard_input_is_named() -> None:
    done = run("-")
    assert done.returncode == 2
    assert done.stderr.startswith(b"linewatt: standard input: the file is empty")


def test_json_and_csv_exclude_each_other() -> None:
    done = run(X64, "--json", "--csv")
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"exclude each other" in done.stderr


def test_help_names_the_columns_it_reads() -> None:
    done = run("--help")
    assert done.returncode == 0
    for word in (b"remote_cpu_pct", b"psu_out_w", b"--json", b"--csv"):
        assert word in done.stdout
