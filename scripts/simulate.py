# SPDX-License-Identifier: Apache-2.0
"""``make simulate``: how often intervals and verdicts are right, where the truth is known.

Runs are drawn with fixed seeds and judged by the functions that ``show`` and ``compare`` use.
The tables go into docs/method.md; ``--quick`` takes a minute and only prints them. Exit 1: a promise is
broken.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from linewatt.analysis.comparison.matching import Match
from linewatt.analysis.comparison.rows import OF_CASES, Draft, Options, judged, measure
from linewatt.analysis.statistics.stats import BCA_FROM, estimate
from linewatt.model import Case

PAGE = Path(__file__).parents[1] / "docs" / "method.md"
BEGIN, END = "<!-- made by make simulate -->", "<!-- end of make simulate -->"
CV = 0.02
"""of runs, unless a table says otherwise"""
_SURE = 3.3
"""standard errors of a simulated share that a promise may be exceeded by, as chance of the simulation"""


@dataclass(frozen=True, slots=True)
class Size:
    """How many experiments a row of a table takes."""

    verdicts: int
    intervals: int


QUICK = Size(verdicts=400, intervals=1_000)
FULL = Size(verdicts=2_000, intervals=5_000)


@dataclass(frozen=True, slots=True)
class Promise:
    """``share`` of ``experiments`` is promised to be at most, or at least, ``bound``."""

    what: str
    share: float
    experiments: int
    bound: float
    is_upper: bool = True

    @property
    def holds(self) -> bool:
        """Whether it does, but for the chance of the simulation."""
        reach = _SURE * math.sqrt(self.bound * (1 - self.bound) / self.experiments)
        return self.share <= self.bound + reach if self.is_upper else self.share >= self.bound - reach


@dataclass(frozen=True, slots=True)
class Table:
    """Simulated shares, and those of them that are promised."""

    title: str
    words: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    promises: tuple[Promise, ...] = ()

    @property
    def markdown(self) -> str:
        """With its title as a heading."""
        lines = [
            "| " + " | ".join(cells) + " |" for cells in (self.heads, ["---"] * len(self.heads), *self.rows)
        ]
        return "\n".join([f"### {self.title}", "", self.words, "", *lines])


def _filled(*parts: str) -> str:
    return textwrap.fill(" ".join(parts), 150)


def percent(share: float) -> str:
    """``4.8 %``."""
    return f"{100 * share:.1f} %"


# Comparisons: rows that are shown together.

_FIRST = OF_CASES[0]


@dataclass(frozen=True, slots=True)
class Setup:
    """How runs of a comparison are drawn.

    ``shared`` is the correlation of the responses of a case, ``slower`` what the first row of B lacks,
    ``drift`` the relative fall from the middle of A's runs to the middle of B's, evenly with time, and
    ``first`` which side ran first.
    """

    runs: int
    cases: int = 1
    responses: int = 1
    shared: float = 0.0
    slower: float = 0.0
    drift: float = 0.0
    cv: float = CV
    first: Literal["base"] | None = None
    is_skewed: bool = False

    def logs(self, count: int) -> Any:
        """Logarithms of runs: experiments × cases × runs of A, then of B × responses."""
        draw = np.random.default_rng(1)
        shape = (count, self.cases, 2 * self.runs)
        common = _noise(draw, (*shape, 1), skewed=self.is_skewed)
        alone = _noise(draw, (*shape, self.responses), skewed=self.is_skewed)
        logs = self.cv * (math.sqrt(self.shared) * common + math.sqrt(1 - self.shared) * alone)
        logs += math.log1p(-self.drift) * (np.arange(2 * self.runs) / self.runs)[None, None, :, None]
        logs[:, 0, self.runs :, 0] += math.log1p(-self.slower)
        return logs


@cache
def comparison_shares(size: Size, setup: Setup) -> tuple[float, float]:
    """The part of comparisons with any verdict of better or worse, and with "worse" on the first row."""
    count, runs = size.verdicts, setup.runs
    logs = setup.logs(count)
    experiments = [
        [
            Draft(
                _match(case),
                OF_CASES[response],
                base=logs[at, case, :runs, response].tolist(),
                other=logs[at, case, runs:, response].tolist(),
                measured_first=setup.first,
            )
            for response in range(setup.responses)
            for case in range(setup.cases)
        ]
        for at in range(count)
    ]
    measure([draft for drafts in experiments for draft in drafts])
    told = worse = 0
    for drafts in experiments:
        rows, _ = judged(drafts, Options())
        told += any(row.outcome in ("better", "worse") for row in rows)
        worse += rows[0].outcome == "worse"
    return told / count, worse / count


def _noise(draw: Any, shape: tuple[int, ...], *, skewed: bool) -> Any:
    """Of mean 0 and SD 1: normal, or exponential towards slow runs."""
    return 1 - draw.exponential(1, shape) if skewed else draw.normal(0, 1, shape)


def _match(at: int) -> Match:
    case = Case("tcp", "h1", "h2", instances=at + 1)
    return Match(case, case)


def many_rows(size: Size) -> Table:
    """Several cases and metrics in one comparison, sides interleaved."""
    rows, promises = [], []
    for setup in (
        Setup(5),
        Setup(10),
        Setup(5, responses=5),
        Setup(10, responses=5),
        Setup(10, responses=5, shared=0.8),
        Setup(5, responses=5, is_skewed=True),
        Setup(10, responses=5, is_skewed=True),
        Setup(10, cases=4, responses=5, shared=0.5),
    ):
        false, _ = comparison_shares(size, setup)
        power = [comparison_shares(size, replace(setup, slower=slower))[1] for slower in (0.03, 0.05)]
        kind = "skewed" if setup.is_skewed else "normal"
        count = setup.cases * setup.responses
        rows.append(
            (f"{setup.runs}", f"{count}", f"{setup.shared:g}", kind, percent(false), *map(percent, power))
        )
        what = f"{count} equal rows, {setup.runs} runs a side, correlation {setup.shared:g}, {kind}"
        promises.append(Promise(what, false, size.verdicts, 0.05))
    return Table(
        "Many rows, one of them significant",
        _filled(
            "Runs of A and B are interleaved; skewed runs are exponential towards slow ones.",
            "Promised: at most",
            "5 % of comparisons of equal sides have any row that is better or worse.",
        ),
        (
            "runs a side",
            "rows",
            "correlation of metrics",
            "runs",
            "equal: any better or worse",
            "first row 3 % slower: worse",
            "5 % slower: worse",
        ),
        tuple(rows),
        tuple(promises),
    )


def one_after_the_other(size: Size) -> Table:
    """All runs of A, then all of B, on a machine that drifts."""
    rows, promises = [], []
    for runs, cv, drift in (
        (5, 0.02, 0.0),
        (5, 0.02, 0.02),
        (10, 0.02, 0.0),
        (10, 0.02, 0.02),
        (10, 0.02, 0.05),
        (20, 0.02, 0.02),
        (5, 0.005, 0.02),
        (10, 0.005, 0.02),
    ):
        setup = Setup(runs, cv=cv, drift=drift)
        ignored, _ = comparison_shares(size, setup)
        false, _ = comparison_shares(size, replace(setup, first="base"))
        steady = [Setup(runs, cv=cv, slower=slower) for slower in (0.03, 0.05, 0.1)]
        lost = [
            (comparison_shares(size, each)[1], comparison_shares(size, replace(each, first="base"))[1])
            for each in steady
        ]
        power = [f"{percent(then)} → {percent(now)}" for then, now in lost]
        rows.append(
            (f"{runs}", f"{100 * cv:g} %", f"{100 * drift:g} %", percent(ignored), percent(false), *power)
        )
        what = f"equal, A then B, {100 * drift:g} % drift, {runs} runs a side, CV {100 * cv:g} %"
        promises.append(Promise(what, false, size.verdicts, 0.05))
    return Table(
        "A, then B, on a machine that drifts",
        _filled(
            "The drift is even in time; its size is from the middle of A's runs to the middle of B's.",
            "Promised: at most 5 % of comparisons of equal sides are better or worse. The price",
            "is power: the",
            "last columns say how often a difference is found without drift, interleaved → one",
            "after the other.",
            "A change between the sides while neither runs is in the ratio, and nothing is promised of it.",
        ),
        (
            "runs a side",
            "CV",
            "drift",
            "equal: better or worse if drift is ignored",
            "as judged",
            "3 % slower: worse",
            "5 % slower: worse",
            "10 % slower: worse",
        ),
        tuple(rows),
        tuple(promises),
    )


# Intervals.

RARE = 0.1
"""the part of runs that a slow mode takes"""


@dataclass(frozen=True, slots=True)
class Source:
    """How runs are spread: ``draw`` gives an array of experiments × runs, ``mean`` is the true one."""

    name: str
    draw: Callable[[Any, tuple[int, int]], Any]
    mean: float
    promised_from: int | None = None
    """runs from which 95 % are promised, but for two points"""


def _with_rare_mode(draw: Any, shape: tuple[int, int]) -> Any:
    return draw.normal(94, 0.94, shape) * np.where(draw.random(shape) < RARE, 0.6, 1.0)


SOURCES = (
    Source("normal, CV 2 %", lambda draw, shape: draw.normal(94, 1.88, shape), 94, 3),
    Source(
        "lognormal, skewness 0.6",
        lambda draw, shape: 94 * np.exp(draw.normal(0, 0.2, shape)),
        94 * math.exp(0.02),
        3,
    ),
    Source("exponential towards slow runs", lambda draw, shape: 94 - 4 * draw.exponential(1, shape), 90),
    Source("10 % of runs 40 % slower", _with_rare_mode, 94 * (1 - 0.4 * RARE)),
)
COUNTS = (3, 5, 10, 20, 30, 50)


def intervals(size: Size) -> Table:
    """How often the 95 % interval holds the mean."""
    rows, promises = [], []
    for source in SOURCES:
        shares = [coverage(size, source, runs) for runs in COUNTS]
        rows.append((source.name, *map(percent, shares)))
        if source.promised_from is not None:
            promises += [
                Promise(
                    f"interval of {runs} runs, {source.name}", share, size.intervals, 0.93, is_upper=False
                )
                for runs, share in zip(COUNTS, shares, strict=True)
                if runs >= source.promised_from
            ]
    rows.append(("chance to see no run of the slow mode", *(percent((1 - RARE) ** runs) for runs in COUNTS)))
    return Table(
        "The 95 % interval of a mean",
        _filled(
            "How often it holds the true mean. Promised: 93 % or more where runs are normal or",
            "have a skewness",
            "of 0.6. It assumes that the runs show how runs are spread: a mode that no run showed is in no",
            f"interval, whatever the method. {runs_that_exclude(RARE)} runs without a slow one",
            "exclude, at 95 %,",
            f"a mode that takes {100 * RARE:g} % of runs; 10 runs exclude one of",
            f"{100 * excluded_share(10):.0f} %, 5 runs one of {100 * excluded_share(5):.0f} %.",
        ),
        ("runs are", *(f"{runs} runs" for runs in COUNTS)),
        tuple(rows),
        tuple(promises),
    )


def coverage(size: Size, source: Source, runs: int) -> float:
    """The part of intervals that hold the true mean."""
    count = interval_count(size, runs)
    drawn = source.draw(np.random.default_rng(runs), (count, runs))
    held = 0
    for values in drawn.tolist():
        mean = estimate(values)
        interval = None if mean is None else mean.interval()
        held += interval is not None and interval.low <= source.mean <= interval.high
    return held / count


def interval_count(size: Size, runs: int) -> int:
    """Experiments with so many runs: a bootstrap takes ten times as long as Student's t."""
    return size.intervals if runs < BCA_FROM else max(size.intervals // 5, 500)


def runs_that_exclude(share: float, chance: float = 0.05) -> int:
    """Runs without any of a mode that exclude it: were it to take ``share`` of runs, some would show it."""
    return math.ceil(math.log(chance) / math.log1p(-share))


def excluded_share(runs: int, chance: float = 0.05) -> float:
    """The share of a mode that so many runs without it exclude."""
    return 1 - math.exp(math.log(chance) / runs)


TABLES: tuple[Callable[[Size], Table], ...] = (intervals, many_rows, one_after_the_other)


def tables(size: Size) -> Iterator[Table]:
    """All of them, in the order of the page."""
    for simulate in TABLES:
        yield simulate(size)


def with_tables(page: str, found: Iterable[Table], size: Size) -> str:
    """The page with these tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    counts = _filled(
        f"Of each row {size.verdicts:,} comparisons or",
        f"{size.intervals:,} intervals",
        f"({interval_count(size, BCA_FROM):,} from {BCA_FROM} runs on) were drawn; CV of runs",
        "2 % unless said",
        "otherwise.",
    )
    body = "\n\n".join([counts, *(table.markdown for table in found)])
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def main(words: Sequence[str] | None = None) -> int:
    """Print the tables, and write them into the page unless ``--quick``."""
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the experiments; the page stays")
    asked = parser.parse_args(words)
    size = QUICK if asked.quick else FULL
    made = []
    for table in tables(size):
        print(table.markdown, end="\n\n", flush=True)
        made.append(table)
    broken = [promise for table in made for promise in table.promises if not promise.holds]
    for promise in broken:
        print(
            f"broken: {promise.what}: {percent(promise.share)}, promised {percent(promise.bound)}",
            file=sys.stderr,
        )
    if not asked.quick:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), made, size), encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
