# SPDX-License-Identifier: Apache-2.0
"""Numbers that documents state are those of the code: each sentence is made of its constant, and looked for.

To change a number, change the constant and the sentence; this test says which sentence is left behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.test_modes import found as two_modes_found
from tests.unit.analysis.test_modes import one_mode
from tests.unit.analysis.test_stats import MEAN_BPS, SHAPES, runs, student_half_widths

from linewatt.analysis.cases.load_levels import MISSED_RATIO
from linewatt.analysis.comparison import verdicts
from linewatt.analysis.comparison.comparable import OFFLOADS
from linewatt.analysis.power import energy
from linewatt.analysis.power import meters as dynamics
from linewatt.analysis.statistics import contrasts, modes, permutation, repeats, stats
from linewatt.analysis.statistics import steadiness as steady
from linewatt.analysis.statistics.rate_agreement import AGREES
from linewatt.analysis.statistics.stats import estimate
from linewatt.engine.measuring.window_power import MOST_W
from linewatt.features.advice.psu import advice as psu_advice
from linewatt.features.advice.psu import supplies as psu
from linewatt.features.advice.psu.tables import CERTIFIED, LEVELS
from linewatt.features.soak import figures as soaks
from linewatt.findings import cpu, idle, meters, network, steadiness, verdict
from linewatt.findings.limits import FULL_RATIO
from linewatt.hosts.facts import parsers as fact_parsers
from linewatt.loads.base import version_text
from linewatt.loads.iperf3 import LOAD
from linewatt.loads.iperf3 import load as iperf3
from linewatt.loads.iperf3.parser import MAX_DURATION_S

ROOT = Path(__file__).parents[3]
WORDS = ("none", "one", "two", "three", "four", "five")


def percent(ratio: float) -> str:
    return f"{100 * ratio:g} %"


STATED: dict[str, tuple[str, ...]] = {
    "metrics.md": (
        f"**CI of a mean**, {percent(stats.CONFIDENCE_LEVEL)}: Student's t below {stats.BCA_FROM} trials",
        f"From {stats.BCA_FROM} on the BCa bootstrap ({stats.RESAMPLES:,} resamples, fixed seed)",
        f"**Two modes** in {modes.FEWEST_RUNS} or more trials",
        f"a gap in the sorted trials of more than {modes.SDS_APART:g} SDs",
        f"{percent(modes.PART_APART)} of the mean, {WORDS[modes.A_SIDE]} trials a side",
        f"a gap of {modes.GAP_SDS:g} SDs, {WORDS[modes.A_SIDE_OVERLAPPING]} trials a side",
        f"a slope over time of {percent(verdict.VISIBLE_DRIFT)} or more with p < {steady.DRIFT_CHANCE:g}",
        f"from {steady.FEWEST_RUNS} trials: `drifts-over-trials`",
        f"with p < {steady.DRIFT_CHANCE:g}, from {steady.FEWEST_DEGREES} degrees of freedom",
        f"would be {percent(verdict.SEARCH_DRIFT)} or more over the whole search",
        f"from {steadiness.FEWEST_TO_DIFFER} trials, {percent(verdict.VISIBLE_DRIFT)} or more from the mean",
        f"(Student's t, p < {steady.FIRST_CHANCE:g}): `first-trial-differs`",
        f"lowest intervals must take {percent(steadiness.MATTERING_RATIO)} from the mean",
        f"Each must be {percent(steadiness.VISIBLE_CHANGE_RATIO)} or more",
        f"lowest intervals wherever they are ({percent(steadiness.LOW_DEPTH_RATIO)} below all others",
        f"after stopping at {', '.join(map(str, repeats.LOOKS[:3]))} or {repeats.LOOKS[3]} trials",
        f"missing for more than {WORDS[energy.MAX_GAP_READINGS]} readings",
        f"fewer than {meters.FEWEST_SAMPLES} samples",
        f"the {WORDS[energy.SAME_WAY]} largest are added up",
        f"would make more than {MOST_W / 1e3:g} kW",
        f"differ by more than {percent(idle.DRIFT_RATIO)}",
    ),
    "sensors.md": (
        f"by more than {cpu.HIDDEN_CORES:g} cores, {percent(cpu.HIDDEN_RATIO)}, and {cpu.HIDDEN_SDS:g} "
        f"standard errors of a count of {cpu.TICKS_HZ} ticks a second",
        f"beyond its own use by {cpu.EXCESS_CORES:g} cores and {percent(cpu.EXCESS_RATIO)}",
        f"more than {cpu.FOREIGN_CORES:g} cores and {percent(cpu.FOREIGN_RATIO)} of the load's above idle",
        f"took {cpu.STOLEN_CORES:g} cores and {percent(cpu.STOLEN_RATIO)} of what was wanted",
        f"more than {cpu.BUSY_IDLE_CORES:g} cores, {cpu.BUSY_IDLE_HOST:g} for each CPU of the host, and "
        f"{percent(cpu.BUSY_IDLE_USED)} of what the case used",
        f"carried {percent(network.SLACK_RATIO)} and {network.FLOOR_BPS / 1e6:g} Mbit/s more",
        f"ran more than {percent(cpu.FREQUENCY_DIFFERENCE)} slower in the last third of the window",
        f"({cpu.FREQUENCY_SDS:g} standard errors)",
        f"ran more than {percent(cpu.FREQUENCY_DIFFERENCE)} below the host's base frequency",
    ),
    "power.md": (
        f"one that needs over {dynamics.VAGUE_S:g} s and over {dynamics.VAGUE_REFRESHES:g} of its refreshes",
        f"at least {dynamics.FEWEST_IN_CLUSTER} of them, and {percent(dynamics.CLUSTER_SHARE)} of all",
        f"{percent(dynamics.MIN_STEP_RATIO)} of the power and {dynamics.MIN_STEPS_OF_METER} times its noise",
        f"over 0 to {dynamics.AVERAGING_S[-1]:g} s and delays of 0 to {dynamics.DELAY_S[-1]:g} s",
        f"efficient from about {percent(psu.GOOD_FROM)} to {percent(psu.GOOD_TO)} of its rating",
        f"± {percent(psu.TOLERANCE_RATIO)} of the reading, and to ± {percent(psu.TOLERANCE_LOW_RATIO)} up to "
        f"{percent(psu.GOOD_FROM)} load",
        f"stays within {percent(psu.GOOD_TO)} of what the units carry",
        f"{psu_advice.RATINGS_W[0]:g} W to {psu_advice.RATINGS_W[-1]:g} W",
        f"if it saves {psu_advice.LEAST_SAVED_W:g} W or more",
        f"{psu_advice.HOURS_PER_YEAR:,} h",
    ),
    "report.md": (
        f"It is 1 where {modes.FEWEST_RUNS} or more trials show one",
        f"the {percent(stats.CONFIDENCE_LEVEL)} CI of their mean",
        f"more than {percent(MISSED_RATIO)} off its target",
        f"had targets more than {percent(MISSED_RATIO)} apart",
        f"more than {percent(idle.DRIFT_RATIO)} and one step of the meter",
    ),
    "compare.md": (
        f"{percent(verdicts.MATTERS_RATIO)} unless said; loss {100 * verdicts.MATTERS_LOSS:g} points",
        f"at most {percent(verdicts.WIDEST * verdicts.MATTERS_RATIO)}, or the factor where that is more; "
        f"{100 * verdicts.WIDEST * verdicts.MATTERS_LOSS:g} points of loss",
        f"fewer than {contrasts.MIN_RUNS} on a side",
        f"at most {permutation.EXACT_MOST:,}, else {permutation.DRAWS:,} of them",
        f"A change counts when both are below {contrasts.ALPHA:g}",
        f"iperf3 before {version_text(LOAD.threaded_from)} and from it on",
    ),
    "loads.md": (
        f"Works with iperf3 {version_text(iperf3.MINIMUM_VERSION)} and later",
        f"`--dont-fragment`, {version_text(iperf3.DONT_FRAGMENT_FROM)} and later",
        f"in reverse {version_text(iperf3.ZEROCOPY_REVERSE_FROM)} and later",
        f"| before {version_text(LOAD.threaded_from)} | one thread serves all streams of a process |",
        f"| {version_text(LOAD.threaded_from)} and later | a thread a stream",
        f"| {version_text(LOAD.busy_waits[0])}, 3.17 | a rate-limited sender spins",
        f"| {version_text(LOAD.busy_waits[1])} and later | no pacing timer of its own",
        f"linewatt asks for {iperf3.PACING_TIMER_US} µs",
        f"A process runs {MAX_DURATION_S:,} s at most",
    ),
    "check.md": (f"iperf3 {version_text(LOAD.busy_waits[0])} and 3.17 with a rate (they spin)",),
    "soak.md": (
        f"slices below {percent(soaks.STALL_SHARE)} of the median rate",
        f"used {FULL_RATIO:g} of a core or more for over {percent(soaks.SATURATED_TIME)} of the time",
        f"it makes {percent(soaks.VISIBLE_DRIFT)} or more over the soak",
        f"differ by more than {percent(AGREES)}",
    ),
}
"""document → what it says, made of the constants"""


def text(document: str) -> str:
    """A document as one line."""
    return " ".join((ROOT / "docs" / document).read_text().split())


@pytest.mark.parametrize(
    ("document", "sentence"),
    [(document, sentence) for document, every in STATED.items() for sentence in every],
    ids=lambda one: one[:40],
)
def test_a_document_states_the_number_of_the_code(document: str, sentence: str) -> None:
    assert sentence in text(document), f"docs/{document} does not say: {sentence}"


def test_the_levels_of_80_plus_are_those_that_are_computed_with() -> None:
    page = text("power.md")
    for level in LEVELS:
        cells = []
        for mains in ("230", "115"):
            points = CERTIFIED[mains][level]
            usual = " / ".join(f"{points[at]:g}" for at in (20, 50, 100))
            cells.append(usual + (f", and {points[10]:g} at 10 %" if 10 in points else ""))
        assert f"| {level.capitalize()} | {' | '.join(cells)} |" in page


def test_offloads_that_refuse_a_comparison_are_facts_of_every_host() -> None:
    """One that is not collected would never be compared."""
    assert set(OFFLOADS) <= set(fact_parsers.OFFLOADS)


def test_versions_of_iperf3_are_stated_in_one_place_of_the_code() -> None:
    """Others import them: a number written again drifts."""
    written = re.compile(r"\(3, (?:2|10|11|16|18)\)")
    owners = {ROOT / "src/linewatt/loads/iperf3/load.py"}
    found = {
        path
        for path in (ROOT / "src/linewatt").rglob("*.py")
        if "iperf3" in path.read_text() and written.search(path.read_text())
    }
    assert found - owners == set()


def test_loads_md_names_the_versions_of_iperf3_that_captures_are_of() -> None:
    names = (ROOT / "tests/captures/iperf3").iterdir()
    versions = {one.name.partition("-")[0] for one in names}
    listed = re.search(r"checked with ([\d., and]+?)\. ", text("loads.md"))
    assert listed is not None
    assert set(re.findall(r"\d+(?:\.\d+)+", listed[1])) == versions


def row(start: str) -> list[float]:
    """The numbers of the first row of docs/metrics.md that begins so, cell by cell."""
    line = next(
        line for line in (ROOT / "docs/metrics.md").read_text().splitlines() if line.startswith(f"| {start}")
    )
    cells = line.split("|")[2:]
    return [float(one) for cell in cells for one in re.findall(r"\d+(?:\.\d+)?", cell.partition("%")[0])]


def students(shape: str, n: int) -> float:
    drawn = runs(shape, 20_000, n, seed=n)
    return float((np.abs(drawn.mean(axis=1) - MEAN_BPS) <= student_half_widths(drawn)).mean())


def bootstraps(shape: str, n: int) -> float:
    covered = 0
    for values in runs(shape, 1_000, n, seed=1).tolist():
        known = estimate(values)
        own = known.interval() if known else None
        assert isinstance(own, stats.Interval)
        covered += own.low <= MEAN_BPS <= own.high
    return covered / 1_000


@pytest.mark.parametrize(
    ("start", "n", "covers"),
    [
        ("95 % CI covers the mean, n = 5 ", 5, students),
        ("n = 10 ", 10, students),
        ("n = 20 (BCa) ", 20, bootstraps),
    ],
)
def test_the_table_of_intervals_has_what_simulation_gives(
    start: str, n: int, covers: Callable[[str, int], float]
) -> None:
    stated = row(start)
    assert [100 * covers(shape, n) for shape in SHAPES] == pytest.approx(stated, abs=0.3)


@pytest.mark.parametrize(("start", "n"), [("two modes, 70 and 30 %", 20), ("found at n = 10 ", 10)])
def test_the_table_of_modes_has_what_simulation_gives(start: str, n: int) -> None:
    drawn = one_mode(1_000, n, seed=1)
    slow = np.random.default_rng(2).random(drawn.shape) < 0.3
    (stated,) = row(start)
    assert 100 * two_modes_found(drawn * np.where(slow, 0.9, 1.0)) == pytest.approx(stated, abs=1.0)


def test_one_mode_is_taken_for_two_as_often_as_the_table_says() -> None:
    stated = row("one mode taken for two")
    found = [
        100 * two_modes_found(one_mode(1_500, n, seed=3, sigma=sigma))
        for sigma in (None, 0.2)
        for n in (10, 15, 20, 30)
    ]
    assert found == pytest.approx(stated, abs=0.3)
