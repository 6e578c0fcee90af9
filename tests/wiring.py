# SPDX-License-Identifier: Apache-2.0
"""A healthy trial, told as a story, and what of it is changed so that it lies.

A :class:`Story` says what happened: rates second by second, CPU shares, counters, watts, read-backs. ``told``
makes of it what a trial leaves behind (the text of iperf3 and of the sensors, run through their own parsers)
and measures that. The story as it stands is of a healthy run on quiet hosts, at the rate of its line.

A lie is a change of the story, a function from story to story. Those below take what is to be changed::

    counters("h2", "nstat.UdpRcvbufErrors", 500)   # a counter moves by 500 in the window
    cpu("h1", 2, usr=1.0)                          # CPU 2 of h1 is full; a list has a value a second
    rates([9.4e9] * 12 + [4e9] * 12)               # what instance 0 sends, second by second of the load
    setup(idle_cores={"h1": 0.5})                  # what is known of the hosts, see Setup
    readback("h1", threads=())                     # what a host showed in the tail, see ReadBack
    early("h1", threads=())                        # and before the window
    run(ended_s=…), story(udp=True, …)             # a field of TrialRun, of the story itself
    afterwards(lambda given: …)                    # anything else: of the finished input to measure()

Several are put together by ``both(…)``. To wire a new check, add one line to ``LIES`` in
tests/unit/program/test_wiring.py: ``"its-code": change`` (or ``"its-code: a variant": change``). Where a
healthy trial must show more for a check to see anything, add it to the story here.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any

from linewatt.campaign.planning.plan import PlannedInstance, PlannedTrial
from linewatt.engine.live.confinement import Cpuset, ProcessLimits, ResourceUse
from linewatt.engine.live.feed import Feed, Reading, Record
from linewatt.engine.live.readback import ReadBack, SettingRead, Thread
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun, UsersReport
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.measure import measure
from linewatt.hosts.base import Ended, HostSpec, Line
from linewatt.hosts.clock import Offset
from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import Case, Channel, Trial
from linewatt.network.framing import BARE
from linewatt.sensors.netcounters import SOFTNET_COLUMNS
from linewatt.sensors.power.base import MeterRecord
from linewatt.sensors.registry import SENSORS

START_S = 1_700_000_000.0
OMIT_S, WINDOW_S, TAIL_S = 2.0, 20.0, 2.0
SECONDS = int(OMIT_S + WINDOW_S + TAIL_S)
LINE_BPS = 10e9
MSS, FRAME, ON_WIRE = 1448, 1514, 1538
DATAGRAM = 1472
GOODPUT_BPS = LINE_BPS * MSS / ON_WIRE
CPUS = (0, 1, 2, 3)
APP, IRQ = 0, 1

Course = float | Sequence[float]
"""the same all the time, or a value a second"""


@dataclass(frozen=True)
class Given:
    """What :func:`linewatt.engine.measuring.measure.measure` is given."""

    run: TrialRun
    readings: Mapping[str, tuple[Reading, ...]]
    setup: Setup

    def trial(self) -> Trial:
        return measure(self.run, self.readings, self.setup, Iperf3(), overhead_s=0.05).trial


@dataclass(frozen=True)
class Watts:
    """One channel of a BMC, and its course in W."""

    channel: Channel
    course: Course


def bmc(*, backwards: bool = False, turned_s: int = 0) -> dict[str, Watts]:
    """A BMC with steps of 1 W that wanders by 2 W, as they do; two of a trial do not wander together.

    ``backwards`` and ``turned_s`` change when it shows what in the window, and no mean over it.
    """
    draw = random.Random(11)  # noqa: S311
    wander = [round(draw.uniform(-2, 2)) for _ in range(SECONDS + 1)]
    if backwards:
        wander[4:20] = wander[19:3:-1]
    wander[4:20] = wander[4 + turned_s : 20] + wander[4 : 4 + turned_s]
    return {
        name: Watts(
            Channel(name, "W", "gauge", scope, step=1.0, tolerance_ratio=0.01, maximum=1020.0),
            [mean_w + one for one in wander],
        )
        for name, scope, mean_w in (
            ("PSU1 Power In", "psu-in:PSU1", 210.0),
            ("PSU1 Power Out", "psu-out:PSU1", 190.0),
            ("CPU_Power", "cpu:all", 90.0),
        )
    }


IDLE_W = {
    ("bmc", name): idle_w
    for name, idle_w in {"PSU1 Power In": 120.0, "PSU1 Power Out": 105.0, "CPU_Power": 40.0}.items()
}
FACTS = {
    "nic.mtu": "1500",
    "nic.offloads.generic-receive-offload": "on",
    "nic.carrier_changes": "2",
    "sysctl.net.ipv4.tcp_congestion_control": "cubic",
}
SETUP = Setup(
    omit_s=OMIT_S,
    window_s=WINDOW_S,
    hosts={
        name: HostSpec(name, f"192.0.2.{at}", "eth0", cpus=CPUS, app_cpus=(APP,), irq_cpus=(IRQ,))
        for at, name in enumerate(("h1", "h2"), start=1)
    },
    base_frequency_hz={"h1": 3e9, "h2": 3e9},
    tick_accounting={"h1": False, "h2": False},
    idle_cores={"h1": 0.01, "h2": 0.01},
    idle_w={"h1": IDLE_W, "h2": IDLE_W},
)


@dataclass(frozen=True)
class Story:
    """What happens on two hosts; h1 sends, h2 receives. A rate or share is constant or a value a second."""

    udp: bool = False
    case: Mapping[str, Any] = field(default_factory=dict)
    """fields of the case that are not the usual ones"""
    placed: tuple[tuple[str | None, str | None], ...] = ((str(APP), str(APP)),)
    """for each instance the CPUs of its sender and its receiver"""
    rates: Course | None = None
    """bit/s that each instance sends; None: just below what the line carries"""
    lost: Course = 0.0
    """part of the datagrams that does not arrive"""
    taken: Course = 1.0
    """part of the TCP payload that arrives in a second that the receiving process takes up in it"""
    again: float = 0.0
    """part of TCP's segments that were lost on the path, and that the sender sent once more"""
    out_of_order: int = 0
    versions: Mapping[str, str] = field(default_factory=lambda: {"h1": "3.12", "h2": "3.12"})
    load_cores: Mapping[str, float | None] = field(default_factory=lambda: {"h1": 0.5, "h2": 0.6})
    """what each load process says that it used"""
    congestion: Mapping[str, str] = field(default_factory=lambda: {"h1": "cubic", "h2": "cubic"})
    shares: Mapping[tuple[str, int], Mapping[str, Course]] = field(
        default_factory=lambda: {
            ("h1", APP): {"usr": 0.05, "sys": 0.45},
            ("h1", IRQ): {"soft": 0.2},
            ("h2", APP): {"usr": 0.05, "sys": 0.55},
            ("h2", IRQ): {"soft": 0.5},
        }
    )
    """(host, CPU) → mpstat's column → share; what is left is idle"""
    counted: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(host, counter of netcounters or cpufreq) → how far it moves in the window beyond the load's own"""
    hertz: Course = 3e9
    watts: Mapping[str, Mapping[str, Watts]] = field(
        default_factory=lambda: {"h1": bmc(backwards=True), "h2": bmc()}
    )
    clocks: Mapping[str, Offset] = field(
        default_factory=lambda: {"h1": Offset(0.5, 0.001), "h2": Offset(-0.25, 0.001)}
    )
    clock_steps: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """host → second of the load in which its clock was set, and by how much; ``clocks`` is after it"""
    start_delay_s: float = 0.0
    """from the release of the client to the beginning of its load"""
    late_s: float = 0.0
    """so much later than they were written do records arrive"""
    settings: tuple[SettingRead, ...] = (SettingRead("governor", "", "performance", "performance"),)
    setup: Setup = SETUP
    readbacks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    early: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """host → what the kernel says of its data interface in the middle of the window"""
    run: Mapping[str, Any] = field(default_factory=dict)
    afterwards: tuple[Callable[[Given], Given], ...] = ()

    @cached_property
    def the_case(self) -> Case:
        usual = Case("udp-1500" if self.udp else "tcp", "h1", "h2", instances=len(self.placed))
        return replace(usual, **self.case)

    def host_s(self, host: str, time_s: float) -> float:
        """What a host's clock shows at a time of the controller."""
        second, step_s = self.clock_steps.get(host, (0, 0.0))
        before_s = step_s if time_s < START_S + second else 0.0
        return time_s + self.clocks[host].offset_s - before_s

    @property
    def payload(self) -> int:
        return DATAGRAM if self.udp else MSS

    def sent_bps(self, second: int) -> float:
        """What one instance sends in a second of the load."""
        if self.rates is None:
            line_bps = LINE_BPS * self.payload / ON_WIRE
            return 0.995 * line_bps / max(1, len(self.placed)) * (1 + min(0.003, _noise(second)))
        return at(self.rates, second)

    @cached_property
    def moved(self) -> Sequence[tuple[int, int]]:
        """Packets that were sent, and that arrived, until each second."""
        moved = [(0, 0)]
        for second in range(SECONDS):
            packets = round(self.sent_bps(second) / 8 / self.payload) * len(self.placed)
            sent, arrived = moved[-1]
            moved.append((sent + packets, arrived + packets - round(packets * at(self.lost, second))))
        return moved


@cache
def _noise(second: int) -> float:
    return random.Random(second).gauss(0, 0.001)  # noqa: S311


Change = Callable[[Story], Story]


def at(course: Course, second: int) -> float:
    """The value of a course in a second; before its first it is its first, behind its last its last."""
    if isinstance(course, int | float):
        return course
    return course[min(max(0, second), len(course) - 1)]


def story(**fields: Any) -> Change:
    """Fields of the story."""
    return lambda told: replace(told, **fields)


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(told: Story) -> Story:
        for one in changes:
            told = one(told)
        return told

    return change


def case(**fields: Any) -> Change:
    """Fields of the case."""
    return lambda told: replace(told, case={**told.case, **fields})


def rates(course: Course) -> Change:
    """What each instance sends, bit/s."""
    return story(rates=course)


def counters(host: str, counter: str, moved: float) -> Change:
    """A counter of netcounters or cpufreq moves by this over the window, beyond what the load moves."""
    return lambda told: replace(told, counted={**told.counted, (host, counter): moved})


def cpu(host: str, number: int, **shares: Course) -> Change:
    """What a CPU does, by mpstat's columns; what it did before is forgotten."""
    return lambda told: replace(told, shares={**told.shares, (host, number): shares})


def watts(host: str, channel: str, course: Course, **changes: Any) -> Change:
    """The course of a channel of the BMC, ``changes`` of its :class:`Channel`; a new one needs a scope."""

    def change(told: Story) -> Story:
        own = dict(told.watts[host])
        known = own[channel].channel if channel in own else Channel(channel, "W", "gauge", "")
        own[channel] = Watts(replace(known, **changes), course)
        return replace(told, watts={**told.watts, host: own})

    return change


def setup(**fields: Any) -> Change:
    """Fields of the setup; a mapping is laid over what is there."""

    def change(told: Story) -> Story:
        merged: dict[str, Any] = {
            name: {**getattr(told.setup, name), **value} if isinstance(value, dict) else value
            for name, value in fields.items()
        }
        return replace(told, setup=replace(told.setup, **merged))

    return change


def spec(host: str, **fields: Any) -> Change:
    """Fields of a host's specification."""
    return lambda told: setup(hosts={host: replace(told.setup.hosts[host], **fields)})(told)


def readback(host: str, **fields: Any) -> Change:
    """What a host showed in the tail of the load."""
    return lambda told: replace(
        told, readbacks={**told.readbacks, host: {**told.readbacks.get(host, {}), **fields}}
    )


def early(host: str, **fields: Any) -> Change:
    """What a host showed before the window."""
    return lambda told: replace(told, early={**told.early, host: {**told.early.get(host, {}), **fields}})


def run(**fields: Any) -> Change:
    """Fields of the trial's run."""
    return lambda told: replace(told, run={**told.run, **fields})


def segments(mss_bytes: int) -> Change:
    """What ``ss`` says in the tail of the load's connection, whose full segments carry so many bytes."""
    words = f"cubic wscale:7,7 rto:204 rtt:0.15/0.01 mss:{mss_bytes} cwnd:1036 bytes_sent:{10**10}"
    shown = f"0      0      192.0.2.1:40000 192.0.2.2:5201\n\t {words} busy:{1000 * SECONDS}ms\n"

    def connected(given: Given) -> Given:
        (output,) = given.run.outputs
        assert output.client is not None
        document = json.loads(output.client.stdout)
        document["start"]["connected"] = [{"local_port": 40000, "remote_port": 5201}]
        client = replace(output.client, stdout=json.dumps(document))
        return replace(given, run=replace(given.run, outputs=(replace(output, client=client),)))

    return both(readback("h1", sockets=shown), afterwards(connected))


def of_users(*, arrival_rate: str = "none", **fields: Any) -> Change:
    """Users of a server on h2 in place of instances; ``fields`` of each of their reports, one a second."""

    def change(given: Given) -> Given:
        reports = tuple(
            replace(
                UsersReport("h1", START_S + at, START_S + at + 1, 0.5, 10**9, 10**8, gets=100, puts=10),
                **fields,
            )
            for at in range(SECONDS)
        )
        case = Case("ftp", "h1", "h2", users=(("arrival_rate", arrival_rate),))
        planned = replace(given.run.planned, case=case, instances=())
        return replace(given, run=replace(given.run, planned=planned, outputs=(), users=reports))

    return afterwards(change)


def afterwards(change: Callable[[Given], Given]) -> Change:
    """Anything, of the finished input."""
    return lambda told: replace(told, afterwards=(*told.afterwards, change))


def without(host: str, source: str) -> Change:
    """A sensor that delivers nothing."""
    return _readings(host, lambda own: tuple(one for one in own if one.source != source))


def sensor(host: str, source: str, change: Callable[[Reading], Reading]) -> Change:
    """What a sensor delivered."""
    return _readings(host, lambda own: tuple(change(one) if one.source == source else one for one in own))


def sensed_twice(host: str, source: str, name: str) -> Change:
    """What one sensor delivered, by another one, too."""
    return _readings(
        host, lambda own: (*own, *(replace(one, source=name) for one in own if one.source == source))
    )


def _readings(host: str, change: Callable[[tuple[Reading, ...]], tuple[Reading, ...]]) -> Change:
    return afterwards(
        lambda given: replace(given, readings={**given.readings, host: change(given.readings[host])})
    )


def told(change: Change | None = None) -> Given:
    """The input to ``measure()`` that a story makes."""
    one = Story() if change is None else change(Story())
    given = Given(_run(one), {name: tuple(_sensed(one, name)) for name in ("h1", "h2")}, one.setup)
    for last in one.afterwards:
        given = last(given)
    return given


def _run(one: Story) -> TrialRun:
    made = TrialRun(
        planned=PlannedTrial(7, 2, one.the_case, tuple(_planned(one)), (IRQ,), (IRQ,)),
        started_s=START_S,
        ended_s=START_S + SECONDS + 0.1,
        load_s=float(SECONDS),
        outputs=tuple(_output(one, planned) for planned in _planned(one)),
        clocks=dict(one.clocks),
        line_goodput_bps=LINE_BPS * one.payload / ON_WIRE,
        framings={"h1": BARE, "h2": BARE},
        readback={name: _readback(one, name) for name in ("h1", "h2")},
    )
    return replace(made, **one.run)


def _planned(one: Story) -> Iterator[PlannedInstance]:
    for number, (sender, receiver) in enumerate(one.placed):
        yield PlannedInstance(number, 5201 + number, sender, receiver)


def _output(one: Story, planned: PlannedInstance) -> InstanceOutput:
    def ended(host: str) -> Ended:
        began_s = one.host_s(host, START_S)
        over_s = one.host_s(host, START_S + one.start_delay_s + SECONDS + 0.004)
        return Ended(0, json.dumps(_iperf3(one, host)), "", began_s, over_s)

    client, server = one.the_case.client, one.the_case.server
    commands = {"client": ["iperf3", "--client"], "server": ["iperf3", "--server"]}
    pids: dict[str, int | None] = {host: _pid(host, planned.instance) for host in ("h1", "h2")}
    return InstanceOutput(planned, commands, ended(client), ended(server), pids)


def _pid(host: str, instance: int) -> int:
    return int(host[1:]) * 1000 + 10 * instance


def _iperf3(one: Story, host: str) -> dict[str, Any]:
    """One end's JSON, as iperf3 3.12 writes it."""
    asked, sends = one.the_case, host == one.the_case.sender
    streams, cores = asked.streams, one.load_cores[host]
    head = {"connecting_to": {"host": "192.0.2.2", "port": 5201}} if host == asked.client else {}
    intervals = []
    for second in range(SECONDS):
        packets = round(one.sent_bps(second) / 8 / one.payload / streams)
        lost = round(packets * at(one.lost, second))
        arrived = packets if sends else round((packets - lost) * at(one.taken, second))
        row: dict[str, Any] = {"start": second, "end": second + 1, "bytes": arrived * one.payload}
        row |= {"seconds": 1, "bits_per_second": 8 * arrived * one.payload, "omitted": False, "sender": sends}
        if one.udp:
            row |= {"packets": packets} if sends else {"packets": packets, "lost_packets": lost}
        elif sends:
            row |= {"retransmits": round(packets * one.again), "snd_cwnd": 1_500_000, "rtt": 150}
        intervals.append({"streams": [{"socket": 5 + number, **row} for number in range(streams)]})
    of_all = {"udp": {"out_of_order": one.out_of_order}} if one.udp else {"sender": {}, "receiver": {}}
    end: dict[str, Any] = {"streams": [of_all] + [{"udp": {"out_of_order": 0}}] * (streams - 1) * one.udp}
    end["cpu_utilization_percent"] = {} if cores is None else {"host_total": 100 * cores}
    if not one.udp:
        end |= {
            "sender_tcp_congestion": one.congestion["h1"],
            "receiver_tcp_congestion": one.congestion["h2"],
        }
    test_start = {
        "protocol": "UDP" if one.udp else "TCP",
        "num_streams": streams,
        "reverse": int(asked.direction == "reverse"),
        "duration": SECONDS,
    }
    start = {"version": f"iperf {one.versions[host]}", "test_start": test_start, **head}
    return {"start": start, "intervals": intervals, "end": end}


def _readback(one: Story, host: str) -> ReadBack:
    threads = []
    for number, pins in enumerate(one.placed):
        pinned = pins[0] if host == one.the_case.sender else pins[1]
        where = CPUS if pinned is None else parse_cpulist(pinned)
        pid = _pid(host, number)
        threads.append(Thread(pid, pid, where[0], 1200, where, nice=0, scheduling="normal"))
    late_s, early_s = START_S + OMIT_S + WINDOW_S + 1.0, START_S + 0.7
    cores = one.load_cores[host] or 0.0
    own = _counted(threads, late_s, 22.0 * cores), _counted(threads, early_s, 0.7 * cores)
    cpusets = tuple(Cpuset(thread.pid, "/user.slice", CPUS) for thread in threads)
    limits = tuple(
        ProcessLimits(thread.pid, (ResourceUse("open files", 12, 1024), ResourceUse("threads", 1, 96365)))
        for thread in threads
    )
    late, early = (
        ReadBack(time_s, read, one.settings, facts=FACTS, cpusets=cpusets, process_limits=limits)
        for time_s, read in zip((late_s, early_s), own, strict=True)
    )
    early = replace(early, **one.early.get(host, {}))
    return replace(late, **{"before": early, **one.readbacks.get(host, {})})


def _counted(threads: Sequence[Thread], time_s: float, run_s: float) -> tuple[Thread, ...]:
    return tuple(
        replace(one, read_s=time_s, run_s=run_s, migrations=3, switches=9000, preemptions=20)
        for one in threads
    )


def _sensed(one: Story, host: str) -> Iterator[Reading]:
    yield _feed(one, host, "mpstat", _mpstat)
    yield _feed(one, host, "netcounters", _netcounters)
    yield _feed(one, host, "cpufreq", _cpufreq)
    yield _feed(one, host, "link", _link)
    if one.watts.get(host):
        yield _power(one, host)


def _feed(one: Story, host: str, source: str, text: Callable[[Story, str, int], str]) -> Reading:
    """A record a second, the first where the trial begins."""
    return _read(
        host, source, tuple(text(one, host, second) for second in range(-1, SECONDS + 1)), one.late_s
    )


@lru_cache(maxsize=100)  # most stories change what one sensor says, and the others say the same
def _read(host: str, source: str, texts: Sequence[str], late_s: float) -> Reading:
    feed = Feed(host, SENSORS[source], None)
    for second, text in enumerate(texts, start=-1):
        for line in text.splitlines():
            feed.take(Line(START_S + second + 0.02 + late_s, line))
    return feed.reading(START_S, START_S + SECONDS + late_s)


def _mpstat(one: Story, host: str, second: int) -> str:
    """What the CPUs did in the second that ends here."""
    written_s = one.host_s(host, START_S + second + 0.02)
    stamp = time.strftime("%H:%M:%S", time.gmtime(written_s))
    rows = []
    for number in CPUS:
        own = {name: at(value, second - 1) for name, value in one.shares.get((host, number), {}).items()}
        own = own if second > 0 else {}
        names = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice")
        row = {name: round(100 * own.get(name, 0.0), 2) for name in names}
        rows.append(json.dumps({"cpu": str(number), **row, "idle": round(100 - sum(row.values()), 2)}))
    return f'\t\t"timestamp": "{stamp}",\n\t\t\t"cpu-load": [\n' + ",\n".join(rows) + "\n\t\t\t\t\t]"


def _netcounters(one: Story, host: str, second: int) -> str:
    """Totals of the data interface and the protocols, of the load's own packets and of what else is told."""
    totals = _traffic(one, host, second)
    for (name, counter), moved in one.counted.items():
        if name == host and not counter.startswith("cpu"):
            totals[counter] = totals.get(counter, 1000) + round(moved * _part_of_window(second))
    nic = " ".join(f"{name[4:]}={value}" for name, value in totals.items() if name.startswith("nic."))
    nstat = " ".join(f"{name[6:]}={value}" for name, value in totals.items() if name.startswith("nstat."))
    stamp_us = round(one.host_s(host, START_S + second) * 1e6)
    softnet = ";".join(_softnet_row(totals, number) for number in CPUS)
    return (
        f"linewatt-netcounters 1 {stamp_us}|nic {nic}|softnet {softnet};|nstat {nstat}|end {stamp_us + 800}"
    )


def _softnet_row(totals: Mapping[str, int], number: int) -> str:
    """Columns of softnet_stat; a total without a CPU is CPU 1's."""
    values = []
    for name in SOFTNET_COLUMNS.values():
        own = totals.get(f"softnet.cpu{number}.{name}", 0)
        shared = totals.get(f"softnet.{name}", 0) if number == IRQ else 0
        values.append(number if name == "cpu" else own + shared)
    return " ".join(f"{value:08x}" for value in values)


def _part_of_window(second: int) -> float:
    """0 until the window begins, 1 from its end on."""
    return min(1.0, max(0.0, (second - OMIT_S) / WINDOW_S))


def _traffic(one: Story, host: str, second: int) -> dict[str, int]:
    """What the load's own packets make of the counters until a second, from any base."""
    sent, arrived = one.moved[max(0, second)]
    packets = sent if host == one.the_case.sender else arrived
    acks = 0 if one.udp else packets // 2
    ways = ("tx", "rx") if host == one.the_case.sender else ("rx", "tx")
    totals = dict.fromkeys(("nic.rx_dropped", "nic.tx_dropped", "nic.rx_errors", "nic.tx_errors"), 1000)
    again = round(sent * one.again) if host == one.the_case.sender else 0
    for way, count, size in ((ways[0], packets + again, FRAME), (ways[1], acks, 66)):
        totals[f"nic.{way}_packets"] = 10**9 + count
        totals[f"nic.{way}_bytes"] = 10**12 + count * size
    there, back = ("Out", "In") if host == one.the_case.sender else ("In", "Out")
    totals[f"nstat.IpExt{there}Octets"] = 10**12 + packets * (FRAME - 14)
    totals[f"nstat.IpExt{back}Octets"] = 10**12 + acks * 52
    if one.udp:
        totals[f"nstat.Udp{there}Datagrams"] = 10**6 + packets
        totals |= {"nstat.UdpRcvbufErrors": 1000, "nstat.UdpSndbufErrors": 1000, "nstat.UdpInErrors": 1000}
    else:
        totals[f"nstat.Tcp{there}Segs"] = 10**6 + packets
        totals[f"nstat.Tcp{back}Segs"] = 10**6 + acks
        totals["nstat.TcpRetransSegs"] = 1000 + again
    totals["softnet.processed"] = packets if host == one.the_case.receiver else acks
    return totals


def _link(one: Story, host: str, second: int) -> str:
    """What the kernel said of the data interface, once it was changed in the middle of the window."""
    told = one.notices.get(host, ())
    after = second > OMIT_S + WINDOW_S / 2
    said = "".join(f"|news {line}" for line in told) if 0 < second - OMIT_S - WINDOW_S / 2 <= 1 else ""
    return f"linewatt-link 1 {second + 1}|count {len(told) * after}{said}|end {second + 2}"


def _cpufreq(one: Story, host: str, second: int) -> str:
    hertz = " ".join(f"{number}={round(at(one.hertz, second) / 1000)}" for number in (APP, IRQ))
    sections = [f"frequency {hertz}"]
    for section in ("core", "package"):
        moved = [
            (number, one.counted.get((host, f"cpu{number}.{section}_throttle_count"), 0.0))
            for number in (APP, IRQ)
        ]
        words = " ".join(f"{number}={round(total * _part_of_window(second))}" for number, total in moved)
        sections.append(f"{section} {words}")
    return f"linewatt-cpufreq 1 {second + 1}|{'|'.join(sections)}|end {second + 2}"


def _power(one: Story, host: str) -> Reading:
    """The BMC, read once a second."""
    channels = {name: own.channel for name, own in one.watts[host].items()}
    records = []
    for second in range(-1, SECONDS + 1):
        values: dict[str, float | None] = {
            name: at(own.course, second) for name, own in one.watts[host].items()
        }
        read_s = START_S + second + 0.3
        text = MeterRecord(read_s - 0.01, read_s + 0.01, values, {}).line()
        records.append(Record(read_s, 1.0, text, values))
    return Reading(host, "bmc", tuple(records), channels, optional=True)


def counted_once(told: Story) -> Story:
    """A load that has one interval, its whole run."""

    def once(ended: Ended | None) -> Ended | None:
        assert ended is not None
        document = json.loads(ended.stdout)
        rows = [one["streams"][0] for one in document["intervals"]]
        whole = {**rows[0], "end": rows[-1]["end"], "bytes": sum(row["bytes"] for row in rows)}
        return replace(ended, stdout=json.dumps({**document, "intervals": [{"streams": [whole]}]}))

    def change(given: Given) -> Given:
        outputs = tuple(
            replace(one, client=once(one.client), server=once(one.server)) for one in given.run.outputs
        )
        return replace(given, run=replace(given.run, outputs=outputs))

    return afterwards(change)(told)
