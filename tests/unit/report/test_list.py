# SPDX-License-Identifier: Apache-2.0
"""``linewatt list``: each result on one line with its answer, at any width of a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.effect_factories import experiment_result, experiment_trials
from tests.report_factories import demo_trials, failed, powered, result, scaling_trials, stored
from tests.soak_pairs import soak as soak_of_day
from tests.soak_result import Shape
from tests.soak_result import write as write_soak
from tests.unit.conftest import Run

from linewatt.cli.output import console
from linewatt.model import Case, Flag
from linewatt.report import list_document, list_line, listing
from linewatt.report.listing import Listed
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_of
from linewatt.store import read
from linewatt.store.each_result import Damaged

GONE = failed(1, Case("tcp", "h1", "h2"), "gone")


def kept(*made: Any) -> list[Listed | Damaged]:
    return [list_line.listed(one) for one in made]


def printed(every: list[Listed | Damaged], width: int) -> list[str]:
    """The lines on a terminal of that width; a line that wrapped would be two."""
    terminal = console(width=width, force_terminal=True, color_system=None)
    with terminal.capture() as captured:
        terminal.print(listing.show(every, width=width))
    return [line.rstrip() for line in captured.get().splitlines()]


def several() -> list[Listed | Damaged]:
    return [
        *kept(
            result(demo_trials(), id="20260101-000000-demo", name="demo"),
            result(
                powered(scaling_trials(), provenance="simulated"),
                id="20260102-000000-lab-watts",
                name="lab-watts",
            ),
            result(powered(scaling_trials()), id="20260103-000000-watts", name="watts"),
            result([GONE], planned=4, id="20260104-000000-b", name="b"),
        ),
        Damaged("20260105-000000-broken", Path("x"), "manifest.json: damaged"),
    ]


def test_each_result_has_one_line_of_at_most_80_columns_with_its_answer() -> None:
    head, rule, *rows = printed(several(), 80)
    assert head.split() == ["Id", "Best", "Mbps/W", "Findings", "When", "UTC", "Name"]
    assert set(rule) == {"─"}
    assert max(map(len, (head, *rows[:5]))) <= 80
    demo, lab, watts, none, broken = rows[:5]
    assert demo.split() == ["20260101-000000", "80.0", "Gbps", "–", "2", "01-01", "00:00", "demo"]
    assert lab.split()[:5] == ["20260102-000000", "110", "Gbps", "443.41", "sim"]
    assert lab.endswith("lab-watts")
    assert watts.split()[:4] == ["20260103-000000", "110", "Gbps", "443.41"]
    assert "sim" not in watts
    assert none.split()[1:3] == ["–", "–"]
    assert broken.split()[:2] == ["20260105-000000", "damaged"]


def test_a_wide_terminal_has_whole_ids_and_how_much_is_done() -> None:
    head, _, demo, lab, _, none, broken = printed(several(), 130)[:7]
    assert head.split() == ["Id", "Best", "Test", "Mbps/W", "Findings", "Done", "When", "Name"]
    assert demo.split()[:5] == ["20260101-000000-demo", "80.0", "Gbps", "TCP", "–"]
    assert lab.split()[:6] == ["20260102-000000-lab-watts", "110", "Gbps", "TCP", "443.41", "sim"]
    assert "0/4, 1 failed" in none
    assert "damaged" in broken


def listed_as(result_id: str, created_s: float, name: str) -> Listed:
    return list_line.listed(result(demo_trials(), id=result_id, name=name, created_s=created_s))


def test_a_short_id_is_longer_where_another_begins_so_and_names_the_result() -> None:
    ids = ("20260101-000000-lab-a", "20260101-000000-lab-b", "20260102-000000-lab")
    rows = printed([listed_as(result_id, 1.77e9, "a name of some length") for result_id in ids], 70)[2:5]
    shown = [row.split()[0] for row in rows]
    assert shown == ["20260101-000000-lab-a", "20260101-000000-lab-b", "20260102-000000"]


def test_a_time_of_another_year_is_its_date_and_a_long_name_is_shortened() -> None:
    day_s = 86_400.0
    newest, older = 1_780_000_000.0, 1_780_000_000.0 - 365 * day_s
    rows = printed(
        [listed_as("20250101-000000-a", older, "a" * 50), listed_as("20260101-000000-b", newest, "short")], 80
    )[2:4]
    assert re.search(r" 2025-05-28 +a+…$", rows[0])
    assert re.search(r" 05-28 20:26  short$", rows[1])


@pytest.mark.parametrize("cv", [0.004, 0.03])
def test_the_best_of_an_experiment_is_the_setting_that_show_names(cv: float) -> None:
    """Also where another setting is faster, but not proven so: then the base."""
    measured = experiment_result(experiment_trials(trials=5 if cv < 0.01 else 2, cv=cv))
    view = digest_of(measured)
    screen, listed = first_screen_of_trials(view), list_line.listed(measured, view)
    assert screen is not None
    assert listed.best is not None
    rate = f"{listed.best.throughput_bps / 1e9:.2f} Gbps"
    assert rate == ("21.20 Gbps" if cv < 0.01 else "20.00 Gbps")
    assert rate in screen.sentence
    assert rate == screen.blocks[0].entries[0][0].figures[0]


def test_what_is_missing_has_its_reason_below() -> None:
    said = " ".join(printed(several(), 100))
    for reason in (
        "Mbps/W: 20260101-000000-demo: no source of power was named",
        "Best, Mbps/W: 20260104-000000-b: no throughput is on record",
        "20260105-000000-broken: manifest.json: damaged",
        "sim: simulated, not measured",
    ):
        assert reason in said


@pytest.mark.parametrize("width", range(40, 121, 4))
def test_a_narrow_terminal_leaves_out_columns_by_rank_and_names_them(width: int) -> None:
    lines = printed(several(), width)
    table = lines[: 2 + len(several())]
    assert max(map(len, lines)) <= width
    left_out = " ".join(lines).partition(f"Not at {width} columns: ")[2]
    ranked = ["Best", "When", "Name", "Mbps/W", "Findings", "Done", "Test"]
    shown = [name for name in ranked if name in table[0].split()]
    assert shown == ranked[: len(shown)], "those that matter most stay"
    assert "Best" in shown
    assert all(name in left_out for name in ranked[len(shown) :])
    assert all(f"{speed} Gbps" in "\n".join(table) for speed in ("80.0", "110"))


def test_a_figure_that_a_finding_makes_doubtful_has_a_star() -> None:
    (one,) = kept(result(demo_trials()))
    assert isinstance(one, Listed)
    assert one.best is not None
    for best, text in ((one.best, "80.0 Gbps "), (replace(one.best, doubtful_throughput=True), "80.0 Gbps*")):
        out = "\n".join(printed([replace(one, best=best)], 80))
        assert text in out
        assert ("* doubtful: linewatt show ID says why" in out) == text.endswith("*")


def test_a_soak_has_its_mean_rate_and_what_its_server_moved_for_each_watt(run: Run) -> None:
    write_soak(Path("results"), Shape(duration_s=60))
    (path,) = Path("results").iterdir()
    one = list_line.listed(read.load_result(path))
    assert one.best is not None
    assert one.best.provenance == "simulated"
    row = printed([one], 80)[2]
    assert path.name.startswith(row.split()[0])
    assert printed([one], 120)[2].split()[3] == "soak"
    from linewatt.features.soak.digest import digest

    soak = digest(read.load_result(path))
    (server,) = (power.total for power in soak.power if power.host == soak.roles.ends.server)
    assert server is not None
    assert soak.mean_bps is not None
    assert one.best.bps_per_w == soak.mean_bps / server.power_w


def soak_listed(**shape: Any) -> Listed:
    path = soak_of_day(**shape)
    return list_line.listed(read.load_result(path))


def test_a_soak_whose_rate_or_watts_are_doubtful_has_a_star(run: Run) -> None:
    calm, saturated = soak_listed(), soak_listed(day=2, cpu_share=0.99)
    assert "*" not in "".join(printed([calm], 80)[2:3])
    assert saturated.best is not None
    assert (saturated.best.doubtful_throughput, saturated.best.doubtful_watts) == (True, False)
    row = printed([saturated], 80)[2]
    assert re.search(r"[GM]bps\*", row)
    assert "doubtful: linewatt show ID says why" in " ".join(printed([saturated], 80))


@pytest.mark.parametrize("host", ["c1", "dut"])
def test_watts_that_were_read_in_part_of_the_time_doubt_what_the_server_moved_for_each(
    run: Run, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linewatt.features.soak import flags

    one = Flag("power-incomplete", host, "its power was read in 60 % of the time", "see the events")
    monkeypatch.setattr(flags, "flags", lambda _: (one,))
    best = soak_listed().best
    assert best is not None
    assert (best.doubtful_throughput, best.doubtful_watts) == (False, host == "dut")


def test_the_column_counts_the_findings_that_show_lists(run: Run) -> None:
    flags = [Flag("host-not-idle", host, "something ran", "look") for host in ("h1", "h2")]
    made = [replace(one, flags=tuple(flags)) for one in demo_trials()]
    (one,) = kept(result(made))
    assert isinstance(one, Listed)
    view = digest_of(result(made))
    assert (one.findings, one.shown) == (len(view.findings.every), len(view.notes))
    assert one.findings != one.shown
    assert list_document.document_of_list([one])["results"][0]["flags_count"] == one.findings
    (row,) = (line for line in printed([one], 120) if line.startswith(str(one.heading["id"])))
    assert row.split()[5] == str(one.shown)


def test_json_has_the_answer_with_its_provenance_and_what_is_missing_with_its_reason() -> None:
    demo, lab, _, none, broken = list_document.document_of_list(several())["results"]
    assert lab["best"] == {
        "test": "tcp",
        "throughput_bps": pytest.approx(110e9, rel=0.01),
        "throughput_doubtful": False,
        "system_mbps_per_w": pytest.approx(443.41, rel=1e-4),
        "system_mbps_per_w_doubtful": False,
        "provenance": "simulated",
        "reasons": {},
    }
    assert (demo["best"]["system_mbps_per_w"], demo["best"]["provenance"]) == (None, None)
    assert demo["best"]["reasons"] == {"system_mbps_per_w": "no source of power was named"}
    assert (none["best"], none["best_reason"]) == (None, "no throughput is on record")
    assert broken == {"id": "20260105-000000-broken", "damaged": "manifest.json: damaged"}


def test_what_is_listed_is_kept_as_it_is_made(tmp_path: Path) -> None:
    from pydantic import TypeAdapter

    made = list_line.listed(
        read.load_result(stored(tmp_path, result(powered(scaling_trials(), provenance="simulated"))))
    )
    shape = TypeAdapter(Listed)
    assert shape.validate_json(shape.dump_json(made)) == made
