# SPDX-License-Identifier: Apache-2.0
"""What idle drifts by between trials is taken out of their watts, and becomes no energy of bits."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.report_factories import end, result, stored, trial, watts
from tests.unit.conftest import Run

from linewatt.analysis.power.energy_rows import EndEnergy, end_energies
from linewatt.analysis.power.idle_drift import FEWEST_WINDOWS, drift_of
from linewatt.model import Case, PowerResult, Trial, Window
from linewatt.records import Idle

BASE_W, BIT_J, PACKET_J = 100.0, 4e-9, 8e-6
FRAMES = {"udp-60": 60, "udp-512": 512, "udp-1500": 1514}
KPPS = (70, 140, 270)
WINDOW_S, EVERY, STEP_W, NOISE_W = 30.0, 3, 0.1, 0.15
SWEEP = [(test, 1e3 * kpps) for test in FRAMES for kpps in KPPS]
Drift = Callable[[float], float]
"""W by the part of the campaign that is over, 0 to 1"""


def still(_: float) -> float:
    return 0.0


def warming(part: float) -> float:
    return 6 * part


def swinging(part: float) -> float:
    return 3 * math.sin(3 * math.pi * part)


class Campaign:
    """Trials in random order with idle windows between, on a host whose idle drifts."""

    def __init__(
        self,
        seed: int,
        drift: Drift,
        *,
        repetitions: int = 4,
        idle_off_w: float = 0.0,
        step_w: float = STEP_W,
    ) -> None:
        self._rng = random.Random(seed)  # noqa: S311
        self._drift, self._idle_off_w, self._step_w = drift, idle_off_w, step_w
        self._time_s, self._total_s = 0.0, repetitions * len(SWEEP) * WINDOW_S * (1 + 1 / EVERY)
        self.trials: list[Trial] = []
        self.idle = [self._idle()]
        for _ in range(repetitions):
            for test, packets in self._rng.sample(SWEEP, len(SWEEP)):
                if self.trials and len(self.trials) % EVERY == 0:
                    self.idle.append(self._idle())
                self.trials.append(self._trial(test, packets))
        self.idle.append(self._idle().model_copy(update={"after": True}))

    def _shown(self, above_w: float) -> tuple[Window, float]:
        window = Window(self._time_s, self._time_s + WINDOW_S)
        self._time_s += WINDOW_S
        drawn_w = BASE_W + above_w + self._drift((window.start_s + WINDOW_S / 2) / self._total_s)
        return window, self._step_w * round((drawn_w + self._rng.gauss(0, NOISE_W)) / self._step_w)

    def _power(self, shown_w: float) -> PowerResult:
        energy: dict[str, Any] = {
            "energy_j": WINDOW_S * shown_w,
            "energy_uncertainty_j": WINDOW_S * self._step_w,
        }
        return watts("wall", shown_w, step_w=self._step_w, tolerance_ratio=None, **energy)

    def _idle(self) -> Idle:
        window, shown_w = self._shown(self._idle_off_w)
        power = self._power(shown_w)
        times = {"start_s": window.start_s, "end_s": window.end_s}
        host = {"power": [json.loads(json.dumps(asdict(power)))]}
        return Idle.model_validate({"window": times, "hosts": {"h2": host}})

    def _trial(self, test: str, packets: float) -> Trial:
        bits = 8 * FRAMES[test] * packets
        window, shown_w = self._shown(BIT_J * bits + PACKET_J * packets)
        counted = {
            "nic.rx_bytes": bits / 8 * WINDOW_S,
            "nic.rx_packets": packets * WINDOW_S,
            "nic.tx_packets": 1.0,
        }
        receiver = end("h2", "receiver", 0.5, 0.5, 0.5, counters=counted, power=(self._power(shown_w),))
        case = Case(test, "h1", "h2", rate_bps=bits)
        arrived = round(packets * WINDOW_S)
        one = trial(len(self.trials) + 1, case, bits, 0.5, packets=arrived, lost_packets=0)
        return replace(one, receiver=receiver, window=window)


def fitted(made: Campaign, idle: Sequence[Idle] | None = None) -> EndEnergy:
    return end_energies(made.trials, made.idle if idle is None else idle)[0]


def reach(one: EndEnergy, key: str) -> float:
    """Half of the interval; of what is withheld all there is."""
    figure = one.fit.figures[key]
    if figure.high is None or figure.low is None:
        return math.inf
    return (figure.high - figure.low) / 2


PLANTED = (("e_bit_pj", BIT_J), ("e_pkt_nj", PACKET_J))


@pytest.mark.parametrize("drift", [still, warming, swinging], ids=lambda one: one.__name__)
def test_energies_lie_in_their_intervals_whatever_idle_drifts_by(drift: Drift) -> None:
    seeds = inputs(60)
    fits = [fitted(Campaign(seed, drift)) for seed in range(seeds)]
    for key, planted in PLANTED:
        figures = [one.fit.figures[key] for one in fits]
        held = sum((one.low or math.inf) <= planted <= (one.high or 0) for one in figures)
        assert held >= 0.9 * seeds, key
    taken_out = sum(one.drift is not None for one in fits)
    assert taken_out == seeds if drift is not still else taken_out < 0.2 * seeds


@pytest.mark.parametrize("drift", [warming, swinging], ids=lambda one: one.__name__)
def test_idle_between_trials_makes_intervals_half_as_wide_where_it_drifts(drift: Drift) -> None:
    for seed in range(10):
        made = Campaign(seed, drift)
        between, outer = fitted(made), fitted(made, [made.idle[0], made.idle[-1]])
        assert outer.drift is None, "two windows say nothing of what was between them"
        for key, _ in PLANTED:
            assert reach(between, key) < 0.5 * reach(outer, key)


@pytest.mark.parametrize("drift", [still, warming, swinging], ids=lambda one: one.__name__)
def test_a_meter_of_4_w_steps_tells_no_packet_whatever_idle_drifts_by(drift: Drift) -> None:
    """270 kpps of 8 µJ are 2.2 W; idle that moves a reading from step to step does not make it finer."""
    for seed in range(inputs(30)):
        figure = fitted(Campaign(seed, drift, step_w=4.0)).fit.figures["e_pkt_nj"]
        assert figure.value is None


def test_idle_off_the_model_is_told_with_what_it_drifted_by_taken_out() -> None:
    one = fitted(Campaign(3, warming, idle_off_w=-15.0))
    assert one.drift is not None
    (said,) = (warning for warning in one.fit.warnings if warning.startswith("idle is"))
    assert "as soon as packets flow" in said
    assert one.fit.rows == 4 * len(SWEEP)


def test_a_fit_says_what_idle_drifted_by(run: Run) -> None:
    made = Campaign(1, warming)
    path = stored(Path("results"), result(made.trials))
    before, after = made.idle[:-1], made.idle[-1]
    for number, one in enumerate(before, 1):
        name = "idle.json" if number == 1 else f"idle-{number}.json"
        (path / name).write_text(json.dumps(one.as_written()))
    (path / "idle-end.json").write_text(json.dumps(after.as_written()))
    out = run("fit", "energy", "last")[1]
    assert "Idle drifted between 100." in out
    assert "over 13 windows: the watts of each trial" in out
    found = json.loads(run("fit", "energy", "last", "--json")[1])["fits"][0]
    assert found["idle_drift"]["windows"] == 13
    assert found["idle_drift"]["high_w"] - found["idle_drift"]["low_w"] == pytest.approx(6, abs=1)
    assert found["rows"] == 4 * len(SWEEP) + 1, "idle is one row: all its windows are its mean then"


WINDOWS = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(1, 1000)),
    min_size=FEWEST_WINDOWS,
    max_size=20,
    unique_by=lambda one: one[0],
)


@given(WINDOWS, st.floats(0, 1e6))
def test_what_is_taken_out_is_never_more_than_windows_differ(
    windows: list[tuple[float, float]], time_s: float
) -> None:
    found = drift_of(windows)
    if found is not None:
        low_w, high_w = min(found.watts), max(found.watts)
        assert low_w - 1e-6 <= found.mean_w + found.at(time_s) <= high_w + 1e-6
        assert drift_of(list(reversed(windows))) == found


@given(st.integers(1, 6), st.floats(10, 300))
def test_idle_that_stands_has_no_drift(number: int, power_w: float) -> None:
    assert drift_of([(float(one), power_w) for one in range(number)]) is None


def test_a_line_is_a_drift_and_scatter_is_none() -> None:
    assert drift_of([(0.0, 100.0), (1.0, 101.0), (2.0, 102.0)]) is not None
    assert drift_of([(0.0, 100.0), (1.0, 102.0), (2.0, 100.5), (3.0, 101.5)]) is None
