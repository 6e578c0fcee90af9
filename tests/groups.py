# SPDX-License-Identifier: Apache-2.0
"""Pairs that run at once, told as stories (tests/wiring.py): one a pair, put together as a round does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.wiring import (
    GOODPUT_BPS,
    IRQ,
    SETUP,
    WINDOW_S,
    Change,
    Given,
    bmc,
    both,
    counters,
    cpu,
    rates,
    story,
    told,
)

from linewatt.campaign.planning.plan import PlannedInstance, PlannedTrial
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.line_rate import LineLimit, line_of_group
from linewatt.engine.live.trial_run import TrialRun, together
from linewatt.model import Case, CpuShares, EndResult, FlowResult, Shape, Trial, group_of

DUT = "dut"
DUT_CPUS = ("0", "2", "3")
"""where its processes run, one a pair"""
_FLOWS: dict[Shape, tuple[tuple[str, str], ...]] = {
    "many-to-one": (("g1", DUT), ("g2", DUT), ("g3", DUT)),
    "one-to-many": ((DUT, "g1"), (DUT, "g2"), (DUT, "g3")),
}
CASE = {shape: Case("tcp", **group_of(shape, flows)) for shape, flows in _FLOWS.items()}
EVEN = (GOODPUT_BPS / 3.1,) * 3
ON_WIRE = 1.001 * (1514 + 4) / 1448
"""bytes that a NIC counts for each of payload"""


def named(value: Any, names: Mapping[str, str]) -> Any:
    """A mapping by host with other names."""
    return {names.get(host, host): one for host, one in value.items()}


def _of_pair(
    run: TrialRun,
    planned: PlannedTrial,
    pids: dict[str, int | None],
    names: Mapping[str, str],
    line_host: str,
) -> TrialRun:
    """A story's run as that of one pair, with its hosts' names there."""
    (output,) = run.outputs
    return replace(
        run,
        planned=planned,
        outputs=(replace(output, planned=planned.instances[0], pids=pids),),
        clocks=named(run.clocks, names),
        framings=named(run.framings, names),
        readback=named(run.readback, names),
        line_kind="link",
        line_host=line_host,
    )


def group(
    bps: Sequence[float] = EVEN,
    *,
    shape: Shape = "many-to-one",
    generators: Mapping[int, Change] | None = None,
    dut: Change | None = None,
) -> Given:
    """Three generators and one DUT; ``generators`` are changes of single pairs' stories, from 0."""
    case = CASE[shape]
    sends = shape == "one-to-many"
    generator, device = ("h2", "h1") if sends else ("h1", "h2")
    setup = replace(
        SETUP,
        **{  # type: ignore[arg-type]
            name: {host: getattr(SETUP, name)["h1"] for host in case.hosts}
            for name in ("base_frequency_hz", "tick_accounting", "idle_cores", "idle_w")
        },
    )
    hosts = {
        name: replace(SETUP.hosts["h1"], name=name, address=f"192.0.2.{at}", app_cpus=None)
        for at, name in enumerate(case.hosts)
    }
    busy = {"usr": 0.05, "sys": 0.55}
    whole = [cpu(device, 0, **busy), cpu(device, 2, **busy), cpu(device, 3, **busy)]
    rest = sum(bps[1:]) * WINDOW_S / 8 * ON_WIRE
    whole.append(counters(device, f"nic.{'tx' if sends else 'rx'}_bytes", rest))
    runs: list[TrialRun] = []
    readings: dict[str, tuple[Reading, ...]] = {}
    flows: list[PlannedTrial] = []
    for at, pair in enumerate(case.pairs):
        placed = (DUT_CPUS[at], "0") if sends else ("0", DUT_CPUS[at])
        changes = [rates(bps[at]), story(placed=(placed,)), *(whole if at == 0 else ())]
        changes += (
            [story(watts={generator: bmc(backwards=True, turned_s=3 * at), device: bmc()})] if at else []
        )
        changes += [(generators or {})[at]] if at in (generators or {}) else []
        changes += [dut] if dut is not None and at == 0 else []
        given = told(both(*changes))
        names = {generator: case.flows[at][sends], device: DUT}
        planned = PlannedInstance(at, 5201 + at, *placed)
        (output,) = given.run.outputs
        pids = {names[generator]: output.pids[generator], DUT: 1000 * int(device[1:]) + 10 * at}
        flows.append(PlannedTrial(7, 2, pair, (planned,), (IRQ,), (IRQ,)))
        runs.append(_of_pair(given.run, flows[-1], pids, names, DUT))
        readings |= {
            names[host]: tuple(replace(one, host=names[host]) for one in given.readings[host])
            for host in ((device, generator) if at == 0 else (generator,))
        }
    trial = PlannedTrial(
        7, 2, case, tuple(one for flow in flows for one in flow.instances), flows=tuple(flows)
    )
    run = together(trial, runs, LineLimit(GOODPUT_BPS, "link", DUT))
    run = replace(run, readback=_together(runs))
    return Given(run, readings, replace(setup, hosts=hosts))


RING = Case("tcp", **group_of("ring", (("a", "b"), ("b", "c"), ("c", "a"))))
"""each sends on CPU 0 and receives on CPU 2"""


def ring(
    bps: Sequence[float] = EVEN, *, hosts: Mapping[str, Change] | None = None, threads: float = 0.5
) -> Given:
    """Three hosts, each sends to the next; ``hosts`` are changes of single hosts' stories, told as h1, and
    ``threads`` what each sending process says that it used."""
    busy = cpu("h1", 2, usr=0.05, sys=0.55)
    runs: list[TrialRun] = []
    flows: list[PlannedTrial] = []
    readings: dict[str, tuple[Reading, ...]] = {}
    specs = {
        name: replace(SETUP.hosts["h1"], name=name, address=f"192.0.2.{at}", app_cpus=None)
        for at, name in enumerate(RING.hosts)
    }
    for at, pair in enumerate(RING.pairs):
        arrives = counters("h1", "nic.rx_bytes", bps[at - 1] * WINDOW_S / 8 * ON_WIRE)
        meters = {"h1": bmc(backwards=True, turned_s=3 * at), "h2": bmc()}
        placed = story(placed=(("0", "2"),), load_cores={"h1": threads, "h2": 0.6}, watts=meters)
        own = (hosts or {}).get(pair.sender)
        given = told(both(rates(bps[at]), placed, busy, arrives, *(() if own is None else (own,))))
        names = {"h1": pair.sender, "h2": pair.receiver}
        planned = PlannedInstance(at, 5201 + at, "0", "2")
        pids: dict[str, int | None] = {pair.sender: 1000 + at, pair.receiver: 2000 + at}
        flows.append(PlannedTrial(7, 2, pair, (planned,), (IRQ,), (IRQ,)))
        runs.append(_of_pair(given.run, flows[-1], pids, names, pair.sender))
        readings[pair.sender] = tuple(replace(one, host=pair.sender) for one in given.readings["h1"])
    trial = PlannedTrial(
        7, 2, RING, tuple(one for flow in flows for one in flow.instances), flows=tuple(flows)
    )
    run = together(trial, runs, line_of_group(RING, [one.line for one in runs], None))
    setup = replace(
        SETUP,
        hosts=specs,
        **{  # type: ignore[arg-type]
            name: {host: getattr(SETUP, name)["h1"] for host in RING.hosts}
            for name in ("base_frequency_hz", "tick_accounting", "idle_cores", "idle_w")
        },
    )
    return Given(replace(run, readback=_together(runs)), readings, setup)


def _together(runs: Sequence[TrialRun]) -> dict[str, Any]:
    """What hosts showed; the DUT the threads of all of its processes."""
    found: dict[str, Any] = {}
    for run in runs:
        for host, one in run.readback.items():
            earlier = one.before
            assert earlier is not None
            pid = run.outputs[0].pids[host] or 0
            now, before = (
                tuple(replace(thread, pid=pid, tid=pid) for thread in threads)
                for threads in (one.threads, earlier.threads)
            )
            if host in found:
                before += found[host].before.threads
                now += found[host].threads
            found[host] = replace(one, threads=now, before=replace(earlier, threads=before))
    return found


def both_ways(
    full: str | None = None,
    *,
    test: str = "udp-1472",
    rates: tuple[float, float] = (3e9, 3e9),
    offered: tuple[float, float] | None = None,
    lost: tuple[int, int] = (0, 0),
    dropped: Mapping[str, Mapping[str, float]] | None = None,
    cores: Mapping[str, tuple[float, float]] | None = None,
) -> list[Trial]:
    """Trials of dut ⇄ g1; ``full``: the host whose app CPU is. Pairs of figures are of dut → g1 and back,
    ``lost`` of a million each; ``cores`` what a host's sending and receiving processes used, not pinned."""
    ways = ((DUT, "g1"), ("g1", DUT))
    case = Case(test, **group_of("both-ways", ways))
    model = group((3e9, 3e9, 1e9)).trial()
    assert model.receiver is not None
    sent = offered or rates
    told_cores = cores or {DUT: (0.5, 0.5), "g1": (0.5, 0.5)}
    instances = tuple(
        replace(
            model.instances[at],
            throughput_bps=rates[at],
            offered_bps=sent[at],
            packets=None if case.is_tcp else 1_000_000,
            lost_packets=None if case.is_tcp else lost[at],
            sender_cpu_cores=told_cores[sender][0],
            receiver_cpu_cores=told_cores[receiver][1],
        )
        for at, (sender, receiver) in enumerate(ways)
    )
    ends: dict[str, EndResult] = {}
    for host, role in case.ends:
        app = CpuShares((0,), 0.05, 0.945 if host == full else 0.3, 0, 0, 0.005 if host == full else 0.65, 0)
        pinned = {"app_cpu": None, "hottest_app": None} if cores else {"app_cpu": app, "hottest_app": app}
        counts = (dropped or {}).get(host, {})
        ends[role] = replace(
            model.receiver, host=host, role=role, hottest=app, irq_cpu=None, counters=counts, **pinned
        )
    one = replace(
        model,
        case=case,
        case_key=case.key,
        instances=instances,
        flows=tuple(FlowResult(*way, 9.4e9, "link", way[0]) for way in ways),
        sender=ends["sender"],
        receiver=ends["receiver"],
        throughput_bps=sum(rates),
        offered_bps=sum(sent),
        packets=None if case.is_tcp else 2_000_000,
        lost_packets=None if case.is_tcp else sum(lost),
        lost_ratio=None if case.is_tcp else sum(lost) / 2e6,
        line_goodput_bps=18.8e9,
        line_host="dut, g1",
        flags=(),
    )
    return [replace(one, number=number, repetition=number) for number in (1, 2, 3)]
