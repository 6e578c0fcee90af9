# SPDX-License-Identifier: Apache-2.0
"""A stored result of each kind that has a first screen, made of the factories of other tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from tests.compare_factories import TCP, UDP, made, numbered, runs, with_facts
from tests.effect_factories import SWEEP, experiment_trials
from tests.groups import group
from tests.report_factories import (
    demo_trials,
    end,
    host,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    shares,
    stored,
    trial,
)
from tests.soak_pairs import soak
from tests.wiring import both, cpu, story

from linewatt.model import ENDS, Case, Trial

LINE_BPS = 94.9e9
FACTORS: dict[str, tuple[str, ...]] = {**SWEEP} | {
    "tso": ("on", "off"),
    "ring": ("1024", "8192"),
    "governor": ("performance", "powersave"),
    "coalescing": ("adaptive", "8us", "64us"),
    "pause": ("off", "on"),
}
_RATIOS = {"tso=off": 0.93, "ring=8192": 1.02, "governor=powersave": 0.97, "coalescing=64us": 1.031}


def _campaign() -> list[Path]:
    lab = {"lab": "demo", "shares_cpus_with": ["h1", "h2"]}
    trials = powered(demo_trials(), provenance="simulated", ends=("receiver", "sender"))
    lined = [replace(one, line_goodput_bps=LINE_BPS) for one in trials]
    hosts = {name: host(name, **lab) for name in ("h1", "h2")}
    return [stored(Path("results"), result(lined, id="20260101-000000-demo", name="demo", hosts=hosts))]


def _effect(levels: dict[str, str]) -> float:
    known = (1.06 if levels.get("mtu") == "9000" else 1.0) * (0.8 if levels.get("gro") == "off" else 1.0)
    for name, level in levels.items():
        known *= _RATIOS.get(f"{name}={level}", 1.0)
    return known


def _experiment() -> list[Path]:
    trials = powered(experiment_trials(factors=FACTORS, effect=_effect, trials=5))  # type: ignore[arg-type]
    campaign = {
        "factors": {name: list(levels) for name, levels in FACTORS.items()},
        "design": "one-at-a-time",
    }
    made = result(trials, campaign=campaign, id="20260102-000000-sweep", name="sweep")
    return [stored(Path("results"), made)]


USERS: dict[str, tuple[str, ...]] = {
    "users.file_size": ("64k", "16M"),
    "users.users": ("50", "100"),
    "users.vsftpd.use_sendfile": ("on", "off"),
}
_USERS_RATIOS = {"users.file_size=16M": 4.0, "users.users=100": 1.3}


def _users() -> list[Path]:
    def effect(levels: Mapping[str, str]) -> float:
        return math.prod(_USERS_RATIOS.get(f"{name}={level}", 1.0) for name, level in levels.items())

    every = experiment_trials("full", factors=USERS, effect=effect, trials=4, test="ftp")
    trials = powered([replace(one, instances=(), offered_bps=None) for one in every])
    campaign = {"factors": {name: list(levels) for name, levels in USERS.items()}, "design": "full"}
    made = result(trials, campaign=campaign, id="20260107-000000-users", name="users")
    return [stored(Path("results"), made)]


def _matrix() -> list[Path]:
    pairs = list(permutations(("h1", "h2", "h3", "h4"), 2))
    groups: list[list[Trial]] = []
    for at, (sender, receiver) in enumerate(pairs):
        for test, bps in (("tcp", 80e9), ("udp-1500", 8e9)):
            case = Case(test, sender, receiver)
            rate = bps * (1 - 0.031 * at)
            groups.append([trial(1, case, rate * (1 + 0.004 * n), 3.2, repetition=n + 1) for n in range(3)])
    return [stored(Path("results"), result(renumbered(*groups), id="20260103-000000-matrix", name="matrix"))]


def _groups() -> list[Path]:
    """Three generators of which one is slow, and a pair alone."""
    slow = both(cpu("h1", 0, usr=0.05, sys=0.945), story(load_cores={"h1": 0.99, "h2": 0.6}))
    whole = group((3e9, 3e9, 1e9), generators={2: slow}).trial()
    together = [
        replace(whole, throughput_bps=sum(one.throughput_bps for one in instances), instances=instances)
        for n in range(3)
        for instances in [
            tuple(
                replace(one, throughput_bps=one.throughput_bps * (1 + 0.004 * n)) for one in whole.instances
            )
        ]
    ]
    alone = [trial(1, Case("tcp", "g1", "dut"), 4e9 * (1 + 0.003 * n), 1.2) for n in range(3)]
    hosts = {name: host(name) for name in ("g1", "g2", "g3", "dut")}
    made = result(renumbered(together, alone), id="20260106-000000-groups", name="groups", hosts=hosts)
    return [stored(Path("results"), made)]


def _levels() -> list[Path]:
    trials = level_trials(Case("tcp", "h1", "h2"), met={0.5: 0.93})
    return [stored(Path("results"), result(trials, id="20260104-000000-levels", name="levels"))]


def _vxlan() -> list[Path]:
    bare = powered(scaling_trials((1, 2, 4), 5))
    tunnel = [
        replace(
            one, throughput_bps=(one.throughput_bps or 0) * 0.71, offered_bps=(one.offered_bps or 0) * 0.71
        )
        for one in powered(scaling_trials((1, 2, 4), 5, network="vxlan"))
    ]
    trials = renumbered(bare, tunnel)
    return [stored(Path("results"), result(trials, id="20260105-000000-vxlan", name="vxlan"))]


def _ports() -> list[Path]:
    """Nothing that is known is full, and 16 instances over both ports of a NIC bring no more than 8."""
    found: list[list[Trial]] = []
    for count, bps in ((1, 24.3e9), (2, 45.1e9), (4, 80.2e9), (8, 110.4e9), (16, 110.8e9)):
        case = Case("tcp", "h1", "h2", instances=count, data_ports=2)
        found.append([_with_room(1 + at, case, bps * (1 + 0.0023 * at)) for at in range(3)])
    made = result(renumbered(*found), id="20260108-000000-ports", name="ports")
    return [stored(Path("results"), made)]


def _with_room(number: int, case: Case, bps: float) -> Trial:
    cpus = {"app_cpu": shares(0.5), "irq_cpu": shares(0.6, cpus=(1,), soft=0.6)}
    ends = {role: end(case.host(role), role, 3.0, 0, 0, **cpus) for role in ENDS}
    line_bps = LINE_BPS * len(case.ports_used)
    return trial(number, case, bps, 3.0, repetition=number, line_goodput_bps=line_bps, **ends)


def _soak() -> list[Path]:
    return [
        soak(6, duration_s=600, clients=("c1", "c2", "c3", "c4"), users=8, server_dies_at=200, drops_at=300)
    ]


def _comparison() -> list[Path]:
    cases = [replace(TCP, instances=count) for count in (1, 2, 4, 8)] + [replace(UDP, instances=2)]
    base = numbered(*(runs(case, seed=at) for at, case in enumerate(cases)))
    ratios = (0.95, 1.0, 0.998, 1.08, 0.9)
    other = numbered(
        *(runs(case, ratio, seed=9 + at) for at, (case, ratio) in enumerate(zip(cases, ratios, strict=True))),
        runs(replace(TCP, instances=16), seed=30),
    )
    newer = with_facts("h2", nic={"firmware": "22.41"}, kernel={"release": "6.12.1"})
    return [
        stored(Path("results"), made("before", base)),
        stored(Path("results"), made("after", other, day=2, hosts={"h1": host("h1"), "h2": newer})),
    ]


KINDS: dict[str, Callable[[], list[Path]]] = {
    "campaign": _campaign,
    "experiment": _experiment,
    "users": _users,
    "matrix": _matrix,
    "groups": _groups,
    "levels": _levels,
    "vxlan": _vxlan,
    "ports": _ports,
    "soak": _soak,
    "comparison": _comparison,
}
"""kind → lays its results out below ``results`` and names them"""


def command(kind: str, paths: list[Path]) -> tuple[str, ...]:
    """That prints the first screen of a kind."""
    return ("compare" if kind == "comparison" else "show", *(path.name for path in paths))
