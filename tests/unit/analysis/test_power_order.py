# SPDX-License-Identifier: Apache-2.0
"""Which scopes of power contradict each other, before a run."""

from __future__ import annotations

import pytest

from linewatt.analysis.power.order import Shown, refused_scopes
from linewatt.engine.readiness.readiness import PowerAnswer
from linewatt.engine.readiness.readiness_host import power
from linewatt.model import Channel
from linewatt.sensors.power.base import no_meter


def shown(*readings: tuple[str, float], source: str = "bmc") -> list[Shown]:
    return [Shown(source, scope.replace(":", " "), scope, watts) for scope, watts in readings]


HEALTHY = shown(
    ("psu-in:PSU1", 118), ("psu-in:PSU2", 121), ("psu-out:PSU1", 108), ("psu-out:PSU2", 110),
    ("system:DCMI", 232), ("cpu:CPU", 95), ("memory:Memory", 22), ("fan:fans", 18),
)  # fmt: skip


def test_a_healthy_server_contradicts_nothing() -> None:
    assert refused_scopes(HEALTHY) == []
    assert refused_scopes([*HEALTHY, *shown(("wall:outlet", 240), source="pdu")]) == []
    assert refused_scopes(shown(("psu-out:PSU1", 200), ("psu-out:PSU2", 0), ("system:1", 222))) == [], (
        "on standby"
    )
    assert refused_scopes(shown(("psu-in:PSU1", 60), ("system:1", 45))) == [], "small supplies lose much"


@pytest.mark.parametrize(
    ("readings", "scope", "evidence"),
    [
        (
            [(f"psu-out:PSU{n}", 894) for n in range(1, 5)] + [("system:1", 894)],
            "psu-out",
            "3576.0 W of PSU DC out (bmc) against 894.0 W of system (bmc): each of the 4 repeats the whole",
        ),
        (
            [("psu-in:PSU1", 900), ("psu-in:PSU2", 900), ("system:1", 135)],
            "psu-in",
            "1800.0 W of PSU AC in (bmc) against 135.0 W of system (bmc): "
            "they are ratings, or feed more than this host",
        ),
        (
            [("psu-out:PSU1", 71), ("system:1", 152)],
            "psu-out",
            "71.0 W of PSU DC out (bmc) against 152.0 W of system (bmc): not every supply is read",
        ),
        (
            [("psu-in:PSU1", 170), ("system:1", 221)],
            "psu-in",
            "170.0 W of PSU AC in (bmc) against 221.0 W of system (bmc): less goes in than the host draws",
        ),
        (
            [("psu-out:PSU1", 270), ("system:1", 221)],
            "psu-out",
            "270.0 W of PSU DC out (bmc) against 221.0 W of system (bmc): more comes out than goes in",
        ),
        (
            [("psu-in:PSU1", 200), ("psu-out:PSU1", 240)],
            "psu-in",
            "240.0 W of PSU DC out (bmc) against 200.0 W of PSU AC in (bmc)",
        ),
        (
            [("psu-in:PSU1", 200), ("psu-out:PSU1", 100), ("psu-in:PSU2", 60), ("psu-out:PSU2", 120)],
            "psu-in",
            "psu-out PSU2 120.0 W against psu-in PSU2 60.0 W",
        ),
        (
            [("psu-out:PSU1", 110), ("system:1", 120), ("cpu:CPU", 637)],
            "parts",
            "637.0 W of CPU (bmc) against 110.0 W of PSU DC out (bmc)",
        ),
        (
            [("system:1", 120), ("cpu:CPU", 90), ("memory:Memory", 30), ("fan:fans", 40)],
            "parts",
            "160.0 W of CPU + memory + fans (bmc) against 120.0 W of system (bmc)",
        ),
        (
            [("psu-in:PSU1", 300), ("psu-out:PSU1", 280), ("system:1", 30)],
            "system",
            "300.0 W of PSU AC in (bmc) against 30.0 W of system (bmc): "
            "they are ratings, or feed more than this host",
        ),
    ],
)  # fmt: skip
def test_the_scope_that_breaks_the_order_is_refused(
    readings: list[tuple[str, float]], scope: str, evidence: str
) -> None:
    (one,) = refused_scopes(shown(*readings))
    assert (one.scope, one.evidence) == (scope, evidence)


def test_each_scope_that_breaks_the_order_is_refused_once() -> None:
    (one,) = refused_scopes([*HEALTHY[:4], *shown(("system:1", 1500), ("cpu:CPU", 95))])
    assert one.scope == "system"
    two = refused_scopes(shown(("psu-in:A", 900), ("psu-out:A", 20), ("system:1", 200), ("cpu:CPU", 80)))
    assert {found.scope for found in two} == {"psu-in", "psu-out"}


def test_a_wall_that_is_not_the_whole_host_is_refused() -> None:
    (one,) = refused_scopes([*HEALTHY, *shown(("wall:outlet", 118), source="pdu")])
    assert (one.source, one.scope) == ("pdu", "wall")


def test_check_names_the_refused_scope_of_its_host_alone() -> None:
    bad = tuple(shown(("psu-out:PSU1", 500), ("psu-out:PSU2", 498), ("system:1", 500)))
    checks = list(
        power(
            [
                PowerAnswer("h1", "bmc", "redfish", ("system_w",), shown=bad),
                PowerAnswer("h2", "bmc", "redfish", ("system_w",), shown=tuple(HEALTHY)),
            ]
        )
    )
    assert [(one.host, one.status) for one in checks] == [("h1", "ok"), ("h2", "ok"), ("h1", "fail")]
    assert checks[2].found == (
        "bmc: PSU DC out refused: 998.0 W of PSU DC out (bmc) against 500.0 W of system (bmc): "
        "each of the 2 repeats the whole"
    )


@pytest.mark.parametrize(
    ("readings", "measures"),
    [
        ({"system:1": 0.0}, False),
        ({"psu-in:PSU1": 0.0, "psu-in:PSU2": 0.0, "fan:fans": 0.0}, False),
        ({"psu-in:PSU1": 0.0, "psu-in:PSU2": 80.0}, True),
        ({"system:1": 0.0, "cpu:CPU": 30.0}, True),
        ({"gpu:0": 0.0}, True),  # a card may be asleep
        ({}, True),
        ({"system:1": None}, True),  # missing is told with its reason
    ],
)
def test_a_source_whose_every_reading_is_0_w_is_no_meter(
    readings: dict[str, float | None], measures: bool
) -> None:
    channels = {name: Channel(name, "W", "gauge", name) for name in readings}
    why = no_meter(channels, readings)
    assert (why is None) == measures
    assert why is None or why.startswith("this server has no power meter")
