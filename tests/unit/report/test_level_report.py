# SPDX-License-Identifier: Apache-2.0
"""Load levels in tables, figures, words, JSON and CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tests.report_factories import (
    DISAGREE,
    LEVELS,
    level_trials,
    renumbered,
    result,
    scaling_trials,
    watts,
)

from linewatt.analysis.cases.summary import summarise
from linewatt.model import Case, EndResult, Provenance, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.printing import html
from linewatt.report.table import Cell, Table
from linewatt.report.trials import terminal
from linewatt.report.trials.charts.components import end_breakdowns
from linewatt.report.trials.charts.power import level_figures
from linewatt.report.trials.digest import case_rows, csv_columns, digest_document, digest_of, trial_rows
from linewatt.report.trials.settings.levels import level_cases, level_table

TCP = Case("tcp", "h1", "h2", instances=2)


def tables(trials: Sequence[Trial]) -> tuple[Table, ...]:
    view = digest_of(result(trials))
    return tuple(level_table(cases, view.marks) for cases in level_cases(view.levels))


def warnings(table: Table) -> list[str]:
    """What stands at each level where the curve is doubtful."""
    return [row.keys[0].warning for row in table.rows if not row.style]


def scores(table: Table) -> list[Cell]:
    return [row.cells[-2] for row in table.rows if row.style == "score"]


def figures(trials: Sequence[Trial]) -> tuple[Figure, ...]:
    return level_figures(level_cases(digest_of(result(trials)).levels), runs_of(trials))


def column(table: Table, key: str) -> list[str]:
    at = [head.key.removesuffix("_mean") for head in table.heads].index(key)
    return [row.cells[at].text for row in table.rows if not row.style]


def shown(trials: Sequence[Trial], width: int | None = 120) -> str:
    console = Console(file=StringIO(), width=width or 400, color_system=None)
    console.print(terminal.show_trials(digest_of(result(trials)), width=width))
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def page(trials: Sequence[Trial]) -> str:
    return html.render_html(digest_of(result(trials)))


def means(figure: Figure) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == "mean"]


def test_the_table_has_every_level_what_was_asked_for_what_arrived_and_the_score() -> None:
    receiver, sender = tables(level_trials(TCP))
    assert receiver.title == "TCP, h1 → h2, 2 instances: load levels, receiver h2"
    names = [row.keys[0].text for row in receiver.rows]
    assert names == ["100 %", "50 %", "10 %", "active idle", "overall score"]
    assert column(receiver, "target_bps") == ["10.00", "5.000", "1.000", "0"]
    assert column(receiver, "throughput_bps") == ["10.00", "5.000", "1.000", "0"]
    assert column(receiver, "target_deviation_ratio") == ["0.0", "0.0", "0.0", "–"]
    assert column(receiver, "receiver_cpu_cores") == ["100.0"] * 4
    assert column(receiver, "receiver_system_w") == ["250.0", "210.0", "190.0", "180.0"]
    assert column(receiver, "receiver_system_mbps_per_w") == ["40.00", "23.81", "5.26", "–"]
    [score] = scores(receiver)
    assert score.text == "19.28"  # 16 Gbps ÷ 830 W
    assert score.mark is None
    assert receiver.said("absence") == ("Off target, System efficiency: nothing is sent at active idle",)
    assert column(sender, "sender_cpu_cores") == ["60.0"] * 4
    assert scores(sender) == []


def test_udp_levels_have_their_loss() -> None:
    table, _ = tables(level_trials(replace(TCP, test="udp-1500")))
    assert column(table, "lost_ratio") == ["12.5"] * 4


@pytest.mark.parametrize(("arrived", "beside"), [(0.9, "10.0 % below it"), (1.1, "10.0 % above it")])
def test_a_missed_level_says_so_in_words_at_its_row_and_at_the_score(arrived: float, beside: str) -> None:
    trials = level_trials(TCP, met={0.5: arrived})
    table, _ = tables(trials)
    assert warnings(table) == ["", "missed", "", ""]
    [level, score] = table.said("doubt")
    assert level.startswith(f"50 %: missed its target of 5.000 Gbps: throughput is {beside}")
    assert "the curve is not at this load here" in level
    assert score == "overall: the score counts 1 level that missed the load asked for"
    for text in (page(trials), shown(trials)):
        plain = " ".join(re.sub(r"<[^>]*>", " ", text).split())
        assert level in plain
        assert score in plain
        assert "50 % missed" in plain


def test_a_missed_level_says_whether_it_was_sent() -> None:
    late = level_trials(TCP, met={0.5: 0.9})
    assert "and only 4.500 Gbps was sent" in tables(late)[0].said("doubt")[0]
    lost = [replace(one, offered_bps=one.target_bps) for one in late]
    assert "all of it was sent, but not all arrived" in tables(lost)[0].said("doubt")[0]


def test_levels_that_were_met_have_no_remark() -> None:
    table, _ = tables(level_trials(TCP, met={0.5: 0.985}))
    assert table.said("doubt") == ()
    assert warnings(table) == [""] * 4


def test_a_level_that_failed_is_a_dash_and_unsure() -> None:
    trials = [
        replace(one, status="failed", reason="h2: gone", throughput_bps=None)
        if one.case.load_level == 0.5
        else one
        for one in level_trials(TCP)
    ]
    table, _ = tables(trials)
    assert column(table, "throughput_bps")[1] == "–"
    assert warnings(table)[1] == "unsure"
    assert "50 %: not known whether the load was what was asked for" in table.said("doubt")[0]
    assert "Overall score: a level has no throughput" in table.said("absence")
    assert table.rows[1].cells[-1].text == "0/2"


def test_pairs_with_other_targets_are_told_at_every_level() -> None:
    other = replace(TCP, sender="h3", receiver="h4")
    trials = renumbered(level_trials(TCP), level_trials(other, maximum_bps=8e9))
    table = tables(trials)[0]
    assert warnings(table)[:4] == ["unequal"] * 3 + [""]
    assert "not offered the same rate, but 4.000 Gbps to 5.000 Gbps" in table.said("doubt")[1]


def test_standard_tables_and_figures_leave_levels_out_and_say_where_they_are() -> None:
    trials = level_trials(TCP)
    view = digest_of(result(trials))
    assert [one.case.load_level for group in view.groups for one in group.summaries] == [None]
    text = page(trials)
    said = "4 cases at load levels (100 %, 50 %, 10 %, active idle) are under “Load levels”"
    assert text.count(f'<a href="#levels">{said}</a>') == 3  # scalability, power, CPU by role
    assert shown(trials).count(said) == 1
    scalability = text[text.index('id="scalability"') : text.index('id="power"')]
    assert re.sub(r"<details>.*?</details>", "", scalability, flags=re.DOTALL).count("<tbody>") == 1
    assert "idle</th>" not in scalability


def test_levels_alone_are_not_called_nothing() -> None:
    text = page([one for one in level_trials(TCP) if one.case.load_level is not None])
    assert "No trial is stored yet" not in text
    assert "No case has been measured yet" not in text


def test_a_campaign_without_levels_says_nothing_of_them() -> None:
    trials = scaling_trials((1, 2), 1)
    assert "load level" not in page(trials).lower()
    assert "load level" not in shown(trials).lower()
    document = digest_document(digest_of(result(trials)))
    assert document["load_levels"] == []
    assert document["cases"][0]["load_level_remark"] is None


def test_the_breakdown_is_of_the_case_at_full_rate_even_where_a_level_reached_more() -> None:
    cpu = watts("cpu", 100.0)
    trials = [
        replace(one, receiver=replace(one.receiver, power=(*one.receiver.power, cpu)))
        for one in level_trials(TCP, met={-1.0: 0.97})
        if one.receiver is not None
    ]
    [found] = end_breakdowns(digest_of(result(trials)))
    assert found.case.load_level is None


def test_a_level_that_its_sender_does_not_keep_up_with_is_told_beside_the_level_alone() -> None:
    full = [one for one in level_trials(TCP, met={0.5: 0.9}) if one.case.load_level == 0.5]
    (summary,) = summarise(
        [replace(one, sender=_busy(one.sender), receiver=_spare(one.receiver)) for one in full]
    )
    assert summary.limit.kinds == ("sender-app-cpu",)
    assert summary.case_flags == ()


def _busy(end: EndResult | None) -> EndResult:
    assert end is not None
    assert end.app_cpu is not None
    return replace(end, app_cpu=replace(end.app_cpu, idle_ratio=0.0))


def _spare(end: EndResult | None) -> EndResult:
    assert end is not None
    assert end.app_cpu is not None
    return replace(end, irq_cpu=None, app_cpu=replace(end.app_cpu, idle_ratio=0.9))


def test_the_terminal_table_is_aligned_and_fits() -> None:
    trials = renumbered(
        level_trials(TCP, provenance="simulated"),
        level_trials(replace(TCP, instances=1), provenance="simulated"),
    )
    text = shown(trials, width=120)
    part = text[text.index("TCP: load levels, receiver h2") : text.index("TCP: load levels, sender h1")]
    lines = part.splitlines()
    assert max(map(len, lines)) <= 120
    rows = [line for line in lines if re.search(r"(\d %|active idle) +\d", line)]
    assert len(rows) == 8
    assert len({row.rindex("sim") for row in rows if "active" not in row}) == 1
    scores = [line for line in lines if "overall score" in line]
    assert len(scores) == 2
    assert {line.rindex("sim") for line in scores} == {rows[0].rindex("sim")}
    assert "h1 → h2, 1 instance " in part
    assert "– Off target, System efficiency: nothing is sent at active idle" in part


def test_on_a_narrow_terminal_the_level_stays_beside_its_numbers() -> None:
    text = shown(level_trials(TCP), width=50)
    part = text[text.index("load levels, receiver") : text.index("load levels, sender")]
    assert part.count("active idle  ") == part.count("Level ") == 2


@pytest.mark.parametrize(
    ("provenance", "mark", "word"),
    [
        ("simulated", "sim", "simulated"),
        ("estimate", "est", "estimated"),
        ("datasheet", "sheet", "from datasheet"),
    ],
)
def test_watts_that_were_not_measured_are_marked_at_every_level_and_score(
    provenance: Provenance, mark: str, word: str
) -> None:
    table, _ = tables(level_trials(TCP, provenance=provenance))
    for row in table.rows[:-1]:
        assert {cell.mark for cell in row.cells[-3:-1] if not cell.missing} == {mark}
    assert [score.mark for score in scores(table)] == [mark]
    assert table.provenance == word
    assert [head.provenance for head in table.heads[-3:-1]] == [word, word]
    for figure in figures(level_trials(TCP, provenance=provenance)):
        assert figure.title.endswith(f", {word}")
        assert word in render_svg(figure.spec), "in the drawing itself"
        assert {row["look"] for row in means(figure)} == {word}
        assert all(row["hollow"] for row in means(figure))
        assert "hollow points" in figure.caption
        assert "measured watts" not in figure.caption


def test_measured_watts_are_solid_and_filled_and_need_no_word() -> None:
    for figure in figures(level_trials(TCP)):
        assert figure.title.endswith("load, system")
        assert "Solid line, filled points: measured watts" in figure.caption
        assert "hollow" not in figure.caption
        assert not any(row["hollow"] for row in means(figure))


def test_one_simulated_level_makes_a_dotted_line_with_one_hollow_point() -> None:
    mixed = [
        replace(one, receiver=replace(one.receiver, power=(watts("system", 210.0, provenance="simulated"),)))
        if one.case.load_level == 0.5 and one.receiver
        else one
        for one in level_trials(TCP)
    ]
    efficiency, power = figures(mixed)
    assert {row["line"] for row in means(efficiency)} == {"simulated"}
    assert [row["hollow"] for row in means(power)] == [False, True, False, False]
    assert "partly simulated" in efficiency.title
    assert "measured watts" in power.caption
    assert "simulated watts" in power.caption


def test_figures_are_efficiency_and_power_with_active_idle_means_spread_and_every_trial() -> None:
    efficiency, power = figures(level_trials(TCP))
    assert [row["x"] for row in means(efficiency)] == [100, 50, 10]
    assert [row["x"] for row in means(power)] == [100, 50, 10, 0]
    assert [row["value"] for row in means(power)] == [250, 210, 190, 180]
    assert means(efficiency)[1]["value"] == pytest.approx(23.81, abs=0.01)
    assert all(row["low"] < row["value"] < row["high"] for row in means(power))
    runs = [row for row in power.spec["data"]["values"] if row["kind"] == "run"]
    assert len(runs) == 2 * len(LEVELS)
    assert "active idle 180.0 W" in power.description
    assert "50 % 23.81 Mbps/W" in efficiency.description


def test_a_missed_level_is_a_diamond_that_the_caption_explains() -> None:
    efficiency, _ = figures(level_trials(TCP, met={0.5: 0.9}))
    assert [row["state"] for row in means(efficiency)] == ["met", "missed", "met"]
    assert "Diamond: the level missed its target" in efficiency.caption
    assert "(missed)" in efficiency.description
    assert "Diamond" not in figures(level_trials(TCP))[0].caption


def test_dashes_and_hollow_points_reach_the_drawing() -> None:
    simulated, _ = figures(level_trials(TCP, provenance="simulated"))
    measured, _ = figures(level_trials(TCP))
    drawn = render_svg(simulated.spec)
    assert 'stroke-dasharray="2,3"' in drawn
    assert drawn.count('fill="var(--ground, #ffffff)"') == 3
    assert 'stroke-dasharray="2,3"' not in render_svg(measured.spec)


def many(count: int) -> tuple[Trial, ...]:
    return renumbered(*(level_trials(replace(TCP, instances=n), trials=1) for n in range(1, count + 1)))


def test_up_to_four_cases_share_a_figure_more_are_panels_and_of_many_the_extremes() -> None:
    four, five, many_more = figures(many(4))[0], figures(many(5))[0], figures(many(24))[0]
    assert "facet" not in four.spec
    assert len(four.spec["encoding"]["color"]["scale"]["domain"]) == 4
    assert five.spec["facet"]["sort"] == [f"h1 → h2, {n} instance{'s' if n > 1 else ''}" for n in range(1, 6)]
    assert five.wide
    assert len({row["series"] for row in means(many_more)}) == 10
    assert "Drawn are the 5 highest and the 5 lowest of 24 lines; the tables have all." in many_more.caption


def test_without_watts_there_is_a_table_and_no_figure() -> None:
    trials = level_trials(TCP, provenance=None)
    assert [scores(table) for table in tables(trials)] == [[], []]
    assert "receiver_system_w_mean" not in [head.key for head in tables(trials)[0].heads]
    assert figures(trials) == ()
    assert 'id="levels"' in page(trials)


def test_json_has_every_curve_with_units_in_its_keys() -> None:
    document = digest_document(digest_of(result(level_trials(TCP, met={0.5: 0.9}, provenance="simulated"))))
    assert document["schema_version"] == 1
    receiver, sender = document["load_levels"]
    assert (receiver["role"], receiver["host"], receiver["system_scope"]) == ("receiver", "h2", "system")
    assert receiver["overall_score_mbps_per_w"] == pytest.approx(15500 / 830)
    assert receiver["overall_score_mbps_per_w_provenance"] == "simulated"
    assert "1 level" in receiver["overall_score_mbps_per_w_remark"]
    assert sender["overall_score_mbps_per_w"] is None
    assert sender["overall_score_mbps_per_w_provenance"] is None
    assert sender["overall_score_mbps_per_w_reason"] == "a level has no system power"
    full, half, _, idle = receiver["levels"]
    assert (half["load_level"], half["target_missed"], full["target_missed"]) == (0.5, True, False)
    assert half["target_bps_mean"] == 5e9
    assert half["throughput_bps_mean"] == 4.5e9
    assert half["target_deviation_ratio_mean"] == pytest.approx(-0.1)
    assert half["cpu_cores_mean"] == 1.0
    assert (half["system_w_mean"], half["system_w_provenance"]) == (210.0, "simulated")
    assert half["system_mbps_per_w_mean"] == pytest.approx(4500 / 210, rel=1e-3)
    assert "missed its target" in half["remark"]
    assert (idle["system_mbps_per_w_mean"], idle["system_w_mean"]) == (None, 180.0)
    assert full["remark"] is None


def test_csv_has_target_deviation_score_and_remark_beside_each_level() -> None:
    rows = case_rows(digest_of(result(level_trials(TCP, met={0.5: 0.9}))))
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(csv_columns()))}
    full_rate, _, half, *_ = rows
    assert half["target_bps_mean"] == 5e9
    assert half["target_deviation_ratio_mean"] == pytest.approx(-0.1)
    assert half["overall_score_receiver_mbps_per_w"] == pytest.approx(15500 / 830)
    assert half["overall_score_receiver_mbps_per_w_provenance"] == "measured"
    assert half["overall_score_sender_mbps_per_w"] is None
    assert "missed its target" in half["load_level_remark"]
    assert full_rate["target_bps_mean"] is None
    assert full_rate["overall_score_receiver_mbps_per_w"] is None


def test_csv_of_trials_tells_levels_apart_and_has_what_was_asked_for() -> None:
    trials = level_trials(TCP, trials=1)
    kept = [{name: row.get(name) for name in csv_columns(trials=True)} for row in trial_rows(trials)]
    assert [row["load_level"] for row in kept] == [None, 1.0, 0.5, 0.1, 0.0]
    assert [row["target_bps"] for row in kept] == [None, 10e9, 5e9, 1e9, 0.0]


def test_flags_of_levels_are_counted_and_marked_in_their_table() -> None:
    trials = [
        replace(one, flags=(DISAGREE,)) if one.case.load_level == 0.1 else one for one in level_trials(TCP)
    ]
    table, _ = tables(trials)
    assert [row.marks for row in table.rows if not row.style] == [(), (), ("a",), ()]
    assert '<a class="mark" href="#finding-a"' in page(trials)[page(trials).index('id="levels"') :]


def test_hostile_names_stay_text() -> None:
    trials = level_trials(replace(TCP, sender="<script>alert(1)</script>", receiver="h\x1b[31m2"))
    assert "<script" not in page(trials)
    assert all("\x1b" not in render_svg(figure.spec) for figure in figures(trials))
    assert "\x1b" not in shown(trials)


def test_at_active_idle_nothing_arrived_which_is_not_a_throughput_that_was_not_recorded() -> None:
    idle = next(one for one in digest_of(result(level_trials(TCP))).summaries if one.case.load_level == 0)
    assert idle.receiver_power is not None
    assert idle.receiver_power.reasons["system_bps_per_w"] == "nothing arrived"


def test_panels_are_told_apart_by_the_end_of_their_names() -> None:
    long = replace(TCP, sender="a-long-host-name-01", receiver="another-host-02")
    cases = [replace(long, instances=n, direction=d) for n in (1, 2, 4) for d in ("forward", "reverse")]
    drawn = render_svg(figures(renumbered(*(level_trials(case, trials=1) for case in cases)))[0].spec)
    assert "another-host-02, reverse, 4 instances" in drawn
    assert "…" not in drawn
