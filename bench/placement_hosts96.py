# SPDX-License-Identifier: Apache-2.0
"""96 hosts placed and set: five settings on each made, read back during a trial, and put back.

Receive packet steering, MTU, GRO and two kernel parameters are about what a placement changes on a host
without hardware interrupts. The product's own code makes them, journal and reading back included; beside it
stands the same by hand (:mod:`bench.settings_byhand`). A host that is not as it was found afterwards fails
the measurement.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import settings_byhand
from bench.cost import Cost, cost
from bench.effort import Effort
from bench.rig import lab_of, rig
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live.readback import ReadBack, read_back
from linewatt.engine.live.secrets import read_passwords
from linewatt.engine.live.session import Session
from linewatt.engine.undo.restore import undo_all
from linewatt.engine.undo.settings import Settings
from linewatt.hosts.facts.cpulist import cpu_mask, parse_cpulist
from linewatt.hosts.journal.journal import Journal
from linewatt.tuning import apply
from linewatt.tuning.base import Change
from linewatt.tuning.registry import TUNING_KNOBS

ABOUT_S = 300
HOSTS = 96
ASKED: dict[str, Any] = {
    "mtu": 1400,
    "gro": "on",
    "sysctl": {"net.ipv4.tcp_rmem": "4096 131072 15728640", "net.ipv4.tcp_wmem": "4096 65536 15728640"},
}
"""what every host is to show beside its receive packet steering"""
_PIDS = (1,)
"""a process that every host shows: all namespaces of a lab have the machine's"""

Key = tuple[str, str, str]
"""host, knob, target"""


@dataclass
class Steps:
    """What each step took, in the order of the repetitions."""

    check: list[Cost] = field(default_factory=list)
    make: list[Cost] = field(default_factory=list)
    read: list[Cost] = field(default_factory=list)
    put_back: list[Cost] = field(default_factory=list)
    undo: list[Cost] = field(default_factory=list)


def measure(effort: Effort) -> list[Row]:
    """On one lab, in one run."""
    repetitions, hosts = effort.of((5, HOSTS), (2, HOSTS), (1, 4))
    pairs = [f"h{number} -> h{number + 1}" for number in range(1, hosts, 2)]
    with rig() as own, lab_of(hosts, "1gbit") as lab:
        file = own.campaign(lab.inventory, pairs=pairs, concurrent_pairs=True, settings=ASKED)
        return asyncio.run(_measured(file, own.directory, repetitions))


async def _measured(file: Path, directory: Path, repetitions: int) -> list[Row]:
    """All of linewatt, then all by hand: 96 commands at once leave no CPU for heartbeats on one machine."""
    campaign = load_campaign(file)
    changes = plan_campaign(campaign, 0).changes
    steps, by_hand = Steps(), settings_byhand.Walls()
    async with _opened(campaign) as session:
        await _as_found_elsewhere(session, changes)
        found = await shown(session, changes)
        for number in range(repetitions):
            await _by_linewatt(session, changes, directory / f"{number}.jsonl", steps)
            same(found, await shown(session, changes), "linewatt")
    with settings_byhand.connected(campaign.hosts.values(), directory, _values(changes)) as hand:
        for _ in range(repetitions):
            hand.once(by_hand)
    async with _opened(campaign) as session:
        same(found, await shown(session, changes), "the loop by hand")
    return _rows(steps, by_hand, len(changes), len(campaign.hosts))


@asynccontextmanager
async def _opened(campaign: Campaign) -> AsyncIterator[Session]:
    session = Session(campaign, read_passwords(campaign))
    try:
        await session.open()
        yield session
    finally:
        await session.close()


def _values(changes: Sequence[Change]) -> dict[str, list[str]]:
    """What is written by hand on each host, in the order of the script."""
    masks = {one.host: cpu_mask(parse_cpulist(one.value)) for one in changes if one.knob == "rps_cpus"}
    others = [str(ASKED["mtu"]), str(ASKED["gro"]), *ASKED["sysctl"].values()]
    return {host: [mask, *others] for host, mask in masks.items()}


async def _as_found_elsewhere(session: Session, changes: Sequence[Change]) -> None:
    """A lab's hosts are steered from the start, and their GRO depends on the kernel: both are taken away."""
    for one in changes:
        if one.knob in ("rps_cpus", "offload"):
            host, knob = session.hosts[one.host], TUNING_KNOBS[one.knob]
            before = await apply.read(host, knob, one.target)
            command = knob.write(one.target, knob.wanted(before, "off"))
            await host.run(command.argv, stdin=command.stdin, root=True)


async def shown(session: Session, changes: Sequence[Change]) -> dict[Key, str]:
    """What every host shows of what is changed, each setting read on its own."""
    texts = await asyncio.gather(
        *(apply.read(session.hosts[one.host], TUNING_KNOBS[one.knob], one.target) for one in changes)
    )
    return {(one.host, one.knob, one.target): text for one, text in zip(changes, texts, strict=True)}


def same(before: Mapping[Key, str], after: Mapping[Key, str], who: str) -> None:
    """Raises MeasurementFailed where a host is not exactly as it was."""
    for (host, knob, target), text in before.items():
        now = after.get((host, knob, target))
        if now != text:
            raise MeasurementFailed(
                f"{host}: {knob} {target} shows {now!r} after {who} put it back; it was {text!r}"
            )


async def _by_linewatt(session: Session, changes: Sequence[Change], path: Path, steps: Steps) -> None:
    """Made and put back twice: as between two rounds, and as at the end of a campaign."""
    journal = Journal(path, create=True)
    journal.begin(session.specs.values())
    settings = Settings(session.hosts, TUNING_KNOBS, journal)
    try:
        with _timed(steps.check):
            await settings.check(changes)
        with _timed(steps.make):
            await settings.to(changes, session.hosts)
        _all_made(journal, changes)
        with _timed(steps.read):
            answers = await asyncio.gather(
                *(
                    read_back(host, _PIDS, settings.of(name), TUNING_KNOBS)
                    for name, host in session.hosts.items()
                )
            )
        _all_read(answers, len(changes))
        with _timed(steps.put_back):
            await settings.to((), session.hosts)
        with _timed(steps.make):
            await settings.to(changes, session.hosts)
        _all_made(journal, changes)
    finally:
        with _timed(steps.undo):
            undone, problems = await undo_all(journal, session.hosts)
        journal.discard()
    if problems or undone != len(changes):
        raise MeasurementFailed(f"{undone} of {len(changes)} settings put back: {' | '.join(problems)}")


def _all_made(journal: Journal, changes: Sequence[Change]) -> None:
    """Raises MeasurementFailed unless every change was one, and is in force."""
    made = sum(entry.after == entry.wanted != entry.before for entry in journal.read()[1])
    if made != len(changes):
        raise MeasurementFailed(f"{made} of {len(changes)} settings were changed")


def _all_read(answers: Sequence[ReadBack], settings: int) -> None:
    """Raises MeasurementFailed unless every host showed its process, and every setting as it was made."""
    for one in answers:
        if one.problem is not None or not one.threads:
            raise MeasurementFailed(f"reading back: {one.problem or 'no thread was shown'}")
    right = sum(each.found == each.wanted for one in answers for each in one.settings)
    if right != settings:
        raise MeasurementFailed(f"reading back: {right} of {settings} settings are as they were made")


def _rows(steps: Steps, by_hand: settings_byhand.Walls, settings: int, hosts: int) -> list[Row]:
    second = Target(at_most=1.0)
    return [
        *_step_rows(f"looking at {settings} settings of {hosts} hosts", steps.check, None),
        *_step_rows("making them", steps.make, second, by_hand.make),
        *_step_rows("reading them back during a trial", steps.read, second),
        *_step_rows("putting them back, between rounds", steps.put_back, second, by_hand.undo),
        *_step_rows("putting them back, at the end", steps.undo, second, by_hand.undo),
        Row("making them by hand, an ssh for each", "s", tuple(by_hand.make_one_by_one)),
        Row("putting them back by hand, an ssh for each", "s", tuple(by_hand.undo_one_by_one)),
    ]


def _step_rows(
    what: str, taken: Sequence[Cost], target: Target | None, peer: Sequence[float] = ()
) -> list[Row]:
    other = Peer("a script a host, all at once", tuple(peer)) if peer else None
    return [
        Row(what, "s", tuple(one.wall_s for one in taken), target, other),
        Row(f"– CPU of the controller, {what}", "s", tuple(one.cpu_s for one in taken)),
    ]


@contextmanager
def _timed(into: list[Cost]) -> Iterator[None]:
    with cost() as found:
        yield
    into.append(found)
