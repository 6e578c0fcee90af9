# SPDX-License-Identifier: Apache-2.0
"""Clocks, heat, fans and limits beside watts, and what is said of what is not known."""

from __future__ import annotations

from dataclasses import replace

from tests.report_factories import end, watts

from linewatt.analysis.power.heat import end_of_host, heat_of, is_heat_known, why_no_heat
from linewatt.model import Case, EndResult, ThermalResult, Trial

NAMES = (
    *("app_hz", "irq_hz", "hottest_c", "slowest_fan_rpm", "fastest_fan_rpm"),
    *("package_limit_w", "of_limit_ratio", "throttled", "power_w"),
)


def told(rpm: float, degrees: float, hz: float, system_w: float) -> EndResult:
    thermal = (
        ThermalResult("bmc", "FAN1", "rpm", rpm, rpm - 100, rpm + 100),
        ThermalResult("cpufreq", "coretemp Package id 0", "°C", degrees, degrees - 2, degrees + 2),
        ThermalResult("cpufreq", "app CPUs", "Hz", hz, hz, hz),
    )
    return replace(
        end("h1", "sender", 1.0, 0.5, 0.5),
        thermal=thermal,
        power=(watts("psu-out:PSU1", system_w), watts("package:0", 90.0)),
        package_limit_w=100.0,
        counters={"cpu0.core_throttle_count": 1.0},
    )


def test_over_trials_clocks_and_watts_are_means_and_the_rest_is_the_most_of_them() -> None:
    heat = heat_of([told(4000, 60, 3e9, 200.0), told(9000, 70, 2e9, 220.0)])
    assert (heat.app_hz, heat.irq_hz, heat.power_w, heat.provenance) == (2.5e9, None, 210.0, "measured")
    assert (heat.hottest_c, heat.slowest_fan_rpm, heat.fastest_fan_rpm) == (72, 3900, 9100)
    assert (heat.package_limit_w, heat.of_limit_ratio, heat.throttled) == (100.0, 0.9, 2.0)


def test_what_is_not_known_is_none_with_a_reason_and_never_0() -> None:
    bare = end("h1", "sender", 1.0, 0.5, 0.5)
    assert not is_heat_known(bare)
    heat = heat_of([bare])
    for name in NAMES:
        assert getattr(heat, name) is None, name
        assert why_no_heat(name, [bare]), name
    assert why_no_heat("hottest_c", [bare]) == "not recorded"
    assert why_no_heat("hottest_c", [replace(bare, reasons={"thermal.temperature": "no chip"})]) == "no chip"


def test_a_count_that_one_trial_lacks_is_not_known_over_all() -> None:
    lacking = replace(told(4000, 60, 3e9, 200.0), counters={"cpu0.core_throttle_count": None})
    assert heat_of([told(4000, 60, 3e9, 200.0), lacking]).throttled is None


def test_of_a_trial_that_failed_nothing_is_told() -> None:
    case = Case("tcp", "h1", "h2")
    done = Trial(1, 1, case, case.key, "done", 1.0, sender=told(4000, 60, 3e9, 200.0))
    assert end_of_host(done, "h1") == done.sender
    assert end_of_host(done, "h2") is None
    assert end_of_host(replace(done, status="failed"), "h1") is None
