# SPDX-License-Identifier: Apache-2.0
"""Pairs of results with known ratios between them, for the tests of what compares them."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.report_factories import CREATED_S, FACTS, host, result, stored, trial

from linewatt.analysis.comparison.case_runs import runs_by_case
from linewatt.analysis.comparison.compare import Comparison, compare_sides
from linewatt.analysis.comparison.matching import Side, levels_of, match_levels, match_two
from linewatt.analysis.comparison.points import Series, series_of_cases
from linewatt.analysis.comparison.rows import Options
from linewatt.analysis.metrics import Response
from linewatt.features.history.courses import Course, judge
from linewatt.model import Case, Channel, Sample, Trial
from linewatt.store.read import Result
from linewatt.store.samples import Origin, write_samples
from linewatt.store.samples import Series as Readings

TCP = Case("tcp", "h1", "h2")
UDP = Case("udp-1500", "h1", "h2")
CAMPAIGN: dict[str, Any] = {"window_s": 60.0, "omit_s": 5.0, "placement": "pinned"}
BASE_BPS = 94e9
LOAD_S = 70
"""of a trial whose samples are stored"""


def runs(
    case: Case = TCP, ratio: float = 1.0, *, n: int = 10, cv: float = 0.004, seed: int = 1, **changes: Any
) -> tuple[Trial, ...]:
    """``n`` trials of a case around ``ratio`` × 94 Gbps and two cores."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for at in range(n):
        bps, cores = BASE_BPS * ratio * draw.gauss(1, cv), 2 * draw.gauss(1, cv)
        made.append(trial(at + 1, case, bps, cores, repetition=at + 1, **changes))
    return tuple(made)


def numbered(*groups: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials of several cases as those of one campaign."""
    return tuple(replace(one, number=at) for at, one in enumerate((t for g in groups for t in g), start=1))


def made(
    name: str,
    trials: Sequence[Trial],
    *,
    campaign: dict[str, Any] | None = None,
    day: int = 1,
    **manifest: Any,
) -> Result:
    """A result whose hosts have the same facts."""
    names = dict.fromkeys(each for one in trials for each in one.case.hosts) or ("h1", "h2")
    given: dict[str, Any] = {
        "id": f"202601{day:02d}-000000-{name}",
        "name": name,
        "hosts": {each: host(each) for each in names},
        "created_s": CREATED_S + 86_400 * (day - 1),
        "campaign": CAMPAIGN | (campaign or {}),
    }
    return result(trials, **(given | manifest))


def with_facts(name: str, **sections: dict[str, Any]) -> dict[str, Any]:
    """A host whose facts differ in these sections."""
    facts = FACTS | {section: FACTS.get(section, {}) | own for section, own in sections.items()}
    return host(name, facts=facts)


def with_rates(root: Path, measured: Result, without: Collection[int] = ()) -> Path:
    """The result on disk; of each trial but those ``without``, a rate each second from 1 to LOAD_S."""
    path = stored(root, measured)
    for done in measured.trials:
        if done.number in without:
            continue
        channels, samples = {}, []
        for instance in range(done.case.instances):
            name = f"instance{instance}.receiver.throughput_bps"
            channels[name] = Channel(name, "bit/s", "mean", "host", provenance="measured")
            for second in range(1, LOAD_S + 1):
                rate_bps = (done.throughput_bps or 0.0) / done.case.instances + second * 1e6
                samples.append(Sample(done.started_s + second, name, rate_bps))
        rates = Readings(done.case.receiver, "iperf3", channels, samples)
        file = path / "trials" / f"{done.number:05d}" / "samples.parquet"
        write_samples(file, [rates], Origin(path.name, done.number))
    return path


def side(name: str, one: Result) -> Side:
    """A result as analysis takes it."""
    manifest = one.manifest
    return Side(name, one.id, manifest.asked, manifest.hosts, runs_by_case(one.trials), manifest.created_s)


def compared(base: Result, other: Result, **options: Any) -> Comparison:
    """Two results compared."""
    chosen = Options(**options)
    own, theirs = side("A", base), side("B", other)
    return compare_sides(own, theirs, match_two(own, theirs, chosen.by), chosen)


def compared_levels(one: Result, by: str, base: str | None = None, **options: Any) -> Comparison:
    """Levels of one result compared."""
    own = side("A", one)
    matching = match_levels(own, by, base or levels_of(own, by)[0])
    return compare_sides(own, own, matching, Options(by=by, **options))


def courses_of(series: Sequence[Series], matters: float | None = None) -> tuple[Course, ...]:
    """Courses of results that have their hosts with them."""
    return judge(series, matters, as_it_is, as_it_is)


def courses_of_sides(
    sides: Sequence[Side], response: Response, matters: float | None = None
) -> tuple[Course, ...]:
    """Courses of all cases of such results, in the order of time."""
    return courses_of(series_of_cases(sides, response, lambda _: True, as_it_is), matters)


def as_it_is(side: Side) -> Side:
    return side
