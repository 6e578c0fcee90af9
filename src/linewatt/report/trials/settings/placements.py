# SPDX-License-Identifier: Apache-2.0
"""Where the load ran on each host: which CPUs had its processes and its interrupts, in which cases. Pure.

A placement is what was asked for. Where threads were seen in the trials is beside it, so that a thread that
ran elsewhere is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from linewatt.analysis.cases import with_flows
from linewatt.errors import InvalidInput
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.missing import Missing, NotRecorded, value_or_none
from linewatt.model import ENDS, Case, InstanceResult, Role, Trial
from linewatt.records import ChosenPlace, PlaceLine
from linewatt.report.series import plural
from linewatt.report.trials.digest import Digest
from linewatt.units import number_ranges

MOST_DRAWN = 4
"""figures of one host; other placements are listed"""
FACTOR = "placement"
"""the factor that says where processes and interrupts go"""


@dataclass(frozen=True, slots=True)
class Use:
    """A case on a host. ``policy`` is the placement that it asked for, ``None`` when not on record."""

    case: Case
    role: Role
    policy: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """One placement of a host: its CPUs, and the cases that had it, the one with the most instances first.

    ``pinned``: every process was put on CPUs; otherwise ``processes`` are where threads of the first case
    were seen. ``strays`` is CPU → the trials in
    which a process was seen on it that had been put elsewhere. ``largest``: one of its cases has the most
    instances of its role and policy.
    """

    host: str
    uses: tuple[Use, ...]
    pinned: bool
    processes: tuple[int, ...]
    interrupts: tuple[int, ...] | Missing
    strays: dict[int, tuple[int, ...]]
    largest: bool = False

    @property
    def first(self) -> Use:
        return self.uses[0]

    @property
    def at_once(self) -> int:
        """Processes of the first case."""
        case = self.first.case
        ways = case.flows or case.beside or (case.hosts,)
        return case.instances * sum(self.host in way for way in ways)

    @property
    def words(self) -> str:
        """``processes on CPUs 0-3, interrupts on CPUs 4-7``, or what is not known of them."""
        process_cpus = cpus_text(self.processes) if self.processes else None
        if self.pinned:
            process_words = f"processes on {process_cpus}"
        else:
            process_words = (
                f"processes where the system put them "
                f"({f'seen on {process_cpus}' if process_cpus else 'not seen where'})"
            )
        if isinstance(self.interrupts, Missing):
            return f"{process_words}, interrupts not shown ({self.interrupts})"
        return f"{process_words}, interrupts on {cpus_text(self.interrupts)}"

    @property
    def stray_words(self) -> str | None:
        """Where threads were seen that had been put elsewhere; ``None`` where none was."""
        if not self.strays:
            return None
        trials = sorted({trial for seen in self.strays.values() for trial in seen})
        noun = "trial" if len(trials) == 1 else "trials"
        return (
            f"a thread was seen on {cpus_text(self.strays)}, where its process had not been put, in {noun} "
            f"{number_ranges(trials)}"
        )


def cpus_text(cpus: Iterable[int]) -> str:
    """``CPU 3`` or ``CPUs 0-3,8``."""
    cpu_set = set(cpus)
    return f"CPU{'' if len(cpu_set) == 1 else 's'} {format_cpulist(cpu_set)}"


def placements(view: Digest, host: str) -> tuple[Placed, ...]:
    """Every placement that a host had, those to draw first, by falling instances."""
    of_cases = list(_of_cases(view, host))
    most_instances: dict[tuple[Role, str | None], int] = {}
    for placed in of_cases:
        group = placed.first.role, placed.first.policy
        most_instances[group] = max(most_instances.get(group, 0), placed.first.case.instances)
    same: dict[tuple[tuple[int, ...] | None, tuple[int, ...] | None], list[Placed]] = {}
    for placed in sorted(of_cases, key=lambda placed: -placed.first.case.instances):
        put = placed.processes if placed.pinned else None
        same.setdefault((put, value_or_none(placed.interrupts)), []).append(placed)
    merged = [_merged(alike, most_instances) for alike in same.values()]
    return tuple(sorted(merged, key=lambda placed: not placed.largest))


def split(placed: Sequence[Placed]) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
    """The placements of a host that are drawn, and those that are listed."""
    count = min(MOST_DRAWN, sum(placement.largest for placement in placed))
    return tuple(placed[:count]), tuple(placed[count:])


def _merged(alike: Sequence[Placed], most_instances: dict[tuple[Role, str | None], int]) -> Placed:
    """One placement that several cases had."""
    uses = tuple(placed.first for placed in alike)
    strays: dict[int, set[int]] = {}
    for placed in alike:
        for cpu, trials in placed.strays.items():
            strays.setdefault(cpu, set()).update(trials)
    return replace(
        alike[0],
        uses=uses,
        strays={cpu: tuple(sorted(strays[cpu])) for cpu in sorted(strays)},
        largest=any(use.case.instances == most_instances[use.role, use.policy] for use in uses),
    )


def _of_cases(view: Digest, host: str) -> Iterator[Placed]:
    """The placement of each case that the host had a part in, as its trials say it."""
    trials: dict[tuple[Case, Role], list[Trial]] = {}
    for trial in with_flows(view.result.trials):
        for role in ENDS:
            is_at_host = trial.case.host(role) == host and not trial.case.told_elsewhere(role)
            if trial.instances and is_at_host:
                trials.setdefault((trial.case, role), []).append(trial)
    for (case, role), case_trials in trials.items():
        policy = dict(case.factors).get(FACTOR, view.result.manifest.asked.placement)
        yield _placed(host, Use(case, role, policy), case_trials)


def _placed(host: str, use: Use, trials: Sequence[Trial]) -> Placed:
    put = [_cpus(_put(*process)) for process in _processes(trials[0], use)]
    seen: set[int] = set()
    strays: dict[int, set[int]] = {}
    for trial in trials:
        for process in _processes(trial, use):
            put_cpus, ran_on = _cpus(_put(*process)), _cpus(_ran_on(*process)) or ()
            seen.update(ran_on)
            for cpu in set(ran_on).difference(ran_on if put_cpus is None else put_cpus):
                strays.setdefault(cpu, set()).add(trial.number)
    pinned = None not in put
    cpus = {cpu for put_cpus in put for cpu in put_cpus or ()} if pinned else seen
    return Placed(
        host=host,
        uses=(use,),
        pinned=pinned,
        processes=tuple(sorted(cpus)),
        interrupts=_interrupts(trials, use.role),
        strays={cpu: tuple(sorted(numbers)) for cpu, numbers in strays.items()},
    )


def _processes(trial: Trial, use: Use) -> Iterator[tuple[InstanceResult, Role]]:
    """The load's processes at the host of a use."""
    host = use.case.host(use.role)
    for instance in trial.instances:
        yield from ((instance, role) for role in trial.case.roles_at(instance.instance, host))
    if trial.incoming is not None:  # of a ring, where the host receives, too
        yield from ((instance, "receiver") for instance in trial.incoming.instances)


def _put(instance_result: InstanceResult, role: Role) -> str | None:
    return instance_result.sender_cpu if role == "sender" else instance_result.receiver_cpu


def _ran_on(instance_result: InstanceResult, role: Role) -> str | None:
    return instance_result.sender_ran_on if role == "sender" else instance_result.receiver_ran_on


@cache  # few texts, on every instance of every trial
def _cpus(text: str | None) -> tuple[int, ...] | None:
    """A CPU list of a stored trial; ``None`` where there is none, or none that can be read."""
    try:
        return (parse_cpulist(text) or None) if text is not None else None
    except InvalidInput:
        return None


def _interrupts(trials: Sequence[Trial], role: Role) -> tuple[int, ...] | Missing:
    """The interrupt CPUs of the first trial that knows them."""
    ends = [end for trial in trials if (end := trial.end(role))]
    for end in ends:
        if end.irq_cpu is not None:
            return tuple(sorted(set(end.irq_cpu.cpus)))
    reasons = (end.reasons["irq_cpu"] for end in ends if "irq_cpu" in end.reasons)
    return next(map(Missing, reasons), NotRecorded())


def policy_words(placed: Placed) -> str | None:
    """The policies that chose a placement, in words; ``None`` when none is on record."""
    policies = dict.fromkeys(use.policy for use in placed.uses if use.policy is not None)
    words_of_policy = {
        "pinned": "pinned: the CPUs that the campaign names",
        "none": "none: the system decides",
    }
    return " and ".join(words_of_policy.get(policy, policy) for policy in policies) or None


def why(placed: Placed, lines: Iterable[PlaceLine]) -> PlaceLine | None:
    """The line that is about this placement: the same CPUs, and if possible the same number of processes."""
    fits = [line for line in lines if line.chosen is not None and _is_about(line.chosen, placed)]
    return max(fits, key=lambda line: _has_count(line, placed), default=None)


def _has_count(line: PlaceLine, placed: Placed) -> bool:
    return line.chosen is not None and line.chosen.processes == placed.at_once


def _is_about(chosen: ChosenPlace, placed: Placed) -> bool:
    if not chosen.process_cpus:
        return not placed.pinned and chosen.processes == placed.at_once
    if not placed.pinned or chosen.process_cpus != list(placed.processes):
        return False
    if not chosen.irq_cpus or isinstance(placed.interrupts, Missing):
        return True
    return chosen.irq_cpus == list(placed.interrupts)


def cases_text(view: Digest, placed: Placed) -> str:
    """The case that stands for a placement, and how many others had the same."""
    more = len(placed.uses) - 1
    also = f", and in {more} more {'case' if more == 1 else 'cases'}" if more else ""
    return f"{placed.first.role} of {view.describe(placed.first.case)}{also}"


def listed(view: Digest, placed: Placed) -> str:
    """A placement that is not drawn, as one line."""
    roles = [role for role in ENDS if any(use.role == role for use in placed.uses)]
    uses = "; ".join(
        f"{role} of {view.describe(*(use.case for use in placed.uses if use.role == role))}" for role in roles
    )
    return f"{uses}: {placed.words}"


def ran_lines(view: Digest) -> list[str]:
    """Where the load ran, a line for each host: its placement with the most instances."""
    lines = []
    for host in view.hosts:
        host_placements = placements(view, host)
        if not host_placements:
            continue
        largest = host_placements[0]
        parts = [f"{largest.host}, {cases_text(view, largest)}: {largest.words}"]
        parts += [
            f"! {stray_words}" for placement in host_placements if (stray_words := placement.stray_words)
        ]
        if len(host_placements) > 1:
            parts.append(f"{plural(len(host_placements) - 1, 'other placement')} in the report")
        lines.append("; ".join(parts))
    return lines
