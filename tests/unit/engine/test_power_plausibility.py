# SPDX-License-Identifier: Apache-2.0
"""Watts that cannot be, and those beside them that can."""

from __future__ import annotations

import random

import pytest

from linewatt.engine.measuring.checks.plausibility import (
    another_unit,
    changes_alike,
    implausible,
    less_than_its_cpus,
)
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


def host(name: str, *power: PowerResult) -> EndResult:
    return EndResult(name, "receiver", 1.0, None, None, None, None, power=power)


@pytest.mark.parametrize(
    ("scope", "power_w", "cpus", "said"),
    [
        ("wall", 0.99, 4, "0.990 W, but a host with 4 CPUs draws at least 1 W"),
        ("wall", 1.0, 4, None),
        ("psu-in:PSU1", 1.2, 64, "1.200 W, but a host with 64 CPUs draws at least 3.2 W"),
        ("wall", 1.2, 0, None),
        ("system", 5_401.0, 4, "5,401 W, but a host with 4 CPUs draws at most 5,400 W"),
        ("system", 5_400.0, 4, None),
        ("system", 14_300.0, 224, None),
        ("psu-out:PSU1", 190_000.0, 224, "190,000 W, but a host with 224 CPUs draws at most 27,400 W"),
        ("package:0", 0.2, 64, None),
    ],
)
def test_a_host_that_takes_what_none_can_has_a_meter_of_another_unit(
    scope: str, power_w: float, cpus: int, said: str | None
) -> None:
    assert [flag.evidence for flag in another_unit(host("h1", watts(scope, power_w)), cpus)] == (
        [] if said is None else [said]
    )


def test_of_several_scopes_the_first_tells_of_the_unit() -> None:
    (flag,) = another_unit(host("h1", watts("psu-out:PSU1", 0.2), watts("psu-in:PSU1", 0.22)), 4)
    assert flag.where == "h1: bmc PSU AC in"


def test_cpus_that_draw_more_than_their_host_are_told_with_the_host_that_would_fit() -> None:
    small = host("h1", watts("psu-out:PSU1", 100.0), watts("package:0", 106.0, "rapl"))
    large = host("h2", watts("psu-out:PSU1", 200.0))
    (flag,) = less_than_its_cpus(small, [large])
    assert flag.where == "h1: bmc PSU DC out"
    assert flag.evidence == (
        "106.0 W of CPU package (RAPL) (rapl), but 100.0 W of PSU DC out (bmc); the meter of h2 would fit "
        "(200.0 W of PSU DC out (bmc))"
    )
    (alone,) = less_than_its_cpus(small, [host("h2", watts("psu-out:PSU1", 105.9)), host("h3")])
    assert "fit" not in alone.evidence


@pytest.mark.parametrize(
    "own",
    [
        (watts("psu-out:PSU1", 100.0), watts("package:0", 105.0, "rapl")),
        (watts("psu-out:PSU1", 100.0, uncertainty_w=5.0), watts("package:0", 112.0, uncertainty_w=3.0)),
        (watts("psu-out:PSU1", 100.0), watts("package:0", 300.0, "rapl", provenance="estimate")),
        (watts("package:0", 300.0, "rapl"),),
        (watts("psu-out:PSU1", 100.0),),
        (watts("psu-in:PSU1", 100.0), watts("cpu:all", None)),
    ],
)
def test_cpus_within_the_errors_of_their_hosts_meter_contradict_nothing(own: tuple[PowerResult, ...]) -> None:
    assert list(less_than_its_cpus(host("h1", *own), [])) == []


def test_a_supply_that_gives_more_than_it_takes() -> None:
    assert evidence(watts("psu-in:PSU1", 200), watts("psu-out:PSU1", 211)) == [
        "h1: bmc PSU1: output 211.0 W, input only 200.0 W"
    ]
    assert evidence(watts("psu-in:PSU1", 200), watts("psu-out:PSU1", 209)) == []


def test_outputs_that_are_far_less_than_the_machine_takes() -> None:
    """A controller that lists two supplies' outputs and fills in one of them shows half of the system."""
    half = watts("psu-out:PSU1", 140), watts("psu-out:PSU2", 0)
    (found,) = evidence(watts("system", 300), *half)
    assert found == "h1: bmc PSU DC out: 140.0 W of PSU DC out (bmc), but 300.0 W of system (bmc)"
    assert evidence(watts("system", 300), watts("psu-out:PSU1", 140), watts("psu-out:PSU2", 130)) == []
    assert evidence(watts("wall", 300, "pdu"), *half)


def test_parts_that_are_more_than_the_whole() -> None:
    (found,) = evidence(watts("wall", 200, "pdu"), watts("psu-in:PSU1", 150), watts("psu-in:PSU2", 150))
    assert "300.0 W of PSU AC in (bmc), but 200.0 W of wall (pdu)" in found


@pytest.mark.parametrize("uncertainty_w", [None, 15.0])
def test_a_coarse_meter_is_not_called_a_liar_within_its_own_error(uncertainty_w: float | None) -> None:
    found = evidence(watts("wall", 70, "pdu", uncertainty_w=uncertainty_w), watts("psu-in:PSU1", 80))
    assert bool(found) == (uncertainty_w is None)


def test_more_than_the_declared_supplies_can_give() -> None:
    """Mock data in the wild reads 937 W on a 400 W unit."""
    one = Supplies(count=1, rating_w=400.0, mode="shared")
    assert evidence(watts("psu-out:PSU1", 937), supply=one) == [
        "h1: bmc psu-out_PSU1: output 937.0 W, rated 400 W",
    ]
    assert evidence(watts("psu-out:PSU1", 400), supply=one) == []
    assert evidence(watts("psu-out:PSU1", 937)) == []
    both = watts("psu-out", 937)
    assert evidence(both, supply=Supplies(count=2, rating_w=400.0, mode="shared")) == [
        "h1: bmc PSU DC out: output 937.0 W, rated 800 W"
    ]
    units = watts("psu-out:PSU1", 500), watts("psu-out:PSU2", 100)
    assert evidence(*units, supply=Supplies(count=2, rating_w=400.0, mode="shared")) == [
        "h1: bmc psu-out_PSU1: output 500.0 W, rated 400 W"
    ]


def test_negative_power() -> None:
    assert evidence(watts("wall", -3.0)) == ["h1: bmc wall: -3.0 W: power is never negative"]


def test_estimates_prove_nothing_and_missing_readings_are_no_number() -> None:
    assert evidence(watts("system", 300, "model", "estimate"), watts("psu-out:PSU1", 100)) == []
    assert evidence(watts("system", 300), watts("psu-out:PSU1", None)) == []


def _meter(draw: random.Random, readings: int, step_w: float, drift_w: float) -> list[float]:
    """A meter of some step over a load that drifts and wanders."""
    course_w = (200 + drift_w * at / readings + draw.gauss(0, step_w) for at in range(readings))
    return [step_w * round(power_w / step_w) for power_w in course_w]


@pytest.mark.parametrize("readings", [20, 60, 600])
@pytest.mark.parametrize(("step_w", "drift_w"), [(1.0, 0.0), (4.0, 0.0), (4.0, 20.0), (0.1, 0.0)])
def test_meters_of_two_hosts_are_never_taken_for_one(readings: int, step_w: float, drift_w: float) -> None:
    draw = random.Random(readings)  # noqa: S311
    for _ in range(6000 // readings):
        meters = [_meter(draw, readings, step_w, drift_w) for _ in range(2)]
        assert changes_alike(*meters) is None


@pytest.mark.parametrize(("missed", "shift"), [(0, 0), (0, 1), (1, 0), (2, 1)])
def test_one_meter_that_two_hosts_read_is_seen_whatever_the_phase(missed: int, shift: int) -> None:
    """At its end a host may miss a reading; they need not begin with the same one."""
    course = _meter(random.Random(1), 40, 1.0, 0.0)  # noqa: S311
    assert changes_alike(course[shift:], course[: len(course) - missed]) is not None
    assert changes_alike(course[: len(course) - missed], course[shift:]) is not None


def test_two_meters_that_stand_still_are_not_called_one() -> None:
    assert changes_alike([210.0] * 60, [210.0] * 60) is None
    assert changes_alike([210.0] * 20 + [214.0] * 20, [210.0] * 20 + [214.0] * 20) is None
