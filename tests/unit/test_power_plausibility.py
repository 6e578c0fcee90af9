# SPDX-License-Identifier: Apache-2.0
"""Watts that cannot be, and those beside them that can."""

from __future__ import annotations

import pytest

from linewatt.engine.measuring.checks.plausibility import implausible
from linewatt.model import EndResult, PowerResult, Provenance
from linewatt.records import Supplies


def watts(
    scope: str,
    power_w: float | None,
    source: str = "bmc",
    provenance: Provenance = "measured",
    uncertainty_w: float | None = None,
) -> PowerResult:
    return PowerResult(
        source=source,
        channel=scope.replace(":", "_"),
        scope=scope,
        provenance=provenance,
        method="test",
        power_w=power_w,
        energy_j=None if power_w is None else power_w * 10,
        energy_uncertainty_j=None if uncertainty_w is None else uncertainty_w * 10,
        step_w=None,
        update_s=None,
        tolerance_ratio=None,
        updates=10,
        idle_w=None,
        reason=None,
    )


def evidence(*power: PowerResult, supply: Supplies | None = None) -> list[str]:
    end = EndResult("h1", "receiver", 1.0, None, None, None, None, power=power)
    found = list(implausible(end, supply))
    assert {flag.code for flag in found} <= {"power-implausible"}
    return [f"{flag.where}: {flag.evidence}" for flag in found]


def test_a_supply_that_gives_more_than_it_takes() -> None:
    assert evidence(watts("psu-in:PSU1", 200), watts("psu-out:PSU1", 211)) == [
        "h1: bmc PSU1: 211.0 W out of 200.0 W in"
    ]
    assert evidence(watts("psu-in:PSU1", 200), watts("psu-out:PSU1", 209)) == []


def test_outputs_that_are_far_less_than_the_machine_takes() -> None:
    """A controller that lists two supplies' outputs and fills in one of them shows half of the system."""
    half = watts("psu-out:PSU1", 140), watts("psu-out:PSU2", 0)
    (found,) = evidence(watts("system", 300), *half)
    assert found == "h1: bmc PSU DC out: 140.0 W of PSU DC out (bmc) against 300.0 W of system (bmc)"
    assert evidence(watts("system", 300), watts("psu-out:PSU1", 140), watts("psu-out:PSU2", 130)) == []
    assert evidence(watts("wall", 300, "pdu"), *half)


def test_parts_that_are_more_than_the_whole() -> None:
    (found,) = evidence(watts("wall", 200, "pdu"), watts("psu-in:PSU1", 150), watts("psu-in:PSU2", 150))
    assert "300.0 W of PSU AC in (bmc) against 200.0 W of wall (pdu)" in found


@pytest.mark.parametrize("uncertainty_w", [None, 15.0])
def test_a_coarse_meter_is_not_called_a_liar_within_its_own_error(uncertainty_w: float | None) -> None:
    found = evidence(watts("wall", 70, "pdu", uncertainty_w=uncertainty_w), watts("psu-in:PSU1", 80))
    assert bool(found) == (uncertainty_w is None)


def test_more_than_the_declared_supplies_can_give() -> None:
    """Mock data in the wild reads 937 W on a 400 W unit."""
    one = Supplies(count=1, rating_w=400.0, mode="shared")
    assert evidence(watts("psu-out:PSU1", 937), supply=one) == [
        "h1: bmc psu-out_PSU1: 937.0 W out of what is rated 400 W",
    ]
    assert evidence(watts("psu-out:PSU1", 400), supply=one) == []
    assert evidence(watts("psu-out:PSU1", 937)) == []
    both = watts("psu-out", 937)
    assert evidence(both, supply=Supplies(count=2, rating_w=400.0, mode="shared")) == [
        "h1: bmc PSU DC out: 937.0 W out of what is rated 800 W"
    ]
    units = watts("psu-out:PSU1", 500), watts("psu-out:PSU2", 100)
    assert evidence(*units, supply=Supplies(count=2, rating_w=400.0, mode="shared")) == [
        "h1: bmc psu-out_PSU1: 500.0 W out of what is rated 400 W"
    ]


def test_negative_power() -> None:
    assert evidence(watts("wall", -3.0)) == ["h1: bmc wall: -3.0 W"]


def test_estimates_prove_nothing_and_missing_readings_are_no_number() -> None:
    assert evidence(watts("system", 300, "model", "estimate"), watts("psu-out:PSU1", 100)) == []
    assert evidence(watts("system", 300), watts("psu-out:PSU1", None)) == []
