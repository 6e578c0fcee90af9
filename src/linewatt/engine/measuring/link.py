# SPDX-License-Identifier: Apache-2.0
"""Whether the link that carries a trial's data was dead for a while: then there is no result. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.trial_run import TrialRun
from linewatt.engine.measuring.bond_ports import Lost, at_reads, lost, noticed
from linewatt.engine.measuring.cut import InstanceRun
from linewatt.engine.measuring.window import EndRun
from linewatt.findings import SILENT_INTERVALS, SILENT_LEAST_S, SILENT_RATIO
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import fact_of_port
from linewatt.model import Case, Window

CARRIER = "nic.carrier_changes"
STATE = "nic.state"
_WORKING = ("UP", "UNKNOWN")
"""IF_OPER_UP, and what drivers that do not tell are in: Documentation/networking/operstates.rst"""
_LOOK = "look at the cable, the switch's port and dmesg, and measure again"

Span = tuple[float, float]


def lost_carrier(
    run: TrialRun, readings: Mapping[str, Sequence[Reading]], hosts: Mapping[str, HostSpec]
) -> str | None:
    """Which data interface lost its carrier while the load ran, as its kernel counted.

    A port of a bond of which another port was up throughout took nothing away: that is a finding.
    """
    for name in run.planned.case.hosts if run.outputs or run.users else ():
        readback, host_readings = run.readback.get(name), readings.get(name, ())
        counted = _between_reads(readback, CARRIER, hosts[name].data)
        for port, count in _between_records(run, host_readings, hosts[name]).items():
            counted[port] = max(counted.get(port, 0), count)
        lost = _bonds(run, host_readings, readback, set(counted))
        dead = {port: count for port, count in counted.items() if count and not _carried_on(port, lost)}
        if dead:
            what = " and ".join(f"{port} changed {_times(count)}" for port, count in dead.items())
            ports = "".join(f" ({bond_loss.words})" for bond_loss in lost.values())
            return (
                f"{name}: the carrier of its data interface {what} in mid-trial (carrier_changes){ports}; "
                f"{_LOOK}"
            )
    return None


def down_behind(run: TrialRun, hosts: Mapping[str, HostSpec]) -> str | None:
    """Which data interface of a trial was down when its load had failed, as one is whose cable stays out."""
    for name in run.planned.case.hosts:
        readback, data = run.readback.get(name), hosts[name].data
        used = {data_port.interfaces.get(name) for data_port in run.data_ports} or {data}
        for fact, state in readback.facts.items() if readback else ():
            of, port = fact_of_port(fact)
            if of == STATE and state not in _WORKING and (port or data) in used:
                return (
                    f"{name}: its data interface {port or data} was {state} when the load had failed; {_LOOK}"
                )
    return None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _bonds(
    run: TrialRun, readings: Iterable[Reading], readback: ReadBack | None, interfaces: Collection[str]
) -> dict[str, Lost]:
    """Bond → which of its ports lost their link, of bonds that these are or are ports of."""
    notices = next((reading for reading in readings if reading.source == "link"), None)
    window = Window(run.started_s, run.ended_s)
    behind = run.failure is not None and readback is not None and readback.before is None
    if readback is None or behind:  # asked once it had failed: what was up throughout is not known
        return noticed(notices, window)
    near = {port.bond for port in at_reads(readback).values() if {port.bond, port.name} & {*interfaces}}
    loss_by_bond = {bond: lost(readback, {bond}, notices, window) for bond in sorted(near)}
    return {bond: loss for bond, loss in loss_by_bond.items() if loss is not None}


def _carried_on(port: str, bonds: Mapping[str, Lost]) -> bool:
    return any(port in loss.told and loss.carried for loss in bonds.values())


def counted_between(readback: ReadBack | None, fact: str) -> int:
    """How far a count moved between the reads before and after the window, over all data ports; 0 where one
    of them is missing."""
    return sum(_between_reads(readback, fact, "").values())


def _between_reads(readback: ReadBack | None, fact: str, first_port: str) -> dict[str, int]:
    """How far a count of each data port moved between the reads before and after the window."""
    if readback is None or readback.before is None:
        return {}
    early, late = readback.before.facts, readback.facts
    named = (
        (*fact_of_port(name), int(late[name]) - int(early[name]))
        for name in early.keys() & late
        if fact_of_port(name)[0] == fact
    )
    return {port or first_port: count for _, port, count in named}


def _between_records(run: TrialRun, readings: Iterable[Reading], spec: HostSpec) -> dict[str, int]:
    """What the counters of each data port show between the readings that lie in the trial.

    What was counted up to the first of them may be of before: linewatt itself resets links.
    """
    several = len(spec.interfaces) > 1
    channels = {port: f"nic.{port}.carrier_changes" if several else CARRIER for port in spec.interfaces}
    carrier_changes = {}
    for reading in readings:
        for port, channel in channels.items() if reading.source == "netcounters" else ():
            counts = [
                value
                for time_s, value in reading.values(channel)
                if value is not None and run.started_s <= time_s
            ]
            carrier_changes[port] = round(max(counts) - min(counts)) if counts else 0
    return carrier_changes


def silence_reason(
    run: TrialRun, runs: Sequence[InstanceRun], window: Window, pair: Case | None = None
) -> str | None:
    """How long nothing arrived of what TCP had sent, of a pair; lost datagrams are counted as such."""
    case = pair or run.planned.case
    if not case.is_tcp or not runs:
        return None
    interval_s = max(
        interval.end_s - interval.start_s for run_ in runs for interval in run_.receiver.load.intervals
    )
    least_s = max(SILENT_LEAST_S, SILENT_INTERVALS * interval_s, SILENT_RATIO * window.seconds)
    for start_s, end_s in _gaps(runs, window):
        if end_s - start_s < least_s:
            continue
        # what was sent last may arrive in the interval behind the gap
        sent = sum(_until(run.sender, end_s - interval_s - run.sender.start_uncertainty_s) for run in runs)
        missing = sent - sum(_until(run.receiver, start_s) for run in runs)
        if missing > 0:
            return (
                f"nothing arrived at {case.receiver} for {end_s - start_s:.1f} s of the window of "
                f"{window.seconds:g} s, though {missing / 1e6:,.1f} MB were in flight: the path between "
                f"the hosts was down; {_LOOK}"
            )
    return None


def _gaps(runs: Sequence[InstanceRun], window: Window) -> Iterator[Span]:
    """Times of the window in which no instance received anything."""
    busy = sorted(
        (run.receiver.start_s + interval.start_s, run.receiver.start_s + interval.end_s)
        for run in runs
        for interval in run.receiver.load.intervals
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
    return sum(interval.transferred_bytes for interval in end.load.intervals if interval.end_s <= reach_s)


def nothing_arrived(run: TrialRun, pair: Case) -> str:
    """The reason of a trial whose load ran and where the receiver of a pair got nothing."""
    of = f" of {pair.sender}'s" if pair.flow_of else ""
    sentence = f"nothing{of} arrived at {pair.receiver} in the window, though the load ran"
    if run.path_problem is not None:
        return f"{sentence}: {run.path_problem}"
    facts = {name: readback.facts for name, readback in run.readback.items() if name in pair.hosts}
    for name, host_facts in facts.items():
        if host_facts.get(STATE, "UP") not in _WORKING:
            return f"{sentence}: the data interface of {name} is {host_facts[STATE]}"
    mtus = {name: host_facts["nic.mtu"] for name, host_facts in facts.items() if "nic.mtu" in host_facts}
    if len(set(mtus.values())) > 1:
        ends = ", ".join(f"{mtu} on {name}" for name, mtu in mtus.items())
        return f"{sentence}: the ends do not have one MTU ({ends})"
    return (
        f"{sentence}: look whether full packets pass (`linewatt check`, ping -M do -s), at carrier "
        f"and MTU of "
        "what is between the hosts, and for a firewall that lets connections in and no data"
    )
