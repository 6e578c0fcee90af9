# SPDX-License-Identifier: Apache-2.0
"""No interval that is printed has a value that its figure cannot have, whatever the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.compare_factories import UDP, compared, made
from tests.report_factories import end, trial

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.model import Trial
from linewatt.report.columns import export

SLACK = 1e-9
RUN = st.tuples(
    st.floats(1e3, 1e11), st.floats(0, 1), st.floats(1e-6, 1e-1), st.floats(0, 64), st.floats(0, 64)
)
"""bit/s, part that is lost, latency in s, cores of sender and receiver"""
SIDE = st.lists(RUN, min_size=2, max_size=6)


def trials(drawn: Sequence[tuple[float, float, float, float, float]]) -> list[Trial]:
    return [
        replace(
            trial(number, UDP, rate_bps, 0.5),
            lost_ratio=lost,
            latency_s={"p50": latency_s, "p99": 2 * latency_s},
            sender=end("h1", "sender", sender_cores, 0.5, 0.5),
            receiver=end("h2", "receiver", receiver_cores, 0.5, 0.5),
        )
        for number, (rate_bps, lost, latency_s, sender_cores, receiver_cores) in enumerate(drawn, start=1)
    ]


@settings(deadline=None, max_examples=inputs(24))
@given(SIDE)
def test_intervals_of_cases_hold_what_is_possible(drawn: list[Any]) -> None:
    (summary,) = summarise(trials(drawn))
    for metric in METRICS:
        row: Mapping[str, Any] = export(metric, summary)
        low, high = (row.get(f"{metric.si_key}_ci95_{bound}") for bound in ("low", "high"))
        if low is None or high is None or metric.quantity == "signed":
            continue
        assert 0 <= low <= high, metric.name
        assert metric.quantity != "ratio" or high <= 1 + SLACK, metric.name


@pytest.mark.parametrize(
    ("base", "other"),
    [
        ((0.0, 0.9, 0.1), (1.0, 0.2, 0.9)),
        ((1.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
        ((0.0, 0.0, 0.0, 0.001), (0.0, 0.0, 0.002, 0.0)),
        ((1.0, 1.0, 0.4), (0.0, 0.0, 0.7, 0.0)),
    ],
)
def test_changes_of_a_comparison_hold_what_is_possible(base: Sequence[float], other: Sequence[float]) -> None:
    """Nothing falls by more than all of it, and a share changes by 100 points at most."""
    sides = []
    for name, losses, day in (("a", base, 1), ("b", other, 2)):
        drawn = [(1e9 * (1 + at), lost, 1e-3, 1.0, 1.0) for at, lost in enumerate(losses)]
        sides.append(made(name, trials(drawn), day=day))
    changes = [(row.response, row.verdict.change) for row in compared(*sides).rows if row.verdict.change]
    assert "lost_ratio" in [response.name for response, _ in changes]
    for response, change in changes:
        assert -1 <= change.low <= change.high, response.name
        assert response.relative or change.high <= 1, response.name
