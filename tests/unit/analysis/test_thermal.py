# SPDX-License-Identifier: Apache-2.0
"""Fans and temperatures beside watts that stand out: named, and never called the cause."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report_factories import end, powered, scaling_trials, watts

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.flags.case import power_flags
from linewatt.analysis.power.machine_conditions import AT_LIMIT, THROTTLED, Beside, beside_of, evidence
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.thermal import NO_TEMPERATURE, with_thermal
from linewatt.json_document import document_of
from linewatt.model import Case, Channel, EndResult, ThermalResult, Trial, Window

NOT_KNOWN = "what fans draw is not measured, so how much of it is theirs is not known"


def fans(*rpm: float, degrees: float | None = None) -> tuple[ThermalResult, ...]:
    every = [ThermalResult("bmc", f"FAN{n}", "rpm", one, one, one) for n, one in enumerate(rpm, 1)]
    inlet = [] if degrees is None else [ThermalResult("bmc", "Inlet", "°C", degrees, degrees, degrees)]
    return (*every, *inlet)


def beside(*rpm: float, degrees: float | None = None) -> Beside:
    return beside_of([replace(end("h2", "receiver", 1.0, 0.5, 0.5), thermal=fans(*rpm, degrees=degrees))])


def told(own: Beside, usual: Beside, above_w: float = 40.0) -> list[str]:
    return list(evidence(own, [usual, usual], above_w))


def test_a_fan_that_turned_faster_is_named_and_not_blamed() -> None:
    assert told(beside(9000, 4000), beside(4000, 4000)) == [
        "FAN1 (rpm) 9,000, in the others 4,000: it changed too",
        "FAN2 (rpm) 4,000, in the others 4,000",
        NOT_KNOWN,
    ]


@pytest.mark.parametrize(
    ("fans_w", "said"),
    [
        (45.0, "fans drew 45.0 W, in the others 10.0 W: explained by fans"),
        (20.0, "fans drew 20.0 W, in the others 10.0 W: +10.0 W of +40.0 W, so not explained by fans alone"),
        (5.0, "fans drew 5.0 W, in the others 10.0 W: −5.0 W of +40.0 W, so not explained by fans alone"),
    ],
)
def test_fans_explain_watts_only_where_what_they_draw_is_measured(fans_w: float, said: str) -> None:
    own, usual = replace(beside(9000), fans_w=fans_w), replace(beside(4000), fans_w=10.0)
    found = told(own, usual)
    assert said in found
    assert NOT_KNOWN not in found


def test_of_many_fans_only_those_that_changed_are_told() -> None:
    usual = beside(*[4000] * 8, degrees=24.0)
    own = beside(*[9000] * 4, *[4000] * 4, degrees=30.0)
    said = told(own, usual)
    assert sum("(rpm)" in one for one in said) == 3
    assert "2 more of 9 readings changed too" in said
    assert told(usual, usual) == ["not explained: none of 9 readings beside it changed"]


def test_a_temperature_changes_by_degrees_and_not_by_parts_of_them() -> None:
    assert "Inlet (°C) 4, in the others 1" in told(beside(4000, degrees=4.0), beside(4000, degrees=1.0))
    assert "it changed too" in told(beside(4000, degrees=36.0), beside(4000, degrees=30.0))[0]


def test_where_no_fan_is_known_that_is_said() -> None:
    assert told(Beside(), Beside()) == ["fan speed is not known: look at it first"]


def test_a_temperature_that_changed_explains_nothing() -> None:
    found = told(beside(4000, degrees=36.0), beside(4000, degrees=30.0))
    assert found[-1] == "not explained: what changes with it need not be the cause"


@pytest.mark.parametrize(
    ("name", "own", "usual"), [(AT_LIMIT, 99.0, 80.0), (AT_LIMIT, 100.4, 97.0), (THROTTLED, 1.0, 0.0)]
)
def test_a_limit_and_throttling_go_with_fewer_watts_and_never_with_more(
    name: str, own: float, usual: float
) -> None:
    mine, others = (Beside({"FAN1 (rpm)": 4000, name: value}) for value in (own, usual))
    assert told(mine, others, -40.0)[-1].startswith("a power limit and throttling make CPUs draw less")
    assert told(mine, others, 40.0)[-1].startswith("not explained")


def test_a_clock_is_told_in_gigahertz_and_changes_by_a_twentieth() -> None:
    usual = Beside({"app CPUs (GHz)": 3.0})
    assert "app CPUs (GHz) 2.80, in the others 3.00: it changed too" in told(
        Beside({"app CPUs (GHz)": 2.8}), usual
    )
    assert "app CPUs (GHz) 2.90, in the others 3.00" in told(Beside({"app CPUs (GHz)": 2.9}), usual)


def test_only_what_all_trials_have_is_a_mean_over_them() -> None:
    one, other = (
        replace(end("h2", "receiver", 1.0, 0.5, 0.5), thermal=fans(*rpm)) for rpm in ((4000, 4000), (6000,))
    )
    assert beside_of([one, other]) == Beside({"FAN1 (rpm)": 5000})
    assert beside_of([]) == Beside()


def test_limits_throttling_and_clocks_stand_beside_watts() -> None:
    one = replace(
        end("h2", "receiver", 1.0, 0.5, 0.5),
        thermal=(ThermalResult("cpufreq", "app CPUs", "Hz", 2.5e9, 2.4e9, 2.6e9),),
        package_limit_w=200.0,
        power=(watts("package:0", 150.0), watts("package:1", 198.0), watts("fan:fans", 12.0)),
        counters={"cpu0.core_throttle_count": 2.0, "cpu0.package_throttle_count": 1.0},
    )
    assert beside_of([one]) == Beside({"app CPUs (GHz)": 2.5, THROTTLED: 3.0, AT_LIMIT: 99.0}, 12.0)
    assert beside_of(
        [replace(one, counters={"cpu0.core_throttle_count": None}, package_limit_w=None)]
    ) == Beside({"app CPUs (GHz)": 2.5}, 12.0), "what is not known is no 0"


def test_a_window_has_its_fans_and_what_was_not_read_is_not_there() -> None:
    channels = {
        "FAN1": Channel("FAN1", "rpm", "gauge", "fan:FAN1"),
        "T": Channel("T", "°C", "gauge", "other:T"),
    }
    values = ((0.5, 9000.0), (1.5, 4000.0), (2.5, 5000.0), (9.5, 9000.0))
    records = tuple(Record(at, 1.0, "", {"FAN1": rpm, "T": None}) for at, rpm in values)
    reading = Reading("h2", "bmc", records, channels, optional=True)
    found = with_thermal(end("h2", "receiver", 1.0, 0.5, 0.5), [reading], Window(1.0, 3.0))
    assert found.thermal == (ThermalResult("bmc", "FAN1", "rpm", 4500.0, 4000.0, 5000.0),)
    assert found.reasons["thermal.temperature"] == NO_TEMPERATURE
    assert not {"thermal.fan"} & found.reasons.keys()
    assert "thermal" not in document_of(end("h2", "receiver", 1.0, 0.5, 0.5))


def test_a_trial_above_the_others_of_its_case_has_its_fans_beside_it() -> None:
    def trial(number: int, system_w: float, rpm: float) -> Trial:
        power = (watts("psu-out:PSU1", system_w),)
        own: EndResult = replace(end("h2", "receiver", 1.0, 0.5, 0.5), power=power, thermal=fans(rpm))
        case = Case("tcp", "h1", "h2")
        return Trial(number, number, case, case.key, "done", float(number), receiver=own)

    trials = [trial(number, 150.0, 4000) for number in range(1, 6)] + [trial(6, 250.0, 9000)]
    (flag,) = power_flags(trials)
    assert flag.code == "power-unexplained"
    assert "FAN1 (rpm) 9,000, in the others 4,000: it changed too" in flag.evidence
    assert NOT_KNOWN in flag.evidence


def test_a_case_whose_power_stands_out_has_the_fan_that_turned_faster_beside_it() -> None:
    def with_fans(trial: Trial) -> Trial:
        assert trial.receiver is not None
        rpm = 9000.0 if trial.case.instances == 8 else 4000.0
        return replace(trial, receiver=replace(trial.receiver, thermal=fans(rpm)))

    found = summarise([with_fans(trial) for trial in powered(scaling_trials())])
    (flag,) = (flag for one in found for flag in one.case_flags if flag.code == "power-outlier")
    assert "FAN1 (rpm) 9,000, in the others 4,000: it changed too" in flag.evidence
    assert NOT_KNOWN in flag.evidence
    assert "fan speed is not known" not in flag.evidence


@pytest.mark.parametrize("unit", ["W", "V"])
def test_other_units_are_no_fans(unit: str) -> None:
    channels = {"x": Channel("x", unit, "gauge", "other:x")}
    reading = Reading("h2", "bmc", (Record(1.5, 1.0, "", {"x": 5.0}),), channels, optional=True)
    assert with_thermal(end("h2", "receiver", 1.0, 0.5, 0.5), [reading], Window(1.0, 3.0)).thermal == ()
