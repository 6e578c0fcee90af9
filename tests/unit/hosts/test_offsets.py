# SPDX-License-Identifier: Apache-2.0
"""Offsets of host clocks: of clocks that run, drift, and are set."""

from __future__ import annotations

import random
import time

import pytest

from linewatt.engine.live.trial import _set_meanwhile
from linewatt.hosts.clock import Exchange, Offset, best_offset, clock_set_s, now_s

BEAT_S = 0.3


def exchanges(offsets_s: list[float], *, ppm: float = 0.0, seed: int = 1) -> list[Exchange]:
    """A heartbeat each 0.3 s to a clock that is so far ahead; trips take 1 to 20 ms, all of it one way."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for number, offset_s in enumerate(offsets_s):
        sent_s, there_s, back_s = number * BEAT_S, *draw.sample([draw.uniform(0.001, 0.02), 0.0], 2)
        host_s = sent_s + there_s + offset_s + ppm * 1e-6 * sent_s
        made.append(Exchange(sent_s, round(host_s, 6), sent_s + there_s + back_s))
    return made


@pytest.mark.parametrize("step_s", [2.0, -2.0, 0.05, -0.05, 3600.0])
@pytest.mark.parametrize("since", [1, 2, 10, 63])
def test_after_a_clock_was_set_its_offset_is_that_of_the_clock_now(step_s: float, since: int) -> None:
    found = best_offset(exchanges([7.0] * (64 - since) + [7.0 + step_s] * since))
    assert found is not None
    assert abs(found.offset_s - (7.0 + step_s)) <= found.uncertainty_s + 1e-5
    assert found.uncertainty_s <= 0.01


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ppm", [0.0, 500.0, -500.0])
def test_a_clock_that_is_slewed_or_has_slow_trips_was_not_set(seed: int, ppm: float) -> None:
    """The quickest of all exchanges is taken, however old."""
    all_of_it = exchanges([7.0] * 64, ppm=ppm, seed=seed)
    found = best_offset(all_of_it)
    assert found is not None
    assert found.uncertainty_s == min(one.round_trip_s for one in all_of_it) / 2


def test_the_clocks_of_two_trials_apart_are_told_from_one_that_was_set() -> None:
    assert clock_set_s(Offset(1.0, 0.001), Offset(3.0, 0.001), 20.0) == pytest.approx(2.0)
    assert clock_set_s(Offset(1.0, 0.001), Offset(-1.0, 0.001), 20.0) == pytest.approx(-2.0)
    assert clock_set_s(Offset(1.0, 0.001), Offset(1.011, 0.001), 20.0) is None
    assert clock_set_s(Offset(1.0, 0.2), Offset(1.3, 0.2), 1.0) is None


def test_a_trial_in_which_a_clock_was_set_says_so_and_one_whose_clock_is_not_known_says_nothing() -> None:
    before = {"h1": Offset(0.5, 0.001), "h2": Offset(-0.25, 0.001)}
    assert _set_meanwhile(before, before, 5.0) is None
    assert _set_meanwhile({}, before, 5.0) is None
    said = _set_meanwhile(before, {**before, "h2": Offset(1.75, 0.001)}, 5.0)
    assert said is not None
    assert said.startswith("h2: its clock was set by +2.000 s in mid-trial")


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
def test_a_step_of_the_controllers_clock_moves_no_stamp(
    step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall_s, at_s = time.time(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: at_s)
    before_s = now_s()
    monkeypatch.setattr(time, "time", lambda: wall_s + step_s)
    assert now_s() == before_s
