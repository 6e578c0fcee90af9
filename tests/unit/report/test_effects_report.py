# SPDX-License-Identifier: Apache-2.0
"""Effects of factors in show, JSON, CSV, the report and its chart; nothing of them without factors."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console
from tests.documents import valid
from tests.effect_factories import SWEEP, experiment_result, experiment_trials
from tests.inline import invoke
from tests.report_factories import HOSTILE, powered, renumbered, result, scaling_trials, stored

from linewatt.analysis.comparison.effects import ResponseEffects
from linewatt.errors import InvalidInput
from linewatt.model import Case
from linewatt.report.charts.figure import render_svg
from linewatt.report.printing import html
from linewatt.report.printing.export import p_text
from linewatt.report.series import case_labels
from linewatt.report.trials import terminal
from linewatt.report.trials.charts import effects as effects_chart
from linewatt.report.trials.digest import case_rows, csv_columns, digest_document, digest_of, trial_rows
from linewatt.report.trials.settings.effects import (
    EFFECT_COLUMNS,
    Experiment,
    as_document,
    effect_rows,
    experiment,
)
from linewatt.store.read import Result

SVG = "{http://www.w3.org/2000/svg}"


def found_in(made: Result) -> Experiment:
    found = experiment(made)
    assert found is not None
    return found


def responses_of(made: Result) -> list[ResponseEffects]:
    return [one for group in found_in(made).groups for one in group.responses]


def shown(made: Result, width: int | None = None) -> str:
    console = Console(width=width or 400, color_system=None, file=io.StringIO())
    console.print(terminal.show_trials(digest_of(made), width=width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def full(**changes: Any) -> Result:
    return experiment_result(experiment_trials("full", **changes), "full")


# --- Labels -----------------------------------------------------------------------------------------


def test_cases_are_told_apart_by_the_factors_that_vary_and_by_no_others() -> None:
    cases = [
        Case("tcp", "h1", "h2", factors=(("gro", gro), ("mtu", mtu), ("rps", "off")))
        for gro in ("on", "off")
        for mtu in ("1500", "9000")
    ]
    assert list(case_labels(cases).values()) == [
        "h1 → h2, gro=on mtu=1500",
        "h1 → h2, gro=on mtu=9000",
        "h1 → h2, gro=off mtu=1500",
        "h1 → h2, gro=off mtu=9000",
    ]
    assert list(case_labels(cases[:1]).values()) == ["h1 → h2"]


def test_zero_copy_as_a_factor_is_said_once() -> None:
    off = Case("tcp", "h1", "h2", factors=(("zerocopy", "off"),))
    on = replace(off, factors=(("zerocopy", "on"),), zerocopy=True)
    assert list(case_labels([off, on]).values()) == ["h1 → h2, zerocopy=off", "h1 → h2, zerocopy=on"]


def test_settings_have_rows_and_names_of_their_own_everywhere() -> None:
    view = digest_of(experiment_result(experiment_trials()))
    names = [series.label for group in view.groups for series in group.series]
    assert len(set(names)) == len(names) == 4
    text = shown(view.result)
    assert all(text.count(name) >= 2 for name in names)
    assert {view.describe(trial.case) for trial in view.result.trials} == {
        f"TCP, {name}: 1 instance" for name in names
    }


# --- show -------------------------------------------------------------------------------------------


def test_show_has_a_line_a_level_its_verdict_and_the_best_setting() -> None:
    text = shown(experiment_result(experiment_trials()))
    assert "One factor at a time: 4 settings. How factors act together is not seen." in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    at = lines.index("Throughput: TCP, h1 → h2, 1 instance")
    assert lines[at + 3].startswith("mtu 9000 (base 1500) 3 / 3 ")
    assert "faster by 6.0 % (CI " in lines[at + 3]
    assert "slower by 20.0 % (CI " in lines[at + 4]
    assert "no measurable effect (within ± " in lines[at + 5]
    assert lines[at + 6].startswith("Best setting found: mtu=9000: faster by 6.0 % (CI ")
    assert lines[at + 6].endswith(" than the base, of 3 others compared.")


def test_show_names_the_base_where_it_is_kept_and_what_is_not_told_from_it() -> None:
    text = shown(experiment_result(experiment_trials(effect=lambda _: 1.0)))
    assert (
        "No best setting is proven: the base gro=on mtu=1500 rps=off: none of 3 other settings is better "
        "beyond doubt; not told from mtu=9000, gro=off and 1 more." in " ".join(text.split())
    )


def test_json_names_every_setting_that_is_not_told_from_the_best_one() -> None:
    found = experiment(experiment_result(experiment_trials(effect=lambda _: 1.0)))
    assert found is not None
    best = as_document(found)["groups"][0]["responses"][0]["best"]
    assert [one["mtu"] for one in best["not_told_from"]] == ["9000", "1500", "1500"]
    assert best["together_not_run"] is None


def test_show_says_which_factors_act_together() -> None:
    made = full(effect=lambda levels: 1.1 if levels["mtu"] == "9000" and levels["gro"] == "off" else 1.0)
    text = shown(made)
    assert "mtu and gro act together: mtu=9000 with gro=off is faster by 10.0 % (CI " in text
    assert "; depends on gro" in text


def test_a_fraction_says_what_it_cannot_tell() -> None:
    made = experiment_result(experiment_trials("fractional"), "fractional")
    for text in (shown(made), html.render_html(digest_of(made))):
        assert "Not told apart: mtu and gro × rps." in text


def test_levels_that_were_not_run_are_named() -> None:
    trials = [each for each in experiment_trials() if dict(each.case.factors)["rps"] == "off"]
    assert "TCP, h1 → h2, 1 instance: not run at rps=irq." in shown(experiment_result(trials))


def test_a_narrow_terminal_keeps_every_row_within_its_width() -> None:
    text = shown(experiment_result(experiment_trials()), width=72)
    start = text.index("Effects of the factors")
    table = text[text.index("Factor", start) : text.index("Best setting", start)]
    assert max(map(len, table.splitlines())) <= 72


def test_simulated_watts_are_marked_at_every_effect() -> None:
    made = experiment_result(powered(experiment_trials("full"), provenance="simulated"), "full")
    (table,) = [one for one in found_in(made).tables if "per watt" in one.title]
    assert table.provenance == "simulated"
    for row in table.rows:
        assert [cell.mark for cell in row.cells] == [None, "sim", "sim", None, "sim"]
    assert " sim" in table.said("remark")[-1]
    assert any("simulated, not measured" in line for line in table.said("legend"))
    others = [one for one in found_in(made).tables if "per watt" not in one.title]
    assert not any(cell.mark for one in others for row in one.rows for cell in row.cells)
    (figure,) = effects_chart.effect_figures(found_in(made))
    assert "Watts are simulated, not measured." in figure.caption
    assert "(simulated)" in json.dumps(figure.spec)


def test_p_is_readable() -> None:
    assert [p_text(p) for p in (0.0, 0.0009, 0.0123, 0.0996, 0.42, 1.0)] == [
        "<0.001",
        "<0.001",
        "0.012",
        "0.10",
        "0.42",
        "1.00",
    ]


# --- Without factors --------------------------------------------------------------------------------


def test_without_factors_nothing_changes() -> None:
    made = result(scaling_trials())
    assert experiment(made) is None
    assert "effects" not in digest_document(digest_of(made))
    assert effect_rows(made) == []
    assert "Effects of the factors" not in shown(made)
    assert 'id="effects"' not in html.render_html(digest_of(made))


# --- JSON and CSV -----------------------------------------------------------------------------------


def test_json_has_every_number_with_its_unit_in_its_key() -> None:
    made = experiment_result(experiment_trials("full", test="udp-1500"), "full")
    document = json.loads(json.dumps(digest_document(digest_of(made)), allow_nan=False))
    valid("show", document)
    (group,) = document["effects"]["groups"]
    assert group["base"] == {"gro": "on", "mtu": "1500", "rps": "off"}
    assert (group["test"], group["sender"], group["instances"]) == ("udp-1500", "h1", 1)
    assert "factors" not in group
    found = {one["response"]: one for one in group["responses"]}
    assert list(found) == ["throughput_bps", "efficiency_receiver_bps_per_core", "lost_ratio"]
    first = found["throughput_bps"]["main_effects"][0]
    assert (first["factor"], first["level"], first["base"]) == ("mtu", "9000", "1500")
    assert first["ratio"] == pytest.approx(1.06)
    assert first["ratio_low"] < first["ratio"] < first["ratio_high"]
    assert (first["difference"], first["kind"], first["runs"], first["base_runs"]) == (None, "better", 12, 12)
    assert first["p"] <= first["p_holm"] < 0.05
    loss = found["lost_ratio"]["main_effects"][0]
    assert (loss["ratio"], loss["difference"]) == (None, 0)
    assert len(found["throughput_bps"]["interactions"]) == 3
    assert found["throughput_bps"]["best"]["setting"]["mtu"] == "9000"
    assert document["cases"][0]["factors"] == group["base"]


def test_effects_without_enough_runs_are_null_in_json_never_0() -> None:
    document = digest_document(digest_of(experiment_result(experiment_trials(trials=2))))
    (group,) = document["effects"]["groups"]
    for found in group["responses"]:
        for one in found["main_effects"]:
            assert [one[key] for key in ("ratio", "ratio_low", "ratio_high", "p", "p_holm")] == [None] * 5
            assert one["verdict"].startswith("not enough trials")
        assert found["best"]["setting"] is None


def test_csv_rows_of_cases_and_trials_have_their_factors_in_a_cell() -> None:
    view = digest_of(experiment_result(experiment_trials()))
    assert [row["factors"] for row in case_rows(view)][:2] == [
        "gro=on mtu=1500 rps=off",
        "gro=on mtu=9000 rps=off",
    ]
    assert trial_rows(view.result.trials)[1]["factors"] == "gro=on mtu=9000 rps=off"
    assert csv_columns()[-1] == csv_columns(trials=True)[-1] == "factors"
    plain = digest_of(result(scaling_trials()))
    assert {row["factors"] for row in case_rows(plain)} == {None}


def test_effect_rows_have_the_columns_that_are_said() -> None:
    made = experiment_result(powered(experiment_trials("full")), "full")
    rows = effect_rows(made)
    assert len(rows) == 3 * 3
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(EFFECT_COLUMNS))}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    stored(tmp_path, experiment_result(experiment_trials()))
    return tmp_path


def test_show_csv_effects_is_a_row_an_effect(results: Path) -> None:
    done = invoke(["show", "--results", str(results), "--csv", "--effects"])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["response"], row["factor"], row["level"]) for row in rows[:3]] == [
        ("throughput_bps", "mtu", "9000"),
        ("throughput_bps", "gro", "off"),
        ("throughput_bps", "rps", "irq"),
    ]
    assert float(rows[0]["ratio"]) == pytest.approx(1.06)
    assert rows[0]["difference"] == ""


@pytest.mark.parametrize(
    "options", [["--effects"], ["--json", "--effects"], ["--csv", "--trials", "--effects"]]
)
def test_effects_go_with_csv_alone(results: Path, options: list[str]) -> None:
    done = invoke(["show", "--results", str(results), *options])
    assert isinstance(done.exception, InvalidInput)
    assert done.stdout == ""


# --- The report and its chart -----------------------------------------------------------------------


def test_the_report_has_a_table_a_response_and_a_chart_a_group_of_cases() -> None:
    trials = renumbered(experiment_trials("full"), experiment_trials("full", test="udp-1500"))
    page = html.render_html(digest_of(experiment_result(trials, "full")))
    assert page.count('<table class="numbers effects">') == 2 + 3
    assert page.count("<h3>Main effects: ") == 2
    assert page.count('<tr data-kind="better">') >= 2
    assert "<b>faster by 6.0 % (CI " in page
    assert "<b>no measurable" not in page


def test_hostile_factors_stay_text() -> None:
    factors = {HOSTILE: ("a", "b"), "gro": ("on", HOSTILE)}
    trials = experiment_trials(factors=factors)
    made = experiment_result(trials, factors=factors)
    page = html.render_html(digest_of(made))
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in shown(experiment_result(experiment_trials(factors={"x\x1b[31m": ("1", "2\n3")})))


def test_each_panel_draws_its_own_response_around_a_zero_line() -> None:
    losses = experiment_trials("full", test="udp-1500")
    made = experiment_result(losses, "full")
    responses = responses_of(made)
    spec = effects_chart.effect_spec(responses)
    assert [panel["title"]["text"][0] for panel in spec["hconcat"]] == ["Throughput", "Efficiency", "Loss"]
    for panel, found in zip(spec["hconcat"], responses, strict=True):
        zero, *layers = panel["layer"]
        assert zero["data"]["values"] == [{"zero": 0}]
        low, high = zero["encoding"]["x"]["scale"]["domain"]
        assert low < 0 < high
        assert panel["data"]["values"] == effects_chart.effect_rows(found)
        assert {layer["encoding"]["y"]["field"] for layer in layers} == {"level"}
    first = effects_chart.effect_rows(responses[0])
    assert [row["level"] for row in first] == ["mtu=9000", "gro=off", "rps=irq"]
    assert [row["change"] for row in first] == pytest.approx([6.0, -20.0, 0.0], abs=1e-6)
    assert [row["doubtless"] for row in first] == ["yes", "yes", "no"]
    assert all(row["low"] < row["change"] < row["high"] for row in first)


def test_a_level_without_enough_runs_is_said_in_the_chart_not_drawn_at_zero() -> None:
    made = experiment_result(experiment_trials(trials=2))
    rows = effects_chart.effect_rows(responses_of(made)[0])
    assert {row["kind"] for row in rows} == {"unknown"}
    assert all("change" not in row for row in rows)
    drawn = ET.fromstring(render_svg(effects_chart.effect_spec(responses_of(made))))  # noqa: S314 - our own
    assert [element.text for element in drawn.iter(f"{SVG}text")].count("not enough trials") == 6


def test_a_wide_interval_is_cut_so_that_the_others_stay_readable() -> None:
    noisy = experiment_trials(effect=lambda levels: 1.06 if levels["mtu"] == "9000" else 1.0)
    trials = [
        replace(each, throughput_bps=each.throughput_bps * (0.2, 1.0, 5.0)[each.repetition - 1])
        if dict(each.case.factors)["rps"] == "irq" and each.throughput_bps
        else each
        for each in noisy
    ]
    (found, *_) = responses_of(experiment_result(trials))
    spec = effects_chart.effect_spec([found])
    low, high = spec["hconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert max(row["high"] for row in effects_chart.effect_rows(found)) > 1000
    assert -100 < low < 0 < high < 30


def test_the_chart_says_the_same_to_whoever_cannot_see_it() -> None:
    (figure,) = effects_chart.effect_figures(found_in(full()))
    assert figure.description.startswith("Throughput: mtu=9000 faster by 6.0 % (CI ")
    assert "rps=irq no measurable effect" in figure.description


def test_more_groups_than_can_be_drawn_are_said_to_be_left_out() -> None:
    groups = [experiment_trials(instances=count, factors={"gro": ("on", "off")}) for count in range(1, 27)]
    figures = effects_chart.effect_figures(
        found_in(experiment_result(renumbered(*groups), factors={"gro": ("on", "off")}))
    )
    assert len(figures) == effects_chart.MOST_FIGURES
    assert "Not drawn: 2 more groups of cases" in figures[-1].caption


def test_a_result_without_its_campaign_still_shows_effects() -> None:
    made = result(experiment_trials(), campaign=None)
    groups = found_in(made).tables[0].groups
    assert [row.keys[0].text for group in groups for row in group.rows] == ["off", "9000", "irq"]
    assert set(SWEEP) == {group.label for group in groups}
