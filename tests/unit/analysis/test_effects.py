# SPDX-License-Identifier: Apache-2.0
"""What is seen inside a window makes a figure doubtful only where it changes it by more than its interval."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report_factories import end, result, trial
from tests.unit.analysis.test_steadiness import run_of
from tests.unit.program.test_wiring import LIES
from tests.wiring import GOODPUT_BPS, rates, told

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.comparison import points
from linewatt.analysis.comparison.case_runs import runs_by_case
from linewatt.analysis.findings import Finding, gather_findings
from linewatt.analysis.flags.effects import light_codes
from linewatt.analysis.metrics.of_trial import METRIC_BY_NAME
from linewatt.analysis.statistics import shapes
from linewatt.analysis.statistics.steadiness import SeriesStep, Slope
from linewatt.engine.case_text import outcome_of_trial
from linewatt.engine.measuring.checks.steadiness import throughput
from linewatt.model import Case, Flag, Trial, Window
from linewatt.report.findings import finding_notes
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.digest import digest_of

CASE = Case("tcp", "h1", "h2")
THROUGHPUT = METRIC_BY_NAME["throughput_bps"].response


def dip(effect_ratio: float | None, code: str = "throughput-dips", where: str = "window") -> Flag:
    return Flag(code, where, "seen", "do", effect_ratio)


def runs(*bps: float, effects: dict[int, float | None], code: str = "throughput-dips") -> list[Trial]:
    """Runs of a case; ``effects`` is of those that have the finding, by number."""
    return [
        trial(
            number,
            CASE,
            one,
            0.9,
            flags=(dip(effects[number], code, "window" if "throughput" in code else "h2"),)
            if number in effects
            else (),
        )
        for number, one in enumerate(bps, start=1)
    ]


def findings_of(trials: list[Trial]) -> tuple[Finding, ...]:
    return tuple(
        one for one in gather_findings(trials, summarise(trials)).every if one.code.startswith("throughput-")
    )


@pytest.mark.parametrize(
    ("trials", "rank"),
    [
        (runs(9e9, effects={1: -0.007}), "note"),
        (runs(9e9, effects={1: -0.012}), "doubtful"),
        (runs(9e9, effects={1: None}), "doubtful"),
        (runs(9e9, 9.1e9, 9.05e9, effects={2: -0.02}), "note"),  # 0.7 % of the mean, which is ± 1.4 %
        (runs(9e9, 9.1e9, 9.05e9, effects={1: -0.02, 2: -0.02, 3: 0.02}), "doubtful"),
        (runs(9e9, 9.001e9, 9.0005e9, effects={2: -0.02}), "doubtful"),  # ± 0.01 %
        (runs(9e9, 9.1e9, 6e9, effects={3: -0.33}), "doubtful"),  # the dip is why the interval is wide
    ],
)
def test_a_dip_is_a_note_where_it_changes_the_mean_less_than_that_is_known(
    trials: list[Trial], rank: str
) -> None:
    found = findings_of(trials)
    assert {one.kind.rank for one in found} == {rank}
    assert gather_findings(trials, summarise(trials)).doubts(CASE, "throughput") == (
        () if rank == "note" else ("throughput-dips",)
    )
    (note,) = [
        one for one in finding_notes(gather_findings(trials, summarise(trials))) if one.code == found[0].code
    ]
    assert bool(note.concerns) == (rank == "doubtful")


def test_all_findings_on_a_figure_are_weighed_together() -> None:
    trials = runs(9e9, 9.1e9, 9.05e9, effects={1: -0.03})
    assert light_codes(trials) == {"throughput-dips"}
    warm = replace(trials[1], flags=(dip(-0.03, "warm-up-in-window"),))
    assert light_codes([trials[0], warm, trials[2]]) == frozenset()


@pytest.mark.parametrize(
    "course", ["warm-up-in-window", "throughput-drifts", "throughput-dips", "throughput-oscillates"]
)
def test_what_names_a_cause_is_said_before_how_throughput_ran(course: str) -> None:
    flags = (dip(-0.2, course), Flag("cpu-quota-throttled", "h1", "seen", "do"))
    trials = [replace(one, flags=flags) for one in runs(9e9, effects={})]
    codes = [finding.code for finding in gather_findings(trials, summarise(trials)).every]
    assert codes == ["cpu-quota-throttled", course]


def test_cpu_use_is_weighed_by_the_interval_of_the_end_that_is_known_best() -> None:
    def of_cores(*receiver: float) -> list[Trial]:
        found = runs(*[9e9] * len(receiver), effects={1: 0.02}, code="cpu-unsteady")
        ends = [end("h1", "sender", cores, 0.5, 0.5) for cores in (1.0, 1.02, 1.01)]
        return [
            replace(one, sender=sender, receiver=end("h2", "receiver", cores, 0.5, 0.5))
            for one, sender, cores in zip(found, ends, receiver, strict=True)
        ]

    assert light_codes(of_cores(1.0, 1.02, 0.99)) == {"cpu-unsteady"}
    assert light_codes(of_cores(1.0, 1.0, 1.0)) == frozenset()


def test_comparisons_doubt_what_summaries_doubt() -> None:
    for effect, is_light in ((-0.007, True), (-0.012, False)):
        trials = runs(9e9, effects={1: effect})
        (summary,) = summarise(trials)
        runs_of_case = runs_by_case(trials)[CASE]
        (flag,) = runs_of_case.flags
        assert THROUGHPUT is not None
        doubts = points._doubts(runs_of_case, THROUGHPUT)
        assert doubts == (() if is_light else (("throughput-dips", 1),))
        assert flag.is_light == is_light
        assert [one.is_light for one in summary.flags if one.code == flag.code] == [is_light]


def test_a_trial_says_in_passing_only_what_changes_it() -> None:
    (light,), (heavy,) = runs(9e9, effects={1: -0.007}), runs(9e9, effects={1: -0.2})
    assert "doubtful" not in outcome_of_trial(light)
    assert "doubtful: Throughput dips" in outcome_of_trial(heavy)


@pytest.mark.parametrize(
    ("shape", "effect"),
    [
        (shapes.Lows(1, 5, 6, 0.6, 1.0), -0.02),
        (shapes.Segment(5, 7, 0.5, 1.0), -0.05),
        (SeriesStep(2, 0.5, 1.0), -0.05),
        (SeriesStep(18, 1.0, 0.5), -0.05),
        (Slope(0.9, 1.1), 0.1),
        (shapes.Wave(4.0, 0.2, 1.0), None),
    ],
)
def test_the_effect_is_what_the_mean_differs_by_from_that_of_the_longer_part(
    shape: shapes.SeriesShape, effect: float | None
) -> None:
    assert shapes.effect_ratio(shape, 20) == (effect if effect is None else pytest.approx(effect))


def test_a_dip_names_its_effect_in_the_evidence() -> None:
    high = GOODPUT_BPS * 0.99
    dipped = told(rates([high] * 10 + [1e9] + [high] * 13)).trial()
    (flag,) = [one for one in dipped.flags if one.code == "throughput-dips"]
    assert flag.effect_ratio == pytest.approx(-0.0446, abs=0.001)
    assert flag.evidence.endswith("; it changes the mean by −4.5 %")


def test_one_low_interval_at_the_end_of_a_steady_window_is_a_note() -> None:
    """One of 39, at two thirds of the rate: the mean is 0.9 % off."""
    rates_bps = [3e9 + 1e6 * (at % 5) for at in range(38)] + [2e9]
    (flag,) = throughput([run_of(rates_bps)], Window(0, 39))
    assert flag.effect_ratio == pytest.approx(-0.0086, abs=0.0003)
    assert light_codes([trial(1, CASE, 3e9, 0.9, flags=(flag,))]) == {flag.code}


@pytest.mark.parametrize("lie", ["window-edges-contaminated: before", "load-start-unknown"])
def test_a_part_of_the_window_without_the_load_is_weighed_by_its_length(lie: str) -> None:
    code = lie.partition(":")[0]
    flags = {flag.code: flag for flag in told(LIES[lie]).trial().flags}
    effect = flags[code].effect_ratio
    assert effect is not None
    assert effect < 0
    assert (
        f"{-100 * effect:.0f} %" in flags[code].evidence or f"{-100 * effect:.1f} %" in flags[code].evidence
    )


def test_the_first_screen_doubts_only_the_case_that_a_dip_changes() -> None:
    pair = Case("tcp", "h1", "h2", instances=2)
    light = runs(9e9, effects={1: -0.007})
    screen = first_screen_of_trials(digest_of(result(light)))
    assert screen is not None
    assert "doubtful" not in screen.trust
    heavy = trial(2, pair, 18e9, 1.8, flags=(dip(-0.1),))
    view = digest_of(result([*light, heavy]))
    assert view.findings.doubts(CASE, "throughput") == ()
    assert view.findings.doubts(pair, "throughput") == ("throughput-dips",)
    both = first_screen_of_trials(view)
    assert both is not None
    assert "throughput, CPU: doubtful (a)" in both.trust
