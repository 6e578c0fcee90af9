# SPDX-License-Identifier: Apache-2.0
"""Findings on the state that loads are compared with."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

DRIFT_RATIO = 0.05
"""The same idle host may draw this much more or less after the load than before it."""
QUIET_S = 10.0
"""Idle is looked at for at least so long before its window begins."""
METER_RESPONSES = 3.0
"""The same in response times of the slowest meter."""
FLAT_CORES = 0.02
"""CPU use of the second half of that time may differ from the first half's by this much of one core."""
FLAT_SHARE = 0.001
"""The same for a host of many CPUs, of all of them."""
FLAT_CPU_S = 0.1
"""The same for a short look: seconds of one CPU in one half."""
FLAT_POWER = 0.01
"""Power may rise or fall by this much over that time, or by one step of its meter."""
COOL_C = 3.0
"""A host that rests is as cool as idle when temperatures are at most so much above those of its idle window."""
COOL_FAN = 0.1
"""Fans, of their speed idle."""
COOL_POWER = 0.05
"""Watts of the whole host, of those idle; or its meter's step and the bound of their error."""

KINDS: tuple[Kind, ...] = (
    Kind(
        "not-cool",
        "doubtful",
        "trial",
        ("power",),
        "A host was still warmer than idle when the trial began, or not all of what tells was read, although the "
        "campaign says rest: until-cool; the trial began warmer than others may have.",
        f"Within the limit of rest, temperatures were not all within {COOL_C:g} °C, fans not within {percent(COOL_FAN)} "
        f"or watts not within {percent(COOL_POWER)} (or the meter's step and the bound of idle power) above the idle "
        "window before the trials; or one of them, or any temperature, was not read.",
        "Raise rest.limit, look at what keeps the host warm (another job, cooling, fans that are held), or leave "
        "rest out.",
        name="Not as cool as idle",
    ),
    Kind(
        "idle-drifted",
        "withheld",
        "host",
        ("above_idle",),
        "The host drew another power idle after the load than before it, so that it is not known what the load added.",
        f"The means of the idle windows of one setting differ by more than {percent(DRIFT_RATIO)}, and by more than one "
        "step of the meter, or, of a running total of energy, than the bounds of two windows in squares.",
        "Let the host warm up and settle, lengthen idle.seconds, and find out what else changed (fans, a job, a power "
        "setting); then measure again.",
    ),
    Kind(
        "idle-not-settled",
        "doubtful",
        "host",
        ("above_idle",),
        "CPU use or power of the host still moved when an idle window began, so that idle may be something else.",
        f"Over the {QUIET_S:g} s before, and at least {METER_RESPONSES:g} response times of the meter, CPU use changed by more "
        f"than {percent(FLAT_CORES)} of one core ({percent(FLAT_SHARE)} of a large host), or power by more than its step "
        f"and {percent(FLAT_POWER)}; waited for up to the limit. A shorter idle.seconds looks for as long as that.",
        "Find what runs there (top, systemd timers), stop it, or lengthen idle.seconds.",
    ),
    Kind(
        "power-below-idle",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The host drew less under load than idle, which work does not do: one of the two is of another state.",
        "The mean over the trials is below idle by more than the bounds of both.",
        "Compare the raw readings of idle and load: a meter that stands still, a power cap, fans, or a background job "
        "that ran only while idle.",
    ),
)
