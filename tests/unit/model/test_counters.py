# SPDX-License-Identifier: Apache-2.0
"""Counters of an end: a mapping of their own, with the names kept once."""

from __future__ import annotations

from linewatt.model import Counters

COUNTED = {"nic.rx_packets": 7.0, "cpu0.core_throttle_count": None, "cpu1.core_throttle_count": 2.0}


def test_a_missing_name_has_the_default_and_an_unread_counter_none() -> None:
    counters = Counters(COUNTED)
    assert dict(counters) == COUNTED
    assert [counters.get(name, 5.0) for name in (*COUNTED, "nic.tx_packets")] == [7.0, None, 2.0, 5.0]
    assert counters.get("nic.tx_packets") is None


def test_names_with_an_ending_are_those_of_the_counters_at_hand() -> None:
    counters, others = Counters(COUNTED), Counters({"core_throttle_count": 1.0, "throttle": 1.0})
    assert counters.names_with("_throttle_count") == (*COUNTED,)[1:]
    assert others.names_with("_throttle_count") == ("core_throttle_count",)
    assert Counters({}).names_with("_throttle_count") == ()
    assert counters.names_with("_packets") == ("nic.rx_packets",)
