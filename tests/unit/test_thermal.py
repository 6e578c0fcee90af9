# SPDX-License-Identifier: Apache-2.0
"""Fans and temperatures beside watts that stand out: named, and never called the cause."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report_factories import end, powered, scaling_trials, watts

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.flags.case import power_flags
from linewatt.analysis.power.beside import beside_of, evidence
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.power import with_power
from linewatt.model import Case, Channel, EndResult, ThermalResult, Trial, Window, document_of

NOT_KNOWN = "what fans draw is not measured, so how much of it is theirs is not known"


def fans(*rpm: float, degrees: float | None = None) -> tuple[ThermalResult, ...]:
    every = [ThermalResult("bmc", f"FAN{n}", "rpm", one, one, one) for n, one in enumerate(rpm, 1)]
    inlet = [] if degrees is None else [ThermalResult("bmc", "Inlet", "°C", degrees, degrees, degrees)]
    return (*every, *inlet)


def beside(*rpm: float, degrees: float | None = None) -> dict[str, float]:
    return beside_of([replace(end("h2", "receiver", 1.0, 0.5, 0.5), thermal=fans(*rpm, degrees=degrees))])


def told(own: dict[str, float], usual: dict[str, float], *, measured: bool = False) -> list[str]:
    return list(evidence(own, [usual, usual], fans_measured=measured))


def test_a_fan_that_turned_faster_is_named_and_not_blamed() -> None:
    assert told(beside(9000, 4000), beside(4000, 4000)) == [
        "FAN1 (rpm) 9,000, in the others 4,000: it changed too",
        "FAN2 (rpm) 4,000, in the others 4,000",
        NOT_KNOWN,
    ]
    assert NOT_KNOWN not in told(beside(9000), beside(4000), measured=True)


def test_of_many_fans_only_those_that_changed_are_told() -> None:
    usual = beside(*[4000] * 8, degrees=24.0)
    own = beside(*[9000] * 4, *[4000] * 4, degrees=30.0)
    said = told(own, usual)
    assert sum("(rpm)" in one for one in said) == 3
    assert "2 more fans or temperatures changed too" in said
    assert told(usual, usual) == ["none of 9 fans and temperatures changed with it"]


def test_a_temperature_changes_by_degrees_and_not_by_parts_of_them() -> None:
    assert "Inlet (°C) 4, in the others 1" in told(beside(4000, degrees=4.0), beside(4000, degrees=1.0))
    assert "it changed too" in told(beside(4000, degrees=36.0), beside(4000, degrees=30.0))[0]


def test_where_no_fan_is_known_that_is_said() -> None:
    assert told({}, {}) == ["fan speed is not known: look at it first"]


def test_only_what_all_trials_have_is_a_mean_over_them() -> None:
    one, other = (
        replace(end("h2", "receiver", 1.0, 0.5, 0.5), thermal=fans(*rpm)) for rpm in ((4000, 4000), (6000,))
    )
    assert beside_of([one, other]) == {"FAN1 (rpm)": 5000}
    assert beside_of([]) == {}


def test_a_window_has_its_fans_and_what_was_not_read_is_not_there() -> None:
    channels = {
        "FAN1": Channel("FAN1", "rpm", "gauge", "fan:FAN1"),
        "T": Channel("T", "°C", "gauge", "other:T"),
    }
    values = ((0.5, 9000.0), (1.5, 4000.0), (2.5, 5000.0), (9.5, 9000.0))
    records = tuple(Record(at, 1.0, "", {"FAN1": rpm, "T": None}) for at, rpm in values)
    reading = Reading("h2", "bmc", records, channels, optional=True)
    found = with_power(end("h2", "receiver", 1.0, 0.5, 0.5), [reading], Window(1.0, 3.0), {})
    assert found.thermal == (ThermalResult("bmc", "FAN1", "rpm", 4500.0, 4000.0, 5000.0),)
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
    assert with_power(end("h2", "receiver", 1.0, 0.5, 0.5), [reading], Window(1.0, 3.0), {}).thermal == ()
