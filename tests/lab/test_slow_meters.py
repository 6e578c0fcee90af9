# SPDX-License-Identifier: Apache-2.0
"""BMCs that average or refresh slowly, and what a campaign says of them, against what was really drawn."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench, until
from tests.truth.others import undisturbed

from linewatt.features.lab import api as lab
from linewatt.features.lab.bmc_recipe import TRUTH
from linewatt.features.lab.system import search_path
from linewatt.store import each_result, read
from linewatt.store.meters import LOOKED_SLOW

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("ipmi_sim", path=search_path()) is None, reason="needs ipmi_sim"),
]

WINDOW_S, OMIT_S = 24.0, 2.0
AVERAGE_S = 10.0
RUN_LIMIT_S = 300.0


class Truth:
    """What the hosts of a lab drew, joule by joule: the feeder says it, and the BMCs do not."""

    def __init__(self, values: Path) -> None:
        self._values = values
        self._totals: dict[str, dict[float, float]] = {}
        self._ended = threading.Event()

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            for file in self._values.glob(f"*{TRUTH}"):
                words = file.read_text().split()
                if len(words) == 2:  # it is empty until CPU time has passed
                    totals = self._totals.setdefault(file.name.removesuffix(TRUTH), {})
                    totals[float(words[0])] = float(words[1])

    def is_known(self) -> bool:
        """Whether anything was said yet."""
        return bool(self._totals)

    def power_w(self, host: str, start_s: float, end_s: float) -> float:
        totals = self._totals.get(host) or next(iter(self._totals.values()))

        def at(time_s: float) -> float:
            before = max(one for one in totals if one <= time_s)
            after = min(one for one in totals if one > time_s)
            part = (time_s - before) / (after - before)
            return totals[before] + part * (totals[after] - totals[before])

        return (at(end_s) - at(start_s)) / (end_s - start_s)


def measured(bench: Bench, truth: Truth, trials: int, rate: str = "1G") -> read.Result:
    file = bench.campaign(
        trials=trials,
        tests=["tcp"],
        instances=[1, 2],
        rate=rate,
        window={"seconds": WINDOW_S, "omit": OMIT_S, "tail": 2},
        idle={"seconds": 10},
    )
    with truth.watched():
        until(truth.is_known, 60, "the feeder to say what hosts drew")
        bench.run("run", file, limit_s=RUN_LIMIT_S)
    return read.load_result(each_result.result_dirs(bench.results)[-1])


def on_a_quiet_machine(built: lab.Lab, tmp_path: Path, trials: int, rate: str = "1G") -> tuple[Bench, Truth]:
    """A campaign that nothing disturbed, and what its hosts drew."""

    def measure(attempt: int) -> tuple[Bench, Truth]:
        place = tmp_path / f"try-{attempt + 1}"
        place.mkdir()
        bench, truth = Bench(built, place), Truth(values_of(built))
        measured(bench, truth, trials, rate)
        return bench, truth

    return undisturbed(measure)


def supplies(result: read.Result) -> Iterator[tuple[Any, str, list[Any]]]:
    """Each end of each trial with what its supplies gave."""
    for trial in result.trials:
        for end in (trial.sender, trial.receiver):
            assert end is not None
            yield trial.window, end.host, [one for one in end.power if one.scope.startswith("psu-out")]


def values_of(one: lab.Lab) -> Path:
    return one.inventory.parent / "bmc" / "values"


def withheld(result: read.Result) -> set[str]:
    """Why supplies have no power."""
    return {one.reason for _, _, units in supplies(result) for one in units if one.power_w is None}


def assert_bounds_hold(result: read.Result, truth: Truth) -> None:
    """What was drawn lies in the ± of each figure, or there is none and the meter is named."""
    for window, host, units in supplies(result):
        for one in units:
            if one.power_w is None:
                assert "too short for this meter" in one.reason
                continue
            drawn_w = truth.power_w(host, window.start_s, window.end_s) / len(units)
            bound_w = one.energy_uncertainty_j / window.seconds
            assert abs(one.power_w - drawn_w) <= bound_w, (host, one, drawn_w)


@pytest.mark.full
@pytest.mark.parametrize("slow", [{"bmc_average_s": AVERAGE_S}, {"bmc_refresh_s": 10.0}], ids=str)
def test_the_bound_of_a_slow_bmc_holds_what_was_drawn_or_it_is_named(
    make_lab: Callable[..., lab.Lab], tmp_path: Path, slow: dict[str, float]
) -> None:
    built = make_lab(**slow)
    truth = Truth(values_of(built))
    assert_bounds_hold(measured(Bench(built, tmp_path), truth, trials=1), truth)


@pytest.mark.measures
@pytest.mark.idle_machine
def test_a_bmc_that_is_as_late_as_a_load_is_long_has_no_power(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    """No trial shows its own load: the mean of two was half the truth.

    1 Gbit/s drew less than this machine's power goes up and down by itself.
    """
    bench, truth = on_a_quiet_machine(make_lab(bmc_delay_s=20.0), tmp_path, trials=1, rate="3G")
    result = read.load_result(bench.result)
    assert_bounds_hold(result, truth)
    late = [meter for meter in result.meters if meter.channel.startswith("PSU1 Power Out")]
    assert all(meter.dynamics.is_late for meter in late)
    # its age, as a load that rises slowly looks like an average of more and a delay of less
    assert [meter.dynamics.age_s for meter in late] == pytest.approx([20.0] * len(late), abs=5.5)
    assert withheld(result)
    assert all("s late" in reason for reason in withheld(result))


@pytest.mark.measures
@pytest.mark.idle_machine
def test_how_long_a_bmc_averages_is_learned(make_lab: Callable[..., lab.Lab], tmp_path: Path) -> None:
    """At 1 Gbit/s, the power of a quick machine rose by too little: an average of 10 s looked like 6 s."""
    bench, truth = on_a_quiet_machine(make_lab(bmc_average_s=AVERAGE_S), tmp_path, trials=2, rate="3G")
    result = read.load_result(bench.result)
    assert_bounds_hold(result, truth)
    assert LOOKED_SLOW not in withheld(result)
    known = [one for one in result.meters if one.channel.startswith("PSU1 Power Out")]
    learned = [one.averaging_s for one in known if one.averaging_s is not None]
    assert learned
    assert all(0.7 * AVERAGE_S <= averaging_s <= 1.6 * AVERAGE_S for averaging_s in learned)
