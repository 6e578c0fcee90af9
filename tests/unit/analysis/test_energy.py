# SPDX-License-Identifier: Apache-2.0
"""Energy over a window against the integral of what the sensor was shown, and its own word for its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.analysis.power.energy import Energy, Meter, energy_from_power, energy_from_total
from linewatt.missing import Missing
from linewatt.model import Window
from linewatt.sensors.counters import counter_delta
from linewatt.sensors.power.dynamics import Dynamics

WINDOW = Window(100.0, 106.0)
QUICK = Dynamics(refresh_s=0.2)
BMC = Meter(update_s=0.2, step_w=4.0, dynamics=QUICK)
QUICK_TOTAL = Meter(1.0)
RANGE_J = 36_500.0

Course = Callable[[float], float]


def seen(
    course: Course, *, every_s: float = 0.2, update_s: float = 0.2, step_w: float = 4.0, late_s: float = 0.03
) -> list[tuple[float, float | None]]:
    """What polling a sensor gives that takes the power every ``update_s`` and cuts it to its step."""
    readings: list[tuple[float, float | None]] = []
    time_s = WINDOW.start_s - 1.0
    while time_s < WINDOW.end_s + 1.0:
        taken_s = math.floor((time_s - late_s) / update_s) * update_s
        readings.append((time_s, math.floor(course(taken_s) / step_w) * step_w))
        time_s += every_s
    return readings


def integral_j(course: Course, parts: int = 6000) -> float:
    width_s = WINDOW.seconds / parts
    return sum(course(WINDOW.start_s + (i + 0.5) * width_s) for i in range(parts)) * width_s


def steps(levels: list[float], change_s: list[float]) -> Course:
    """Power that jumps from one level to the next at given times of the window."""
    times = sorted(change_s)

    def course(time_s: float) -> float:
        return levels[sum(WINDOW.start_s + change <= time_s for change in times)]

    return course


@pytest.mark.parametrize("every_s", [0.05, 0.2, 0.5])
@pytest.mark.parametrize(
    "course",
    [
        lambda t: 103.0,
        lambda t: 90 + 20 * (t - 100),
        lambda t: 120 + 60 * math.sin(t),
        steps([100, 240, 130], [1.3, 4.1]),
    ],
    ids=["constant", "ramp", "sine", "steps"],
)
def test_the_energy_is_the_integral_within_its_own_uncertainty(course: Course, every_s: float) -> None:
    found = energy_from_power(seen(course, every_s=every_s), WINDOW, BMC)
    assert isinstance(found, Energy)
    assert abs(found.energy_j - integral_j(course)) <= found.uncertainty_j
    assert found.uncertainty_j <= 0.2 * found.energy_j
    assert found.power_w == pytest.approx(found.energy_j / 6.0)


@given(
    levels=st.lists(st.floats(60, 400), min_size=4, max_size=4),
    gaps=st.lists(st.floats(0.4, 2), min_size=3, max_size=3),
    late_s=st.floats(0.0, 0.19),
)
@settings(max_examples=inputs(60), deadline=None)
def test_any_course_of_steps_is_within_the_uncertainty(
    levels: list[float], gaps: list[float], late_s: float
) -> None:
    """Of steps, that is, that last for two updates: what is shorter no reading can show."""
    course = steps(levels, list(accumulate(gaps)))
    found = energy_from_power(seen(course, late_s=late_s), WINDOW, BMC)
    assert isinstance(found, Energy)
    assert abs(found.energy_j - integral_j(course)) <= found.uncertainty_j


@pytest.mark.parametrize(
    ("readings", "why"),
    [
        ([], "do not cover"),
        ([(100.5, 90.0), (107.0, 90.0)], "do not cover"),
        ([(99.0, 90.0), (105.0, 90.0)], "do not cover"),
        ([(99.0, None), (100.0, None), (107.0, None)], "do not cover"),
        ([(99.0 + 0.2 * i, 90.0) for i in range(50) if not 10 < i < 25], "no reading for 3.0 s"),
    ],
)
def test_what_is_not_covered_gives_no_number(readings: list[tuple[float, float | None]], why: str) -> None:
    found = energy_from_power(readings, WINDOW, BMC)
    assert isinstance(found, Missing)
    assert why in found.reason


def test_a_gap_outside_the_window_does_not_matter() -> None:
    readings = [(95.0, 90.0), *((99.9 + 0.2 * i, 90.0) for i in range(40))]
    found = energy_from_power(readings, WINDOW, BMC)
    assert isinstance(found, Energy)
    assert found.energy_j == pytest.approx(540.0)


def test_each_cause_of_error_widens_the_uncertainty() -> None:
    constant: list[tuple[float, float | None]] = [(99.0 + 0.2 * i, 100.0) for i in range(50)]

    def bound(meter: Meter, readings: list[tuple[float, float | None]] = constant) -> float:
        found = energy_from_power(readings, WINDOW, meter)
        assert isinstance(found, Energy)
        return found.uncertainty_j

    assert bound(Meter(0.2)) == 0.0
    assert bound(Meter(0.2, step_w=4.0)) == pytest.approx(24.0)
    assert bound(Meter(0.2, tolerance_ratio=0.05)) == pytest.approx(30.0)
    assert bound(Meter(0.2, 4.0, 0.05)) == pytest.approx(math.hypot(24.0, 30.0))
    moving: list[tuple[float, float | None]] = [
        (time_s, 100.0 + 50 * (time_s > 103)) for time_s, _ in constant
    ]
    assert bound(Meter(0.2, dynamics=QUICK), moving) > 10.0


def test_a_total_of_energy_is_uncertain_at_the_windows_edges_only() -> None:
    totals: list[tuple[float, float | None]] = [(99.0 + i, 100.0 * i) for i in range(9)]
    found = energy_from_total(totals, WINDOW, Meter(1.0, tolerance_ratio=0.01), counted_j=600.0)
    assert isinstance(found, Energy)
    assert found.power_w == pytest.approx(100.0)
    assert found.uncertainty_j == pytest.approx(math.hypot(6.0, 50.0))


@given(st.floats(20.0, 1000.0), st.sampled_from([3.6, 60.0, 400.0]), st.floats(0.0, 1.0))
def test_a_total_in_steps_is_off_by_no_more_than_it_says(power_w: float, step_j: float, phase: float) -> None:
    """Plugs count whole Wh or watt-minutes: what they show in a window may be a whole step too much."""

    def shown_j(time_s: float) -> float:
        return math.floor((power_w * (time_s - 90.0)) / step_j + phase) * step_j

    totals: list[tuple[float, float | None]] = [(99.5 + 0.5 * i, shown_j(99.5 + 0.5 * i)) for i in range(16)]
    delta = counter_delta(totals, WINDOW)
    assert delta.value is not None
    found = energy_from_total(totals, WINDOW, Meter(0.5, step_j=step_j), delta.value)
    if isinstance(found, Missing):
        assert power_w * WINDOW.seconds < 2 * step_j
    else:
        assert abs(found.energy_j - power_w * WINDOW.seconds) <= found.uncertainty_j + 1e-6


@given(st.floats(1.7, 40.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
@example(12.0, 0.8, 0.5)
@example(7.0, 0.5, 0.0)
def test_a_total_that_is_held_is_off_by_no_more_than_it_says(
    refresh_s: float, phase: float, read_phase: float
) -> None:
    """A BMC renews EnergyJoules every few seconds: whole seconds of power more or less are in the window."""
    window = Window(100.0, 130.0)

    def shown_j(time_s: float) -> float:
        return 200.0 * refresh_s * math.floor(time_s / refresh_s + phase)

    totals: list[tuple[float, float | None]] = [
        (time_s, shown_j(time_s)) for time_s in (50.0 + read_phase + i for i in range(100))
    ]
    delta = counter_delta(totals, window)
    assert delta.value is not None
    found = energy_from_total(totals, window, Meter(1.0), delta.value)
    if isinstance(found, Missing):
        assert window.seconds < refresh_s
    else:
        assert abs(found.energy_j - 6000.0) <= found.uncertainty_j + 1e-6


def test_a_total_that_does_not_move_is_no_0_w() -> None:
    """A PDU counts in 0.1 kWh: 20 minutes of 300 W."""
    totals: list[tuple[float, float | None]] = [(99.0 + i, 3.6e8) for i in range(9)]
    assert energy_from_total(totals, WINDOW, Meter(1.0, step_j=360_000.0), counted_j=0.0) == Missing(
        "its total did not move in the window, in steps of 360000 J"
    )
    assert energy_from_total(totals, WINDOW, Meter(1.0), counted_j=0.0) == Missing(
        "its total did not move in the window"
    )


def counted(
    total: Callable[[float], float], meter: Meter = QUICK_TOTAL, wraps_at: float | None = None
) -> Energy | Missing:
    """A total, read each second, over a minute."""
    window = Window(100.0, 160.0)
    totals: list[tuple[float, float | None]] = [(90.0 + i, total(90.0 + i)) for i in range(80)]
    delta = counter_delta(totals, window, wraps_at=wraps_at)
    assert delta.value is not None
    return energy_from_total(totals, window, meter, delta.value)


@pytest.mark.parametrize("moved_s", [100.5, 101.5, 130.0, 159.5])
def test_a_total_that_moved_once_is_known_no_better_than_by_that_move(moved_s: float) -> None:
    """Hundredths of a kWh and 300 W: 36 kJ in 2 minutes, of which a window of one shows all or none."""
    window = Window(100.0, 160.0)
    totals: list[tuple[float, float | None]] = [
        (99.8 + i, 36_000.0 * (99.8 + i > moved_s)) for i in range(62)
    ]
    found = energy_from_total(totals, window, Meter(1.0), counted_j=36_000.0)
    assert isinstance(found, Energy)
    assert found.uncertainty_j >= 36_000.0


def test_a_total_that_stops_in_the_window_gives_no_number() -> None:
    """300 W until half of the minute, then a BMC that hangs: half of the joules are no 150 W."""
    assert counted(lambda time_s: 300.0 * min(time_s, 130.0)) == Missing(
        "its total did not change for 30.0 s of the window"
    )
    assert counted(lambda time_s: 300.0 * (time_s - max(0.0, min(20.0, time_s - 110.0)))) == Missing(
        "its total did not change for 21.0 s of the window"
    ), "and goes on from where it stood"


def test_a_total_that_catches_up_or_counts_in_steps_tells_its_energy() -> None:
    late = counted(lambda time_s: 300.0 * (time_s if not 110 < time_s < 130 else 110.0))
    assert isinstance(late, Energy)
    assert late.power_w == pytest.approx(300.0)
    wrapped = counted(
        lambda time_s: 300.0 * (time_s if not 110 < time_s < 130 else 110.0) % RANGE_J, wraps_at=RANGE_J
    )
    assert isinstance(wrapped, Energy), "so does one that wraps meanwhile"
    assert wrapped.power_w == pytest.approx(300.0)
    plug = counted(
        lambda time_s: 3600.0 * ((300.0 * min(time_s, 130.0) + 20.0 * max(0.0, time_s - 130.0)) // 3600.0),
        Meter(1.0, step_j=3600.0),
    )
    assert isinstance(plug, Energy), "of one in steps it may be that little was drawn"


def test_updates_of_a_total_are_those_that_moved_it_in_the_window() -> None:
    totals: list[tuple[float, float | None]] = [(99.0 + i, 3600.0 * (i > 4)) for i in range(9)]
    found = energy_from_total(totals, WINDOW, Meter(1.0, step_j=3600.0), counted_j=3600.0)
    assert isinstance(found, Energy)
    assert found.updates == 1
    assert found.uncertainty_j >= 3600.0
