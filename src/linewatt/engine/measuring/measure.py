# SPDX-License-Identifier: Apache-2.0
"""From what a trial left behind to its numbers. Pure: outputs and readings in, a Trial out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from linewatt.analysis.cases import totals_of_instances, whole_sum, withholds_throughput
from linewatt.analysis.statistics import standard_error
from linewatt.engine.live import sockets
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.line_rate import LineLimit
from linewatt.engine.live.readback import Thread
from linewatt.engine.live.sockets import Connection
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.accounts import cores_between, nice_value, waited_ratio, with_foreign
from linewatt.engine.measuring.clock_set import clock_was_set
from linewatt.engine.measuring.cut import Cut, InstanceRun, Seen, Setup
from linewatt.engine.measuring.ends import end_result
from linewatt.engine.measuring.feature_load import measuring_of
from linewatt.engine.measuring.flags import Check, flags
from linewatt.engine.measuring.link import down_behind, lost_carrier, nothing_arrived, silence_reason
from linewatt.engine.measuring.ports import left_its_port, port_results
from linewatt.engine.measuring.thermal import with_thermal
from linewatt.engine.measuring.window import EndRun, common_window, count_in_window, place_load, total_rates
from linewatt.engine.measuring.window_power import with_power
from linewatt.errors import NobodyCame, ParseError
from linewatt.foreign import understood
from linewatt.hosts import Ended, Offset
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.loads import Load, LoadInterval, whole_intervals
from linewatt.missing import Missing
from linewatt.model import (
    METHOD,
    Case,
    Channel,
    EndResult,
    FlowResult,
    InstanceResult,
    Role,
    Sample,
    TcpState,
    Trial,
    Window,
)
from linewatt.store import Series


@dataclass(frozen=True, slots=True)
class Measured:
    """A trial with everything that is stored beside it."""

    trial: Trial
    series: tuple[Series, ...]
    raw: dict[str, str]


def measure(
    run: TrialRun, readings: Mapping[str, Sequence[Reading]], setup: Setup, load: Load, overhead_s: float
) -> Measured:
    """Make a trial's numbers; what cannot be measured makes it a failed one, with the reason.

    What a round knows of hosts that are no end of the trial is no part of it.
    """
    case = run.planned.case
    run, setup = run.of_its_hosts(), setup.of(case.hosts)
    raw = _raw(run, readings, load) | {run_record.NAME: run_record.text_of(run, readings, setup, overhead_s)}
    sensed = tuple(
        Series(reading.host, reading.source, reading.channels, reading.samples())
        for host in readings
        for reading in readings[host]
    )
    dead = lost_carrier(run, readings, setup.hosts)
    if run.failure is not None:
        dead = dead or down_behind(run, setup.hosts)
        return Measured(_failed(run, _because(dead, run.failure)), sensed, raw)
    if clock_set := clock_was_set(run, readings):
        return Measured(_failed(run, clock_set), sensed, raw)
    try:
        runs, window, trial = understood(
            lambda: _made(run, readings, setup, load, overhead_s), "what its hosts wrote"
        )
    except ParseError as error:
        return Measured(_failed(run, _because(dead, str(error))), sensed, raw)
    for pair in case.pairs if runs else ():
        pair_runs = [pair_run for pair_run in runs if case.pair_of(pair_run.output.planned.instance) == pair]
        rates = [result.throughput_bps for result in trial.instances if case.pair_of(result.instance) == pair]
        if dead is None and not sum(rates):
            dead = nothing_arrived(run, pair)
        dead = dead or silence_reason(run, pair_runs, window, pair)
    dead = dead or left_its_port(trial)
    if dead is not None:
        return Measured(_failed(run, dead), sensed, raw)
    measuring = measuring_of(case)
    of_load = load_series(run, runs, load.name) if measuring is None else measuring.series(run)
    return Measured(trial, (*sensed, *of_load), raw)


def _because(dead: str | None, failure: str) -> str:
    """A failure that a dead link explains."""
    return failure if dead is None else f"{dead} ({failure})"


def _made(
    run: TrialRun, readings: Mapping[str, Sequence[Reading]], setup: Setup, load: Load, overhead_s: float
) -> tuple[list[InstanceRun], Window, Trial]:
    if measuring := measuring_of(run.planned.case):
        return [], *measuring.measure(run, readings, setup, overhead_s)
    _complete(run)
    runs = [_instance_run(output, run, load) for output in run.outputs]
    window = _window(run, runs, setup)
    return runs, window, trial_of(Cut(run, runs, window, readings, setup), overhead_s)


def _complete(run: TrialRun) -> None:
    """Raises ParseError where instances were planned of which nothing is there: the sum of the others would
    be taken for all. Active idle runs none of them."""
    with_output = {output.planned.instance for output in run.outputs}
    planned = [planned.instance for planned in run.planned.instances]
    missing = [str(instance) for instance in planned if instance not in with_output]
    if run.outputs and missing:
        raise ParseError(
            f"results of {len(with_output)} of {len(run.planned.instances)} instances: instance "
            f"{', '.join(missing)} left no output"
        )


def _window(run: TrialRun, runs: Sequence[InstanceRun], setup: Setup) -> Window:
    """What all loads share; active idle has none, and begins when the trial does. Raises ParseError."""
    if not runs:
        start_s = run.started_s + setup.omit_s
        return Window(start_s, start_s + setup.window_s)
    ends = [end for run in runs for end in (run.sender, run.receiver)]
    return common_window(ends, setup.omit_s, setup.window_s)


def _instance_run(output: InstanceOutput, run: TrialRun, load: Load) -> InstanceRun:
    case = run.planned.case.pair_of(output.planned.instance)
    if output.client is None or output.server is None:
        raise ParseError(f"instance {output.planned.instance} left no output")
    client_started_s = _client_started_s(output, run)
    ends: dict[str, EndRun] = {}
    for host, role, ended, peer in (
        (case.client, "client", output.client, output.server),
        (case.server, "server", output.server, output.client),
    ):
        try:
            parsed = load.parse(ended.stdout, output.commands[role], peer.stdout)
        except NobodyCame as error:
            raise ParseError(_other_server(output, host, error, ends)) from error
        last, at = (ended, host) if load.server_ends else (output.client, case.client)
        ended_s = _ended_s(last, run.clocks[at]) - load.trail_s
        ends[host] = place_load(parsed, client_started_s + load.lead_s, ended_s)
    sender, receiver = ends[case.sender], ends[case.receiver]
    if not sender.load.is_sender or receiver.load.is_sender:
        raise ParseError(f"instance {output.planned.instance}: sender and receiver are swapped")
    return InstanceRun(output, sender, receiver)


def _other_server(output: InstanceOutput, host: str, error: NobodyCame, ends: Mapping[str, EndRun]) -> str:
    """Why a server had no test whose client had one."""
    moved = sum(interval.transferred_bytes for end in ends.values() for interval in end.load.intervals)
    if not moved:
        return str(error)
    return (
        f"instance {output.planned.instance}: no client came to its server on {host} ({error}), though its "
        f"client moved {moved / 1e9:.2f} GB: another server answered at its address and port "
        f"{output.planned.port}; look for a second host with that address (arping -D) and for a server "
        "that was left behind (ss -lntup)"
    )


def _client_started_s(output: InstanceOutput, run: TrialRun) -> float:
    """When a client was let go, as its host stamped it, on the controller's time line."""
    if output.client is None or output.client.started_s is None:
        raise ParseError(f"instance {output.planned.instance}: its client never started")
    client = run.planned.case.pair_of(output.planned.instance).client
    return run.clocks[client].to_controller(output.client.started_s)


def _ended_s(ended: Ended, clock: Offset) -> float:
    if ended.ended_s is None:
        raise ParseError("the end of a load was not seen")
    return clock.to_controller(ended.ended_s)


def trial_of(cut: Cut, overhead_s: float | None, checks: Sequence[Check] | None = None) -> Trial:
    """The trial of which a window was cut, with what all checks, or these, found. Raises ParseError."""
    run, case = cut.run, cut.run.planned.case
    instances = tuple(_instance_result(run, cut) for run in cut.runs)
    seen = with_foreign(Seen(cut, instances, tuple(_end(cut, host, role) for host, role in case.ends)))
    ends = seen.ends
    sender, receiver = (next((end for end in ends if _is_whole(end, case, role)), None) for role in _ROLES)
    trial = Trial(
        number=run.planned.number,
        repetition=run.planned.repetition,
        case=case,
        case_key=case.key,
        status="done",
        started_s=run.started_s,
        window=cut.window,
        **totals_of_instances(instances),
        throughput_se_bps=standard_error(total_rates([run.receiver for run in cut.runs], cut.window)),
        target_bps=run.target_bps,
        line_goodput_bps=run.line_goodput_bps,
        line_kind=run.line_kind,
        line_host=run.line_host,
        latency_s=_largest([instance.latency_s for instance in instances]),
        start_skew_s=_start_skew_s(cut),
        sender=sender,
        receiver=receiver,
        instances=instances,
        flags=flags(seen, checks),
        data_ports=port_results(run, instances, {end.role: end for end in ends}),
        flows=tuple(_flow(case, pair, line, ends) for pair, line in zip(case.pairs, run.flows, strict=False))
        if case.flows
        else (),
        clock={name: (clock.offset_s, clock.uncertainty_s) for name, clock in run.clocks.items()},
        overhead_s=overhead_s,
        method=METHOD,
    )
    why = [f"{flag.where}: {flag.evidence}" for flag in trial.flags if withholds_throughput(flag)]
    if not why:
        return trial
    return replace(trial, throughput_bps=None, reason=f"throughput withheld: {'; '.join(why)}")


def _start_skew_s(cut: Cut) -> float | None:
    """From the first release of a client to the last; ``None``: no load, or one was not seen."""
    clients = [run.output.client for run in cut.runs]
    if not clients or any(client is None or client.started_s is None for client in clients):
        return None
    starts = [_client_started_s(instance_run.output, cut.run) for instance_run in cut.runs]
    return max(starts) - min(starts)


_ROLES: tuple[Role, Role] = ("sender", "receiver")


def _is_whole(end: EndResult, case: Case, role: Role) -> bool:
    """Whether an end's host has a role of a case alone, so that its figures are of all that is sent."""
    return end.role == role and end.host == case.host(role)


def _flow(case: Case, pair: Case, line: LineLimit | None, ends: Sequence[EndResult]) -> FlowResult:
    """One pair of a group, with the end that is in no other pair; in a ring that which sends."""
    pair_ends = [
        end
        for end in ends
        if end.host in pair.hosts
        and (end.host == pair.sender if case.is_ring else case.taking_part(end.host) == 1)
    ]
    return FlowResult(
        pair.sender,
        pair.receiver,
        line.goodput_bps if line else None,
        line.kind if line else None,
        line.host if line else None,
        end=pair_ends[0] if pair_ends else None,
    )


def _instance_result(instance_run: InstanceRun, cut: Cut) -> InstanceResult:
    sent = count_in_window(instance_run.sender, cut.window)
    received = count_in_window(instance_run.receiver, cut.window)
    planned = instance_run.output.planned
    case = cut.run.planned.case.pair_of(planned.instance)
    return InstanceResult(
        instance=planned.instance,
        port=planned.port,
        sender_cpu=planned.sender_cpu,
        receiver_cpu=planned.receiver_cpu,
        sender_start_s=instance_run.sender.start_s,
        receiver_start_s=instance_run.receiver.start_s,
        throughput_bps=received.rate_bps,
        offered_bps=sent.rate_bps,
        retransmits=sent.retransmits,
        packets=received.packets,
        lost_packets=received.lost_packets,
        out_of_order_packets=instance_run.receiver.load.out_of_order_packets,
        sender_cpu_cores=instance_run.sender.load.cpu_cores,
        receiver_cpu_cores=instance_run.receiver.load.cpu_cores,
        sender_ran_on=_ran_on(cut, instance_run.output, case.sender),
        receiver_ran_on=_ran_on(cut, instance_run.output, case.receiver),
        congestion=instance_run.sender.load.congestion,
        tcp=_tcp(instance_run, cut),
        sender_threads=len(_threads(cut, instance_run.output, case.sender)) or None,
        receiver_threads=len(_threads(cut, instance_run.output, case.receiver)) or None,
        duplicate_packets=instance_run.receiver.load.duplicate_packets,
        latency_s=instance_run.sender.load.latency_s,
        data_port=planned.data_port,
    )


def _ran_on(cut: Cut, output: InstanceOutput, host: str) -> str | None:
    """The CPUs that the threads of a load process had run on last."""
    return format_cpulist(thread.cpu for thread in _threads(cut, output, host)) or None


def _threads(cut: Cut, output: InstanceOutput, host: str) -> tuple[Thread, ...]:
    readback = cut.readback(host)
    return readback.of(output.pids.get(host)) if readback else ()


def _tcp(instance_run: InstanceRun, cut: Cut) -> TcpState | None:
    """What the sender's kernel says of the load's connections."""
    case = cut.run.planned.case.pair_of(instance_run.output.planned.instance)
    readback = cut.readback(case.sender)
    if not case.is_tcp or readback is None:
        return None
    return tcp_state(sockets.parse(readback.sockets), instance_run.sender.load.connections)


def tcp_state(connections: Sequence[Connection], port_pairs: Collection[tuple[int, int]]) -> TcpState | None:
    """Of the connections with these ports (own, other end's); ``None`` unless all of them are there."""
    streams = [
        connection
        for connection in connections
        if (connection.local_port, connection.peer_port) in port_pairs
    ]
    if not port_pairs or len(streams) < len(port_pairs):
        return None
    rtts_s = [stream.rtt_s for stream in streams if stream.rtt_s is not None]
    names = sorted({stream.congestion for stream in streams if stream.congestion is not None})
    return TcpState(
        streams=len(streams),
        busy_s=whole_sum(stream.busy_s for stream in streams),
        rwnd_limited_s=whole_sum(stream.rwnd_limited_s for stream in streams),
        sndbuf_limited_s=whole_sum(stream.sndbuf_limited_s for stream in streams),
        cwnd_bytes=whole_sum(
            None
            if stream.cwnd_packets is None or stream.mss_bytes is None
            else stream.cwnd_packets * stream.mss_bytes
            for stream in streams
        ),
        rtt_s=sum(rtts_s) / len(rtts_s) if rtts_s else None,
        congestion=", ".join(names) or None,
        mss_bytes=min((stream.mss_bytes for stream in streams if stream.mss_bytes is not None), default=None),
        send_buffer_bytes=whole_sum(stream.send_buffer_bytes for stream in streams),
    )


def _end(cut: Cut, host: str, role: Role) -> EndResult:
    case = cut.run.planned.case
    loads = [
        run.sender if role == "sender" else run.receiver
        for run in cut.runs
        for role in case.roles_at(run.output.planned.instance, host)
    ]
    used_cores = [load.load.cpu_cores for load in loads] if case.of_processes else [cut.users_cores.get(host)]
    readings, readback, placed = cut.readings.get(host, ()), cut.readback(host), cut.placed(host)
    load_pids = [process.pid for process in placed if process.pid is not None]
    end = end_result(
        cut.spec(host),
        role,
        readings,
        cut.window,
        app_cpus=[cpu for process in placed for cpu in parse_cpulist(process.cpus or "")],
        load_cpu_cores=None
        if any(cores is None for cores in used_cores)
        else sum(c for c in used_cores if c is not None),
        base_frequency_hz=cut.setup.base_frequency_hz[host],
        load_nice=nice_value(readback, load_pids),
    )
    settings = (
        {f"{setting.knob} {setting.target}": setting.found for setting in readback.settings}
        if readback
        else {}
    )
    pcie_bps = cut.run.pcie_goodput_bps.get(host)
    end = replace(
        end,
        settings=settings,
        pcie_goodput_bps=pcie_bps,
        other_processes=readback.other_processes if readback else (),
        outside_limits=readback.outside_limits if readback else None,
        **_between_reads(cut, host, load_pids, end.reasons),
    )
    setup = cut.setup
    end = with_thermal(end, readings, cut.window, setup.package_limit_w.get(host))
    return with_power(end, readings, cut.window, setup.idle_w.get(host, {}), setup.meters.get(host), cut.load)


def _between_reads(
    cut: Cut, host: str, load_pids: Sequence[int], reasons: Mapping[str, str]
) -> dict[str, Any]:
    """The load's CPU use between the two reads of its threads, or why it is not known."""
    waited = {"load_waited_ratio": waited_ratio(cut.readback(host), load_pids)}
    window_cores = cores_between(cut.readback(host), load_pids)
    if isinstance(window_cores, Missing):
        reasons_now = {**reasons, "load_window_cores": window_cores.reason}
        return waited | ({"reasons": reasons_now} if cut.run.outputs else {})
    return waited | {"load_window_cores": window_cores}


def _failed(run: TrialRun, reason: str) -> Trial:
    planned = run.planned
    return Trial(
        number=planned.number,
        repetition=planned.repetition,
        case=planned.case,
        case_key=planned.case.key,
        status="failed",
        started_s=run.started_s,
        reason=reason,
        clock={name: (clock.offset_s, clock.uncertainty_s) for name, clock in run.clocks.items()},
        method=METHOD,
    )


def _largest(latencies: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each percentile that all instances have, of the one in which it is the largest."""
    names = [
        name for name in (latencies[0] if latencies else ()) if all(name in latency for latency in latencies)
    ]
    return {name: max(latency[name] for latency in latencies) for name in names}


def load_series(run: TrialRun, runs: Sequence[InstanceRun], source: str) -> list[Series]:
    """What the loads counted, interval by interval, as samples of both ends."""
    return [
        _one_load_series(
            run.planned.case.pair_of(instance_run.output.planned.instance).host(role),
            source,
            role,
            instance_run,
        )
        for instance_run in runs
        for role in _ROLES
    ]


def _one_load_series(host: str, source: str, role: str, run: InstanceRun) -> Series:
    end = run.sender if role == "sender" else run.receiver
    instance = run.output.planned.instance
    scope = f"instance:{instance}"
    rate = Channel(f"instance{instance}.{role}.throughput_bps", "bit/s", "mean", scope)
    intervals = whole_intervals(end.load.intervals)
    rate_samples = [
        Sample(
            end.start_s + interval.end_s, rate.name, _rate_bps(interval), interval.end_s - interval.start_s
        )
        for interval in intervals
    ]
    rtt = Channel(f"instance{instance}.{role}.rtt_s", "s", "gauge", scope)
    rtt_samples = _rtt_samples(rtt.name, end.start_s, intervals)
    channels = (rate, rtt) if rtt_samples else (rate,)
    return Series(host, source, {channel.name: channel for channel in channels}, rate_samples + rtt_samples)


_NO_RTT = "the load did not report the RTT of all streams"


def _rtt_samples(channel: str, start_s: float, intervals: Sequence[LoadInterval]) -> list[Sample]:
    """The RTT at the end of each interval; no samples if no interval has it."""
    if all(interval.rtt_s is None for interval in intervals):
        return []
    return [
        Sample(
            start_s + interval.end_s,
            channel,
            interval.rtt_s,
            reason=_NO_RTT if interval.rtt_s is None else None,
        )
        for interval in intervals
    ]


def _rate_bps(interval: LoadInterval) -> float:
    return 8 * interval.transferred_bytes / (interval.end_s - interval.start_s)


def _raw(run: TrialRun, readings: Mapping[str, Sequence[Reading]], load: Load) -> dict[str, str]:
    """File name below ``raw/`` → text: what every tool wrote, and how it was called."""
    files: dict[str, str] = {}
    commands = []
    for output in run.outputs:
        case = run.planned.case.pair_of(output.planned.instance)
        for role, host, ended in (
            ("client", case.client, output.client),
            ("server", case.server, output.server),
        ):
            name, errors = run_record.output_files(load, host, role, output.planned.instance)
            commands.append({"host": host, "argv": output.commands[role], "output": name})
            if ended is not None:
                files[name] = ended.stdout
                if ended.stderr.strip():
                    files[errors] = ended.stderr
    for host in readings:
        for reading in readings[host]:
            files[f"{host}/{reading.source}.jsonl"] = reading.raw()
    for host, readback in run.readback.items():
        document = asdict(readback)
        if text := document.pop("sockets"):
            files[f"{host}/{run_record.SOCKETS}"] = text
        files[f"{host}/readback.json"] = json.dumps(document, indent=1) + "\n"
    files["commands.json"] = json.dumps(commands, indent=1) + "\n"
    return files
