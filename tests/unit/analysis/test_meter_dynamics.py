# SPDX-License-Identifier: Apache-2.0
"""What is learned of meters from their readings, and figures whose ± holds the truth whatever the meter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from tests.meter_simulation import (
    BEFORE_S,
    GRID_S,
    IDLE_W,
    Course,
    Floats,
    Outcome,
    Simulated,
    in_a_row,
    learned,
    window,
)

from linewatt.analysis.power import meters
from linewatt.analysis.power.energy import Energy, Meter, energy_from_power
from linewatt.analysis.power.meters import Model, Step
from linewatt.missing import Missing
from linewatt.model import Window
from linewatt.sensors.power.dynamics import Dynamics, declared_dynamics

NOISY = Course()
LEVELS = Course(noise_w=2.0, correlation_s=3.0, levels_w=20.0)
STILL = Course(noise_w=0.2)
EACH_CAMPAIGN = 4
"""windows that are measured with what one campaign learned"""


def outcomes(
    meter: Simulated,
    course: Course,
    window_s: float,
    count: int,
    loads: int = 2,
    known: Dynamics | None = None,
) -> Iterator[Outcome]:
    rng = np.random.default_rng(7)
    own = known
    for number in range(count):
        if known is None and number % EACH_CAMPAIGN == 0:
            own = learned(rng, meter, course, loads, window_s + 7)
        assert own is not None
        yield window(rng, meter, course, window_s, own)


@pytest.mark.parametrize("course", [NOISY, LEVELS], ids=["noise", "levels"])
@pytest.mark.parametrize(
    ("averaging_s", "shape"),
    [(0.0, "window"), (1.0, "window"), (10.0, "window"), (10.0, "exponential"), (30.0, "window")],
)
@pytest.mark.parametrize("refresh_s", [0.2, 1.0, 10.0, 30.0])
def test_the_truth_is_within_what_is_stated_in_19_of_20_windows_or_there_is_no_figure(
    refresh_s: float, averaging_s: float, course: Course, shape: str
) -> None:
    meter = Simulated(refresh_s, averaging_s, shape)  # type: ignore[arg-type]
    for window_s in (60.0, 150.0):
        found = list(outcomes(meter, course, window_s, 20))
        shown = [one for one in found if isinstance(one.found, Energy)]
        assert len(shown) - sum(one.holds for one in shown) <= 1
        if course is NOISY and window_s >= averaging_s * (8 if shape == "exponential" else 3) + 5 * refresh_s:
            assert len(shown) >= 14, [one.found for one in found]


def test_a_quick_meters_figure_is_sharp() -> None:
    for one in outcomes(Simulated(0.2, 0.0), NOISY, 60.0, 10):
        assert isinstance(one.found, Energy)
        assert one.found.uncertainty_j / one.window_s < 4.0


@pytest.mark.parametrize("refresh_s", [0.2, 1.0])
@pytest.mark.parametrize("read_every_s", [0.4, 1.0, 2.0])
def test_a_steady_load_keeps_its_figure(refresh_s: float, read_every_s: float) -> None:
    meter = Simulated(refresh_s, 0.0, step_w=4.0, read_every_s=read_every_s)
    for one in outcomes(meter, STILL, 60.0, 20):
        assert isinstance(one.found, Energy), one.found
        assert one.holds


@pytest.mark.parametrize("update_s", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("read_every_s", [0.25, 1.0])
def test_an_equal_last_reading_covers_the_window_as_any_other(update_s: float, read_every_s: float) -> None:
    """It was dropped as a reading of the same update, and the window was then said not to be covered."""
    span = Window(45.0, 105.0)
    times = [*np.arange(39.6, span.end_s, read_every_s).tolist(), span.end_s + 0.1]
    meter = Meter(update_s, 4.0, dynamics=Dynamics(refresh_s=update_s))
    found = energy_from_power([(time_s, 200.0) for time_s in times], span, meter, Window(40.0, 107.0))
    assert isinstance(found, Energy), found
    assert found.power_w == pytest.approx(200.0)
    assert found.uncertainty_j == pytest.approx(4.0 * 60)


def test_nothing_learned_yet_gives_no_sharp_figure_of_a_slow_meter() -> None:
    """The first trial: held values are no updates, and what is not known widens the bound."""
    for refresh_s in (10.0, 30.0):
        found = list(outcomes(Simulated(refresh_s, 0.0), NOISY, 120.0, 20, known=Dynamics()))
        shown = [one for one in found if isinstance(one.found, Energy)]
        assert sum(one.holds for one in shown) >= 0.95 * len(shown) - 0.5


@pytest.mark.parametrize("course", [NOISY, STILL], ids=["noise", "still"])
@pytest.mark.parametrize(
    ("averaging_s", "shape"), [(10.0, "window"), (10.0, "exponential"), (30.0, "window")]
)
def test_what_a_meter_of_unknown_averaging_may_still_show_of_before_is_in_its_bound(
    averaging_s: float, shape: str, course: Course
) -> None:
    meter = Simulated(1.0, averaging_s, shape)  # type: ignore[arg-type]
    window_s = averaging_s * (6 if shape == "exponential" else 3)
    found = list(outcomes(meter, course, window_s, 40, known=Dynamics(refresh_s=1.0)))
    assert sum(one.holds for one in found if isinstance(one.found, Energy)) >= 38


FIRST_TRIAL = Path(__file__).parents[2] / "captures" / "meters" / "lab_first_trial.json"


@pytest.mark.parametrize("channel", ["PSU1 Power Out", "CPU_Power"])
def test_one_load_that_begins_unevenly_makes_no_meter_slower_than_a_quick_one_explains(channel: str) -> None:
    """Half of the window was left out for a meter that averages over 1 s, and its power was 4 % too high."""
    captured = json.loads(FIRST_TRIAL.read_text())
    at, step_w = captured["channels"].index(channel), captured["steps_w"][channel]
    readings = [(row[0], row[at]) for row in captured["readings"]]
    span, load = Window(*captured["window_s"]), Window(0.0, 5.5)
    step = meters.fit_step([one for one in readings if one[0] <= load.end_s], 0.0, 0.2, step_w)
    assert step is not None
    known = meters.follow([step], 0.2)
    assert (known.averaging_s, known.delay_s) == (1.0, 0.0)
    energy = energy_from_power(readings, span, Meter(0.2, step_w, dynamics=known), load)
    assert isinstance(energy, Energy)
    true_w = fmean(watts for time_s, watts in readings if span.start_s + 0.5 <= time_s <= span.end_s + 0.5)
    assert energy.power_w == pytest.approx(true_w, rel=0.005)


IN_THE_TAIL = FIRST_TRIAL.with_name("lab_tail.json")


@pytest.mark.parametrize("channel", ["PSU1 Power In", "PSU1 Power Out", "CPU_Power"])
def test_what_linewatt_does_behind_a_window_makes_no_meter_a_slow_one(channel: str) -> None:
    """All readings of the load made it one that averages over 7 to 45 s, and the watts were withheld."""
    captured = json.loads(IN_THE_TAIL.read_text())
    at, step_w = captured["channels"].index(channel), captured["steps_w"][channel]
    readings = [(row[0], row[at]) for row in captured["readings"]]
    span, load = Window(*captured["window_s"]), Window(0.0, captured["load_s"])
    step = meters.fit_step([one for one in readings if one[0] <= span.end_s], 0.0, 0.2, step_w)
    assert step is not None
    known = meters.follow([step], 0.2)
    assert known.settle_s is not None
    assert known.settle_s <= meters.VAGUE_S
    energy = energy_from_power(readings, span, Meter(0.2, step_w, dynamics=known), load)
    assert isinstance(energy, Energy)
    plain_w = fmean(watts for time_s, watts in readings if span.start_s <= time_s <= span.end_s)
    assert energy.power_w == pytest.approx(plain_w, abs=energy.uncertainty_j / (span.end_s - span.start_s))
    assert energy.power_w == pytest.approx(plain_w, rel=0.05)


@dataclass(frozen=True)
class Uneven(Course):
    """A load that rises for 0.4 s and then draws up to 30 % more or less, for up to four seconds."""

    def power(self, rng: np.random.Generator, load_s: float, load_w: float) -> Floats:
        power_w = super().power(rng, load_s, load_w)
        since_s = np.arange(len(power_w)) * GRID_S - BEFORE_S
        rise_w, turn_s = load_w - IDLE_W, rng.uniform(0.5, 2)
        first, then = rng.uniform(-0.3, 0.3, 2) * rise_w
        power_w[(since_s >= 0) & (since_s < turn_s)] += first
        power_w[(since_s >= turn_s) & (since_s < turn_s + 2)] += then
        ramp = (since_s >= 0) & (since_s < 0.4)
        power_w[ramp] += 0.7 * rise_w * (since_s[ramp] / 0.4 - 1)
        return power_w


@pytest.mark.parametrize(("averaging_s", "shape"), [(0.0, "window"), (1.0, "window"), (1.0, "exponential")])
def test_the_first_load_that_a_meter_is_learned_from_may_be_uneven(averaging_s: float, shape: str) -> None:
    meter = Simulated(0.2, averaging_s, shape, step_w=4.0, read_every_s=0.2)  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    outcomes = [window(rng, meter, Uneven(), 10.0, learned(rng, meter, Uneven(), 1, 17.0)) for _ in range(60)]
    shown = [one for one in outcomes if isinstance(one.found, Energy)]
    assert len(shown) >= 50, [one.found for one in outcomes]
    assert len(shown) - sum(one.holds for one in shown) <= 3


@pytest.mark.parametrize("refresh_s", [10.0, 30.0])
def test_the_refresh_of_a_slow_meter_is_learned(refresh_s: float) -> None:
    rng = np.random.default_rng(1)
    found = learned(rng, Simulated(refresh_s, 0.0), NOISY, 3, 127.0)
    assert found.refresh_s == pytest.approx(refresh_s, rel=0.05)


def test_a_quick_meter_is_no_slower_than_it_is_read() -> None:
    rng = np.random.default_rng(1)
    assert learned(rng, Simulated(0.2, 0.0), NOISY, 2, 67.0).refresh_s == 1.0


def test_of_power_that_stands_still_no_refresh_is_learned() -> None:
    assert meters.refresh([40.0, 17.0, 23.0, 61.0, 9.0, 33.0], 1.0) is None
    assert meters.refresh([30.0, 30.0], 1.0) is None


@pytest.mark.parametrize(
    ("averaging_s", "shape"), [(10.0, "window"), (30.0, "window"), (10.0, "exponential")]
)
@pytest.mark.parametrize("refresh_s", [0.2, 1.0])
def test_averaging_is_learned_from_the_edge_of_a_load(
    averaging_s: float, shape: str, refresh_s: float
) -> None:
    rng = np.random.default_rng(2)
    meter = Simulated(refresh_s, averaging_s, shape)  # type: ignore[arg-type]
    found = learned(rng, meter, NOISY, 2, 127.0)
    wanted_s = averaging_s * (2 if shape == "exponential" else 1)
    assert found.averaging_s == pytest.approx(wanted_s, rel=0.5)
    assert found.settle_s is not None
    assert found.settle_s >= wanted_s


@pytest.mark.parametrize("refresh_s", [0.2, 1.0, 10.0])
def test_no_averaging_is_stated_of_a_meter_without(refresh_s: float) -> None:
    rng = np.random.default_rng(3)
    found = learned(rng, Simulated(refresh_s, 0.0), NOISY, 3, 67.0)
    assert found.averaging_s == 0.0
    assert found.settle_s is not None
    assert found.settle_s <= refresh_s + 1.5


def test_power_that_changes_by_itself_makes_no_meter_look_slow_for_ever() -> None:
    """Levels of ± 20 W are noise to all models alike."""
    rng = np.random.default_rng(4)
    found = learned(rng, Simulated(1.0, 0.0), LEVELS, 4, 127.0)
    assert found.settle_s is not None
    assert found.settle_s < 10


def test_a_step_that_is_lost_in_noise_teaches_nothing() -> None:
    readings = [(float(t), 100.0 + (t % 3)) for t in range(60)]
    assert meters.fit_step(readings, 30.0, None, 1.0) is None
    assert meters.follow([]) == Dynamics()


@pytest.mark.parametrize("cores", [1.0, None], ids=["all are busy with something else", "not known"])
def test_loads_that_draw_what_cpu_use_does_not_explain_make_no_quick_meter_late(cores: float | None) -> None:
    """Measured: of datagrams of 60 and of 1500 B on hosts that others kept busy, all watts were withheld."""
    meter = Simulated(0.2, 0.0, step_w=4.0, read_every_s=0.2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        readings, loads = in_a_row(rng, meter, [116.0, 148.0, 114.0, 132.0, 112.0], 6.5, 1.5, STILL)
        course = meters.fit_course(readings, [load._replace(cores=cores) for load in loads], 0.2, 4.0)
        assert course is not None
        assert meters.follow([course]).delay_s == pytest.approx(0.0, abs=0.5)


def test_power_that_one_of_many_like_loads_draws_makes_no_meter_late() -> None:
    """Measured: fans turned faster in the third of five, and all watts were withheld as 10 s late."""
    meter = Simulated(0.2, 0.0, step_w=4.0, read_every_s=0.3)
    readings, loads = in_a_row(np.random.default_rng(1), meter, [100.5] * 5, 14.0, 4.0, STILL)
    third = loads[2]
    for begins_s, ends_s in ((-3.0, 1.0), (-2.0, 0.5), (-1.0, 3.0)):
        raised = [
            (time_s, watts + 50.0 * (third.start_s + begins_s <= time_s < third.end_s + ends_s))
            for time_s, watts in readings
        ]
        assert meters.fit_course(raised, loads, 0.3, 4.0) is None


def test_a_late_meter_is_late_although_a_load_in_between_draws_little() -> None:
    """A sweep of rates has such loads: that power is down then is no sign that no load shows."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        loads_w = [200.0, 200.0, 102.0, 200.0]
        readings, loads = in_a_row(rng, Simulated(1.0, 0.0, delay_s=20.0), loads_w, 28.0, 1.5)
        course = meters.fit_course(readings, loads, 1.0, 1.0)
        assert course is not None
        assert meters.is_late(course)


def test_power_falls_when_a_load_begins_only_where_another_ran_before() -> None:
    """What a late meter still showed of before fell at the start of the first load by chance."""
    readings = [(float(t), 140.0 if t < 10 else 100.0) for t in range(31)]
    assert meters.fit_step(readings, 9.5, None, 1.0, from_idle=True) is None
    assert meters.fit_step(readings, 9.5, None, 1.0) is not None
    rises = [(time_s, 240.0 - watts) for time_s, watts in readings]
    assert meters.fit_step(rises, 9.5, None, 1.0, from_idle=True) is not None


def explained_by(*likely: Model) -> Step:
    return Step(tuple(0.0 if one in likely else meters.MOST_PER_STEP for one in meters.models()))


def test_steps_that_a_quick_meter_and_a_slow_one_explain_alike_tell_neither() -> None:
    """Small steps in noise: a quick meter's figures were withheld for a delay that nobody had seen."""
    quick, slow = Model("window", 0.0, 0.0), Model("window", 10.0, 0.0)
    assert meters.follow([explained_by(quick, slow)]) == Dynamics()
    assert meters.follow([explained_by(quick, slow), explained_by(slow)]) == Dynamics(None, 10.0, 0.0, 10.0)
    assert meters.follow([explained_by(quick, slow), explained_by(quick)]) == Dynamics(None, 0.0, 0.0, 0.0)
    assert meters.follow([explained_by(quick, Model("window", 3.0, 0.0))]).settle_s == 3.0
    late, slower = Model("window", 0.0, 0.5), Model("exponential", 2.0, 0.0)
    assert meters.follow([explained_by(late, slower)]) == Dynamics()
    assert meters.follow([explained_by(quick, slow)], refresh_s=5.0).settle_s == 10.0
    assert meters.follow([explained_by(quick, slow)], refresh_s=4.0) == Dynamics(4.0)


def test_of_slow_meters_the_one_that_explains_the_steps_best_is_stated() -> None:
    """The one that settles first halved the averaging of a BMC that averages over 10 s."""
    errors = {Model("window", 10.0, 0.0): 0.0, Model("window", 5.0, 0.5): 6.0}
    step = Step(tuple(errors.get(one, meters.MOST_PER_STEP) for one in meters.models()))
    assert meters.follow([step]) == Dynamics(None, 10.0, 0.0, 10.0)


def test_a_meter_that_needs_longer_than_it_was_watched_is_stated_only_where_no_other_is_likely() -> None:
    """Of one load of 28 s, a BMC that averages over 10 s was said to average over 180."""
    slower, slowest = Model("window", 10.0, 0.0), Model("exponential", 90.0, 0.0)
    errors = {slower: 3.0, slowest: 0.0}
    totals = tuple(errors.get(one, meters.MOST_PER_STEP) for one in meters.models())
    seen = meters.follow([Step(totals, watched_s=28.0)])
    assert (seen.averaging_s, seen.settle_s) == (10.0, slowest.settle_s)
    assert meters.follow([Step(totals, watched_s=300.0)]).averaging_s == slowest.window_s
    assert meters.follow([Step(totals, 28.0), Step(totals, 300.0)]).averaging_s == slowest.window_s
    alone = tuple(0.0 if one == slowest else meters.MOST_PER_STEP for one in meters.models())
    assert meters.follow([Step(alone, watched_s=28.0)]).averaging_s == slowest.window_s


def test_how_long_a_step_was_watched_is_known() -> None:
    readings = [(float(t), 100.0 if t < 10 else 140.0) for t in range(31)]
    step = meters.fit_step(readings, 9.5, None, 1.0)
    assert step is not None
    assert step.watched_s == 20.5


def test_an_update_that_is_read_again_is_no_sample_and_a_held_one_was_taken_as_often() -> None:
    readings = [(float(t), 100.0 if t < 4 else 140.0 if t < 34 else 120.0) for t in range(46)]
    taken = meters.samples(readings, 10.0)
    assert taken == [(-6.0, 100.0), (4.0, 140.0), (14.0, 140.0), (24.0, 140.0), (34.0, 120.0), (44.0, 120.0)]
    assert meters.samples(readings, 1.0) == readings
    assert meters.samples(readings, None) == readings


def test_of_a_value_that_never_changes_samples_are_taken_for_as_old_as_they_can_be() -> None:
    readings = [(float(t), 100.0) for t in range(30)]
    assert meters.samples(readings, 10.0) == [(-1.0, 100.0), (9.0, 100.0), (19.0, 100.0)]


def refused(meter: Meter, window_s: float, omit_s: float = 5.0) -> str:
    start_s = 100.0
    readings = [(start_s + t, 200.0 + 3 * (t // 30)) for t in range(-5, int(omit_s + window_s) + 3)]
    span = Window(start_s + omit_s, start_s + omit_s + window_s)
    found = energy_from_power(readings, span, meter, Window(start_s, span.end_s + 2))
    assert isinstance(found, Missing)
    return found.reason


def test_a_window_that_is_too_short_says_which_would_do() -> None:
    slow = Meter(1.0, dynamics=Dynamics(refresh_s=30.0))
    assert refused(slow, 60.0) == (
        "the window of 60 s is too short for this meter (refreshed every 30 s); window.seconds: 120 would do"
    )
    averaging = Meter(1.0, dynamics=Dynamics(1.0, 30.0, 0.0, 30.0))
    assert refused(averaging, 40.0) == (
        "the window of 40 s is too short for this meter (averages over 30 s); window.seconds: 50 would do"
    )


def test_what_was_read_after_the_load_is_no_part_of_it() -> None:
    """A meter that is refreshed every 10 s tells of idle in its first update behind the window."""
    readings = [(float(t), 100.0 if t < 42 else 200.0 if t < 112 else 100.0) for t in range(30, 116)]
    meter = Meter(1.0, dynamics=Dynamics(10.0, 0.0, 0.0, 1.0))
    found = energy_from_power(readings, Window(45.0, 105.0), meter, Window(BEFORE_S, 107.0))
    assert isinstance(found, Energy)
    assert found.power_w == pytest.approx(200.0)


def test_a_declared_average_is_a_moving_one() -> None:
    assert declared_dynamics(None, None) == Dynamics()
    assert declared_dynamics(2.0, 10.0) == Dynamics(2.0, 10.0, None, 12.0)
    assert Dynamics(1.0, 0.0, 0.0, 1.0) | declared_dynamics(2.0, 10.0) == Dynamics(2.0, 10.0, 0.0, 12.0)


def part(model: Model, after_s: float) -> float:
    return float(meters.shown([model], [after_s])[0, 0])


def test_a_response_is_between_nothing_and_all() -> None:
    assert part(Model("window", 10.0, 2.0), 1.9) == 0.0
    assert part(Model("window", 10.0, 2.0), 7.0) == 0.5
    assert part(Model("window", 0.0, 2.0), 2.1) == 1.0
    assert part(Model("exponential", 10.0, 0.0), 30.0) == pytest.approx(0.95, abs=0.01)
    assert Model("exponential", 10.0, 0.0).settle_s == pytest.approx(30.0, abs=0.1)


def test_what_looks_like_an_average_is_not_stated_of_a_meter_that_shows_peaks() -> None:
    """The highest of noise creeps up after a load began."""
    slow = meters.Step(tuple(0.0 if model.averaging_s == 5.0 else 60.0 for model in meters.models()))
    assert meters.dynamics([], 1.0, [slow]).averaging_s == pytest.approx(5.0, rel=1)
    of_peaks = meters.dynamics([], 1.0, [slow], peak_s=4.0)
    assert (of_peaks.averaging_s, of_peaks.delay_s, of_peaks.settle_s) == (0.0, 0.0, 4.0)
