# SPDX-License-Identifier: Apache-2.0
"""Damaged output of sockperf: an account with finite figures, or refused in its own words."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from tests.fuzz.conftest import check_reason, fuzz, survived
from tests.fuzz.mutate import damaged, texts

from linewatt.engine.measuring.window import place_load
from linewatt.loads.sockperf import LOAD

ARGV = ["sockperf", "ping-pong", "--msg-size", "64", "--time", "2"]
outputs = damaged(texts("sockperf/*/client.txt", "sockperf/*/server.txt"))


@fuzz(outputs, outputs, st.sampled_from([[], ["--tcp"]]))
def test_any_output_is_an_account_or_refused(own: str, peer: str, more: list[str]) -> None:
    with survived("sockperf"):
        end = LOAD.parse(own, [*ARGV, *more], peer)
        for interval in end.intervals:
            assert 0 <= interval.start_s < interval.end_s < math.inf
            assert interval.transferred_bytes >= 0
            assert (interval.lost_packets or 0) <= (interval.packets or 0)
        assert all(0 <= seconds < math.inf for seconds in end.latency_s.values())
        assert place_load(end, 100.0, 102.1).start_uncertainty_s < math.inf


@fuzz(outputs)
def test_any_output_of_a_tried_port_is_an_answer(text: str) -> None:
    with survived("sockperf: port"):
        check_reason(LOAD.try_problem(text, text, 0) or "none")
        check_reason(LOAD.complaint(text, text) or "none")
