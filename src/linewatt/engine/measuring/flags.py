# SPDX-License-Identifier: Apache-2.0
"""Every check of a single trial, called. Pure: no number is changed by it."""

from __future__ import annotations

from collections.abc import Sequence

from linewatt.engine.feed import Reading
from linewatt.engine.measuring.checks import frequency as cpu_checks
from linewatt.engine.measuring.checks import load as checks
from linewatt.engine.measuring.checks import placement as placement_checks
from linewatt.engine.measuring.checks import plausibility as power_plausibility
from linewatt.engine.measuring.checks import power as power_checks
from linewatt.engine.measuring.checks import steadiness as steady_checks
from linewatt.engine.measuring.cut import Cut
from linewatt.engine.measuring.ends import cpu_shares
from linewatt.model import EndResult, Flag, InstanceResult


def flags(
    cut: Cut, instances: Sequence[InstanceResult], sender: EndResult, receiver: EndResult
) -> tuple[Flag, ...]:
    """Everything that makes a figure of this trial doubtful."""
    case, setup, clocks = cut.run.planned.case, cut.setup, cut.run.clocks
    ends = [end for one in cut.runs for end in (one.sender, one.receiver)]
    found = [
        *checks.placement(case, instances, [cut.spec(name) for name in case.hosts]),
        *checks.datagrams(case, instances),
        *steady_checks.throughput([one.receiver for one in cut.runs], cut.window),
        *checks.alignment(ends, clocks),
        *checks.spinning(case, ends),
        *checks.bottleneck(case, sender, receiver),
    ]
    for end in (sender, receiver):
        found += checks.cpu(end, case, cut.spec(end.host), setup.tick_accounting.get(end.host))
        found += cpu_checks.throttled(end)
        found += cpu_checks.frequency(end, cut.readings.get(end.host, ()), cut.window)
        found += checks.drops(end)
        found += checks.background(end, setup.idle_cores.get(end.host))
        readings = cut.readings.get(end.host, ())
        found += checks.sensors(end, readings, clocks[end.host])
        found += power_checks.power(end, readings, cut.window, setup.idle_cores.get(end.host))
        found += power_plausibility.implausible(end, setup.supplies.get(end.host))
        found += _placement_flags(cut, end, readings)
    return tuple(found)


def _placement_flags(cut: Cut, end: EndResult, readings: Sequence[Reading]) -> list[Flag]:
    """Whether the load, the settings and the receive work were where they had been put."""
    readback = cut.readback(end.host)
    placed = [
        (
            output.planned.instance,
            output.planned.sender_cpu if end.role == "sender" else output.planned.receiver_cpu,
            output.pids.get(end.host),
        )
        for output in cut.run.outputs
    ]
    found = [
        *placement_checks.processes(end.host, readback, placed),
        *placement_checks.settings(end.host, readback),
    ]
    if end.role == "receiver":
        spec = cut.spec(end.host)
        shares = cpu_shares(spec, readings, cut.window)
        found += placement_checks.receive_work(end.host, spec.irq_cpus or (), shares)
    return found
