# SPDX-License-Identifier: Apache-2.0
"""Findings on idle, the baseline of figures above idle."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

DRIFT_RATIO = 0.05
"""Idle power of a host may differ by this much between before and after the load."""
QUIET_S = 10.0
"""The check before an idle window lasts at least this long."""
METER_RESPONSES = 3.0
"""The same in response times of the slowest meter."""
FLAT_CORES = 0.02
"""CPU use in both halves of the check may differ by this part of one core."""
FLAT_SHARE = 0.001
"""The same for a host with many CPUs, as part of all CPUs."""
FLAT_CPU_S = 0.1
"""The same for a short check: CPU seconds in one half."""
FLAT_POWER = 0.01
"""Power may rise or fall by this part during the check, or by one step of its meter."""
COOL_C = 3.0
"""A host has cooled down when its temperatures are at most this much above those of its idle window."""
COOL_FAN = 0.1
"""The same for fans, as part of their idle speed."""
COOL_POWER = 0.05
"""The same for watts of the whole host, as part of idle; or the meter's step or the error bound of idle."""

KINDS: tuple[Kind, ...] = (
    Kind(
        "not-cool",
        "doubtful",
        "trial",
        ("power",),
        "Despite rest: until-cool, a host was still warmer than idle when the trial began, or linewatt "
        "could not tell. The trial may have begun warmer than others.",
        f"After rest.limit, a temperature was more than {COOL_C:g} °C above the idle window before the "
        f"trials, a fan more than {percent(COOL_FAN)}, or watts more than {percent(COOL_POWER)} (or the "
        "meter's step or the bound of idle power). Or one of these values, or every temperature, was not "
        "read.",
        "Raise rest.limit, check what keeps the host warm (another job, cooling, fans at a fixed speed), or "
        "leave rest out.",
        name="Not as cool as idle",
    ),
    Kind(
        "idle-drifted",
        "withheld",
        "host",
        ("above_idle",),
        "The host's idle power changed between before and after the load, so what the load added is unknown.",
        f"The means of the idle windows of one setting differ by more than {percent(DRIFT_RATIO)}, and by "
        "more than one step of the meter (for an energy counter: the root sum of squares of two windows' "
        "bounds).",
        "Let the host warm up and settle, lengthen idle.seconds, and find what else changed (fans, a job, a "
        "power setting); then measure again.",
    ),
    Kind(
        "idle-not-settled",
        "doubtful",
        "host",
        ("above_idle",),
        "CPU use or power of the host was still changing when an idle window began: idle may be wrong.",
        f"When the wait reached its limit, CPU use still changed by more than {percent(FLAT_CORES)} of one "
        f"core ({percent(FLAT_SHARE)} of a large host), or power by more than its step and "
        f"{percent(FLAT_POWER)}. The check covers the longer of {QUIET_S:g} s and {METER_RESPONSES:g} "
        "response times of the meter, but never more than idle.seconds.",
        "Find what runs there (top, systemd timers), stop it, or lengthen idle.seconds.",
    ),
    Kind(
        "power-below-idle",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The host drew less under load than idle: one of the two was measured in another state.",
        "The mean of the trials is below idle by more than the combined error bound.",
        "Compare the raw readings of idle and load. Look for a frozen meter, a power cap, fans, or a job "
        "that ran only while idle.",
    ),
)
