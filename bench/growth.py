# SPDX-License-Identifier: Apache-2.0
"""How the time of commands grows with the number of results, trials or hosts: the exponent k of nᵏ.

Three sizes, each twice the one before. A cost that is the same at all sizes, as the start of Python, cancels
in the differences. Measured only when it is named, because it takes long.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.compare_1000 import SETTLED_S
from bench.compare_results import write_one
from bench.effort import Effort
from bench.hosts96 import by_repetition
from bench.rig import COMMAND, lab_of, rig
from bench.rows import Row, Target
from bench.soak_report import timed
from bench.trial_overhead import overheads

ABOUT_S = 900
_MOST = 1.05
_ENDS = (0, 3, 4)
"""statuses: compare may find a regression, or too few runs"""
_CASES, _TRIALS = 5, 3
_WINDOW = {"omit": 1, "seconds": 3, "tail": 2}


def measure(effort: Effort) -> list[Row]:
    """CPU time of commands, and what a round of trials takes beyond its load."""
    turns = effort.of(3, 1, 1)
    results, trials, pairs = effort.of((250, 2_000, 12), (50, 500, 4), (5, 20, 1))
    return [*_of_results(results, turns), *_of_trials(trials, turns), *_of_hosts(pairs, turns)]


def exponent(costs: Sequence[float]) -> float | None:
    """Of a + b·nᵏ at three sizes, each twice the one before: k. ``None`` where more does not cost more."""
    small, middle, large = costs
    return math.log2((large - middle) / (middle - small)) if small < middle < large else None


def _of_results(fewest: int, turns: int) -> Iterator[Row]:
    commands = {
        "list": ["list", "--json"],
        "history": ["history", "--json"],
        "sql": ["sql", "select count(*) from trials"],
    }
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        roots = []
        for size in _sizes(fewest):
            root = Path(directory, str(size))
            for number in range(size):
                write_one(root / f"20260101-{number:06d}-r", _CASES, _TRIALS, seed=number)
            roots.append(root)
        time.sleep(SETTLED_S)
        for name, argv in commands.items():
            asked = [[*COMMAND, *argv, "--results", str(root)] for root in roots]
            what = f"{name} of {fewest:,} to {4 * fewest:,} results of {_CASES * _TRIALS} trials"
            yield from _rows(what, asked, Path(directory), turns)


def _of_trials(fewest: int, turns: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory)
        pairs = [
            [write_one(root / f"2026010{day}-{size:06d}-r", size // 10, 10, seed=day).name for day in (1, 2)]
            for size in _sizes(fewest)
        ]
        time.sleep(SETTLED_S)
        commands = {
            "show": [["show", first] for first, _ in pairs],
            "show --full": [["show", first, "--full"] for first, _ in pairs],
            "report": [["report", first, "-o", str(root / "report.html")] for first, _ in pairs],
            "compare": [["compare", *pair] for pair in pairs],
        }
        for name, argvs in commands.items():
            asked = [[*COMMAND, *argv, "--results", directory] for argv in argvs]
            yield from _rows(f"{name} of {fewest:,} to {4 * fewest:,} trials", asked, root, turns)


def _rows(what: str, asked: Sequence[Sequence[str]], cache: Path, turns: int) -> Iterator[Row]:
    """With nothing kept of any result, the sizes in turn."""
    costs: list[list[float]] = [[] for _ in asked]
    for turn in range(turns):
        for at, argv in enumerate(asked):
            own = {**os.environ, "XDG_CACHE_HOME": str(cache / f"cache-{what.partition(' ')[0]}-{turn}-{at}")}
            costs[at].append(timed(argv, own, ends_with=_ENDS)[1])
    yield _row(what, costs)


def _row(what: str, costs: Sequence[Sequence[float]]) -> Row:
    typical = [median(values) for values in costs]
    power = exponent(typical)
    if power is None:
        return Row(what, "s", tuple(typical), note="twice as much does not cost more here: no exponent")
    note = f"{', '.join(f'{value:.3g}' for value in typical)} s at the three sizes"
    return Row(f"exponent of {what}", "ratio", (power,), Target(at_most=_MOST), None, note)


def _of_hosts(fewest: int, turns: int) -> Iterator[Row]:
    """Rounds of so many pairs, of twice and of four times as many, at one barrier each."""
    sizes = _sizes(fewest)
    with rig() as own, lab_of(2 * sizes[-1], "1gbit", bmc=False) as lab:
        costs = []
        for size in sizes:
            pairs = [f"h{number} -> h{number + 1}" for number in range(1, 2 * size, 2)]
            settings: Mapping[str, object] = {"pairs": pairs, "concurrent_pairs": True, "rate": "2M"}
            campaign = own.campaign(lab.inventory, **settings, trials=turns + 1, window=_WINDOW)
            rounds = by_repetition(own.run(campaign, partial=True).trials)
            costs.append([overheads(tuple(trials))[0] for trials in rounds[1:]])
    yield _row(f"a round beyond its load, {fewest} to {sizes[-1]} pairs", costs)


def _sizes(fewest: int) -> tuple[int, int, int]:
    return fewest, 2 * fewest, 4 * fewest
