# SPDX-License-Identifier: Apache-2.0
"""``linewatt list``, ``show`` and ``report`` as a user meets them, on stored results."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests import forked
from tests.first_screens import KINDS
from tests.report_factories import (
    DISAGREE,
    SHARED,
    demo_trials,
    failed,
    idle_reading,
    powered,
    renumbered,
    result,
    scaling_trials,
    stored,
    watts,
)
from tests.unit.conftest import Run

from linewatt.model import Case
from linewatt.report.printing.text_table import TextColumn, split_columns
from linewatt.store import cache
from linewatt.store.read import Result, load_result


def keep(made: Result, root: str = "results") -> None:
    stored(Path(root), made)


def test_an_empty_store_says_so_and_how_to_fill_it(run: Run) -> None:
    code, out, err = run("list")
    assert (code, out) == (0, "")
    assert "linewatt run" in err
    assert json.loads(run("list", "--json")[1]) == {"schema_version": 1, "results": []}


def test_list_has_a_line_a_result(run: Run) -> None:
    keep(result(demo_trials()))
    keep(result([failed(1, Case("tcp", "h1", "h2"), "gone")], planned=4, id="20260102-000000-b", name="b"))
    _, out, _ = run("list")
    first, second = out.splitlines()[2:4]
    assert first.split()[5:7] == ["2", "15/15"]
    assert second.split()[0] == "20260102-000000-b"
    assert second.split()[3:7] == ["0", "0/4,", "1", "failed"]
    assert second.split()[-1] == "b"
    listed = json.loads(run("list", "--json")[1])
    assert [each["trials_done"] for each in listed["results"]] == [15, 0]
    assert listed["results"][1]["complete"] is False


def test_show_has_tables_roles_flags_and_advice(run: Run) -> None:
    keep(result(demo_trials()))
    code, out, _ = run("show", "last", "--full")
    assert code == 0
    for text in ("TCP, h1 → h2", "UDP 60, h1 → h2", "79.96 ± 0.30", "90.90 ± 0.90", "receiver h2"):
        assert text in out
    for text in (DISAGREE.evidence, DISAGREE.advice, SHARED.evidence):
        assert text in out
    for text in (" a,b", "(trials 1–2)", "* doubtful: see (a), (b)"):
        assert text in out


def test_show_without_an_id_is_the_last_result(run: Run) -> None:
    keep(result(scaling_trials((1,))))
    keep(result(scaling_trials((1,)), id="20270101-000000-later", name="later"))
    assert run("show")[1].startswith("later · h1, h2 · 3 of 3 trials done · ")
    assert run("show", "2026")[1].startswith("x64-scaling · ")


def test_off_a_terminal_nothing_is_coloured_or_cut(run: Run) -> None:
    long = "x" * 300
    keep(result([replace(each, flags=(replace(SHARED, advice=long),)) for each in scaling_trials()]))
    _, out, _ = run("show", "last", "--full")
    assert "\x1b" not in out
    assert "…" not in out
    assert long in out
    row = next(line for line in out.splitlines() if line.startswith("   16 "))
    assert len(row.split()) >= 14
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize(
    ("columns", "widest"), [(None, 100), ("80", 80), ("120", 120), ("wide", 100), ("0", 100)]
)
@pytest.mark.parametrize("options", [[], ["--full"]], ids=["first screen", "full"])
def test_off_a_terminal_lines_are_as_long_as_columns_says_or_a_hundred(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str | None, widest: int, options: list[str]
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    keep(result([replace(each, flags=(replace(SHARED, advice="look " * 60),)) for each in demo_trials()]))
    _, out, _ = run("show", "last", *options)
    assert widest - 20 < max(map(len, out.splitlines())) <= widest


def test_a_common_table_fits_120_columns(run: Run) -> None:
    keep(result(demo_trials()))
    _, out, _ = run("show", "last", "--full")
    tables = [line for line in out.splitlines() if set(line) == {"─"}]
    assert len(tables) == 6
    assert max(map(len, tables)) <= 120


def on_a_terminal(columns: int, *options: str, **environment: str) -> str:
    """What ``linewatt show`` writes to a real (pseudo) terminal."""
    controller, terminal = pty.openpty()
    given = {**os.environ, "COLUMNS": str(columns), "LINES": "50", "TERM": "xterm-256color", **environment}
    words = ["show", "last", *options]
    process = forked.Forked(words, stdout=terminal, stderr=subprocess.DEVNULL, env=given)
    os.close(terminal)
    written = b""
    try:
        while chunk := os.read(controller, 65536):
            written += chunk
    except OSError:  # Linux ends a pseudo-terminal's reading with EIO
        pass
    assert process.wait() == 0
    os.close(controller)
    return written.decode()


@pytest.fixture
def in_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    keep(result(demo_trials()))


@pytest.mark.usefixtures("in_results")
def test_on_a_narrow_terminal_tables_are_split_and_numbers_stay_whole() -> None:
    out = on_a_terminal(80, "--full")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 80
    assert "79.96 ± 0.30" in plain
    assert "11,863" in plain
    assert "…" not in plain


@pytest.mark.usefixtures("in_results")
def test_colour_on_a_terminal_unless_no_color_is_set() -> None:
    colour = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    assert colour.search(on_a_terminal(120, "--full"))
    assert not colour.search(on_a_terminal(120, "--full", NO_COLOR="1"))


@pytest.mark.parametrize("columns", [80, 120])
def test_power_tables_fit_a_terminal_and_stay_marked(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep(result(powered(scaling_trials(), provenance="simulated")))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(columns, "--full"))
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= columns
    power = plain.split("power of the receiver h2")[1].split("sim: ")[0]
    rows = [line for line in power.splitlines() if re.match(r" +(1|2|4|8|16)  ", line)]
    parts = len(re.findall("─{5,}", power))
    assert len(rows) == 5 * parts
    assert all(" sim" in line for line in rows), "each part of a split table is marked"
    assert power.count("simulated") >= 10
    assert "…" not in plain


def test_show_has_power_idle_power_and_the_watts_of_each_trial(run: Run) -> None:
    made = result(powered(scaling_trials((1, 2))))
    keep(made)
    hosts = {"h2": idle_reading(watts("psu-out:PSU1", 180.0))}
    (Path("results") / made.id / "idle.json").write_text(json.dumps({"schema_version": 1, "hosts": hosts}))
    _, out, _ = run("show", "last", "--trials")
    assert "TCP, h1 → h2: power of the receiver h2" in out
    assert "PSU DC out" in out
    assert "h2, PSU DC out: 180.0 W before the trials" in out
    assert "210.0 W" in out.split("\nEvery trial")[1]
    assert "sim" not in out


def test_show_without_power_says_nothing_of_it(run: Run) -> None:
    keep(result(demo_trials()))
    _, out, _ = run("show", "last", "--trials")
    assert "power" not in out.lower()


def test_control_characters_of_a_name_never_reach_the_terminal(run: Run) -> None:
    reason = "\x1b]0;title\x07 gone"
    trials = renumbered(
        scaling_trials((1,), 1, sender="h\x1b[31m1"), [failed(1, Case("tcp", "h1", "h2"), reason)]
    )
    keep(result(trials, name="bad\x1b[2Jname [red]not markup[/red]"))
    _, out, _ = run("show", "last", "--trials")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "bad\\x1b[2Jname [red]not markup[/red]" in out


def test_show_json_is_the_documented_document(run: Run) -> None:
    keep(result(demo_trials()))
    document = json.loads(run("show", "last", "--json")[1])
    assert document["schema_version"] == 1
    assert [case["test"] for case in document["cases"]] == ["tcp", "tcp", "tcp", "udp-1500", "udp-60"]
    assert 79.9e9 < document["cases"][2]["throughput_bps_mean"] < 80e9
    assert document["cases"][0]["lost_ratio_mean"] is None
    assert document["flags"][0]["advice"] == [DISAGREE.advice]
    assert "trials" not in document
    assert len(json.loads(run("show", "last", "--json", "--trials")[1])["trials"]) == 15


def test_show_csv_leaves_missing_cells_empty(run: Run) -> None:
    keep(result(demo_trials()))
    rows = list(csv.DictReader(io.StringIO(run("show", "last", "--csv")[1])))
    assert len(rows) == 5
    assert rows[0]["lost_ratio_mean"] == ""
    assert rows[3]["lost_ratio_mean"] == "0.125"
    assert float(rows[2]["scaling_factor_ratio"]) == pytest.approx(0.82, abs=0.01)


def test_show_csv_of_trials_has_a_row_a_trial(run: Run) -> None:
    keep(result(renumbered(demo_trials(), [failed(1, Case("tcp", "h1", "h2"), "gone")])))
    rows = list(csv.DictReader(io.StringIO(run("show", "last", "--csv", "--trials")[1])))
    assert len(rows) == 16
    assert (rows[15]["status"], rows[15]["reason"], rows[15]["throughput_bps"]) == ("failed", "gone", "")


def test_csv_of_a_result_without_trials_is_a_header(run: Run) -> None:
    keep(result([], planned=3))
    assert run("show", "last", "--csv")[1].startswith("test,sender,receiver,")
    assert "No trial is stored yet." in run("show", "last")[1]


def test_json_and_csv_at_once_is_wrong_use(run: Run) -> None:
    code, out, err = run("show", "last", "--json", "--csv")
    assert (code, out) == (2, "")
    assert err == "linewatt: --json and --csv: choose one\n"


def test_show_names_failed_trials_and_their_reason(run: Run) -> None:
    keep(result(renumbered(scaling_trials((1, 2)), [failed(1, Case("tcp", "h1", "h2"), "h2: no route")])))
    _, out, _ = run("show", "last", "--full")
    assert "trial 7 (TCP, h1 → h2: 1 instance): h2: no route" in out
    assert " 3/4" in out


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("soak", "comparison")])
def test_the_whole_output_begins_with_the_names_of_its_sections(run: Run, kind: str) -> None:
    [path] = KINDS[kind]()
    _, out, _ = run("show", path.name, "--full", "--trials", "--detail")
    before, _, behind = out.partition("Sections below: ")
    contents, _, below = behind.partition("\n\n")
    names = " ".join(contents.split()).split(" · ")
    assert before.count("\n\n") == 1, "behind the heading"
    assert [name for name in names if name not in below] == []
    assert names[0] == ("Effects of the factors" if kind in ("experiment", "users") else "CPU by role")
    assert names[-1] == "Every trial"


def test_show_trials_lists_each(run: Run) -> None:
    keep(result(demo_trials()))
    _, out, _ = run("show", "last", "--trials")
    assert "UDP 60, h1 → h2: 1 instance" in out.split("\nEvery trial")[1]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_is_kept_of_a_result_is_shown_without_a_trial_read_and_as_it_would_be_made_anew(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[str, ...]
) -> None:
    keep(result(powered(demo_trials())))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", -1.0)
    first = run("show", "last", *options)
    read: list[Path] = []

    def counted(path: Path) -> Result:
        read.append(path)
        return load_result(path)

    monkeypatch.setattr("linewatt.store.load_result", counted)
    assert (run("show", "last", *options), read) == (first, [])
    (trial, *_) = sorted(Path("results").glob("*/trials/*/trial.json"))
    trial.write_text(trial.read_text() + "\n")
    assert (run("show", "last", *options), len(read)) == (first, 1)
    assert first[0] == 0
    assert "h1" in first[1]


def test_a_result_without_a_number_has_no_screen_that_is_kept_and_shows_all_it_has(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep(result([failed(1, Case("tcp", "h1", "h2"), "the cable was pulled")]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", -1.0)
    first = run("show", "last")
    assert run("show", "last") == first
    assert "the cable was pulled" in first[1]


def test_several_series_are_told_apart(run: Run) -> None:
    keep(result(renumbered(scaling_trials((1, 2)), scaling_trials((1, 2), family="ipv6"))))
    _, out, _ = run("show", "last")
    assert "h1 → h2, IPv4" in out
    assert "h1 → h2, IPv6" in out


def test_an_unknown_id_says_what_there_is(run: Run) -> None:
    keep(result(demo_trials()))
    code, _, err = run("show", "nothing")
    assert code == 2
    assert "20260101-000000-x64-scaling" in err


@pytest.mark.parametrize("how", ["option", "environment"])
def test_results_may_be_elsewhere(run: Run, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(result(demo_trials()), "elsewhere")
    if how == "environment":
        monkeypatch.setenv("LINEWATT_RESULTS", "elsewhere")
    arguments = ["--results", "elsewhere"] if how == "option" else []
    assert "15/15" in run("list", *arguments)[1]


def test_report_writes_one_file_named_after_the_result(run: Run) -> None:
    keep(result(demo_trials()))
    code, out, _ = run("report", "last")
    assert (code, out) == (0, "20260101-000000-x64-scaling.html\n")
    assert Path("20260101-000000-x64-scaling.html").read_text().startswith("<!DOCTYPE html>")


def test_a_terminal_gets_a_link_to_the_report(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep(result(demo_trials()))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run("report", "last", "-o", "a page.html")[1] == f"{tmp_path.as_uri()}/a%20page.html\n"


def test_report_writes_where_it_is_told_and_says_so_in_json(run: Run) -> None:
    keep(result(demo_trials()))
    code, out, _ = run("report", "last", "-o", "mine.html", "--json")
    assert (code, json.loads(out)["path"]) == (0, "mine.html")
    assert Path("mine.html").exists()


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("results", "is a directory"),
        ("/dev/null", "is not a regular file"),
        ("no/where.html", "there is no directory no"),
    ],
)
def test_report_refuses_what_cannot_be_its_file(run: Run, target: str, says: str) -> None:
    keep(result(demo_trials()))
    code, _, err = run("report", "last", "-o", target)
    assert code == 2
    assert says in err


def test_help_does_not_import_what_draws() -> None:
    script = (
        "import sys; import linewatt.cli; "
        "print([m for m in ('vl_convert', 'jinja2', 'rich.table', 'pydantic', 'duckdb') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.usefixtures("run")
def test_an_answer_of_processes_imports_no_campaign() -> None:
    keep(result(demo_trials()))
    script = (
        "import sys; from linewatt.cli import entry_point; sys.argv = ['linewatt', 'show', 'last']\n"
        "try: entry_point.main()\n"
        "finally: print([m for m in ('linewatt.campaign.campaign', 'asyncio') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("\n[]\n")
    assert "h1" in ended.stdout


def test_split_repeats_the_key_columns() -> None:
    key = TextColumn("Key", ("k",), key=True)
    others = [TextColumn(f"column {n}", ("1",)) for n in range(4)]
    parts = split_columns([key, *others], 25)
    assert [[column.heading for column in part] for part in parts] == [
        ["Key", "column 0", "column 1"],
        ["Key", "column 2", "column 3"],
    ]
    assert split_columns([key, *others], None) == [[key, *others]]
    assert len(split_columns([key, *others], 3)) == 4
