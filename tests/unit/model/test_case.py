# SPDX-License-Identifier: Apache-2.0
"""A case, and the key by which it is found again on other hosts and in other years."""

from __future__ import annotations

import json
from dataclasses import replace

from linewatt.model import Case

CASE = Case("udp-1500", "h1", "h2")


def test_a_whole_number_makes_the_same_key_as_the_same_number_of_a_file() -> None:
    """Of equal cases one key is remembered, so that parameters are what shows it."""
    whole = replace(CASE, rate_bps=1_000_000_000, load_level=1)
    read = replace(CASE, rate_bps=1e9, load_level=1.0)
    assert json.dumps(whole.parameters) == json.dumps(read.parameters)


def test_the_key_leaves_out_hosts_and_tells_rates_apart() -> None:
    assert replace(CASE, sender="a", receiver="b").key == CASE.key
    assert replace(CASE, rate_bps=1e9).key != replace(CASE, rate_bps=2e9).key
