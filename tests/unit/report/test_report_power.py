# SPDX-License-Identifier: Apache-2.0
"""The power tables, their export, figures and idle power: published figures, marks, and what is missing."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import (
    PUBLISHED,
    end,
    idle_reading,
    paced_trials,
    powered,
    regimes,
    renumbered,
    result,
    result_of,
    scaling_trials,
    stored,
    trial,
    watts,
)

from linewatt.analysis.metrics.of_power import POWER_METRICS
from linewatt.model import Case, PowerResult, Provenance, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.printing import html
from linewatt.report.table import Table
from linewatt.report.trials.caveats import caveats
from linewatt.report.trials.charts.power import power_figures
from linewatt.report.trials.digest import (
    Digest,
    case_rows,
    csv_columns,
    digest_document,
    digest_of,
    trial_rows,
)
from linewatt.report.trials.power.idle import idle_power
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.store import read
from linewatt.store.read import Result

TCP = Case("tcp", "h1", "h2")
GOLDEN = Path(__file__).parents[3] / "docs" / "published" / "x64_scaling.csv"
UNMEASURED: tuple[tuple[Provenance, str, str], ...] = (
    ("simulated", "sim", "simulated"),
    ("estimate", "est", "estimated"),
    ("datasheet", "sheet", "from datasheet"),
)


def tables(trials: Sequence[Trial]) -> list[Table]:
    return [power_table(cases) for cases in power_cases(digest_of(result(trials)).groups)]


def shown(table: Table) -> dict[str, list[str]]:
    """JSON key of a column without its end → texts of its cells."""
    return {
        head.key.removeprefix("receiver_").removeprefix("sender_").removesuffix("_mean"): [
            row.cells[at].text for row in table.rows
        ]
        for at, head in enumerate(table.heads)
    }


def with_power(each: Trial, *power: PowerResult, **changes: Any) -> Trial:
    assert each.receiver is not None
    return replace(each, receiver=replace(each.receiver, power=power, **changes))


def published() -> tuple[Trial, ...]:
    return powered(
        renumbered(
            [
                trial(1, replace(TCP, instances=n), mbps * 1e6, cpu / 100)
                for n, (mbps, cpu) in PUBLISHED.items()
            ]
        )
    )


def test_the_published_power_table_comes_out_as_printed() -> None:
    [table] = tables(published())
    texts = shown(table)
    assert table.title == "TCP, h1 → h2: power of the receiver h2"
    assert [head.title for head in table.heads][:5] == [
        "Regime",
        "Throughput",
        "PSU DC out",
        "Bound of sensor error",
        "CPU",
    ]
    assert texts["throughput_bps"] == ["24.29", "45.15", "79.98", "94.24", "110.8"]
    assert texts["system_w"] == ["210.0", "216.0", "228.5", "339.2", "249.0"]
    assert texts["cpu_w"] == ["104.0", "104.0", "112.0", "100.0", "136.0"]
    assert texts["system_mbps_per_w"] == ["115.65", "209.02", "350.03", "277.79", "445.11"]
    assert texts["cpu_mbps_per_w"] == ["233.53", "434.12", "714.13", "942.56", "814.94"]
    assert texts["cpu_power_pct"] == ["49.5", "48.1", "49.0", "29.5", "54.6"]
    assert texts["system_uncertainty_w"][0] == "4.2"


def test_exported_figures_are_the_published_ones() -> None:
    with GOLDEN.open() as file:
        printed = {int(row["instances"]): row for row in csv.DictReader(file)}
    for row in case_rows(digest_of(result(published()))):
        wanted = printed[row["instances"]]
        for key, within in (("system_mbps_per_w", 0.006), ("cpu_mbps_per_w", 0.05), ("cpu_power_pct", 0.011)):
            value = row[f"receiver_{key}_mean"]
            assert value == pytest.approx(float(wanted[f"published_{key}"]), abs=within), key
        assert row["receiver_system_w_mean"] == pytest.approx(float(wanted["psu_out_w"]))
        assert row["receiver_cpu_w_mean"] == pytest.approx(float(wanted["cpu_w"]))
        assert row["receiver_system_scope"] == "psu-out"


def test_energy_and_power_above_idle_are_what_the_definitions_say() -> None:
    row = case_rows(digest_of(result(published())))[0]
    gbps, system_w, idle_w = 24.28736, 210.01, 180.0
    assert row["receiver_idle_w_mean"] == idle_w
    assert row["receiver_energy_pj_per_bit_mean"] == pytest.approx(1000 * system_w / gbps)
    assert row["receiver_dynamic_w_per_gbps_mean"] == pytest.approx((system_w - idle_w) / gbps)
    assert row["receiver_dynamic_energy_pj_per_bit_mean"] == pytest.approx(1000 * (system_w - idle_w) / gbps)
    assert row["receiver_energy_pj_per_bit_mean"] == pytest.approx(
        1e6 / row["receiver_system_mbps_per_w_mean"]
    )


def test_no_source_of_power_is_no_table_no_figure_and_no_section() -> None:
    view = digest_of(result(scaling_trials()))
    assert power_cases(view.groups) == ()
    assert 'id="power"' not in html.render_html(view)
    assert case_rows(view)[0]["receiver_system_w_mean"] is None


@pytest.mark.parametrize(("provenance", "mark", "word"), UNMEASURED)
def test_what_was_not_measured_says_so_at_every_number(provenance: Provenance, mark: str, word: str) -> None:
    made = result(powered(scaling_trials((1, 2)), provenance=provenance, ends=("receiver", "sender")))
    view = digest_of(made)
    for table in tables(made.trials):
        assert [head.provenance for head in table.heads[2:]] == [word] * (len(table.heads) - 2)
        assert table.heads[1].provenance == "", "throughput is measured"
        assert {cell.mark for row in table.rows for cell in row.cells[2:]} == {mark}
        assert [row.cells[1].mark for row in table.rows] == [None, None]
        assert table.said("legend")[0].startswith(f"{mark}: ")
    for figure in power_figures(power_cases(view.groups), runs_of(made.trials)):
        assert word in figure.title
        assert word in re.sub(r"<title>.*?</title>", "", render_svg(figure.spec)), "in the drawing itself"
    assert any(word in caveat for caveat in caveats(view))
    for row in [*case_rows(view), *digest_document(view)["cases"]]:
        for key, value in row.items():
            if key.startswith(("receiver_", "sender_")) and key.endswith("_provenance"):
                assert value == provenance, key


def test_measured_watts_have_no_mark_and_need_no_legend() -> None:
    view = digest_of(result(published()))
    [table] = tables(view.result.trials)
    assert {head.provenance for head in table.heads} == {""}
    assert {cell.mark for row in table.rows for cell in row.cells} == {None}
    assert table.said("legend") == ()
    assert not any("simulated" in caveat for caveat in caveats(view))


def test_every_exported_power_has_its_provenance_beside_it() -> None:
    names = csv_columns()
    values = [name for name in names if re.search(r"_(w|per_w|pct|gbps|per_bit)_mean$", name)]
    assert len(values) == 2 * sum(not metric.only_recorded for metric in POWER_METRICS)
    for name in values:
        assert name.replace("_mean", "_provenance") in names


def test_a_share_of_measured_and_simulated_watts_counts_as_simulated() -> None:
    power = (watts("psu-out:PSU1", 200.0), watts("cpu", 100.0, provenance="simulated"))
    [table] = tables([with_power(trial(1, TCP, 1e10, 1.0), *power)])
    marks = {head.key: table.rows[0].cells[at].mark for at, head in enumerate(table.heads)}
    assert marks["receiver_system_w_mean"] is None
    assert marks["receiver_system_mbps_per_w_mean"] is None
    assert marks["receiver_cpu_w_mean"] == "sim"
    assert marks["receiver_cpu_power_pct_mean"] == "sim"
    assert table.provenance == "partly simulated"


def test_one_simulated_trial_marks_the_mean_it_is_in() -> None:
    first, second = scaling_trials((1,), 2)
    trials = [
        with_power(first, watts("psu-out:PSU1", 200.0)),
        with_power(second, watts("psu-out:PSU1", 200.0, provenance="simulated")),
    ]
    assert case_rows(digest_of(result(trials)))[0]["receiver_system_w_provenance"] == "simulated"


def test_watts_of_two_scopes_share_no_column() -> None:
    one, *_, two = scaling_trials((1, 2), 1)
    trials = [with_power(one, watts("psu-out:PSU1", 200.0)), with_power(two, watts("wall", 260.0))]
    assert [table.heads[2].title for table in tables(trials)] == ["PSU DC out", "wall"]


def test_watts_of_two_scopes_are_never_averaged() -> None:
    first, second = scaling_trials((1,), 2)
    trials = [with_power(first, watts("psu-out:PSU1", 200.0)), with_power(second, watts("wall", 260.0))]
    [table] = tables(trials)
    assert table.rows[0].cells[2].text == "200.0"
    assert table.rows[0].cells[2].note == "n=1"
    assert any("in 1 of 2 trials: only wall was read" in sentence for sentence in table.said("absence"))


def test_missing_watts_are_a_dash_with_the_reason_below() -> None:
    trials = powered(scaling_trials((1, 2), 2))
    lost = [
        with_power(each, watts("psu-out:PSU1", None), watts("cpu", 100.0))
        if each.case.instances == 2
        else each
        for each in trials
    ]
    view = digest_of(result(lost))
    [table] = tables(view.result.trials)
    assert shown(table)["system_w"] == ["210.0", "–"]
    assert shown(table)["cpu_w"] == ["104.0", "100.0"]
    assert shown(table)["cpu_power_pct"] == ["49.5", "–"]
    [sentence] = [text for text in table.said("absence") if text.startswith("PSU DC out")]
    assert "2 instances: bmc psu-out PSU1: no answer within 5 s" in sentence
    assert "CPU share" in sentence
    row = digest_document(view)["cases"][1]
    assert row["receiver_system_w_mean"] is None
    assert row["receiver_system_w_provenance"] is None
    assert "no answer within 5 s" in row["reasons"]["receiver_system_w"]


def test_a_source_that_never_answered_is_a_table_of_reasons() -> None:
    down = {"power.bmc": "bmc: no answer within 10 s"}
    [table] = tables([with_power(each, reasons=down) for each in scaling_trials((1, 2))])
    assert [head.title for head in table.heads] == ["Regime", "Throughput"]
    assert any("no answer within 10 s" in sentence for sentence in table.said("absence"))


def test_no_idle_power_leaves_only_what_needs_it_empty() -> None:
    [table] = tables(powered(scaling_trials((1, 2)), idle_w=None))
    texts = shown(table)
    assert "dynamic_w_per_gbps" not in texts
    assert "energy_pj_per_bit" in texts
    assert any("no idle power of the same channels" in sentence for sentence in table.said("absence"))


def test_a_load_that_draws_no_more_than_idle_costs_nothing_that_can_be_told() -> None:
    [table] = tables(powered(scaling_trials((1,)), idle_w=300.0))
    assert "dynamic_energy_pj_per_bit" not in shown(table)
    assert any("no more than idle" in sentence for sentence in table.said("absence"))


def test_an_unknown_error_of_the_source_is_not_blamed_on_the_throughput() -> None:
    power = watts("psu-out:PSU1", 200.0, energy_uncertainty_j=None)
    [table] = tables([with_power(trial(1, TCP, 1e10, 1.0), power)])
    assert any(
        "Bound of sensor error: the error of the source is not known" in text
        for text in table.said("absence")
    )


def test_both_ends_have_a_table_when_both_have_power() -> None:
    made = tables(powered(scaling_trials((1, 2)), ends=("receiver", "sender")))
    assert [table.title.split()[-2] for table in made] == ["receiver", "sender"]


def test_slow_tests_are_in_watts_per_mbps() -> None:
    case = Case("udp-60", "h1", "h2")
    [table] = tables(powered([trial(1, case, 90e6, 1.5)]))
    units = {head.key: head.unit for head in table.heads}
    assert units["receiver_dynamic_w_per_gbps_mean"] == "W/Mbps"
    assert shown(table)["dynamic_w_per_gbps"] == ["0.333"]


@pytest.mark.parametrize(
    ("bps", "unit", "energy"),
    [(90e9, "nJ/bit", "2.333"), (90e6, "µJ/bit", "2.333"), (900e9, "pJ/bit", "233.3")],
)
def test_energy_of_a_bit_has_a_prefix_that_reads_well_and_its_key_one_unit(
    bps: float, unit: str, energy: str
) -> None:
    trials = powered([trial(1, Case("tcp", "h1", "h2"), bps, 1.5)])
    [table] = tables(trials)
    assert {head.key: head.unit for head in table.heads}["receiver_energy_pj_per_bit_mean"] == unit
    assert shown(table)["energy_pj_per_bit"] == [energy]
    [row] = case_rows(digest_of(result(trials)))
    assert row["receiver_energy_pj_per_bit_mean"] == pytest.approx(210.01e12 / bps)


def test_regimes_follow_from_what_more_instances_bring() -> None:
    view = digest_of(result(scaling_trials()))
    assert regimes(view.summaries) == ("single", "multi", "multi", "saturated", "saturated")
    paced = digest_of(result(paced_trials()))
    assert regimes(paced.summaries) == ("paced", "paced")


def test_the_first_case_of_many_instances_is_not_called_saturated_for_want_of_another() -> None:
    trials = [replace(one, receiver=end("h2", "receiver", 9.0, 0.6, 0.5)) for one in scaling_trials((8,))]
    assert regimes(digest_of(result(trials)).summaries) == ("multi",)


def test_csv_of_trials_has_the_watts_of_each() -> None:
    rows = trial_rows(powered(scaling_trials((1,), 1), provenance="simulated"))
    assert rows[0]["receiver_system_w"] == pytest.approx(210.01)
    assert rows[0]["receiver_system_w_provenance"] == "simulated"
    assert rows[0]["receiver_cpu_w"] == 104.0
    assert rows[0]["sender_system_w"] is None
    assert list(rows[0]) == csv_columns(trials=True)


def figures_of(view: Digest) -> dict[str, Figure]:
    return {
        figure.name: figure for figure in power_figures(power_cases(view.groups), runs_of(view.result.trials))
    }


def rows_of(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def test_figures_have_the_means_and_every_trial() -> None:
    view = digest_of(result(powered(scaling_trials((1, 2)))))
    drawn = figures_of(view)
    assert list(drawn) == ["power-efficiency-tcp-receiver-1", "power-tcp-receiver-1"]
    for name, field in (("power-efficiency", "system_bps_per_w"), ("power", "system_w")):
        figure = drawn[f"{name}-tcp-receiver-1"]
        means = [row["value"] for row in rows_of(figure, "mean") if row["part"] == "System: PSU DC out"]
        scale = 1e6 if field.endswith("per_w") else 1
        wanted = [getattr(summary.receiver_power, field).mean / scale for summary in view.summaries]
        assert means == pytest.approx(wanted)
        assert len(rows_of(figure, "run")) == 12


def test_one_instance_count_draws_no_line_of_power() -> None:
    assert figures_of(digest_of(result(powered(scaling_trials((4,)))))) == {}


def idle_result(after_w: float | None, provenance: Provenance = "measured") -> Result:
    before = idle_reading(watts("psu-out:PSU1", 180.0, provenance=provenance))
    after = idle_reading(watts("psu-out:PSU1", after_w, provenance=provenance))
    return result_of({"idle": {"h2": before}, "idle_end": {"h2": after}})


@pytest.mark.parametrize(
    ("after_w", "says", "drifted"),
    [
        (180.0, "180.0 W before the trials, 180.0 W after: the same", False),
        (184.5, "184.5 W after: 4.5 W more (2.5 %)", False),
        (162.0, "162.0 W after: 18.0 W less (10.0 %), so watts above idle are withheld", True),
        (None, "PSU DC out: 180.0 W before the trials", False),
    ],
)
def test_idle_power_before_and_after_in_words(after_w: float | None, says: str, drifted: bool) -> None:
    [one] = idle_power(idle_result(after_w))
    assert one.clause.endswith(says)
    assert one.drifted is drifted


def test_idle_power_of_the_cpu_withholds_nothing() -> None:
    """Watts above idle are the system's; beside a drift of the CPU's it was said that there are none."""
    before = idle_reading(watts("cpu:CPU", 40.0))
    after = idle_reading(watts("cpu:CPU", 30.0))
    [one] = idle_power(result_of({"idle": {"h2": before}, "idle_end": {"h2": after}}))
    assert one.clause.endswith("10.0 W less (25.0 %)")
    assert not one.drifted


def test_simulated_idle_power_says_so() -> None:
    assert "PSU DC out (simulated)" in idle_power(idle_result(180.0, "simulated"))[0].clause


def test_idle_power_that_was_not_read_says_why() -> None:
    lost = result_of({"idle": {"h2": idle_reading(watts("wall", None))}})
    assert idle_power(lost)[0].clause == ("wall: not known before the trials: bmc wall: no answer within 5 s")


def test_a_source_that_was_down_before_the_trials_says_why() -> None:
    reasons = {"power.bmc": "192.0.2.9: no answer within 5 s"}
    silent = result_of({"idle": {"h2": {"power": [], "power_reasons": reasons}}})
    [one] = idle_power(silent)
    assert one.clause == "bmc: not known before the trials: 192.0.2.9: no answer within 5 s"
    assert (one.before_w, one.provenance, one.drifted) == (None, None, False)
    [again] = idle_power(replace(silent, idle=(*silent.idle, *idle_result(181.0).idle[1:])))
    assert again.clause == (
        "PSU DC out: not known before the trials: 192.0.2.9: no answer within 5 s; 181.0 W after them"
    )


def test_results_without_idle_power_have_none() -> None:
    assert idle_power(result_of({"idle": {"h1": {"cpu_cores": 0.1, "reason": None}}})) == ()
    assert idle_power(result_of({})) == ()


def test_idle_power_of_the_end_is_read_from_its_file(tmp_path: Path) -> None:
    path = stored(tmp_path, result(powered(scaling_trials((1,)))))
    for name, power_w in (("idle.json", 180.0), ("idle-end.json", 190.0)):
        hosts = {"h2": idle_reading(watts("psu-out:PSU1", power_w))}
        (path / name).write_text(json.dumps({"schema_version": 1, "hosts": hosts}))
    view = digest_of(read.load_result(path))
    [one] = digest_document(view)["idle_power"]
    assert (one["before_w"], one["after_w"], one["provenance"]) == (180.0, 190.0, "measured")
    assert one["reason"] is None
    assert "190.0 W after" in html.render_html(view)
