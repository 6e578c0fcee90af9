# SPDX-License-Identifier: Apache-2.0
"""Whether the link that carries a trial's data was dead for a while: then there is no result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.trial_run import TrialRun
from linewatt.engine.measuring.cut import InstanceRun
from linewatt.engine.measuring.window import EndRun
from linewatt.findings.network import SILENT_INTERVALS, SILENT_LEAST_S, SILENT_RATIO
from linewatt.hosts.facts.read import of_port
from linewatt.model import Case, Window

CARRIER = "nic.carrier_changes"
_LOOK = "look at the cable, the switch's port and dmesg, and measure again"

Span = tuple[float, float]


def lost_carrier(run: TrialRun, readings: Mapping[str, Sequence[Reading]]) -> str | None:
    """Which data interface lost its carrier while the load ran, as its kernel counted."""
    for name in run.planned.case.hosts if run.outputs or run.users else ():
        own = run.readback.get(name), readings.get(name, ())
        counted = max(counted_between(own[0], CARRIER), _between_records(run, own[1]))
        if counted:
            return (
                f"{name}: the carrier of its data interface changed {_times(counted)} in mid-trial "
                f"(carrier_changes); {_LOOK}"
            )
    return None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def counted_between(readback: ReadBack | None, fact: str) -> int:
    """How far a count moved between the reads before and after the window, over all data ports; 0 where one
    of them is missing."""
    if readback is None or readback.before is None:
        return 0
    early, late = readback.before.facts, readback.facts
    return sum(int(late[name]) - int(early[name]) for name in early.keys() & late if of_port(name)[0] == fact)


def _between_records(run: TrialRun, readings: Iterable[Reading]) -> int:
    """What the counters of the interface show between the readings that lie in the trial.

    What was counted up to the first of them may be of before: linewatt itself resets links.
    """
    counts = [
        value
        for reading in readings
        if reading.source == "netcounters"
        for time_s, value in reading.values(CARRIER)
        if value is not None and run.started_s <= time_s
    ]
    return round(max(counts) - min(counts)) if counts else 0


def silence(
    run: TrialRun, runs: Sequence[InstanceRun], window: Window, pair: Case | None = None
) -> str | None:
    """How long nothing arrived of what TCP had sent, of a pair; lost datagrams are counted as such."""
    case = pair or run.planned.case
    if not case.is_tcp or not runs:
        return None
    interval_s = max(one.end_s - one.start_s for run_ in runs for one in run_.receiver.load.intervals)
    least_s = max(SILENT_LEAST_S, SILENT_INTERVALS * interval_s, SILENT_RATIO * window.seconds)
    for start_s, end_s in _gaps(runs, window):
        if end_s - start_s < least_s:
            continue
        # what was sent last may arrive in the interval behind the gap
        sent = sum(_until(one.sender, end_s - interval_s - one.sender.start_uncertainty_s) for one in runs)
        missing = sent - sum(_until(one.receiver, start_s) for one in runs)
        if missing > 0:
            return (
                f"nothing arrived at {case.receiver} for {end_s - start_s:.1f} s of the window of "
                f"{window.seconds:g} s, though {missing / 1e6:,.1f} MB were on their way: what is between "
                f"the hosts was down; {_LOOK}"
            )
    return None


def _gaps(runs: Sequence[InstanceRun], window: Window) -> Iterator[Span]:
    """Times of the window in which no instance received anything."""
    busy = sorted(
        (one.receiver.start_s + interval.start_s, one.receiver.start_s + interval.end_s)
        for one in runs
        for interval in one.receiver.load.intervals
        if interval.transferred_bytes > 0
    )
    edges: list[Span] = [(window.start_s, window.start_s)]
    for start_s, end_s in busy:
        if end_s > edges[-1][1]:
            edges.append((min(start_s, window.end_s), min(end_s, window.end_s)))
    edges.append((window.end_s, window.end_s))
    return ((before[1], after[0]) for before, after in pairwise(edges) if after[0] > before[1])


def _until(end: EndRun, time_s: float) -> int:
    """Bytes that one end counted in intervals that ended by then."""
    reach_s = time_s - end.start_s + 1e-6
    return sum(one.transferred_bytes for one in end.load.intervals if one.end_s <= reach_s)


def nothing_arrived(run: TrialRun, pair: Case) -> str:
    """The reason of a trial whose load ran and where the receiver of a pair got nothing."""
    of = f" of {pair.sender}'s" if pair.flow_of else ""
    said = f"nothing{of} arrived at {pair.receiver} in the window, though the load ran"
    if run.path_problem is not None:
        return f"{said}: {run.path_problem}"
    facts = {name: readback.facts for name, readback in run.readback.items() if name in pair.hosts}
    for name, known in facts.items():
        if known.get("nic.state", "UP") not in ("UP", "UNKNOWN"):
            return f"{said}: the data interface of {name} is {known['nic.state']}"
    mtus = {name: known["nic.mtu"] for name, known in facts.items() if "nic.mtu" in known}
    if len(set(mtus.values())) > 1:
        ends = ", ".join(f"{mtu} on {name}" for name, mtu in mtus.items())
        return f"{said}: the ends do not have one MTU ({ends})"
    return (
        f"{said}: look whether full packets pass (`linewatt check`, ping -M do -s), at carrier and MTU of "
        "what is between the hosts, and for a firewall that lets connections in and no data"
    )
