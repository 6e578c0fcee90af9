# SPDX-License-Identifier: Apache-2.0
"""A sentence on how throughput ran is believed only as far as the raw intervals have its numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import accumulate

import pytest
from tests.truth.raw import Raw
from tests.truth.test_plants import Said

SEGMENT_BPS = [145e6] * 15 + [162e6] * 8 + [145e6] * 7
SLOPE_BPS = [100e6 + 1e6 * index for index in range(31)]
INTERVAL_S = 0.1
SEGMENT = (
    "throughput rises from 1.5 s to 2.3 s, to 162 Mbps from 145 Mbps before and after, within the window of "
    "3.0 s; it changes the mean by +3.1 %"
)
SLOPE = "throughput rises steadily, from 100 Mbps to 130 Mbps (+30.0 %) within the window of 3.1 s"
COURSES = ((SEGMENT, SEGMENT_BPS), (SLOPE, SLOPE_BPS))


class Intervals(Raw):
    """A trial of one instance, of which nothing but its intervals is known."""

    def __init__(self, rates_bps: Sequence[float]) -> None:
        self.start_s, self.end_s = 100.0, 100.0 + INTERVAL_S * len(rates_bps)
        self.trial = {
            "number": 1,
            "case": {"sender": "h1", "receiver": "h2"},
            "instances": [{"instance": 1, "receiver_start_s": self.start_s}],
        }
        sums = [
            {
                "start": INTERVAL_S * index,
                "end": INTERVAL_S * (index + 1),
                "bytes": rate_bps * INTERVAL_S / 8,
            }
            for index, rate_bps in enumerate(rates_bps)
        ]
        self.texts = {"h2/iperf3-server-1.json": json.dumps({"intervals": [{"sum": one} for one in sums]})}


class Silent(Raw):
    """A trial of which nothing but the spans of its CPU readings is known: h1 is regular."""

    def __init__(self, spans_s: Sequence[float]) -> None:
        self.start_s, self.end_s = 100.0, 100.0 + sum(spans_s)
        self.trial = {"number": 1, "case": {"sender": "h1", "receiver": "h2"}}
        self.texts = {
            f"{host}/mpstat.jsonl": "\n".join(
                json.dumps({"received_s": end_s, "span_s": span_s})
                for end_s, span_s in zip(accumulate(spans, initial=100.0), (0.0, *spans), strict=True)
            )
            for host, spans in (("h1", [1.0] * 5), ("h2", spans_s))
        }


class SaidOf(Said):
    """A result of one trial with this finding."""

    def __init__(self, code: str, sentence: str, raw: Raw | Sequence[float]) -> None:
        self.raws = [raw if isinstance(raw, Raw) else Intervals(raw)]
        self.document = {"flags": [{"code": code, "evidence": [{"trials": [1], "evidence": sentence}]}]}


@pytest.mark.parametrize(("sentence", "rates_bps"), COURSES)
def test_a_finding_on_the_course_is_true_if_the_raw_intervals_have_its_numbers(
    sentence: str, rates_bps: Sequence[float]
) -> None:
    assert SaidOf("throughput-drifts", sentence, rates_bps).true_courses() == {"throughput-drifts"}
    assert SaidOf("udp-loss", sentence, rates_bps).true_courses() == frozenset()


@pytest.mark.parametrize(
    ("sentence", "number", "rates_bps"),
    [
        (sentence, number, rates_bps)
        for sentence, rates_bps in COURSES
        for number in re.findall(r"\d+(?:\.\d+)?", sentence)
    ],
)
def test_no_finding_on_the_course_is_true_with_another_number(
    sentence: str, number: str, rates_bps: Sequence[float]
) -> None:
    other = sentence.replace(number, f"{float(number) * 1.5:.1f}", 1)
    assert SaidOf("throughput-drifts", other, rates_bps).true_courses() == frozenset()


@pytest.mark.parametrize("sentence", ["throughput wanders", "throughput rises by 5 % a second"])
def test_no_sentence_is_true_of_which_nothing_was_counted(sentence: str) -> None:
    assert SaidOf("throughput-drifts", sentence, SEGMENT_BPS).true_courses() == frozenset()


@pytest.mark.parametrize(
    ("silent", "usual", "is_true"), [("2.4", "1.0", True), ("3.4", "1.0", False), ("2.4", "0.5", False)]
)
def test_a_host_stood_still_if_its_raw_cpu_readings_have_the_gap(
    silent: str, usual: str, is_true: bool
) -> None:
    sentence = f"no CPU reading for {silent} s (usually one every {usual} s): the host stalled"
    said = SaidOf("host-stood-still", sentence, Silent([1.0, 1.0, 2.4, 1.0, 1.0]))
    assert said.true_courses() == ({"host-stood-still"} if is_true else frozenset())
