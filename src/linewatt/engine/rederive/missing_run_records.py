# SPDX-License-Identifier: Apache-2.0
"""Trials stored before ``raw/run.json`` was: what it would have said, from ``trial.json`` and the manifest.

What cannot be had back stays as it was found then: how well the start of each load was known, and the
findings on that; and a trial that failed stays as it failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from linewatt.campaign import Campaign, setting_of_hosts
from linewatt.campaign.planning import PlannedInstance, PlannedTrial
from linewatt.engine.idle import IdleBook
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.session import Session
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.run_record import Kept, Source, output_files, readbacks
from linewatt.engine.rounds import setup_of
from linewatt.errors import LinewattError, ParseError
from linewatt.foreign import STORED, read_json
from linewatt.hosts import Ended, Offset
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.model import Case, Channel, EndResult, InstanceResult, PowerResult, Trial
from linewatt.store import Result, read_channels

_STAY = ("start-uncertain",)
"""findings on what such a result does not have: they are as they were, neither raised nor dropped"""


def kept_of(
    result: Result, campaign: Campaign, trial: Trial, files: Mapping[str, str], directory: Path
) -> Kept:
    """What would have been kept of a trial. Raises ParseError for one that failed, or is not whole."""
    if trial.status == "failed":
        raise ParseError("it failed, and how it ran was not stored then; it stays as it is")
    sources = tuple(_sources(campaign, trial, files, directory))
    session = _session(result, campaign)
    setup = _setup(result, campaign, session, trial)
    run = replace(_run(campaign, trial, files), **_lines(session, trial.case))
    return Kept(run, setup, sources, trial.overhead_s or 0.0)


def as_far_as_known(before: Trial, after: Trial) -> Trial:
    """The trial made again, with what could not be had back as it was."""
    if after.status == "failed":
        return after
    made_again = tuple(flag for flag in after.flags if flag.code not in _STAY)
    return replace(
        after,
        start_skew_s=before.start_skew_s,
        overhead_s=before.overhead_s,
        flags=(*made_again, *(flag for flag in before.flags if flag.code in _STAY)),
    )


def _run(campaign: Campaign, trial: Trial, files: Mapping[str, str]) -> TrialRun:
    case = trial.case
    clocks = {name: Offset(*values) for name, values in trial.clock.items()}
    readback_by_host = readbacks(files, case.hosts)
    instances = tuple(
        PlannedInstance(instance.instance, instance.port, instance.sender_cpu, instance.receiver_cpu)
        for instance in trial.instances
    )
    return TrialRun(
        planned=PlannedTrial(
            trial.number,
            trial.repetition,
            case,
            instances,
            _irq_cpus(campaign, trial.sender),
            _irq_cpus(campaign, trial.receiver),
        ),
        started_s=trial.started_s,
        ended_s=trial.started_s + campaign.load_s,
        load_s=campaign.load_s,
        outputs=tuple(
            _output(instance, trial, planned, clocks, files, readback_by_host)
            for instance, planned in zip(trial.instances, instances, strict=True)
        ),
        clocks=clocks,
        target_bps=trial.target_bps,
        line_goodput_bps=trial.line_goodput_bps,
        line_kind=trial.line_kind,
        line_host=trial.line_host,
        pcie_goodput_bps={
            end.host: end.pcie_goodput_bps for end in (trial.sender, trial.receiver) if end is not None
        },
        readback=readback_by_host,
    )


def _session(result: Result, campaign: Campaign) -> Session:
    """The hosts with the facts that they had, without any connection."""
    session = Session(campaign, defaultdict(lambda: None))
    session.facts = {name: defaultdict(dict, host.facts) for name, host in result.manifest.hosts.items()}
    return session


def _lines(session: Session, case: Case) -> dict[str, Any]:
    """What line and slots carry, by the facts of the hosts; nothing where those do not tell."""
    try:
        line, slots = session.line_limit(case), session.pcie_goodput_bps(case)
    except (LinewattError, KeyError):
        return {}
    return {
        "pcie_goodput_bps": slots,
        **({} if line is None else {"line_kind": line.kind, "line_host": line.host}),
    }


def _irq_cpus(campaign: Campaign, end: EndResult | None) -> tuple[int, ...]:
    if end is None:
        return ()
    return end.irq_cpu.cpus if end.irq_cpu is not None else campaign.hosts[end.host].irq_cpus or ()


def _output(
    instance_result: InstanceResult,
    trial: Trial,
    planned: PlannedInstance,
    clocks: Mapping[str, Offset],
    files: Mapping[str, str],
    readback_by_host: Mapping[str, ReadBack],
) -> InstanceOutput:
    """Both processes, with stamps that put their zero where it was found to be."""
    case = trial.case
    starts_s = {case.sender: instance_result.sender_start_s, case.receiver: instance_result.receiver_start_s}
    released_s = min(starts_s.values())

    def ended(host: str, role: str) -> Ended:
        text = files.get(output_files(LOADS[DEFAULT_LOAD], host, role, instance_result.instance)[0], "")
        duration_s = LOADS[DEFAULT_LOAD].parse(text).duration_s
        ended_s = 2 * starts_s[host] - released_s + duration_s
        offset_s = clocks[host].offset_s
        return Ended(0, text, "", released_s + offset_s, ended_s + offset_s)

    commands = {role: list(argv) for role, argv in _commands(case, instance_result.instance, files)}
    pids = {
        host: _pid(readback_by_host.get(host), instance_result.instance, len(trial.instances))
        for host in case.hosts
    }
    return InstanceOutput(planned, commands, ended(case.client, "client"), ended(case.server, "server"), pids)


def _commands(case: Case, instance: int, files: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    commands = read_json(files.get("commands.json", "[]"), "commands.json", STORED)
    for role, host in (("client", case.client), ("server", case.server)):
        name, _ = output_files(LOADS[DEFAULT_LOAD], host, role, instance)
        yield role, next((command["argv"] for command in commands if command["output"] == name), [])


def _pid(readback: ReadBack | None, instance: int, instances: int) -> int | None:
    """Processes were asked for in the order of the instances; where one is missing it is not known which."""
    pids = list(dict.fromkeys(thread.pid for thread in readback.threads)) if readback else []
    return pids[instance] if len(pids) == instances else None


def _setup(result: Result, campaign: Campaign, session: Session, trial: Trial) -> Setup:
    ends = [end for end in (trial.sender, trial.receiver) if end is not None]
    book, setting = IdleBook(result.path), setting_of_hosts(trial.case)
    return replace(
        setup_of(session, campaign),
        base_frequency_hz={end.host: end.base_frequency_hz for end in ends},
        idle_cores=book.cores(setting, trial.case.hosts),
        idle_w=book.power(setting, trial.case.hosts),
    )


def _sources(campaign: Campaign, trial: Trial, files: Mapping[str, str], directory: Path) -> Iterator[Source]:
    """Sensors in the order in which they were read, with what is known of each beside its records."""
    stored_channels = read_channels(directory / "samples.parquet")
    for end in (trial.sender, trial.receiver):
        if end is None:
            continue
        for sensor in campaign.sensors:
            if f"{end.host}/{sensor}.jsonl" in files:
                yield Source(end.host, sensor, {}, {}, None, optional=False)
        for source in campaign.power.get(end.host, {}):
            text = files.get(f"{end.host}/{source}.jsonl")
            if text is not None:
                by_channel = {result.channel: result for result in end.power if result.source == source}
                updates_s = {
                    name: result.update_s
                    for name, result in by_channel.items()
                    if result.update_s is not None
                }
                channels = {
                    name: _channel(name, by_channel.get(name), stored_channels.get((end.host, source, name)))
                    for name in _names(text)
                }
                failure = end.reasons.get(f"power.{source}")
                yield Source(end.host, source, channels, updates_s, failure, optional=True)


def _names(text: str) -> list[str]:
    """The channels of a meter's records."""
    names: dict[str, None] = {}
    for line in text.splitlines():
        try:
            record = read_json(read_json(line, "a record", STORED)["text"], "a record", STORED)
            names.update(dict.fromkeys(record["values"]))
        except (ParseError, KeyError, TypeError):
            continue  # not a meter, whose driver parses its own text
    return list(names)


def _channel(name: str, power: PowerResult | None, stored_channel: Channel | None) -> Channel:
    """As far as it is on record: a reading's greatest value is not."""
    channel = stored_channel or Channel(name, "W" if power else "", "gauge", power.scope if power else "host")
    if power is None:
        return channel
    more: dict[str, Any] = {"method": power.method, "tolerance_ratio": power.tolerance_ratio}
    return replace(channel, scope=power.scope, provenance=power.provenance, step=power.step_w, **more)
