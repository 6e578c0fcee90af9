# SPDX-License-Identifier: Apache-2.0
"""What a campaign learns of its meters, and what of it goes into trials that were stored before."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests.meter_simulation import BEFORE_S, GRID_S, IDLE_W, Course, Floats, Simulated, in_a_row
from tests.unit.program.test_wiring import HEALTHY
from tests.wiring import OMIT_S, WINDOW_S, told

from linewatt.analysis.flags.meters import meter_flags
from linewatt.analysis.power import totals
from linewatt.campaign.campaign import PowerSource
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.live.meter_book import MeterBook
from linewatt.engine.measuring.measure import measure
from linewatt.engine.rounds import RoundRunner
from linewatt.errors import InvalidInput
from linewatt.findings.meters import LONGER_WINDOW_ADVICE
from linewatt.loads.iperf3.load import Iperf3
from linewatt.missing import Missing
from linewatt.model import Case, Channel, EndResult, Flag, PowerResult, Trial, Window
from linewatt.records import Idle, IdleHost, Meter, Times
from linewatt.sensors.power.base import PowerConfig
from linewatt.sensors.power.dynamics import Dynamics
from linewatt.store import read
from linewatt.store.meters import LOOKED_SLOW, TOO_SHORT_CODE, known_meters, refuting_dynamics, with_meters
from linewatt.store.write import write_json, write_trial

OUT = Channel("out", "W", "gauge", "psu-out:PSU1", step=1.0)
KEY = ("h1", "bmc", "out")


def learn(book: MeterBook, meter: Simulated, loads: int = 2, window_s: float = 120.0, seed: int = 5) -> None:
    """A campaign of some loads with idle before each."""
    rng = np.random.default_rng(seed)
    begin_s = 1000.0
    for number in range(loads):
        power_w = Course().power(rng, window_s, 200.0 + 40 * number)
        values = meter.readings(rng, power_w)
        records = tuple(Record(begin_s + time_s, 1.0, "", {"out": value}) for time_s, value in values)
        book.take([Reading("h1", "bmc", records, {"out": OUT}, optional=True)])
        end_s = begin_s + BEFORE_S + window_s
        book.load({"h1": None}, begin_s + BEFORE_S, end_s, end_s)
        begin_s += BEFORE_S + window_s + 1.2


def test_a_book_learns_what_its_meters_do_and_a_result_keeps_it(tmp_path: Path) -> None:
    book = MeterBook(tmp_path, {})
    learn(book, Simulated(10.0, 0.0))
    found = book.of("h1")[KEY[1:]]
    assert found.refresh_s == pytest.approx(10.0, rel=0.05)
    assert found.averaging_s == 0.0
    assert book.of("h2") == {}
    book.write()
    assert known_meters(read.read_meters(tmp_path))[KEY].dynamics == found


STEADY = Course()


def learn_in_a_row(
    book: MeterBook,
    meter: Simulated,
    loads_w: list[float],
    load_s: float,
    seed: int,
    after_s: float = 0.0,
    course: Course = STEADY,
) -> None:
    """A campaign of loads with hardly a rest between them, each stored when it is over, and idle behind."""
    rng = np.random.default_rng(seed)
    readings, loads = in_a_row(rng, meter, loads_w, load_s, 1.5, course, after_s=after_s)
    records = tuple(Record(time_s, 1.0, "", {"out": value}) for time_s, value in readings)
    for start_s, end_s, cores in loads:
        until = tuple(record for record in records if record.received_s <= end_s)
        book.take([Reading("h1", "bmc", until, {"out": OUT}, optional=True)])
        book.load({"h1": cores}, start_s, end_s - 2, end_s)
    if after_s:
        book.take([Reading("h1", "bmc", records, {"out": OUT}, optional=True)])


@pytest.mark.parametrize("delay_s", [12.0, 20.0, 25.0])
@pytest.mark.parametrize("load_s", [15.0, 28.0, 60.0])
@pytest.mark.parametrize("loads_w", [[200.0, 200.0, 200.0], [160.0, 300.0, 180.0]], ids=["alike", "unlike"])
def test_a_meter_that_is_later_than_a_load_is_long_is_known_to_be_late(
    tmp_path: Path, delay_s: float, load_s: float, loads_w: list[float]
) -> None:
    """Measured: 20 s late, and half the truth as the mean of two trials, as no trial shows its own load."""
    for seed in range(2):
        book = MeterBook(tmp_path, {})
        learn_in_a_row(book, Simulated(1.0, 0.0, delay_s=delay_s), loads_w, load_s, seed)
        known = book.of("h1")[KEY[1:]]
        assert known.delay_s is not None
        assert known.settle_s is not None
        assert known.age_s == pytest.approx(delay_s, rel=0.25)
        assert known.settle_s >= delay_s - 1


def test_a_late_meter_is_known_where_power_varies_by_two_thirds_of_what_loads_draw(tmp_path: Path) -> None:
    found_late = {0.0: 0, 20.0: 0}
    for delay_s in found_late:
        for seed in range(10):
            book = MeterBook(tmp_path, {})
            meter = Simulated(1.0, 0.0, delay_s=delay_s, step_w=4.0)
            course = Course(noise_w=10.0, correlation_s=1.0)
            learn_in_a_row(book, meter, [115.0, 118.0], 28.0, seed, course=course)
            found_late[delay_s] += book.of("h1")[KEY[1:]].is_late
    assert found_late[20.0] >= 8
    assert found_late[0.0] == 0


@dataclass(frozen=True)
class MadeReady(Course):
    """Before its loads the host drew much for 3.5 s: it was looked at, and its sensors were started."""

    correlation_s: float = 1.0
    at_s: float = 0.0

    def power(self, rng: np.random.Generator, load_s: float, load_w: float) -> Floats:
        """Of what is added an idle host draws four tenths."""
        power_w = super().power(rng, load_s, load_w)
        since_s = np.arange(len(power_w)) * GRID_S - self.at_s
        power_w[(since_s >= 0) & (since_s < 3.5)] += 66.0 / 0.4
        return power_w


@pytest.mark.parametrize("before_s", [34.0, 24.0, 15.0, 6.0])
@pytest.mark.parametrize("loads_w", [[200.0], [115.0, 118.0], [120.0, 140.0]], ids=str)
def test_what_a_host_drew_before_its_loads_makes_no_late_meter_a_quick_one(
    tmp_path: Path, before_s: float, loads_w: list[float]
) -> None:
    """Measured: as the first load began, the late meter fell by 68 W, and was taken for a quick one."""
    for seed in range(3):
        found = {}
        for delay_s in (0.0, 20.0):
            book = MeterBook(tmp_path, {})
            meter = Simulated(0.8, 0.0, delay_s=delay_s, step_w=4.0, read_every_s=0.8)
            learn_in_a_row(book, meter, loads_w, 28.0, seed, course=MadeReady(at_s=BEFORE_S - before_s))
            found[delay_s] = book.of("h1")[KEY[1:]]
        assert found[20.0].delay_s == pytest.approx(20.0, abs=1.0)
        assert not found[0.0].is_late


def test_power_that_falls_as_the_first_load_begins_teaches_nothing(tmp_path: Path) -> None:
    """Behind a first load it may be that a smaller one began."""
    values = [(float(time_s), 140.0 if time_s < 40 or 100 < time_s < 140 else 100.0) for time_s in range(200)]
    records = tuple(Record(time_s, 1.0, "", {"out": value}) for time_s, value in values)
    book = MeterBook(tmp_path, {})
    book.take([Reading("h1", "bmc", records, {"out": OUT}, optional=True)])
    book.load({"h1": None}, 39.5, 70.0)
    assert book.of("h1")[KEY[1:]].settle_s is None
    book.load({"h1": None}, 139.5, 170.0)
    assert book.of("h1")[KEY[1:]].delay_s == 0.0


def test_what_a_late_meter_says_of_a_short_window_is_withheld_with_its_delay(tmp_path: Path) -> None:
    """And where only the first of two trials had been measured with what it said."""
    book = MeterBook(tmp_path, {})
    learn_in_a_row(book, Simulated(1.0, 0.0, delay_s=20.0), [200.0, 200.0], 28.0, 1)
    book.write()
    stored = replace(measured(power_w=IDLE_W + 30, idle_w=IDLE_W), window=Window(102.0, 126.0))
    (trial,) = with_meters([stored], known_meters(read.read_meters(tmp_path)))
    assert [flag.code for flag in trial.flags] == [TOO_SHORT_CODE]
    assert re.search(r"too short for this meter \(it is (20|19\.\d) s late\)", trial.flags[0].evidence)
    assert trial.receiver is not None
    assert trial.receiver.power[0].power_w is None
    (late,) = (flag for flag in meter_flags(read.read_meters(tmp_path), [], []) if flag.code == "meter-late")
    assert late.where == "h1: bmc out"
    assert late.evidence == "shows a load 20 s after the load began (seen at 2 loads)"


@pytest.mark.parametrize("averaging_s", [0.0, 3.0, 10.0])
@pytest.mark.parametrize("load_s", [15.0, 28.0, 60.0])
def test_a_meter_that_is_not_late_is_never_called_so(
    tmp_path: Path, averaging_s: float, load_s: float
) -> None:
    for seed in range(4):
        book = MeterBook(tmp_path, {})
        learn_in_a_row(book, Simulated(1.0, averaging_s), [200.0, 240.0, 180.0], load_s, seed)
        known = book.of("h1")[KEY[1:]]
        assert known.delay_s is None or known.delay_s < 5
        assert "meter-late" not in [flag.code for flag in meter_flags([learned(known)], [], [])]


@pytest.mark.parametrize("peak_s", [4.0, 10.0])
@pytest.mark.parametrize("loads_w", [[200.0], [200.0, 240.0, 180.0]], ids=["one load", "three loads"])
def test_a_meter_that_shows_peaks_is_not_called_an_averaging_one(
    tmp_path: Path, peak_s: float, loads_w: list[float]
) -> None:
    for seed in range(3):
        path = tmp_path / str(seed)
        path.mkdir()
        book = MeterBook(path, {})
        learn_in_a_row(book, Simulated(1.0, 0.0, peak_s=peak_s), loads_w, 28.0, seed, after_s=30.0)
        book.write()
        (known,) = read.read_meters(path)
        assert known.peak_s == pytest.approx(peak_s, abs=1.5)
        assert known.averaging_s == 0.0
        (flag,) = meter_flags([known], [], [])
        assert flag.code == "meter-shows-peaks"
        assert "stays high for" in flag.evidence


@pytest.mark.parametrize(
    "meter",
    [
        Simulated(1.0, 0.0),
        Simulated(1.0, 4.0),
        Simulated(1.0, 10.0, "exponential"),
        Simulated(5.0, 0.0),
        Simulated(10.0, 0.0),
        Simulated(1.0, 0.0, delay_s=4.0),
        Simulated(1.0, 0.0, delay_s=20.0),
    ],
    ids=str,
)
def test_a_meter_that_shows_means_is_never_said_to_show_peaks(tmp_path: Path, meter: Simulated) -> None:
    for seed in range(4):
        path = tmp_path / str(seed)
        path.mkdir()
        book = MeterBook(path, {})
        learn_in_a_row(book, meter, [200.0, 240.0, 180.0], 28.0, seed, after_s=30.0)
        book.write()
        assert [known.peak_s for known in read.read_meters(path)] == [None]


def test_a_book_learns_from_a_load_up_to_the_end_of_its_window(tmp_path: Path) -> None:
    """Behind it hosts are asked and the next round is made ready."""
    given, loads = told(HEALTHY["udp"]), []
    book = SimpleNamespace(
        take=lambda _: None,
        load=lambda *span: loads.append(span),
        of=lambda _: {},
        has_course_to_come=lambda host: host == "h1",
    )
    idle = SimpleNamespace(cores=lambda *_: {}, power=lambda *_: {})
    rounds = cast(Any, object.__new__(RoundRunner))
    for name, value in {
        "_stage": SimpleNamespace(meters=book, idle=idle),
        "_setup": given.setup,
        "_session": SimpleNamespace(load=Iperf3()),
        "_campaign": SimpleNamespace(omit_s=OMIT_S, window_s=WINDOW_S, power={}),
        "_result": tmp_path,
    }.items():
        setattr(rounds, name, value)
    rounds._write(given.run, given.readings, (), 0.05)
    begun_s = given.run.started_s
    ended_s = min(given.run.ended_s, begun_s + given.run.load_s)
    ((cores, *span),) = loads
    assert span == [begun_s, begun_s + OMIT_S + WINDOW_S, ended_s]
    used = measure(given.run, given.readings, given.setup, Iperf3(), 0.05).trial.sender
    assert used is not None
    assert cores == {"h1": pytest.approx(used.cpu_cores), "h2": None}
    assert begun_s + OMIT_S + WINDOW_S < given.run.ended_s


def test_a_campaign_that_is_gone_on_with_knows_what_it_knew(tmp_path: Path) -> None:
    first = MeterBook(tmp_path, {})
    learn(first, Simulated(1.0, 10.0))
    first.write()
    second = MeterBook(tmp_path, {})
    assert second.of("h1") == first.of("h1")
    second.write()
    assert (tmp_path / "meters-2.json").exists()
    assert read.read_meters(tmp_path)[0].averaging_s == pytest.approx(10.0, rel=0.3)


def test_what_a_file_declares_is_known_from_the_beginning(tmp_path: Path) -> None:
    source = PowerSource("ipmi", PowerConfig(refresh_s=2.0, averaging_s=10.0))
    book = MeterBook(tmp_path, {"h1": {"bmc": source}})
    records = tuple(Record(float(at), 1.0, "", {"out": 100.0}) for at in range(5))
    book.take([Reading("h1", "bmc", records, {"out": OUT}, optional=True)])
    assert book.of("h1") == {("bmc", "out"): Dynamics(2.0, 10.0, None, 12.0)}


def test_nothing_is_learned_over_a_gap_and_nothing_twice(tmp_path: Path) -> None:
    book = MeterBook(tmp_path, {})
    for begin_s in (0.0, 100.0):
        records = tuple(Record(begin_s + at, 1.0, "", {"out": 100.0 + (at > 5)}) for at in range(10))
        for _ in range(2):
            book.take([Reading("h1", "bmc", records, {"out": OUT}, optional=True)])
    assert book.seen_s("h1", "bmc") == 109.0
    assert book.seen_s("h1", "pdu") == 0.0
    book.write()
    assert read.read_meters(tmp_path)[0].distances == 0


def test_a_campaign_without_power_has_no_such_file(tmp_path: Path) -> None:
    MeterBook(tmp_path, {}).write()
    assert read.read_meters(tmp_path) == ()


def learned(known: Dynamics) -> Meter:
    """What a result has of a meter that behaves like this."""
    return Meter(host="h1", source="bmc", channel="out", **asdict(known))


def measured(**fields: Any) -> Trial:
    """60 s of 248 W with 5 s of omit, as the first trial of a campaign is stored: nothing was learned yet."""
    one = PowerResult(
        **{
            "source": "bmc",
            "channel": "out",
            "scope": "psu-out:PSU1",
            "provenance": "measured",
            "method": "",
            "power_w": 248.0,
            "energy_j": 248.0 * 60,
            "energy_uncertainty_j": 360.0,
            "idle_w": 100.0,
            "spread_w": 20.0,
            **fields,
        }
    )
    case = Case("tcp", "h2", "h1")
    end = EndResult("h1", "receiver", 1.0, None, None, None, None, power=(one,))
    return Trial(1, 1, case, case.key, "done", 100.0, window=Window(105.0, 165.0), receiver=end)


def joined(known: Dynamics, **fields: Any) -> tuple[PowerResult, tuple[Flag, ...]]:
    (found,) = with_meters([measured(**fields)], {KEY: learned(known)})
    assert found.receiver is not None
    return found.receiver.power[0], found.flags


def test_a_window_that_turned_out_too_short_for_its_meter_loses_its_power_and_says_which_would_do() -> None:
    one, flags = joined(Dynamics(30.0, 0.0, 0.0, 30.0))
    assert one.power_w is None
    assert one.energy_j is None
    assert one.reason == (
        "the window of 60 s is too short for this meter (refreshed every 30 s, shows a load only 25 s into "
        "the window); window.seconds: 145 would do"
    )
    assert flags == (Flag("power-window-too-short", "h1: bmc out", one.reason, LONGER_WINDOW_ADVICE),)
    assert totals.power_of_system([one]) == Missing(f"bmc out: {one.reason}")


def test_a_load_that_begins_late_is_shown_as_late() -> None:
    """sockperf's test starts 2.1 s after its process: what a meter misses of it is counted from there."""
    iperf3 = joined(Dynamics(1.0, 10.0, 0.0, 10.0))[0]
    stored = measured()
    (found,) = with_meters(
        [replace(stored, case=replace(stored.case, load="sockperf"))],
        {KEY: learned(Dynamics(1.0, 10.0, 0.0, 10.0))},
    )
    assert found.receiver is not None
    late = found.receiver.power[0]
    assert late.energy_uncertainty_j == pytest.approx((iperf3.energy_uncertainty_j or 0.0) + 2.1 * 148.0)


def test_what_was_learned_of_averaging_widens_the_bound_by_what_the_window_has_of_idle() -> None:
    one, flags = joined(Dynamics(1.0, 10.0, 0.0, 10.0))
    assert one.power_w == 248.0
    assert one.averaging_s == 10.0
    assert one.energy_uncertainty_j == pytest.approx(360.0 + 5 * 148.0)
    assert flags == ()


def test_what_was_known_when_it_was_measured_widens_nothing() -> None:
    known = Dynamics(1.0, 10.0, 0.0, 10.0)
    one, _ = joined(known, refresh_s=1.0, averaging_s=10.0, delay_s=0.0, settle_s=10.0)
    assert one.energy_uncertainty_j == 360.0


def test_a_slower_refresh_than_was_thought_widens_the_bound() -> None:
    one, _ = joined(Dynamics(10.0, 0.0, 0.0, 1.0))
    assert one.energy_uncertainty_j is not None
    assert one.energy_uncertainty_j > 360.0 + 60 * 5
    assert one.refresh_s == 10.0


TOO_SLOW = "the window of 60 s is too short for this meter (averages over 60 s); window.seconds: 270 would do"
SLOW = {"power_w": None, "spread_w": None, "settle_s": 60.0, "reason": TOO_SLOW}
QUICK = Dynamics(1.0, 1.0, 0.0, 1.0)


def judged_slow(known: Dynamics, steps: int, where: str = "h1: bmc out", **seemed: float) -> Trial:
    """A first trial whose load began unevenly, with what the campaign had learned by its end."""
    flag = Flag(TOO_SHORT_CODE, where, TOO_SLOW, LONGER_WINDOW_ADVICE)
    stored = replace(measured(**(SLOW | seemed)), flags=(flag,))
    (found,) = with_meters([stored], {KEY: learned(known).model_copy(update={"steps": steps})})
    return found


def test_that_a_meter_is_slow_is_taken_back_once_several_loads_show_that_it_is_not() -> None:
    found = judged_slow(QUICK, 2)
    assert found.flags == ()
    assert found.receiver is not None
    assert found.receiver.power[0].power_w is None
    assert found.receiver.power[0].reason == LOOKED_SLOW


@pytest.mark.parametrize("known", [Dynamics(1.0), QUICK, Dynamics(1.0, 0.0, 20.0, 21.0)], ids=str)
def test_that_a_meter_is_late_is_taken_back_once_it_does_not_seem_so(known: Dynamics) -> None:
    """Measured: fans that turned faster in the third of five loads made the meter seem 30 s late."""
    found = judged_slow(known, 0, refresh_s=1.0, averaging_s=10.0, delay_s=30.0)
    assert found.receiver is not None
    assert found.receiver.power[0].reason == (TOO_SLOW if known.is_late else LOOKED_SLOW)


@pytest.mark.parametrize(
    ("known", "steps"),
    [(QUICK, 1), (Dynamics(1.0), 4), (Dynamics(1.0, 55.0, 0.0, 55.0), 4), (Dynamics(1.0, 0.0, 0.0, 60.0), 4)],
    ids=["one-load", "nothing-learned", "slow", "as-it-was-measured"],
)
def test_that_a_meter_is_slow_stays_said_where_nothing_refutes_it(known: Dynamics, steps: int) -> None:
    found = judged_slow(known, steps)
    assert [one.code for one in found.flags] == [TOO_SHORT_CODE]
    assert found.receiver is not None
    assert found.receiver.power[0].reason == TOO_SLOW


def test_what_is_said_of_another_meter_stays() -> None:
    assert [one.where for one in judged_slow(QUICK, 2, "h1: bmc other").flags] == ["h1: bmc other"]


def test_which_meters_are_refuted_is_known_with_what_was_learned_of_them() -> None:
    known = {KEY: learned(QUICK).model_copy(update={"steps": 2})}
    assert refuting_dynamics(measured(**SLOW), known) == {KEY: QUICK}
    assert refuting_dynamics(measured(), known) == {}
    assert refuting_dynamics(replace(measured(**SLOW), window=None), known) == {}


def test_totals_of_energy_and_results_without_meters_stay_as_they_are() -> None:
    one, _ = joined(Dynamics(30.0, 30.0, 0.0, 60.0), spread_w=None)
    assert one == measured(spread_w=None).receiver.power[0]  # type: ignore[union-attr]
    stored = measured()
    assert with_meters([stored], {}) == (stored,)
    assert with_meters([stored], {("h1", "pdu", "out"): learned(Dynamics(30.0))}) == (stored,)


def meter(**fields: Any) -> Meter:
    return Meter(**{"host": "h1", "source": "bmc", "channel": "out", "read_every_s": 1.0, **fields})


@pytest.mark.parametrize(
    ("known", "codes"),
    [
        ({"refresh_s": 1.0, "averaging_s": 1.0, "settle_s": 1.5}, []),
        ({"refresh_s": None, "averaging_s": None, "settle_s": None}, []),
        ({"refresh_s": 30.0, "averaging_s": 0.0, "settle_s": 1.0}, ["meter-refreshes-slowly"]),
        ({"refresh_s": 30.0, "averaging_s": None, "settle_s": None, "read_every_s": 30.0}, []),
        ({"refresh_s": 4.0, "averaging_s": 2.0, "settle_s": 3.0, "read_every_s": 0.2}, []),
        ({"refresh_s": 1.0, "averaging_s": 10.0, "settle_s": 11.0}, ["meter-averages"]),
        ({"averaging_s": 10.0}, ["meter-averages"]),
    ],
)
def test_slow_meters_are_told_of_once(known: dict[str, Any], codes: list[str]) -> None:
    flags = list(meter_flags([meter(**known)], [], []))
    assert [one.code for one in flags] == codes
    assert all(one.where == "h1: bmc out" for one in flags)


def still(
    number: int, cores: float, power_w: float = 210.0, spread_w: float = 0.0, step_w: float = 1.0
) -> Trial:
    one = measured(power_w=power_w, spread_w=spread_w, step_w=step_w)
    assert one.receiver is not None
    end = replace(one.receiver, cpu_cores=cores)
    return replace(one, number=number, started_s=100.0 + 70 * number, receiver=end)


@pytest.mark.parametrize(
    ("trials", "hangs"),
    [
        ([still(1, 1.0), still(2, 2.0), still(3, 3.0)], True),
        ([still(1, 1.0), still(2, 1.1), still(3, 1.2)], False),  # the same load
        ([still(at, 1.0 + 0.1 * at, step_w=0.1) for at in range(1, 5)], False),  # of a fine meter, too
        ([still(1, 1.0), still(2, 2.0), still(3, 3.0, power_w=212.0)], False),
        ([still(1, 1.0), still(2, 2.0), still(3, 3.0, spread_w=2.0)], False),
        ([still(1, 1.0), still(2, 1.7)], False),  # two windows, and not much
        ([still(at, float(at), step_w=10.0) for at in range(1, 4)], False),  # steps of 10 W hide 2 cores
    ],
)
def test_one_value_over_trials_of_different_loads_is_a_meter_that_hangs(
    trials: list[Trial], hangs: bool
) -> None:
    flags = [one for one in meter_flags([], [], trials) if one.code == "meter-hangs"]
    assert [one.evidence for one in flags] == (
        ["reads 210 W from trial 1 to trial 3 without a change, while 1.00 to 3.00 cores were busy"]
        if hangs
        else []
    )


def test_a_meter_that_hung_under_load_and_stays_so_idle_is_seen() -> None:
    end = still(1, 0.0).receiver
    assert end is not None
    values = IdleHost(cpu_cores=0.0, power=end.power)
    idle = Idle(after=True, window=Times(start_s=900.0, end_s=930.0), hosts={end.host: values})
    flags = list(meter_flags([], [idle], [still(1, 1.5), still(2, 1.5)]))
    assert [one.code for one in flags] == ["meter-hangs"]
    assert "trial 1 to idle without a change, while 0.00 to 1.50 cores" in flags[0].evidence


def still_idle(cores: float, power_w: float = 210.0, seconds: float = 30.0, **fields: Any) -> Idle:
    """An idle window behind two trials in which a meter stands at a value."""
    end = still(1, cores, power_w, **fields).receiver
    assert end is not None
    values = IdleHost(cpu_cores=cores, power=end.power)
    return Idle(after=True, window=Times(start_s=900.0, end_s=900.0 + seconds), hosts={end.host: values})


@pytest.mark.parametrize(
    ("idle", "trials", "meters", "hangs"),
    [
        (still_idle(0.02), [still(1, 1.5)], [], True),
        (still_idle(0.02, step_w=10.0), [still(1, 7.0, step_w=10.0)], [], False),  # of which 40 W are 4 steps
        (still_idle(0.02, step_w=10.0), [still(1, 9.0, step_w=10.0)], [], True),
        (still_idle(0.02), [still(1, 0.7)], [], False),
        (still_idle(0.02, step_w=0.1), [still(1, 0.7, step_w=0.1)], [], False),
        (still_idle(0.02, 209.0), [still(1, 1.5)], [], False),
        (still_idle(0.02, spread_w=1.0), [still(1, 1.5)], [], False),
        (still_idle(0.02, seconds=10.0), [still(1, 1.5)], [], False),  # may be refreshed every 30 s
        (still_idle(0.02, seconds=10.0), [still(1, 1.5)], [Dynamics(2.0, 0.0, 0.0, 1.0)], True),
        (still_idle(0.02), [still(1, 1.5)], [Dynamics(2.0, 30.0, 0.0, 45.0)], False),
        (still_idle(0.02), [still(1, 1.5), still(2, 1.5, power_w=212.0)], [], False),
    ],
    ids=[
        "two windows",
        "steps as large as the change",
        "steps smaller than it",
        "hardly more CPU use",
        "hardly more CPU use, of a fine meter",
        "other value",
        "it moves",
        "too short to tell",
        "long enough for this meter",
        "it averages for longer",
        "it moved meanwhile",
    ],
)
def test_one_value_under_load_and_idle_is_a_meter_that_hangs(
    idle: Idle, trials: list[Trial], meters: list[Dynamics], hangs: bool
) -> None:
    """Measured: 128 W printed, 163 W drawn, at a value that is not idle's."""
    known = [learned(dynamics) for dynamics in meters]
    flags = [flag for flag in meter_flags(known, [idle], trials) if flag.code == "meter-hangs"]
    assert bool(flags) == hangs
    assert all(
        "reads 210 W from trial 1 to idle without a change, while 0.02 to" in flag.evidence for flag in flags
    )


def test_a_trial_without_power_is_no_move_of_a_meter() -> None:
    withheld = measured(power_w=None, spread_w=None, reason=TOO_SLOW)
    trials = [still(1, 1.5), replace(withheld, number=2, started_s=240.0)]
    flags = meter_flags([], [still_idle(0.02)], trials)
    assert [flag.code for flag in flags] == ["meter-hangs"]


def campaign(tmp_path: Path, window: str, meter: str) -> Path:
    file = tmp_path / "c.yaml"
    file.write_text(
        "name: c\nhosts:\n"
        "  h1: {address: 192.0.2.1, user: u, data: eth0}\n"
        f"  h2: {{address: 192.0.2.2, user: u, data: eth0, power: {{bmc: {{driver: hwmon, {meter}}}}}}}\n"
        f'pairs: ["h1 -> h2"]\ntests: [tcp]\nwindow: {{{window}}}\n'
    )
    return file


def test_a_window_too_short_for_a_declared_meter_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"refreshed every 30 s.*window.seconds: 120 would do"):
        load_campaign(campaign(tmp_path, "seconds: 60, omit: 60", "refresh_s: 30"))
    with pytest.raises(InvalidInput, match=r"averages over 60 s.*window.seconds: 110 would do"):
        load_campaign(campaign(tmp_path, "seconds: 60, omit: 5", "averaging_s: 60"))
    assert load_campaign(campaign(tmp_path, "seconds: 120, omit: 60", "refresh_s: 30"))
    assert load_campaign(campaign(tmp_path, "seconds: 60, omit: 5", "averaging_s: 10"))


def test_a_stored_result_is_joined_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.mkdir()
    write_json(path / "manifest.json", {"schema_version": 1, "trials_planned": 1})
    write_trial_of(path, measured())
    found = read.load_result(path)
    assert found.trials[0].receiver is not None
    assert found.trials[0].receiver.power[0].power_w == 248.0
    known = {"refresh_s": 30.0, "averaging_s": 0.0, "delay_s": 0.0, "settle_s": 30.0}
    write_json(path / "meters.json", {"schema_version": 1, "meters": [meter(**known).as_written()]})
    (one,) = read.load_result(path).trials
    assert one.receiver is not None
    assert one.receiver.power[0].power_w is None
    assert [flag.code for flag in one.flags] == ["power-window-too-short"]


def write_trial_of(path: Path, one: Trial) -> None:
    (path / "trials").mkdir()
    write_trial(path, one, [], {})
