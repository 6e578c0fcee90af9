# SPDX-License-Identifier: Apache-2.0
"""Power over a window, channel by channel, and the lies of its sensors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from linewatt.analysis.power import totals
from linewatt.analysis.power.summary import end_power
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks import power as power_checks
from linewatt.engine.measuring.window_power import with_power
from linewatt.missing import Missing
from linewatt.model import Case, Channel, EndResult, Trial, Window
from linewatt.sensors.power.dynamics import Dynamics

WINDOW = Window(100.0, 104.0)
END = EndResult("h1", "receiver", 1.0, None, None, None, None)
IN = Channel("psu1_in", "W", "gauge", "psu-in:PSU1", step=4.0, maximum=1020.0)
OUT = Channel("psu1_out", "W", "gauge", "psu-out:PSU1", step=4.0, maximum=1020.0)
OUT2 = Channel("psu2_out", "W", "gauge", "psu-out:PSU2", step=4.0)
CPU = Channel("cpu", "W", "gauge", "cpu:all", step=1.0)
PACKAGE = Channel("package-0", "J", "counter", "package:0", wraps_at=1000.0)

Values = Sequence[float | None]


def reading(courses: dict[Channel, Values], failure: str | None = None, source: str = "bmc") -> Reading:
    """A reading every 0.2 s from half a second before the window to half a second behind it."""
    records = []
    for number in range(26):
        values = {channel.name: course[number * len(course) // 26] for channel, course in courses.items()}
        reasons = {name: "not available" for name, value in values.items() if value is None}
        records.append(Record(99.5 + 0.2 * number, 0.2, json.dumps(values), values, reasons))
    channels = {channel.name: channel for channel in courses}
    return Reading("h1", source, tuple(records), channels, failure=failure, optional=True)


def end_of(*readings: Reading, idle_w: dict[tuple[str, str], float] | None = None) -> EndResult:
    return with_power(END, readings, WINDOW, idle_w or {})


def codes(
    *readings: Reading, idle_w: dict[tuple[str, str], float] | None = None, idle_cores: float | None = 0.0
) -> list[str]:
    end = end_of(*readings, idle_w=idle_w)
    return [flag.code for flag in power_checks.power(end, readings, WINDOW, idle_cores)]


def wobble(low: float, high: float) -> list[float | None]:
    return [low, high] * 13


def test_each_channel_has_its_mean_its_energy_and_what_is_known_of_it() -> None:
    (one,) = end_of(reading({OUT: [200.0]}), idle_w={("bmc", "psu1_out"): 80.0}).power
    assert (one.source, one.channel, one.scope) == ("bmc", "psu1_out", "psu-out:PSU1")
    assert one.power_w == pytest.approx(200.0)
    assert one.energy_j == pytest.approx(800.0)
    assert one.energy_uncertainty_j == pytest.approx(16.0)
    assert (one.idle_w, one.step_w, one.spread_w) == (80.0, 4.0, 0.0)
    assert one.updates == 1, "a held value that is read again is no update"


def test_a_total_of_energy_that_wraps_in_the_window_is_counted_on() -> None:
    course = [float((900 + 20 * number) % 1000) for number in range(26)]
    (one,) = end_of(reading({PACKAGE: course})).power
    assert one.energy_j == pytest.approx(400.0)
    assert one.power_w == pytest.approx(100.0)


def test_a_source_that_is_down_has_a_reason_and_no_number() -> None:
    down = reading({}, failure="192.0.2.1: no answer")
    end = end_of(down)
    assert end.power == ()
    assert end.reasons == {"power.bmc": "192.0.2.1: no answer"}
    assert codes(down) == ["power-missing"]


def test_a_reading_that_is_missing_in_the_window_gives_the_sources_own_words() -> None:
    gap = reading({OUT: [100.0, None, 100.0]})
    (one,) = end_of(gap).power
    assert (one.power_w, one.reason) == (None, "not available")
    assert codes(gap) == ["power-missing"]


def test_quiet_sensors_of_a_steady_load_raise_nothing() -> None:
    assert codes(reading({IN: wobble(220, 224), OUT: [200.0], CPU: wobble(100, 101)})) == []


def test_a_sensor_that_reads_as_it_did_idle_while_the_cpu_works_is_frozen() -> None:
    frozen = reading({OUT: [80.0]})
    idle = {("bmc", "psu1_out"): 80.0}
    assert codes(frozen, idle_w=idle) == ["power-frozen"]
    assert codes(frozen, idle_w=idle, idle_cores=0.95) == []
    assert codes(frozen, idle_w={("bmc", "psu1_out"): 79.0}) == []


@pytest.mark.parametrize("value_w", [82.3, 88.1, 0.7])
def test_the_mean_of_a_frozen_sensor_that_was_read_idle_may_be_rounded(value_w: float) -> None:
    for rounded_w in (math.nextafter(value_w, 0), math.nextafter(value_w, 1e3), value_w * (1 + 1e-12)):
        assert codes(reading({OUT: [value_w]}), idle_w={("bmc", "psu1_out"): rounded_w}) == ["power-frozen"]
    assert codes(reading({OUT: [value_w]}), idle_w={("bmc", "psu1_out"): value_w + 0.1}) == []


@pytest.mark.parametrize(
    ("cpus", "idle_cores", "flagged"),
    [(2, 0.78, True), (2, 0.82, False), (8, 0.18, True), (8, 0.22, False), (8, None, False)],
)
def test_how_much_the_cpu_must_work_above_idle_grows_with_the_cpus(
    cpus: int, idle_cores: float | None, flagged: bool
) -> None:
    """0.2 cores, or a tenth of all: the host has one core busy under load."""
    names = [f"cpu{number}.idle_ratio" for number in range(cpus)]
    ratios: dict[Channel, Values] = {
        Channel(name, "1", "mean", name.partition(".")[0]): [1 - 1 / cpus] for name in names
    }
    still = reading({OUT: [80.0], CPU: [40.0]})
    readings = (reading(ratios, source="mpstat"), still)
    end = end_of(*readings, idle_w={("bmc", "psu1_out"): 80.0, ("bmc", "cpu"): 39.0})
    flags = power_checks.power(end, readings, WINDOW, idle_cores)
    said = f"reads 80 W in the whole window; it read the same idle, with {idle_cores or 0:.2f} cores busy"
    assert [(flag.code, flag.where, flag.evidence) for flag in flags] == (
        [("power-frozen", "h1: bmc psu1_out", f"{said} instead of 1.00")] if flagged else []
    )


def test_a_sensor_that_does_not_move_with_its_siblings_is_frozen() -> None:
    assert codes(reading({OUT: [200.0], CPU: wobble(100, 120)})) == ["power-frozen"]
    assert codes(reading({OUT: [20.0], CPU: wobble(100, 120)})) == []


def test_a_sensor_at_the_end_of_its_range_is_saturated() -> None:
    assert "power-saturated" in codes(reading({IN: wobble(1016, 1020)}))
    assert codes(reading({IN: wobble(1012, 1016)})) == []


def test_few_updates_are_told() -> None:
    slow = Reading(
        "h1",
        "pdu",
        tuple(Record(98.0 + 2 * number, 2.0, "", {"cpu": 100.0 + 10 * number}) for number in range(5)),
        {"cpu": CPU},
    )
    assert codes(slow) == ["power-few-updates"]


def test_a_slow_meter_that_shows_one_value_has_few_updates_all_the_same() -> None:
    steady = reading({OUT: [200.0]})
    for refresh_s, flagged in ((1.0, True), (0.5, False)):
        known = {("bmc", "psu1_out"): Dynamics(refresh_s=refresh_s)}
        end = with_power(END, [steady], WINDOW, {}, known)
        flags = power_checks.power(end, [steady], WINDOW, None)
        assert ("power-few-updates" in [one.code for one in flags]) == flagged


def test_a_meter_that_is_refreshed_often_may_show_few_values() -> None:
    """A steady load between two steps of a meter: 88 and 96 W in turn, each for a while."""
    course: list[float | None] = [*[88.0] * 9, *[96.0] * 9, *[88.0] * 8]
    slow = reading({OUT: course})
    for refresh_s, flagged in ((None, True), (0.2, False), (1.0, True)):
        known = {("bmc", "psu1_out"): Dynamics(refresh_s=refresh_s)}
        end = with_power(END, [slow], WINDOW, {}, known)
        flags = power_checks.power(end, [slow], WINDOW, None)
        assert ("power-few-updates" in [one.code for one in flags]) == flagged


def test_power_that_stands_still_needs_no_updates() -> None:
    """A steady load read in steps of 4 W has one value, however often the meter looks."""
    assert codes(reading({OUT: [200.0], CPU: [100.0]})) == []


@pytest.mark.parametrize(
    ("refresh_s", "said"),
    [(0.2, []), (0.79, []), (1.0, ["power-few-updates"]), (3.0, ["power-window-too-short"])],
)
def test_a_meter_that_stands_still_is_believed_if_it_is_refreshed_often_enough(
    refresh_s: float, said: list[str]
) -> None:
    """Five updates of 1 s do not fit into a window of 4 s, and of 3 s not even two."""
    assert codes(replace(reading({OUT: [200.0]}), updates_s={"psu1_out": refresh_s})) == said


@pytest.mark.parametrize(
    ("at", "flagged"), [(0, False), (1, False), (2, False), (3, True), (12, True), (25, False)]
)
def test_only_readings_in_the_window_say_that_a_sensor_is_saturated(at: int, flagged: bool) -> None:
    course = [1000.0 + number % 2 * 4 for number in range(26)]
    course[at] = 1020.0
    assert ("power-saturated" in codes(reading({IN: course}))) == flagged


@pytest.mark.parametrize("every", [1, 2, 5, 10])
@pytest.mark.parametrize("last_equal", [False, True])
def test_a_steady_meter_keeps_its_number(every: int, last_equal: bool) -> None:
    """Equal readings were dropped as no updates, and the window then was said not to be covered."""
    courses = [200.0 if number % every or last_equal else 204.0 for number in range(26)]
    records = tuple(
        Record(99.5 + 0.2 * number, 0.2, "", {"psu1_out": value}) for number, value in enumerate(courses)
    )
    for known in ({}, {("bmc", "psu1_out"): Dynamics(refresh_s=0.4)}):
        slow = Reading("h1", "bmc", records, {"psu1_out": OUT}, updates_s={}, optional=True)
        (one,) = with_power(END, [slow], WINDOW, {}, known, Window(90.0, 105.0)).power
        assert one.power_w == pytest.approx(202.0, abs=2.1), one.reason


def test_the_systems_power_is_its_supplies_output_and_nothing_is_counted_twice() -> None:
    bmc = reading({IN: wobble(220, 224), OUT: [100.0], OUT2: [60.0], CPU: [90.0]})
    pdu = reading({replace(IN, name="outlet", scope="wall:7"): [230.0]}, source="pdu")
    power = end_of(bmc, pdu).power
    system, cpu = totals.power_of_system(power), totals.power_of_cpus(power)
    assert isinstance(system, totals.Total)
    assert isinstance(cpu, totals.Total)
    assert system.scope == "psu-out"
    assert system.power_w == pytest.approx(160.0)
    assert cpu.power_w == pytest.approx(90.0)
    assert system.uncertainty_w == pytest.approx(8.0)


def test_one_supply_that_is_not_read_leaves_the_system_without_a_number() -> None:
    found = totals.power_of_system(end_of(reading({OUT: [100.0], OUT2: [None]})).power)
    assert found == Missing("bmc psu2_out: not available")


def test_a_standby_unit_at_0_w_leaves_the_sum_its_uncertainty() -> None:
    found = totals.power_of_system(end_of(reading({OUT: [100.0], OUT2: [0.0]})).power)
    assert isinstance(found, totals.Total)
    assert (found.power_w, found.uncertainty_w) == pytest.approx((100.0, 8.0))


@pytest.mark.parametrize("channel", [OUT, CPU, replace(IN, scope="wall"), replace(IN, scope="system:DCMI")])
def test_0_w_of_a_host_that_runs_is_no_reading(channel: Channel) -> None:
    """BMCs and meters that do not measure say 0: as a number it would be the most efficient host there is."""
    power = end_of(reading({channel: [0.0]})).power
    found = totals.power_of_cpus(power) if channel is CPU else totals.power_of_system(power)
    assert found == Missing(f"bmc {channel.name}: 0 W while the host runs is not a valid reading")


def test_a_total_that_may_be_twice_itself_or_nothing_is_no_figure() -> None:
    bound = OUT.step
    assert bound is not None
    found = totals.power_of_system(end_of(reading({OUT: [bound]})).power)
    assert found == Missing("bmc: 4 W with an uncertainty of ± 4 W: not usable")
    known = totals.power_of_system(end_of(reading({OUT: [2 * bound]})).power)
    assert isinstance(known, totals.Total)
    assert (known.power_w, known.uncertainty_w) == pytest.approx((8.0, 4.0))


def test_the_whole_and_its_parts_are_not_added() -> None:
    whole, one, two = (replace(IN, name=scope, scope=scope) for scope in ("wall", "wall:1", "wall:2"))
    found = totals.power_of_system(end_of(reading({whole: [200.0], one: [120.0], two: [80.0]})).power)
    assert isinstance(found, totals.Total)
    assert found.power_w == pytest.approx(200.0)
    assert found.channels == ("wall",)
    found = totals.power_of_system(end_of(reading({whole: [None], one: [120.0], two: [80.0]})).power)
    assert isinstance(found, totals.Total)
    assert found.power_w == pytest.approx(200.0)


def test_an_estimate_is_taken_only_where_nothing_measures() -> None:
    model = reading(
        {replace(CPU, name="system", scope="system:all", provenance="estimate"): [300.0]}, source="m"
    )
    wall = reading({replace(IN, scope="wall"): [200.0]}, source="pdu")
    for found in (
        totals.power_of_system(end_of(model, wall).power),
        totals.power_of_system(end_of(wall, model).power),
    ):
        assert isinstance(found, totals.Total)
        assert (found.scope, found.provenance) == ("wall", "measured")
    alone = totals.power_of_system(end_of(model).power)
    assert isinstance(alone, totals.Total)
    assert alone.provenance == "estimate"
    down = reading({replace(IN, scope="wall"): [None]}, source="pdu")
    assert totals.power_of_system(end_of(model, down).power) == Missing("pdu psu1_in: not available")


def test_a_total_that_was_reset_is_no_wrap() -> None:
    """PDUs let anybody set their energy to 0; as a wrap of 2**32 Wh it would be 15 TJ."""
    pdu = Channel("outlet_j", "J", "counter", "wall:1", wraps_at=2**32 * 3600.0)
    (one,) = end_of(reading({pdu: [7.2e6, 0.0, 3600.0]})).power
    assert one.power_w is None
    assert "it was reset" in str(one.reason)


def test_a_frozen_total_is_missing_and_flagged() -> None:
    assert codes(reading({PACKAGE: [500.0]})) == ["power-missing"]


def test_a_source_whose_records_hold_nothing_is_missing_with_its_words() -> None:
    problem = "ipmitool: Could not open device at /dev/ipmi0"
    records = tuple(Record(99.0 + number, 1.0, "", problem=problem) for number in range(8))
    said = end_of(Reading("h1", "bmc", records, optional=True))
    assert said.reasons["power.bmc"] == problem
    assert end_of(Reading("h1", "bmc", (), optional=True)).reasons["power.bmc"] == "no reading in the window"


def test_a_sensor_of_the_cpu_is_no_source_of_power() -> None:
    """mpstat that ended is told as such, and not as watts that are missing."""
    assert end_of(Reading("h1", "mpstat", failure="ended with status 1")).reasons == END.reasons
    fans = reading({Channel("FAN1", "rpm", "gauge", "fan:1"): [4000.0]})
    assert end_of(fans).reasons == END.reasons


def test_the_lesser_provenance_goes_for_the_sum() -> None:
    mixed = reading({OUT: [100.0], replace(OUT2, provenance="simulated"): [60.0]})
    found = totals.power_of_system(end_of(mixed).power)
    assert isinstance(found, totals.Total)
    assert found.provenance == "simulated"


def test_metrics_with_power_are_made_in_each_trial_and_averaged() -> None:
    case = Case("tcp", "h2", "h1")
    idle = {("bmc", "psu1_out"): 80.0}

    def trial(number: int, out_w: float, throughput_bps: float) -> Trial:
        end = end_of(reading({OUT: [out_w], CPU: [50.0]}), idle_w=idle)
        return Trial(
            number, number, case, case.key, "done", 99.0, throughput_bps=throughput_bps, receiver=end
        )

    found = end_power([trial(1, 100.0, 10e9), trial(2, 120.0, 12e9)], "receiver")
    assert found is not None
    assert found.system_w is not None
    assert found.system_w.mean == pytest.approx(110.0)
    assert found.system_bps_per_w is not None
    assert found.system_bps_per_w.mean == pytest.approx(100e6)
    assert found.cpu_bps_per_w is not None
    assert found.cpu_bps_per_w.mean == pytest.approx((200e6 + 240e6) / 2)
    assert found.dynamic_w is not None
    assert found.dynamic_w.mean == pytest.approx(30.0)
    assert found.values["dynamic_energy_j_per_bit"] is not None
    assert found.values["dynamic_energy_j_per_bit"].mean == pytest.approx((2e-9 + 40 / 12e9) / 2)
    assert end_power([trial(1, 100.0, 10e9)], "sender") is None


def test_without_idle_power_there_is_no_dynamic_power_and_a_reason() -> None:
    case = Case("tcp", "h2", "h1")
    end = end_of(reading({OUT: [100.0]}))
    found = end_power(
        [Trial(1, 1, case, case.key, "done", 99.0, throughput_bps=1e9, receiver=end)], "receiver"
    )
    assert found is not None
    assert found.dynamic_w is None
    assert found.reasons["dynamic_w"] == "no idle power of the same channels"
    assert found.reasons["cpu_w"] == "no source of CPU power is named"


def test_power_and_energy_of_the_same_part_are_counted_once() -> None:
    total_j = replace(PACKAGE, name="system_j", scope="system:1")
    power_w = replace(IN, name="system_w", scope="system:1")
    both = reading({total_j: [float(20 * number) for number in range(26)], power_w: [100.0]})
    found = totals.power_of_system(end_of(both).power)
    assert isinstance(found, totals.Total)
    assert found.power_w == pytest.approx(100.0)
