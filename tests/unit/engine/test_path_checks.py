# SPDX-License-Identifier: Apache-2.0
"""Steering that was asked for and is not in force is told with the reason."""

from __future__ import annotations

import pytest

from linewatt.engine.live.readback import ReadBack, SettingRead
from linewatt.engine.measuring.checks import network
from linewatt.model import Case

RULE = SettingRead("ntuple", "eth0", "5201 to 0", "5201 to 0")


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case("tcp", "h1", "h2", instances=4), "fewer queues than 4, or needs root"),
        (Case("tcp", "h1", "h2", direction="reverse"), "the receiver opens the connections"),
    ],
    ids=["forward", "in reverse"],
)
def test_steering_without_a_rule_is_told_with_its_reason(case: Case, why: str) -> None:
    (flag,) = network.steering(case, ReadBack(1.0))
    assert (flag.code, flag.where) == ("steering-not-possible", "h2")
    assert why in flag.evidence


def test_steering_by_a_rule_and_a_host_that_was_not_asked_are_not_told() -> None:
    case = Case("tcp", "h1", "h2", instances=4)
    assert list(network.steering(case, ReadBack(1.0, settings=(RULE,)))) == []
    assert list(network.steering(case, None)) == []
