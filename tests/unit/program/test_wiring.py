# SPDX-License-Identifier: Apache-2.0
"""No check can be unwired: for each finding one small change of a healthy run that raises it, end to end.

How to add a check: one line in the table of where it is raised, in the words of tests/wiring.py. ``LIES`` go
through ``measure()``, ``CASES`` through ``summarise()``, ``SOAKS`` through the flags of a soak. A code may
have variants: ``"code: what is special"``. What the tables cannot hold is in ``ELSEWHERE``, with its test.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.groups import group
from tests.report_factories import end, trial
from tests.report_factories import watts as channel
from tests.soak_result import Shape, write
from tests.unit.findings.test_findings import raised
from tests.wiring import (
    APP,
    GOODPUT_BPS,
    IRQ,
    SECONDS,
    START_S,
    Change,
    Given,
    Story,
    Watts,
    afterwards,
    both,
    case,
    counted_once,
    counters,
    cpu,
    early,
    of_users,
    rates,
    readback,
    run,
    segments,
    sensed_twice,
    sensor,
    setup,
    spec,
    story,
    told,
    watts,
    without,
)

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.limits.verdict import verdict
from linewatt.engine.live.confinement import Cpuset, ProcessLimits, ResourceUse
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.live.readback import Difference, SettingRead, Thread
from linewatt.engine.measuring import flags as registry
from linewatt.features.soak.digest import Soak, digest
from linewatt.features.soak.figures import Drift
from linewatt.features.soak.flags import flags as soak_flags
from linewatt.features.soak.scan import MissingChunks
from linewatt.findings.all_kinds import catalogue
from linewatt.hosts.clock import Offset
from linewatt.model import (
    Case,
    CgroupThrottling,
    Channel,
    Flag,
    InstanceResult,
    OtherProcess,
    OutsideLimits,
    Trial,
    Window,
)
from linewatt.network.framing import BARE, Framing
from linewatt.records import Supplies
from linewatt.sensors.power.dynamics import Dynamics
from linewatt.store import read

ROOT = Path(__file__).parents[3]
PACED = case(rate_bps=5e9)
UDP = story(udp=True)
OF_TCP = {host: {"net.ipv4.tcp_congestion_control": name} for host, name in (("h1", "cubic"), ("h2", "bbr"))}

SHARED = both(
    spec("h1", shares_cpus_with=("h2",)),
    spec("h2", shares_cpus_with=("h1",)),
    cpu("h1", 0, usr=0.05, sys=0.45),
    cpu("h2", 0, usr=0.05, sys=0.45),
    cpu("h1", 2, usr=0.05, sys=0.55),
    cpu("h2", 2, usr=0.05, sys=0.55),
    story(placed=(("0", "2"),)),
)
"""two hosts of a lab: the sender on CPU 0, the receiver on CPU 2, and each host sees both"""


def _nothing_of_the_second(told: Story) -> Story:
    """Whose server received no byte."""

    def change(given: Given) -> Given:
        first, second = given.run.outputs
        assert second.server is not None
        nothing = re.sub(r'"bytes": \d+', '"bytes": 0', second.server.stdout)
        second = replace(second, server=replace(second.server, stdout=nothing))
        return replace(given, run=replace(given.run, outputs=(first, second)))

    return afterwards(change)(told)


def _and_an_unreadable_record(reading: Reading) -> Reading:
    damaged = Record(0.0, 1.0, "", problem="netcounters: 'linewatt-netc' is not a whole record")
    return replace(reading, records=(*reading.records, damaged))


def _moved(seconds: float) -> Callable[[Reading], Reading]:
    """The records of a sensor that is as much out of step with the load."""
    return lambda reading: replace(
        reading,
        records=tuple(replace(one, received_s=one.received_s + seconds) for one in reading.records),
    )


def _silent(reading: Reading) -> Reading:
    """The records of a sensor whose host was held up for three seconds in mid-trial."""
    at = len(reading.records) // 2
    after = replace(reading.records[at + 3], span_s=4.0)
    return replace(reading, records=(*reading.records[:at], after, *reading.records[at + 4 :]))


LIES: dict[str, Change] = {
    "client-saturated": of_users(cpu_s=0.97),
    "arrivals-not-served": of_users(arrival_rate="200"),
    "transfers-failed": of_users(failures={"get stalled": 1}),
    "many-transfers-failed": of_users(failures={"login server-full": 1}),
    "app-irq-share-cpu": story(placed=((str(IRQ), str(IRQ)),)),
    "clock-uncertain": story(clocks={"h1": Offset(0.5, 0.2), "h2": Offset(-0.25, 0.001)}),
    "configuration-changed: since before": readback(
        "h1", differences=(Difference("sysctl.net.ipv4.tcp_congestion_control", "cubic", "reno", START_S),)
    ),
    "configuration-changed: in the trial": early("h2", facts={"nic.offloads.generic-receive-offload": "off"}),
    "counted-once": counted_once,
    "cpu-accounting-disagrees: hidden": story(load_cores={"h1": 1.6, "h2": 0.6}),
    "cpu-accounting-disagrees: hidden on one CPU, with softirqs on another": both(
        cpu("h1", APP, sys=0.01), cpu("h1", IRQ, soft=0.5)
    ),
    "cpu-accounting-disagrees: excess": both(
        PACED,
        rates(5e9),
        setup(tick_accounting={"h1": True}),
        story(load_cores={"h1": 0.1, "h2": 0.6}),
        cpu("h1", APP, sys=0.5),
    ),
    "cpu-missing": without("h2", "mpstat"),
    "cpu-stolen": cpu("h1", APP, usr=0.05, sys=0.45, steal=0.1),
    "cpu-throttled": counters("h1", f"cpu{APP}.core_throttle_count", 12),
    "cpu-unsteady": cpu("h2", 3, usr=[0.0] * 12 + [0.3] * 4 + [0.0] * 8),
    "foreign-load: on the IRQ CPU": cpu("h2", IRQ, usr=0.7, sys=0.05, soft=0.2),
    "foreign-load: on a CPU of nobody": cpu("h2", 3, usr=0.1, sys=0.2),
    "foreign-load: on the load's CPU": cpu("h1", APP, usr=0.5, sys=0.45),
    "foreign-load: unpinned": both(story(placed=((None, None),)), cpu("h2", 3, usr=0.9)),
    "foreign-load: beside users": both(of_users(), cpu("h1", 3, usr=0.9)),
    "foreign-load: shared CPUs": both(SHARED, cpu("h1", 3, usr=0.5), cpu("h2", 3, usr=0.5)),
    "limiting-cpu-shared": cpu("h2", IRQ, usr=0.6, sys=0.02, soft=0.36),
    "limiting-cpu-shared: by a thread of the kernel that ran in idle, too": both(
        setup(idle_cores={"h2": 0.5}),
        cpu("h2", IRQ, sys=0.5, soft=0.48),
        readback("h2", other_processes=(OtherProcess("kworker/1:2", 63, (IRQ,), 0.5, kernel=True),)),
    ),
    "limiting-cpu-not-tested": both(
        PACED, rates(5e9), setup(tick_accounting={"h2": True}), cpu("h2", IRQ, sys=0.02, soft=0.96)
    ),
    "cpu-quota-throttled": readback(
        "h1", outside_limits=OutsideLimits(22.0, (CgroupThrottling("/load", 220, 220, 19.8, 0.1, 0.1),))
    ),
    "cpus-withheld: by the cpuset of its control group": both(
        story(placed=(("0,3", "0"),)),
        early("h1", threads=(Thread(1000, 1000, APP, 300, (APP,)),)),
        readback(
            "h1",
            threads=(Thread(1000, 1000, APP, 1200, (APP,)),),
            cpusets=(Cpuset(1000, "/load.slice", (APP, IRQ)),),
        ),
    ),
    "cpus-withheld: unpinned, before the window alone": both(
        story(placed=((None, None),)), early("h2", threads=(Thread(2000, 2000, APP, 300, (APP, IRQ)),))
    ),
    "load-priority: niced": readback(
        "h1", threads=(Thread(1000, 1000, APP, 1200, (APP,), migrations=3, nice=10, scheduling="normal"),)
    ),
    "load-priority: real-time, before the window": early(
        "h2", threads=(Thread(2000, 2000, APP, 300, (APP,), migrations=3, nice=0, scheduling="real-time"),)
    ),
    "load-outranked": readback(
        "h2", other_processes=(OtherProcess("control", 63, (APP,), 0.05, scheduling="real-time", nice=0),)
    ),
    "load-limit-near": readback(
        "h1", process_limits=(ProcessLimits(1000, (ResourceUse("open files", 1000, 1024),)),)
    ),
    "memory-pressure": readback("h2", outside_limits=OutsideLimits(22.0, (), {"memory some": 1.5})),
    "frequency-dropped: below base": story(hertz=2.1e9),
    "frequency-dropped: falls": story(hertz=[3.6e9] * 8 + [3.4e9] * 8 + [3.1e9] * 8),
    "host-not-idle": setup(idle_cores={"h1": 0.4}),
    "hosts-share-cpus": spec("h1", shares_cpus_with=("h2",)),
    "instances-share-cpu": story(placed=(("0", "0"), ("0", "0"))),
    "interrupts-elsewhere": both(cpu("h2", 3, soft=0.4), counters("h2", "softnet.cpu3.processed", 2e7)),
    "interface-changed": story(notices={"h2": ("3: eth0: mtu 1500 state UP event FEATURE CHANGE \\ link",)}),
    "load-threads-differ": readback(
        "h1", threads=tuple(Thread(1000, 1000 + number, APP, 300, (APP,)) for number in range(2))
    ),
    "instance-got-nothing": both(story(placed=((None, None), (None, None))), _nothing_of_the_second),
    "not-cool": run(warm={"h2": "waited 300 s, and still: bmc FAN1 9,000 rpm, awaited 4,400 (idle 4,000)"}),
    "path-not-proven": run(path_problem="h1 to h2 (ipv4): 192.0.2.2 does not answer through eth0"),
    "steering-not-possible": setup(steer=True),
    "load-spins": both(PACED, rates(5e9), story(versions={"h1": "3.16", "h2": "3.16"})),
    "load-versions-differ": story(versions={"h1": "3.12", "h2": "3.18"}),
    "neighbour-traffic: at the receiver": counters("h2", "nic.rx_bytes", 3e9 / 8 * 20),
    "neighbour-traffic: at the sender": counters("h1", "nic.tx_bytes", 3e9 / 8 * 20),
    "neighbour-traffic: the other way": counters("h1", "nic.rx_bytes", 1e9 / 8 * 20),
    "neighbour-traffic: small packets": counters("h2", "nic.rx_packets", 2e6 * 20),
    "neighbour-traffic: small packets beside UDP": both(UDP, counters("h2", "nic.rx_packets", 5e4 * 20)),
    "neighbour-traffic: to ports of nobody": both(UDP, counters("h2", "nstat.UdpNoPorts", 5e4 * 20)),
    "neighbour-traffic: beside UDP": both(UDP, counters("h2", "nic.tx_bytes", 1e8 / 8 * 20)),
    "load-not-on-interface": counters("h2", "nic.rx_bytes", -GOODPUT_BPS / 8 * 20),
    "load-not-on-interface: of the sender": counters("h1", "nic.tx_bytes", -GOODPUT_BPS / 8 * 20),
    "goodput-above-interface": counters("h2", "nic.rx_bytes", -2e9 / 8 * 20),
    "bond-port-down": both(
        early("h1", facts={"bonds.ports.bond0/eth0": "up active, 0 link failures"}),
        readback("h1", facts={"bonds.ports.bond0/eth0": "up active, 1 link failures"}),
    ),
    "bond-port-down: throughout": readback(
        "h2",
        facts={
            f"bonds.ports.eth0/p{at}": f"{is_} active, 0 link failures"
            for at, is_ in enumerate(("up", "down"))
        },
    ),
    "netem": readback("h1", facts={"nic.qdisc": "netem limit 100000 delay 10ms loss 0.1%"}),
    "packets-dropped": counters("h2", "nic.rx_missed_errors", 500),
    "packets-dropped: at the sender": counters("h1", "nic.tx_dropped", 500),
    "pause-frames": both(
        early("h1", facts={"nic.pause_frames_received": "2"}),
        readback("h1", facts={"nic.pause_frames_received": "52"}),
    ),
    "power-capped": both(
        watts("h2", "package0", 120.0, scope="package:0"), setup(package_limit_w={"h2": 120.0})
    ),
    "placement-not-read": readback("h1", threads=()),
    "placement-not-verified": readback("h1", before=None),
    "placement-not-verified: receive work": sensor("h2", "mpstat", lambda one: replace(one, records=())),
    "packets-dropped: in a queue": counters("h1", "nstat.IpOutDiscards", 500_000),
    "power-few-updates": sensor("h2", "bmc", lambda one: replace(one, records=one.records[::8])),
    "power-frozen: as idle": watts("h2", "PSU1 Power In", 120.0, step=None),
    "power-frozen: others move": both(
        watts("h2", "PSU1 Power In", 210.0),
        watts("h2", "PSU1 Power Out", [150.0] * 12 + [190.0] * 12),
    ),
    "power-implausible: more out than in": watts("h1", "PSU1 Power Out", 240.0),
    "power-implausible: below zero": watts("h1", "CPU_Power", -5.0),
    "power-implausible: above its rating": setup(
        supplies={"h1": Supplies(count=1, rating_w=100.0, mode="shared")}
    ),
    "power-implausible: sums": watts("h1", "Node Power", 300.0, scope="system"),
    "power-missing": sensor(
        "h2", "bmc", lambda one: replace(one, records=(), channels={}, failure="no answer")
    ),
    "power-unsteady": watts("h2", "PSU1 Power In", [208.0, 210.0, 209.0] * 4 + [238.0, 240.0, 239.0] * 4),
    "power-two-readings": both(
        watts("h2", "Node Power", 230.0, scope="system:Node Power"),
        watts("h2", "Chassis Power", 480.0, scope="other:Chassis Power"),
    ),
    "power-two-readings: at the wall": both(
        story(
            watts={"h1": {}, "h2": {"outlet": Watts(Channel("outlet", "W", "gauge", "wall:outlet7"), 120.0)}}
        ),
        sensed_twice("h2", "bmc", "pdu-b"),
    ),
    "power-unexplained": watts("h2", "PSU1 Power Out", 325.0, tolerance_ratio=0.01),
    "power-window-too-short": setup(meters={"h2": {("bmc", "PSU1 Power In"): Dynamics(30.0)}}),
    "power-window-too-short: averages": setup(
        meters={"h2": {("bmc", "PSU1 Power In"): Dynamics(1.0, 30.0, 0.0, 30.0)}}
    ),
    "psu-idle": both(
        watts("h2", "PSU2 Power In", 0.0, scope="psu-in:PSU2"),
        watts("h2", "PSU2 Power Out", 0.0, scope="psu-out:PSU2"),
    ),
    "rapl-as-system": story(
        watts={"h1": {"psys": Watts(Channel("psys", "W", "mean", "psys", method="RAPL"), 90.0)}, "h2": {}}
    ),
    "power-saturated": watts("h2", "PSU1 Power In", 210.0, maximum=210.0),
    "process-migrated": readback("h1", threads=(Thread(1000, 1000, APP, 1200, (APP,), migrations=5),)),
    "process-moved: before the window": early("h2", threads=(Thread(2000, 2000, 3, 70, (3,)),)),
    "process-moved": readback("h1", threads=(Thread(1000, 1000, 3, 1200, (3,)),)),
    "host-stood-still": sensor("h2", "mpstat", _silent),
    "sensor-late": story(late_s=3.0),
    "sensor-unreadable: it ended": sensor(
        "h1", "netcounters", lambda one: replace(one, failure="ended with status 137")
    ),
    "sensor-unreadable": sensor("h1", "netcounters", _and_an_unreadable_record),
    "segments-small": both(segments(536), story(rates=3e9)),
    "segments-small: for the MTU of one end": both(
        segments(1448), run(framings={"h1": Framing(9000), "h2": BARE})
    ),
    "setting-changed": readback("h1", settings=(SettingRead("governor", "", "performance", "powersave"),)),
    "setting-changed: before the window": early(
        "h1", settings=(SettingRead("governor", "", "performance", "powersave"),)
    ),
    "setting-not-read": readback("h1", settings=(SettingRead("governor", "", "performance", None, "gone"),)),
    "smt-sibling-busy": both(setup(cores={"h1": ((APP, 3), (IRQ,), (2,))}), cpu("h1", 3, usr=0.3)),
    "socket-settings-differ": setup(
        sysctls={
            "h1": {"net.ipv4.tcp_rmem": "4096 131072 6291456"},
            "h2": {"net.ipv4.tcp_rmem": "4096 4096 4096"},
        }
    ),
    "socket-settings-differ: congestion control": setup(sysctls=OF_TCP),
    "offloads-differ": readback("h2", facts={"nic.offloads.generic-receive-offload": "off"}),
    "start-uncertain": story(start_delay_s=0.8),
    "load-start-unknown": story(start_delay_s=6.0),
    "streams-share-cpu": case(streams=4),
    "throughput-dips: together": rates([GOODPUT_BPS * 0.99] * 10 + [1e9] * 2 + [GOODPUT_BPS * 0.99] * 12),
    "throughput-dips: apart": rates([GOODPUT_BPS * 0.99, GOODPUT_BPS * 0.98, 0.0, GOODPUT_BPS * 0.99] * 6),
    "throughput-oscillates": rates([GOODPUT_BPS * (0.7 + 0.2 * math.sin(at)) for at in range(SECONDS)]),
    "throughput-drifts: a step": rates([GOODPUT_BPS * 0.99] * 14 + [GOODPUT_BPS * 0.8] * 10),
    "throughput-drifts: a slope": rates([GOODPUT_BPS * (0.8 + 0.19 * at / SECONDS) for at in range(SECONDS)]),
    "tick-accounting": both(
        PACED, rates(5e9), setup(tick_accounting={"h1": True}), story(load_cores={"h1": None, "h2": 0.6})
    ),
    "udp-loss": both(UDP, story(lost=0.02)),
    "udp-loss: and where": both(UDP, story(lost=0.02), counters("h2", "nstat.UdpRcvbufErrors", 3e5)),
    "udp-out-of-order": both(UDP, story(out_of_order=100_000)),
    "window-edges-contaminated: before": both(setup(omit_s=0.1), sensor("h1", "mpstat", _moved(-0.2))),
    "window-edges-contaminated: after": both(setup(window_s=21.9), sensor("h1", "mpstat", _moved(0.35))),
    "warm-up-in-window": rates([GOODPUT_BPS * 0.7] * 6 + [GOODPUT_BPS * 0.99] * 18),
}
"""code, and which variant → the change of a healthy trial that raises it in ``measure()``"""


HEALTHY: dict[str, Change] = {
    "udp, and the receiver's counters are not read": both(UDP, without("h2", "netcounters")),
    "a power limit far from its packages": both(
        watts("h2", "package0", 100.0, scope="package:0"), setup(package_limit_w={"h2": 300.0})
    ),
    "udp, and TCP is set otherwise": both(UDP, setup(sysctls=OF_TCP)),
    "users of a server": of_users(),
    "tcp": story(),
    "udp": UDP,
    "in reverse": case(direction="reverse"),
    "steered": both(setup(steer=True), readback("h2", settings=(SettingRead("ntuple", "eth0", "x", "x"),))),
    "paced": both(PACED, rates(5e9)),
    "unpinned": story(placed=((None, None),)),
    "full segments": segments(1448),
    "full segments without timestamps": segments(1460),
    "small segments that were asked for": both(
        segments(536), case(factors=(("iperf3.mss", "536"),)), story(rates=3e9)
    ),
    "a CPU quota that is not used up": readback(
        "h1", outside_limits=OutsideLimits(22.0, (CgroupThrottling("/load", 220, 1, 0.05, 1.5, 0.1),))
    ),
    "unpinned beside CPUs that the kernel isolates": both(
        story(placed=((None, None),)),
        readback("h1", threads=(Thread(1000, 1000, APP, 1200, (APP, IRQ)),), isolated_cpus=(2, 3)),
        early("h1", threads=(Thread(1000, 1000, APP, 300, (APP, IRQ)),), isolated_cpus=(2, 3)),
    ),
    "a real-time thread of the kernel in place of interrupts, and one on other CPUs": readback(
        "h2",
        other_processes=(
            OtherProcess("irq/24-eth0", 63, (APP,), 0.05, kernel=True, scheduling="real-time", nice=0),
            OtherProcess("control", 64, (APP, 3), 0.05, scheduling="real-time", nice=0),
            OtherProcess("backup", 65, (APP,), 0.05, scheduling="normal", nice=19),
        ),
    ),
    "two threads a core": setup(cores=dict.fromkeys(("h1", "h2"), ((APP, 2), (IRQ, 3)))),
}
"""runs that raise nothing"""


def codes(flags: Sequence[Flag]) -> set[str]:
    return {flag.code for flag in flags}


@pytest.mark.parametrize("change", HEALTHY.values(), ids=list(HEALTHY))
def test_a_healthy_trial_on_quiet_hosts_raises_nothing(change: Change) -> None:
    found = told(change).trial()
    assert found.status == "done", found.reason
    assert [(flag.code, flag.where, flag.evidence) for flag in found.flags] == []


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_of_a_trial_is_told_by_measure(lie: str) -> None:
    found = told(LIES[lie]).trial()
    assert found.status == "done", found.reason
    assert code_of(lie) in codes(found.flags), [(flag.code, flag.evidence) for flag in found.flags]


def _nothing_after(second: int) -> Change:
    """What the sender goes on to send from then on stays in its socket: its receiver gets nothing more."""

    def change(given: Given) -> Given:
        (only,) = given.run.outputs
        assert only.server is not None
        document = json.loads(only.server.stdout)
        for interval in document["intervals"][second:]:
            for stream in interval["streams"]:
                stream["bytes"] = 0
        server = replace(only.server, stdout=json.dumps(document))
        return replace(given, run=replace(given.run, outputs=(replace(only, server=server),)))

    return afterwards(change)


FULL_SOCKET = rates([GOODPUT_BPS * 0.99] * 13 + [0.0] * 11)
DEAD: dict[str, tuple[Change, str]] = {
    "by the reads around the window": (
        early("h1", facts={"nic.carrier_changes": "0"}),
        "h1: the carrier of its data interface eth0 changed 2 times in mid-trial",
    ),
    "by the readings in it": (
        counters("h2", "nic.carrier_changes", 1),
        "h2: the carrier of its data interface eth0 changed once in mid-trial",
    ),
    "and the load said so in its own way": (
        both(counters("h2", "nic.carrier_changes", 1), run(failure="h1: waited 14 s for the client to end")),
        "(h1: waited 14 s for the client to end)",
    ),
    "somewhere between the hosts": (
        both(FULL_SOCKET, _nothing_after(12)),
        "nothing arrived at h2 for 10.0 s of the window of 20 s, though 1,1",
    ),
    "somewhere between the hosts, from before the window": (
        both(FULL_SOCKET, _nothing_after(0)),
        "nothing arrived at h2 in the window, though the load ran",
    ),
}
"""a link that was dead → what the trial says"""


@pytest.mark.parametrize(("change", "said"), DEAD.values(), ids=list(DEAD))
def test_a_trial_whose_link_was_dead_has_failed_and_says_so(change: Change, said: str) -> None:
    found = told(change).trial()
    assert found.status == "failed"
    assert said in str(found.reason)
    assert found.throughput_bps is None


def _reset_before(reading: Reading) -> Reading:
    """Whose link came up between the last reading before the trial and the first one in it."""
    first, *others = reading.records
    records = (
        replace(one, values={**one.values, "nic.carrier_changes": count})
        for one, count in [(first, 1.0), *((other, 2.0) for other in others)]
    )
    return replace(reading, records=tuple(records))


ALIVE: dict[str, Change] = {
    "a link that was reset before the load began": sensor("h1", "netcounters", _reset_before),
    "one block every five seconds": rates([1e6, 0.0, 0.0, 0.0, 0.0] * 5),
    "two seconds without an answer": rates([GOODPUT_BPS * 0.99] * 12 + [0.0] * 2 + [GOODPUT_BPS * 0.99] * 10),
}


@pytest.mark.parametrize("change", ALIVE.values(), ids=list(ALIVE))
def test_a_trial_that_pauses_by_itself_is_no_dead_link(change: Change) -> None:
    found = told(change).trial()
    assert found.status == "done", found.reason


def test_one_pause_frame_names_no_limit() -> None:
    """It stops a sender of 10 Gbps for 3.4 ms at most, of 24 s."""
    frames = {"nic.pause_frames_received": "2"}, {"nic.pause_frames_received": "3"}
    found = told(both(early("h1", facts=frames[0]), readback("h1", facts=frames[1]))).trial()
    (flag,) = [one for one in found.flags if one.code == "pause-frames"]
    assert flag.evidence.startswith("its data interface received 1 pause frames")
    assert flag.advice.startswith("a pause frame stops a sender for at most 3.4 ms at 10 Gbps")
    assert "if there are many, the device that sends them is the limit" in flag.advice


def test_waiting_for_a_disk_and_what_a_hypervisor_took_are_no_cpu_use() -> None:
    shares = {"usr": 0.05, "sys": 0.45, "iowait": 0.2}
    found = told(cpu("h1", APP, **shares)).trial()
    taken = told(cpu("h1", APP, **shares, steal=0.1)).trial()
    for one, stolen in ((found, 0.0), (taken, 0.1)):
        assert one.sender is not None
        assert one.sender.app_cpu is not None
        assert one.sender.cpu_cores == pytest.approx(0.7)
        assert one.sender.steal_cores == pytest.approx(stolen)
        assert one.sender.app_cpu.busy_ratio == pytest.approx(0.5)
        assert one.sender.app_cpu.steal_ratio == pytest.approx(stolen)


def test_what_virtual_machines_of_a_host_run_fills_its_cpus_and_what_is_niced_does_not() -> None:
    found = [told(cpu("h2", IRQ, soft=0.5, **{column: 0.5})).trial() for column in ("guest", "gnice", "nice")]
    assert [verdict([one]).kind for one in found] == ["receiver-irq-cpu", "line-rate", "line-rate"]
    assert [one.receiver.irq_cpu.guest_ratio for one in found if one.receiver and one.receiver.irq_cpu] == [
        pytest.approx(0.5),
        0.0,
        0.0,
    ]


LOSSY = both(rates(3e9), story(again=0.02))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (LOSSY, "loss on the path"),
        (both(LOSSY, counters("h2", "nic.rx_missed_errors", 9e4)), "loss at the receiver"),
        (both(LOSSY, counters("h1", "nic.tx_dropped", 9e4)), "loss at the sender"),
        (both(LOSSY, without("h2", "netcounters")), "loss of segments"),
    ],
)
def test_segments_that_were_sent_again_are_a_limit_with_the_place_where_they_were_lost(
    change: Change, what: str
) -> None:
    found = verdict([told(change).trial()])
    assert (found.kinds, found.what) == (("retransmits",), what)
    assert "2.0 % of the segments retransmitted" in found.evidence


# --- cases, through summarise() and the breakdown of their power ------------------------------------------

CASE = Case("tcp", "h1", "h2")
STEADY = [9.4e9, 9.41e9, 9.39e9, 9.4e9, 9.405e9, 9.395e9, 9.4e9, 9.41e9, 9.39e9, 9.4e9]


def runs(*bps: float) -> list[Trial]:
    return [trial(number, CASE, one, 0.9) for number, one in enumerate(bps, start=1)]


def changed(**changes: Any) -> list[Trial]:
    return [replace(one, **changes) for one in runs(*STEADY)]


def two_ways(there_bps: float, back_bps: float, **back: Any) -> list[Trial]:
    """Runs of one way, and of the other with fields of its case."""
    other = replace(CASE, sender=CASE.receiver, receiver=CASE.sender, **back)
    ways = (
        trial(at, case, bps, 0.9) for at, (case, bps) in enumerate([(CASE, there_bps), (other, back_bps)] * 3)
    )
    return list(ways)


def of_case(trials: Sequence[Trial]) -> set[str]:
    return {code for summary in summarise(trials) for code in codes(summary.case_flags)}


def at_once(*bps: float, **stories: Any) -> list[Trial]:
    """Runs of three generators to one host."""
    one = group(bps, **stories).trial()
    return [replace(one, number=number) for number in (1, 2, 3)]


def _with_congestion(one: Trial, congestion: str) -> Trial:
    own = InstanceResult(0, 5201, "0", "0", 0.0, 0.0, 9.4e9, 9.4e9, congestion=congestion)
    return replace(one, instances=(own,))


def above_idle(power_w: float, *idle_w: float, doubt: str | None = None) -> list[Trial]:
    """Runs of a receiver that drew ``power_w``, beside idle windows."""
    idle = fmean(idle_w)
    one = channel(
        "system", power_w, idle_w=idle, idle_uncertainty_w=2.0, idle_windows_w=idle_w, idle_doubt=doubt
    )
    ends = [(run, run.receiver) for run in runs(*STEADY)]
    return [replace(run, receiver=replace(own, power=(one,))) for run, own in ends if own is not None]


CASES: dict[str, Callable[[], list[Trial]]] = {
    "idle-drifted": lambda: above_idle(150.0, 110.8, 78.6),
    "idle-not-settled": lambda: above_idle(150.0, 100.0, 101.0, doubt="power still fell by 9 W"),
    "power-below-idle": lambda: above_idle(90.0, 100.0, 101.0),
    "congestion-differs": lambda: [
        _with_congestion(one, "cubic" if one.number > 3 else "bbr") for one in runs(*STEADY)
    ],
    "two-modes": lambda: runs(*(value * (0.6 if at % 3 == 0 else 1) for at, value in enumerate(STEADY))),
    "modes-unresolved": lambda: [replace(one, throughput_se_bps=1e7) for one in runs(9.4e9, 7.2e9, 7.3e9)],
    "modes-unresolved: in turn": lambda: runs(*[9.4e9, 7.2e9] * 3),
    "above-line-rate": lambda: changed(line_goodput_bps=9e9),
    "tcp-retransmits": lambda: changed(retransmits=66_182, window=Window(0.0, 5.0)),
    "directions-differ": lambda: two_ways(9.4e9, 1.88e9),
    "directions-differ: opened by the same host": lambda: two_ways(9.4e9, 1.88e9, direction="reverse"),
    "rate-not-reached": lambda: changed(case=replace(CASE, rate_bps=14e9)),
    "rate-exceeded": lambda: changed(case=replace(CASE, rate_bps=1e8)),
    "test-bed-is-the-limit": lambda: changed(
        sender=end("h1", "sender", 1.0, 0.995, 0.4), receiver=end("h2", "receiver", 1.0, 0.5, 0.4)
    ),
    "test-bed-is-the-limit: one of three generators": lambda: at_once(
        *(2e9, 2e9, 2e9), generators={1: cpu("h1", 0, usr=0.05, sys=0.945)}
    ),
    "slower-pair": lambda: at_once(3e9, 3e9, 1e9),
    "first-trial-differs": lambda: runs(STEADY[0] * 0.84, *STEADY[1:]),
    "first-trial-differs: CPU use": lambda: [
        trial(number, CASE, bps, 0.6 if number == 1 else 0.9 + 0.001 * (number % 3))
        for number, bps in enumerate(STEADY, start=1)
    ],
    "drifts-over-trials": lambda: runs(*(value * (1 - 0.01 * at) for at, value in enumerate(STEADY))),
}
"""code → the trials of a case that raise it in ``summarise()``"""


def test_the_trials_of_a_healthy_case_raise_nothing() -> None:
    assert of_case(runs(*STEADY)) == set()
    assert of_case(above_idle(150.0, 100.0, 101.0)) == set()
    assert of_case(at_once(3e9, 3e9, 3e9)) == set()
    assert of_case(two_ways(9.4e9, 5e9)) == set()


@pytest.mark.parametrize("lie", CASES)
def test_each_lie_of_a_case_is_told_by_its_summary(lie: str) -> None:
    assert code_of(lie) in of_case(CASES[lie]())


# --- soaks ------------------------------------------------------------------------------------------------

CALM = Shape(duration_s=60)


@cache
def _soak(root: Path, shape: Shape) -> Soak:
    return digest(read.load_result(write(root, shape)[0]))


@pytest.fixture(scope="module")
def soaks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Shape], Soak]:
    root = tmp_path_factory.mktemp("soaks")
    return lambda shape: replace(_soak(root, shape))


def shown(**figures: Any) -> Callable[[Soak], Soak]:
    """A soak that shows other figures than were computed."""

    def change(soak: Soak) -> Soak:
        soak.__dict__.update(figures)
        return soak

    return change


def _with_a_reset(soak: Soak) -> Soak:
    first, *rest = soak.totals
    return shown(totals=(replace(first, resets=1), *rest))(soak)


def _half_read(soak: Soak) -> Soak:
    return shown(power=tuple(replace(one, covered=0.5) for one in soak.power))(soak)


SOAKS: dict[str, tuple[Shape, Callable[[Soak], Soak]]] = {
    "chunk-damaged": (CALM, lambda soak: replace(soak, damaged={Path("chunk-000001.parquet"): "cut off"})),
    "chunk-missing": (CALM, lambda soak: replace(soak, missing=(MissingChunks(1, 1, 1, 0.0, 30.0),))),
    "client-saturated": (replace(CALM, cpu_share=0.99), lambda soak: soak),
    "counter-reset": (CALM, _with_a_reset),
    "drops-unexplained": (replace(CALM, drops_at=30), lambda soak: soak),
    "ledger-off": (replace(CALM, server_extra_bytes=12_345), lambda soak: soak),
    "power-frozen": (replace(CALM, duration_s=600, frozen_w=216.0, cpu_swing=(60, 0.9)), lambda soak: soak),
    "power-incomplete": (CALM, _half_read),
    "rate-drifts": (CALM, shown(drift=Drift(0.3, 0.2, 0.4, 0.3))),
    "readings-missing": (replace(CALM, duration_s=120, lost_client=("c3", 40, 100)), lambda soak: soak),
    "soak-interrupted": (replace(CALM, duration_s=120, kill_at=40, away_s=30), lambda soak: soak),
    "stalls": (replace(CALM, duration_s=120, stall=(60, 80)), lambda soak: soak),
}
"""code → a soak, and how it is changed, that raises it"""


def test_a_calm_soak_raises_nothing(soaks: Callable[[Shape], Soak]) -> None:
    assert codes(soak_flags(soaks(CALM))) == set()


@pytest.mark.parametrize("lie", SOAKS)
def test_each_lie_of_a_soak_is_told(lie: str, soaks: Callable[[Shape], Soak]) -> None:
    shape, change = SOAKS[lie]
    assert code_of(lie) in codes(soak_flags(change(soaks(shape))))


# --- all of them --------------------------------------------------------------------------------------------

ELSEWHERE: dict[str, tuple[str, str]] = {
    "calibration-extrapolated": ("test_corrected.py", "test_a_power_beyond_the_staircase_is_told"),
    "calibration-old": ("test_corrected.py", "test_a_calibration_of_last_year_is_told"),
    "power-corrected": ("test_corrected.py", "test_a_trial_is_stored_with_both_figures"),
    "power-not-corrected": (
        "test_corrected.py",
        "test_supplies_that_were_calibrated_together_are_corrected_together",
    ),
    "not-ready": (
        "test_readiness.py",
        "test_a_host_that_was_not_ready_makes_throughput_doubtful_on_the_first_screen",
    ),
    "meter-shows-peaks": (
        "test_meter_book.py",
        "test_a_meter_that_shows_peaks_is_not_called_an_averaging_one",
    ),
    "meter-late": (
        "test_meter_book.py",
        "test_what_a_late_meter_says_of_a_short_window_is_withheld_with_its_delay",
    ),
    "meter-averages": ("test_meter_book.py", "test_slow_meters_are_told_of_once"),
    "meter-hangs": (
        "test_meter_book.py",
        "test_one_value_under_load_and_idle_is_a_meter_that_hangs",
    ),
    "meter-refreshes-slowly": ("test_meter_book.py", "test_slow_meters_are_told_of_once"),
    "components-exceed-system": (
        "test_components.py",
        "test_parts_that_exceed_the_system_are_a_flag_with_their_watts",
    ),
    "hidden-ceiling": (
        "test_regimes.py",
        "test_a_level_that_nothing_known_explains_is_a_limit_of_device_or_path",
    ),
    "drifts-over-search": (
        "test_instance_search.py",
        "test_a_device_that_gets_slower_during_a_search_is_told_beside_its_knee",
    ),
    "power-outlier": ("test_regimes.py", "test_a_case_whose_power_stands_out_is_told_and_no_other"),
    "settings-unknown": (
        "test_import_captures.py",
        "test_what_nobody_read_of_hosts_is_told_and_no_check_of_it_is_claimed",
    ),
    "told-by-the-other-end": (
        "test_import_captures.py",
        "test_of_a_clients_file_alone_goodput_is_what_the_receiver_told_it",
    ),
    "mean-of-iterations": (
        "test_import_netperf.py",
        "test_warnings_of_confidence_make_figures_doubtful_and_means_are_told",
    ),
    "confidence-not-reached": (
        "test_import_netperf.py",
        "test_warnings_of_confidence_make_figures_doubtful_and_means_are_told",
    ),
    "other-way-at-once": (
        "test_import_two_ways.py",
        "test_each_way_is_a_trial_that_goes_that_way",
    ),
    "rounded-figures": (
        "test_import_text.py",
        "test_text_has_rounded_rates_and_no_time_and_both_are_told",
    ),
    "time-not-known": (
        "test_import_text.py",
        "test_text_has_rounded_rates_and_no_time_and_both_are_told",
    ),
    "receiver-not-known": (
        "test_import_captures.py",
        "test_without_the_receivers_count_there_is_no_throughput",
    ),
    "stamps-too-coarse": (
        "test_import_captures.py",
        "test_whole_seconds_beside_a_short_load_make_cpu_doubtful_until_enough_is_left_out",
    ),
    "readings-named-otherwise": (
        "test_import_hosts.py",
        "test_readings_of_the_only_host_whose_addresses_no_file_says_are_the_servers",
    ),
    "clock-assumed": (
        "test_import_captures.py",
        "test_a_host_without_a_file_of_the_load_is_taken_to_have_the_clients_clock_and_that_is_told",
    ),
    "power-not-activated": (
        "test_import_captures.py",
        "test_watts_of_a_power_reading_that_is_not_activated_are_doubtful_and_its_state_is_named",
    ),
    "cpus-assumed": (
        "test_import_captures.py",
        "test_a_share_of_all_cpus_is_doubtful_where_some_may_be_offline",
    ),
    "zone-assumed": (
        "test_import_captures.py",
        "test_stamps_without_a_zone_are_read_as_utc_and_that_is_told",
    ),
    "total-disagrees-with-rate": (
        "test_soak_analysis.py",
        "test_the_published_soak_is_flagged_for_a_rate_that_its_total_cannot_have_been_made_at",
    ),
}
"""code → the test in tests/unit that raises it, for what the tables above cannot hold"""


def code_of(lie: str) -> str:
    return lie.partition(":")[0]


def test_every_check_of_a_trial_has_its_lie() -> None:
    rooms = ("engine/measuring", "sensors")
    expected = {
        code
        for code, path in raised()
        if path.relative_to(ROOT / "src" / "linewatt").as_posix().startswith(rooms)
    }
    assert sorted(expected - {code_of(lie) for lie in LIES}) == [], "add them to LIES"


def test_every_finding_is_wired() -> None:
    wired = {code_of(lie) for table in (LIES, CASES, SOAKS, ELSEWHERE) for lie in table}
    assert sorted(catalogue().keys() - wired) == [], "add them to one of the tables"
    assert sorted(wired - catalogue().keys()) == [], "no such finding"


@pytest.mark.parametrize("code", ELSEWHERE)
def test_what_is_wired_elsewhere_has_its_test(code: str) -> None:
    file, name = ELSEWHERE[code]
    (path,) = (ROOT / "tests" / "unit").rglob(file)
    names = {one.name for one in _functions(path)}
    assert name in names


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_every_room_of_checks_is_called() -> None:
    there = {path.stem for path in (Path(registry.__file__).parent / "checks").glob("[!_]*.py")}
    called = {check.__module__.rpartition(".")[2] for check in registry.CHECKS}
    assert called == there


@pytest.mark.parametrize(
    ("host", "counter"), [("h1", "nstat.UdpSndbufErrors"), ("h2", "nstat.UdpRcvbufErrors")]
)
def test_a_burst_of_loss_at_the_windows_edge_is_not_laid_to_somebody_else(host: str, counter: str) -> None:
    """All of a million drops lie between the two readings around the window's start."""
    edge_s = told(UDP).trial().window
    assert edge_s is not None

    def burst(reading: Reading) -> Reading:
        behind = [one.received_s > edge_s.start_s for one in reading.records]
        at = list(zip(reading.records, behind, strict=True))
        records = [replace(one, values={**one.values, counter: 1e6 if late else 0.0}) for one, late in at]
        return replace(reading, records=tuple(records))

    apart = sensor(host, "netcounters", _moved(0.5))
    trial = told(both(UDP, story(lost=0.02), apart, sensor(host, "netcounters", burst))).trial()
    (evidence,) = [flag.evidence for flag in trial.flags if flag.code == "udp-loss"]
    assert "no datagrams of the load" not in evidence
    assert "counters are read every 1 s: 0 to 1000000 in the window" in evidence


def test_datagrams_that_come_to_the_sender_and_are_dropped_there_are_not_the_loads() -> None:
    trial = told(both(UDP, story(lost=0.02), counters("h1", "nstat.UdpRcvbufErrors", 3e5))).trial()
    assert ("packets-dropped", "h1") in [(flag.code, flag.where) for flag in trial.flags]
