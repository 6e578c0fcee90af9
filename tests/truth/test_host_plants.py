# SPDX-License-Identifier: Apache-2.0
"""Truths of hosts and their power, planted without a lab: what happened, what is told of it, what stays sure.

Each goes through the product's own ``measure()`` and verdict, with the text that sensors and iperf3 would
have written of it (tests/wiring.py). docs/truth.md has a row for each.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from tests.wiring import (
    APP,
    GOODPUT_BPS,
    IRQ,
    OMIT_S,
    SECONDS,
    START_S,
    WINDOW_S,
    Change,
    Story,
    Watts,
    at,
    both,
    case,
    counters,
    cpu,
    early,
    rates,
    readback,
    sensor,
    setup,
    story,
    told,
    watts,
)

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.findings import gather_findings
from linewatt.analysis.limits.candidate import Kind
from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.engine.live.confinement import Cpuset
from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import Thread
from linewatt.findings import Figure, kind_of
from linewatt.findings.all_kinds import catalogue
from linewatt.model import CgroupThrottling, Channel, Flag, OtherProcess, OutsideLimits, Trial

DOCS = Path(__file__).parents[2] / "docs" / "truth.md"
HEADING = "### Hosts and power"
EARLY_S, LATE_S = START_S + 0.7, START_S + 23.0
HALF = [1.0] * 12 + [0.0] * 12
OTHER_HALF = [1.0 - part for part in HALF]


@dataclass(frozen=True, slots=True)
class Plant:
    """``truth`` is what happened; ``finding`` what must be told of it, with ``sentence`` in its evidence.

    ``limits`` come first where the verdict must name them, and ``limit_words`` stand in its evidence.
    ``doubtful`` are figures that must be marked, ``sure`` those that must not be, ``never`` findings that
    would blame something else.
    """

    truth: str
    change: Change
    finding: str | None
    sentence: str = ""
    where: str = ""
    limits: tuple[Kind, ...] = ()
    limit_words: str = ""
    doubtful: frozenset[Figure] = frozenset()
    sure: frozenset[Figure] = frozenset()
    never: frozenset[str] = frozenset()


def wobble(course: Sequence[float], step_w: float = 1.0) -> list[float]:
    """Watts that wander by a step, as every meter's do."""
    return [value + step_w * (at % 3 - 1) for at, value in enumerate(course)]


def powers(host: str, *, scale: float = 1.0, **mean_w: float) -> Change:
    """What the channels of a host's BMC read, named by their last words: ``In``, ``Out``, ``CPU``."""
    names = {"In": "PSU1 Power In", "Out": "PSU1 Power Out", "CPU": "CPU_Power"}
    fields = {} if scale == 1.0 else {"maximum": None, "step": scale}
    return both(
        *(
            watts(host, names[name], wobble([scale * value] * 25, scale), **fields)
            for name, value in mean_w.items()
        )
    )


def idle(host: str, *, scale: float = 1.0, **mean_w: float) -> Change:
    names = {"In": "PSU1 Power In", "Out": "PSU1 Power Out", "CPU": "CPU_Power"}
    return setup(idle_w={host: {("bmc", names[name]): scale * value for name, value in mean_w.items()}})


def waited(host: str, part: float) -> Change:
    """The load's thread was ready to run for this part of the time and had no CPU."""
    pid = 1000 * int(host[1:])
    reads = [
        Thread(pid, pid, APP, 100, (APP,), read_s, run_s, 3, 9000, 20, wait_s, 0, "normal")
        for read_s, run_s, wait_s in (
            (EARLY_S, 0.4, 0.1),
            (LATE_S, 0.4 + 0.5 * (LATE_S - EARLY_S), 0.1 + part * (LATE_S - EARLY_S)),
        )
    ]
    return both(early(host, threads=(reads[0],)), readback(host, threads=(reads[1],)))


def other(name: str, cores: float, scheduling: str = "normal", nice: int = 0) -> Change:
    """A process of somebody else on the receiver's app CPU, of the length of the window."""
    process = OtherProcess(name, 4711, (APP,), cores, scheduling=scheduling, nice=nice)  # type: ignore[arg-type]
    return readback("h2", other_processes=(process,))


def without_cpu(number: int, from_record: int) -> Callable[[Reading], Reading]:
    """mpstat's records of a CPU that was taken offline in the middle: they have no row of it any more."""

    def change(reading: Reading) -> Reading:
        prefix = f"cpu{number}."
        records = [
            replace(
                record,
                values={name: value for name, value in record.values.items() if not name.startswith(prefix)},
            )
            if at >= from_record
            else record
            for at, record in enumerate(reading.records)
        ]
        return replace(reading, records=tuple(records))

    return change


def outlet(host: str, course: Sequence[float], late: int = 0) -> Change:
    """A host whose only meter is an outlet of a PDU, read so many seconds later."""
    channel = Channel("outlet7", "W", "gauge", "wall:outlet7", step=1.0, tolerance_ratio=0.01)
    reading = Watts(channel, [course[0]] * late + [*course])
    return lambda told: replace(told, watts={**told.watts, host: {"outlet7": reading}})


_DRAW = random.Random(5)  # noqa: S311
WANDER = [round(_DRAW.uniform(-2, 2)) for _ in range(26)]
LOAD_OF_HALF = {"usr": 0.05, "sys": 0.45}
PLANTS: dict[str, Plant] = {
    "nice 19": Plant(
        "a batch job at nice 19 takes what the load leaves of its CPU",
        both(rates(5e9), cpu("h2", APP, **LOAD_OF_HALF, nice=0.48), other("backup", 0.48, nice=19)),
        "foreign-load",
        "app CPU 0, of these the load used",
        where="h2",
        limits=("not-found",),
        sure=frozenset({"throughput"}),
        doubtful=frozenset({"cpu", "power"}),
        never=frozenset({"limiting-cpu-shared", "load-outranked"}),
    ),
    "real-time": Plant(
        "a control loop of the class real-time takes as much of the same CPU, and takes it first",
        both(
            rates(5e9),
            cpu("h2", APP, usr=0.53, sys=0.45),
            other("control", 0.48, "real-time"),
            waited("h2", 0.48),
        ),
        "load-outranked",
        "real-time control used 0.48 cores of app CPU 0; scheduling class real-time runs before the load",
        where="h2",
        limits=("receiver-app-cpu",),
        limit_words="others run before the load",
        doubtful=frozenset({"throughput", "cpu"}),
    ),
    "nice 19 in a session of its own": Plant(
        "the kernel groups tasks by session: a job at nice 19 has its full half of the CPU",
        both(
            rates(5e9),
            cpu("h2", APP, **LOAD_OF_HALF, nice=0.48),
            other("backup", 0.48, nice=19),
            waited("h2", 0.48),
        ),
        "limiting-cpu-shared",
        "app CPU 0 98 % busy",
        where="h2",
        limits=("receiver-app-cpu",),
        limit_words="48.0 % of its time taken by what runs niced in another session or cgroup",
        doubtful=frozenset({"throughput"}),
    ),
    "the load itself is niced": Plant(
        "sshd's unit has Nice=10: the load fills its CPU, and mpstat shows that as nice",
        both(
            rates(5e9),
            cpu("h1", APP, nice=0.5, sys=0.48),
            story(load_cores={"h1": 0.98, "h2": 0.6}),
            *(
                change("h1", threads=(Thread(1000, 1000, APP, 900, (APP,), migrations=3, nice=10),))
                for change in (early, readback)
            ),
        ),
        "load-priority",
        "process 1000 runs at nice 10",
        where="h1: instance 0",
        limits=("sender-app-cpu",),
        limit_words="98.0 % busy",
    ),
    "a cpuset that was narrowed": Plant(
        "an administrator gives the load's slice one of its two CPUs in the middle of the trial",
        both(
            story(placed=(("0,3", "0"),)),
            readback(
                "h1",
                threads=(Thread(1000, 1000, APP, 1200, (APP,)),),
                cpusets=(Cpuset(1000, "/load.slice", (APP,)),),
            ),
        ),
        "cpus-withheld",
        "placed on CPU 0,3; process 1000 may run only on CPU 0: the cpuset of its cgroup /load.slice is 0",
        where="h1: instance 0",
        doubtful=frozenset({"throughput", "cpu"}),
        never=frozenset({"process-moved"}),
    ),
    "a quota that was lifted": Plant(
        "a container's quota held the load in the first half of the window and was taken away then",
        readback("h1", outside_limits=OutsideLimits(22.0, (CgroupThrottling("/load", 110, 110, 9.9),))),
        "cpu-quota-throttled",
        "was throttled 9.9 s of 22.0 s, in 100.0 % of its periods",
        where="h1",
        limits=("sender-cpu-quota",),
        doubtful=frozenset({"throughput"}),
    ),
    "a meter in milliwatts": Plant(
        "a plug reports mW, and the campaign takes them for W: idle, load and CPUs alike",
        both(
            powers("h2", scale=1000, In=210, Out=190, CPU=90), idle("h2", scale=1000, In=120, Out=105, CPU=40)
        ),
        "power-implausible",
        "W, but a host with 4 CPUs draws at most 5,400 W",
        where="h2: bmc PSU AC in",
        doubtful=frozenset({"power", "above_idle"}),
        sure=frozenset({"throughput", "cpu"}),
    ),
    "a meter in kilowatts": Plant(
        "a PDU reports kW, and the campaign takes them for W",
        both(
            powers("h2", scale=0.001, In=210, Out=190, CPU=90),
            idle("h2", scale=0.001, In=120, Out=105, CPU=40),
        ),
        "power-implausible",
        "0.210 W, but a host with 4 CPUs draws at least 1 W",
        where="h2: bmc PSU AC in",
        doubtful=frozenset({"power"}),
    ),
    "supplies exchanged between hosts": Plant(
        "each host's supplies are read by the other's BMC address; CPUs are read on the host itself",
        both(powers("h1", In=125, Out=111, CPU=151), powers("h2", In=265, Out=241, CPU=46)),
        "power-implausible",
        "151.0 W of CPU (bmc), but 111.0 W of PSU DC out (bmc); the meter of h2 would fit (241.0 W",
        where="h1: bmc PSU DC out",
        doubtful=frozenset({"power"}),
    ),
    "in and out exchanged": Plant(
        "the BMC's names of a supply's input and output are exchanged: it gives more than it takes",
        powers("h1", In=190, Out=210),
        "power-implausible",
        "output 210.0 W, input only 190.0 W",
        where="h1: bmc PSU1",
        doubtful=frozenset({"power"}),
    ),
    "an inlet that feeds two hosts": Plant(
        "what goes into the supplies is read at an outlet that another server hangs on, too",
        powers("h2", In=420, Out=190),
        "power-implausible",
        "190.0 W of PSU DC out (bmc), but 420.0 W of PSU AC in (bmc)",
        where="h2: bmc PSU DC out",
        doubtful=frozenset({"power"}),
    ),
    "one outlet feeds both hosts": Plant(
        "sender and receiver hang on one outlet, and both read it: each gets the watts of both",
        both(
            outlet("h1", [305.0 + wander_w for wander_w in WANDER]),
            outlet("h2", [305.0 + wander_w for wander_w in WANDER], late=1),
            setup(idle_w={host: {("bmc", "outlet7"): 265.0} for host in ("h1", "h2")}),
        ),
        "power-implausible",
        "to the same values: both are the same meter",
        where="h2: bmc outlet7",
        doubtful=frozenset({"power", "above_idle"}),
        sure=frozenset({"throughput", "cpu"}),
    ),
    "an outlet that feeds another host of the trial": Plant(
        "the receiver's outlet feeds the sender, too, which nobody knows; there is no second reading",
        both(
            story(watts={"h1": {}}),
            outlet("h2", [480.0 + wander_w for wander_w in WANDER]),
            setup(idle_w={"h2": {("bmc", "outlet7"): 250.0}}),
        ),
        "power-unexplained",
        "above idle; CPU use (+1.09 cores) explains at most 43.6 W",
        where="h2: bmc wall",
        doubtful=frozenset({"power", "above_idle"}),
        sure=frozenset({"throughput", "cpu"}),
    ),
    "one supply takes over": Plant(
        "a supply of two goes to standby in the middle of the window: the other takes its half on",
        both(
            watts("h2", "PSU1 Power In", wobble([105.0] * 12 + [210.0] * 13)),
            watts("h2", "PSU2 Power In", [*wobble([105.0] * 12), *[0.0] * 13], scope="psu-in:PSU2"),
            watts("h2", "PSU1 Power Out", wobble([95.0] * 12 + [190.0] * 13)),
            watts("h2", "PSU2 Power Out", [*wobble([95.0] * 12), *[0.0] * 13], scope="psu-out:PSU2"),
        ),
        "power-unsteady",
        "so does another channel; PSU2 Power In falls by 105 W meanwhile",
        where="h2",
        doubtful=frozenset({"power"}),
    ),
    "a BMC that restarts": Plant(
        "the BMC was restarted in the window and read 0 W for three seconds",
        watts("h2", "PSU1 Power In", wobble([210.0] * 10) + [0.0] * 3 + wobble([210.0] * 12)),
        "power-unsteady",
        "PSU1 Power In falls from 8.3 s to 11.3 s, to 0 W from 210 W before and after",
        where="h2",
        doubtful=frozenset({"power"}),
    ),
    "idle that was not idle": Plant(
        "a backup ran in the idle window: idle is 205 W in place of 120 W, and the load seems to add 5 W",
        both(setup(idle_cores={"h2": 1.5}), idle("h2", In=205, Out=185, CPU=86)),
        "host-not-idle",
        "1.50 cores were busy in the idle window, 1.10 cores in the window of the trial",
        where="h2",
        doubtful=frozenset({"above_idle"}),
        sure=frozenset({"throughput", "power"}),
    ),
    "an energy counter that turns over": Plant(
        "RAPL's counter of 32 bits turns over between two samples in the window",
        watts(
            "h2",
            "package0",
            [(65_000.0 + 90.0 * second) % 65_536 for second in range(25)],
            unit="J",
            kind="counter",
            scope="package:0",
            wraps_at=65_536.0,
            step=None,
            maximum=None,
            tolerance_ratio=None,
        ),
        None,
        sure=frozenset({"throughput", "cpu", "power"}),
    ),
    "a governor that went and came back": Plant(
        "tuned changed the governor to powersave and back within the window: both reads show performance",
        both(
            setup(base_frequency_hz={"h1": 2.1e9, "h2": 2.1e9}),
            story(hertz=[3.6e9] * 9 + [1.2e9] * 6 + [3.6e9] * 9),
        ),
        "frequency-dropped",
        "ran at 1.54 GHz in the middle third of the window, 3.60 GHz before and 3.60 GHz after",
        where="h2",
        doubtful=frozenset({"throughput", "cpu"}),
        never=frozenset({"setting-changed"}),
    ),
    "a hot machine": Plant(
        "the sender's core is too hot: its counter of throttling rises, its clock falls, its CPU fills up",
        both(
            rates([8e9] * 8 + [7e9] * 8 + [6e9] * 8),
            counters("h1", f"cpu{APP}.core_throttle_count", 50),
            cpu("h1", APP, usr=0.05, sys=0.94),
            story(hertz=[3.6e9] * 8 + [3e9] * 8 + [2.2e9] * 8, load_cores={"h1": 0.99, "h2": 0.6}),
        ),
        "cpu-throttled",
        "throttled because of heat in the window: CPU 0: core 50 times",
        where="h1",
        limits=("sender-app-cpu",),
        limit_words="slowed for heat (cpu-throttled)",
        doubtful=frozenset({"throughput", "cpu"}),
    ),
    "a CPU that goes offline": Plant(
        "the sender's app CPU is taken offline in the middle of the window: it has no row in mpstat any more",
        sensor("h1", "mpstat", without_cpu(APP, 13)),
        "cpu-missing",
        "mpstat does not cover the window on CPU 0",
        where="h1",
    ),
    "receive work that was moved": Plant(
        "irqbalance moves the interrupts to another CPU in mid-window, back after it: one is full at a time",
        both(
            rates(6e9),
            cpu("h2", IRQ, soft=[0.98 * part for part in HALF]),
            cpu("h2", 3, soft=[0.98 * part for part in OTHER_HALF]),
            counters("h2", "softnet.cpu3.processed", 2e7),
        ),
        "interrupts-elsewhere",
        "50 % of 0.98 cores of interrupt time was not on IRQ CPUs 1, most of it on CPU 3",
        where="h2",
        limits=("receiver-cpu",),
        limit_words="softirqs filled CPUs 1 and 3 in turn, one at a time",
        doubtful=frozenset({"cpu"}),
    ),
    "steal on one CPU": Plant(
        "a hypervisor takes half of the sender's app CPU, which looks half idle to who reads its use",
        both(rates(5e9), cpu("h1", APP, **LOAD_OF_HALF, steal=0.5)),
        "cpu-stolen",
        "the hypervisor took 0.50 cores (steal)",
        where="h1",
        limits=("sender-app-cpu",),
        limit_words="50.0 % of its time taken by a hypervisor",
        doubtful=frozenset({"throughput", "cpu"}),
    ),
    "memory that is reclaimed": Plant(
        "a job fills the receiver's memory: its tasks wait for reclaim, and no CPU is full",
        both(rates(5e9), readback("h2", outside_limits=OutsideLimits(22.0, (), {"memory some": 8.8}))),
        "memory-pressure",
        "tasks waited for memory in 40.0 % of the time",
        where="h2",
        limits=("not-found",),
        limit_words="tasks on h2 waited for memory 40.0 % of the time",
        doubtful=frozenset({"throughput"}),
    ),
}


@cache
def measured(name: str) -> tuple[Trial, Limit]:
    """The trial that a plant makes, and what limits it."""
    trial = told(PLANTS[name].change).trial()
    return trial, verdict([trial])


def at_once(value: float, second: int, change: float, later: float = 0.0) -> list[float]:
    """A course of the load that is so much larger in one second, and in the next one by ``later``."""
    changes = {second: change, second + 1: later}
    return [value * (1 + changes.get(number, 0.0)) for number in range(SECONDS)]


HICCUPS: dict[str, Callable[[int], Change]] = {
    "tcp": lambda second: both(
        rates(at_once(GOODPUT_BPS, second, -0.2)),
        cpu("h1", APP, usr=at_once(0.05, second, -0.2), sys=at_once(0.45, second, -0.2)),
    ),
    "paced, which catches up": lambda second: both(
        case(rate_bps=5e9), rates(at_once(5e9, second, -0.2, later=0.2))
    ),
    "the receiver alone, which catches up": lambda second: both(
        rates(GOODPUT_BPS), story(taken=at_once(1.0, second, -0.2, later=0.2))
    ),
    "udp, and what came meanwhile is lost": lambda second: story(
        udp=True, rates=9e9, lost=[0.2 if number == second else 0.0 for number in range(SECONDS)]
    ),
}
"""what a machine that stands still for 0.2 s does to a load, by the second in which that is"""


def _faster(ratio: float) -> Change:
    """Runs are never quite alike."""

    def change(slower: Story) -> Story:
        assert slower.rates is not None
        return replace(slower, rates=[ratio * at(slower.rates, second) for second in range(SECONDS)])

    return change


@pytest.mark.parametrize("second", [int(OMIT_S), 7, 12, int(OMIT_S + WINDOW_S) - 1])
@pytest.mark.parametrize("hiccup", HICCUPS.values(), ids=list(HICCUPS))
def test_one_hiccup_of_a_healthy_machine_is_a_note_at_most(
    hiccup: Callable[[int], Change], second: int
) -> None:
    """In one of three trials, at either edge of its window or within it."""
    one = told(hiccup(second)).trial()
    others = [told(both(hiccup(-2), _faster(ratio))).trial() for ratio in (1.002, 0.999)]
    trials = [replace(trial, number=number) for number, trial in enumerate([one, *others], start=1)]
    findings = gather_findings(trials, summarise(trials)).every
    assert {finding.code: finding.kind.rank for finding in findings if finding.kind.rank != "note"} == {}


def doubtful_figures(flags: Sequence[Flag]) -> set[Figure]:
    return {figure for flag in flags for figure in kind_of(flag.code).figures}


@pytest.mark.parametrize("name", PLANTS)
def test_what_was_planted_is_told(name: str) -> None:
    plant, (trial, _) = PLANTS[name], measured(name)
    assert trial.status == "done", trial.reason
    evidence = [(flag.where, flag.evidence) for flag in trial.flags if flag.code == plant.finding]
    told_of = [(flag.code, flag.where, flag.evidence) for flag in trial.flags]
    assert plant.finding is None or evidence, told_of
    assert plant.finding is None or any(
        where == plant.where and plant.sentence in words for where, words in evidence
    ), told_of
    assert plant.finding is not None or told_of == []


@pytest.mark.parametrize("name", PLANTS)
def test_what_it_spoils_is_doubtful_and_what_it_does_not_is_sure(name: str) -> None:
    plant, (trial, _) = PLANTS[name], measured(name)
    figures = doubtful_figures(trial.flags)
    assert plant.doubtful <= figures
    assert not plant.sure & figures
    assert not plant.never & {flag.code for flag in trial.flags}


@pytest.mark.parametrize("name", [name for name, plant in PLANTS.items() if plant.limits])
def test_what_limits_is_named_with_its_evidence(name: str) -> None:
    plant, (_, limit) = PLANTS[name], measured(name)
    assert limit.kinds[: len(plant.limits)] == plant.limits, limit.words
    assert plant.limit_words in limit.words


def test_a_counter_that_turned_over_gives_its_watts() -> None:
    trial, _ = measured("an energy counter that turns over")
    assert trial.receiver is not None
    (package,) = [power for power in trial.receiver.power if power.channel == "package0"]
    assert package.power_w == pytest.approx(90.0)


def test_each_plant_has_its_row_and_names_what_there_is() -> None:
    section = DOCS.read_text().partition(f"{HEADING}\n")[2].partition("\n#")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][2:]
    assert [row[1].strip() for row in rows] == list(PLANTS)
    for plant, row in zip(PLANTS.values(), rows, strict=True):
        kinds = [f"`{kind}`" for kind in plant.limits if kind != "not-found"]
        codes = [f"`{plant.finding}`"] if plant.finding else []
        assert all(word in row[4] for word in (*codes, *kinds)), row
        assert plant.sentence in row[3]
        assert plant.finding is None or plant.finding in catalogue()
