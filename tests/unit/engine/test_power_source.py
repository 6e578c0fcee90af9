# SPDX-License-Identifier: Apache-2.0
"""Watts that are not what they are taken for, and healthy ones that look nearly alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from linewatt.analysis.flags.case import case_flags
from linewatt.analysis.power.totals import Total, power_of_system, repeat
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks import power_source as checks
from linewatt.missing import Missing
from linewatt.model import Case, Channel, EndResult, Flag, PowerResult, Trial, Window
from linewatt.records import Supplies

WINDOW = Window(100.0, 160.0)


def channel(
    name: str, scope: str, power_w: float | None, idle_w: float | None = None, **more: Any
) -> PowerResult:
    fields: dict[str, Any] = {
        "provenance": "measured",
        "method": "IPMI sensor 01H",
        "source": "bmc",
        "energy_j": None if power_w is None else 60 * power_w,
        "energy_uncertainty_j": None if power_w is None else 60.0,
        **more,
    }
    return PowerResult(channel=name, scope=scope, power_w=power_w, idle_w=idle_w, **fields)


def end(*power: PowerResult, cores: float | None = 1.0) -> EndResult:
    return EndResult("h1", "receiver", cores, None, None, None, None, power=power)


OUT = channel("out", "psu-out:PSU1", 220.0, 100.0)
CPU = channel("cpu", "cpu:CPU", 42.0, 40.0)


def codes(flags: Any) -> list[str]:
    return [flag.code for flag in flags]


PSYS = channel("psys", "psys", 90.0, method="RAPL, energy_uj of psys")
AS_SYSTEM = channel("all", "system:all", 90.0, method="RAPL", source="own")


@pytest.mark.parametrize(
    ("power", "flagged"),
    [
        ((PSYS,), True),
        ((AS_SYSTEM,), True),
        ((OUT, PSYS), False),  # the supplies' output is the system's
        ((channel("p0", "package:0", 60.0, method="RAPL"),), False),  # which is the CPU's power
        ((OUT, CPU), False),
    ],
)
def test_rapl_taken_for_the_system_is_marked(power: tuple[PowerResult, ...], flagged: bool) -> None:
    assert codes(checks.rapl_as_system(end(*power))) == (["rapl-as-system"] if flagged else [])


def units(*watts: tuple[float, float]) -> EndResult:
    power = []
    for number, (in_w, out_w) in enumerate(watts, 1):
        power += [
            channel(f"in{number}", f"psu-in:PSU{number}", in_w),
            channel(f"out{number}", f"psu-out:PSU{number}", out_w),
        ]
    return end(*power)


@pytest.mark.parametrize(
    ("supplies", "declared", "flagged"),
    [
        (((220, 200), (0, 0)), None, True),
        (((110, 100), (115, 100)), None, False),
        (((220, 200), (9, 0)), None, False),  # hot standby takes a little
        (((220, 200), (0, 0)), Supplies(count=2, rating_w=800.0, mode="standby"), False),
        (((220, 200), (0, 0)), Supplies(count=2, rating_w=800.0, mode="shared"), True),
        (((0, 0), (0, 0)), None, False),  # 0 W of a host that runs is told elsewhere
        (((220, 200),), None, False),
    ],
)
def test_one_supply_at_0_w_beside_one_that_carries_is_told(
    supplies: tuple[tuple[float, float], ...], declared: Supplies | None, flagged: bool
) -> None:
    found = list(checks.supply_idle(units(*supplies), declared))
    assert codes(found) == (["psu-idle"] if flagged else [])
    if flagged:
        assert found[0].where == "h1: bmc PSU2"
        assert found[0].evidence == "reads 0 W (PSU DC out) while another supply carries 200.0 W"


@pytest.mark.parametrize(
    ("supplies", "scope", "power_w"),
    [
        ((("psu-out:PSU1", 205.0), ("psu-out:PSU2", 0.0)), "system", 221.0),
        ((("psu-out:PSU1", 108.0), ("psu-out:PSU2", 0.0)), "system", 221.0),
        ((("psu-in:PSU1", 221.0), ("psu-in:PSU2", 0.0)), "system", 221.0),
        ((("psu-out:PSU1", 0.0), ("psu-out:PSU2", 0.0)), "system", 221.0),
        ((("psu-out:PSU1", 71.0),), "system", 221.0),  # the other one is not read
        ((("psu-out:PSU1", 221.0), ("psu-out:PSU2", 220.0)), "system", 221.0),  # each repeats the whole
        ((("psu-out:PSU1", 221.0), ("psu-out:PSU2", 220.0), ("psu-out:PSU3", 0.0)), "system", 221.0),
        ((("psu-out:PSU1", 102.0), ("psu-out:PSU2", 101.0)), "psu-out", 203.0),
        ((("psu-out:PSU1", 205.0),), "psu-out", 205.0),
        # on standby: it takes what it needs and gives nothing
        (
            (("psu-in:PSU1", 212.0), ("psu-out:PSU1", 200.0), ("psu-in:PSU2", 9.0), ("psu-out:PSU2", 0.0)),
            "psu-out",
            200.0,
        ),
    ],
)
def test_the_system_is_what_no_reading_of_the_whole_contradicts(
    supplies: tuple[tuple[str, float], ...], scope: str, power_w: float
) -> None:
    """A supply at 0 W beside a system that draws 221 W: the sum of the supplies is not the system."""
    readings = [channel(f"c{at}", name, watts) for at, (name, watts) in enumerate(supplies)]
    found = power_of_system([*readings, channel("sys", "system:1", 221.0)])
    assert isinstance(found, Total)
    assert (found.scope, found.power_w) == (scope, power_w)
    alone = power_of_system(readings)
    assert isinstance(alone, Missing) or alone.scope.startswith("psu-"), "without a whole nothing contradicts"


def test_a_pdu_that_feeds_others_too_does_not_replace_the_supplies() -> None:
    found = power_of_system(
        [channel("out", "psu-out:PSU1", 200.0), channel("w", "wall:1", 900.0, source="pdu")]
    )
    assert isinstance(found, Total)
    assert (found.scope, found.power_w) == ("psu-out", 200.0)


@pytest.mark.parametrize(
    ("dead_w", "other_w", "flagged"),
    [(0.9, 200.0, True), (1.1, 200.0, False), (0.0, 21.0, True), (0.0, 19.0, False)],
)
def test_a_unit_of_1_w_gives_nothing_and_one_of_20_w_carries(
    dead_w: float, other_w: float, flagged: bool
) -> None:
    found = codes(checks.supply_idle(units((other_w, other_w), (dead_w, dead_w)), None))
    assert found == (["psu-idle"] if flagged else [])


def test_supplies_of_which_only_the_input_is_read_are_looked_at_too() -> None:
    both = end(channel("in1", "psu-in:PSU1", 220.0), channel("in2", "psu-in:PSU2", 0.0))
    assert codes(checks.supply_idle(both, None)) == ["psu-idle"]


@pytest.mark.parametrize(
    ("other", "source", "flagged"),
    [
        (channel("c", "other:Chassis Power", 480.0), "bmc", True),
        (channel("c", "other:Chassis Power", 245.0), "bmc", True),
        (channel("c", "other:Chassis Power", 239.0), "bmc", False),  # they agree within 5 %
        (channel("c", "other:CPU0_Power", 80.0), "bmc", False),  # no whole
        (channel("c", "other:Chassis Power", None), "bmc", False),
        (channel("c", "other:Chassis Power", 480.0), "pdu", False),
    ],
)
def test_two_readings_of_the_whole_that_differ_are_told(
    other: PowerResult, source: str, flagged: bool
) -> None:
    node = channel("Node Power", "system:Node Power", 230.0)
    found = list(checks.two_wholes(end(node, replace(other, source=source))))
    assert codes(found) == (["power-two-readings"] if flagged else [])
    if flagged:
        assert found[0].evidence.startswith(
            "both claim to be the whole host: Node Power (230.0 W, used) and Chassis Power "
            f"({other.power_w:.1f} W). "
        )


WALL = channel("outlet7_w", "wall:outlet7", 121.0, source="pdu-a")
OTHER_WALL = channel("outlet7_w", "wall:outlet7", 118.0, source="pdu-b")
BY_CALIBRATION = PowerResult.CORRECTED + "(reading − 0.0 W) / 1.0000, by cal.json against pdu-b"


@pytest.mark.parametrize(
    ("power", "flagged"),
    [
        ((WALL, OTHER_WALL), True),
        ((WALL,), False),
        ((WALL, replace(WALL, channel="outlet8_w", scope="wall:outlet8")), False),  # one source: their sum
        ((WALL, replace(OTHER_WALL, provenance="estimate")), False),
        ((WALL, replace(OTHER_WALL, power_w=None)), False),
        ((OUT, WALL, OTHER_WALL), False),  # the supplies' output is the system's
        ((replace(WALL, method=BY_CALIBRATION), OTHER_WALL), False),  # two meters in a row
    ],
)
def test_a_second_source_at_the_wall_that_is_not_added_is_told(
    power: tuple[PowerResult, ...], flagged: bool
) -> None:
    found = list(checks.two_walls(end(*power)))
    assert codes(found) == (["power-two-readings"] if flagged else [])
    if flagged:
        assert found[0].where == "h1: pdu-a wall"
        assert found[0].evidence.startswith(
            "two sources measure at the wall: pdu-a (121.0 W, used as the whole host) and pdu-b (118.0 W, "
            "not added). If they are two outlets of two supplies, each is only a part"
        )


def fans(rpm: float) -> Reading:
    times = [95.0 + 5 * at for at in range(16)]
    inside = [WINDOW.start_s <= time_s <= WINDOW.end_s for time_s in times]
    records = tuple(
        Record(time_s, 5.0, "", {"FAN1": rpm if own else 30_000.0})
        for time_s, own in zip(times, inside, strict=True)
    )
    return Reading("h1", "bmc", records, {"FAN1": Channel("FAN1", "rpm", "gauge", "fan:FAN1")}, optional=True)


@pytest.mark.parametrize(
    ("power", "cores", "flagged"),
    [
        ((OUT, CPU), 1.0, True),  # 120 W, 2 W of them the CPUs'
        ((OUT, replace(CPU, power_w=110.0)), 1.0, False),
        ((OUT,), 0.05, True),
        ((OUT,), 1.4, True),  # 55 W of 40 W a core
        ((OUT,), 1.6, False),
        ((channel("out", "psu-out:PSU1", 500.0, 380.0),), 0.02, True),  # 30 % of idle are 114 W
        ((channel("out", "psu-out:PSU1", 530.0, 410.0),), 0.02, False),
        ((OUT,), None, False),  # nothing to explain it with
        ((replace(OUT, idle_w=None), CPU), 1.0, False),
        ((replace(OUT, power_w=150.0, energy_j=9000.0), CPU), 1.0, False),  # cards and memory follow the load
        ((replace(OUT, energy_uncertainty_j=60 * 70.0), CPU), 1.0, False),  # its bound has room for it
        ((replace(OUT, provenance="estimate"), CPU), 1.0, False),
    ],
)
def test_watts_that_the_cpus_do_not_explain_are_told(
    power: tuple[PowerResult, ...], cores: float | None, flagged: bool
) -> None:
    found = list(checks.unexplained(end(*power, cores=cores), 0.02, [fans(16000.0)], WINDOW))
    assert codes(found) == (["power-unexplained"] if flagged else [])
    if flagged:
        assert found[0].evidence.startswith("120.0 W above idle; ")
        assert found[0].evidence.endswith("fans at 16,000 rpm, at most 16,000")


def test_a_card_that_draws_more_is_named() -> None:
    gpu = channel("gpu", "gpu:0", 110.0, 10.0)
    (found,) = checks.unexplained(end(OUT, CPU, gpu), 0.02, [], WINDOW)
    assert found.evidence.endswith("; GPU +100.0 W")
    for power_w, named in ((14.0, False), (20.0, True)):
        (found,) = checks.unexplained(end(OUT, CPU, channel("gpu", "gpu:0", power_w, 10.0)), 0.02, [], WINDOW)
        assert ("GPU" in found.evidence) == named


def case_of(*watts: float, cores: tuple[float, ...] = ()) -> list[Flag]:
    case = Case("tcp", "h2", "h1")
    trials = [
        Trial(
            number,
            number,
            case,
            case.key,
            "done",
            100.0 * number,
            window=WINDOW,
            receiver=end(channel("out", "psu-out:PSU1", power_w), cores=cores[number - 1] if cores else 1.0),
        )
        for number, power_w in enumerate(watts, 1)
    ]
    return [one for one in case_flags(case, trials, None) if one.code == "power-unexplained"]


def test_a_trial_that_drew_more_than_the_others_at_the_same_cpu_use_is_told() -> None:
    (found,) = case_of(200.0, 201.0, 320.0, 199.0)
    assert found.where == "h1: bmc PSU DC out"
    assert found.evidence == (
        "trial 3: 320.0 W, 119.5 W above the median of its case, with 1.00 cores in use (median 1.00); "
        "fan speed is not known: look at it first"
    )
    assert case_of(200.0, 201.0, 210.0, 199.0) == []
    assert case_of(200.0, 201.0, 320.0, cores=(1.0, 1.0, 3.0)) == []  # it worked more
    assert case_of(200.0, 320.0) == []  # which of the two is the odd one?


@pytest.mark.parametrize(
    ("usual_w", "more_w", "cores", "flagged"),
    [
        (100.0, 18.0, 1.0, False),
        (100.0, 23.0, 1.0, True),
        (400.0, 38.0, 1.0, False),
        (400.0, 43.0, 1.0, True),
        (100.0, 60.0, 1.15, True),
        (100.0, 60.0, 1.25, False),
    ],
    ids=["20 W", "more", "10 %", "more of it", "as busy but for 0.2 cores", "busier"],
)
def test_a_trial_may_draw_20_w_or_10_percent_more_than_the_others(
    usual_w: float, more_w: float, cores: float, flagged: bool
) -> None:
    found = case_of(usual_w, usual_w, usual_w + more_w, usual_w, cores=(1.0, 1.0, cores, 1.0))
    assert bool(found) is flagged


@pytest.mark.parametrize(
    ("supplies_w", "repeats"),
    [((104.0, 96.0), True), ((104.0, 92.0), False), ((50.0, 50.0), False), ((100.0,), False)],
)
def test_supplies_that_each_read_the_whole_host_within_5_percent_repeat_it(
    supplies_w: tuple[float, ...], repeats: bool
) -> None:
    assert repeat(supplies_w, 100.0) == repeats
