# SPDX-License-Identifier: Apache-2.0
"""How the CPUs of the load and those of its interrupts spent a trial at each of its ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from linewatt.analysis.metrics.metric import Value, note_missing
from linewatt.missing import Missing, NotRecorded
from linewatt.model import CpuShares, EndResult, Role, Trial


def missing_at(end: EndResult, name: str, what: str) -> Missing:
    """Why an end has no value ``name``, which is called ``what``."""
    if name in end.reasons:
        return Missing(end.reasons[name], end.host)
    return NotRecorded(f"{what} not recorded", end.host)


def app_and_irq_cores(end: EndResult) -> Value:
    """What the application CPUs and the IRQ CPUs of one end used together, in cores.

    A CPU that is in both roles counts once; when the two sets overlap only in part the shares, which are
    means over a set, cannot be told apart.
    """
    if end.app_cpu is None:
        return missing_at(end, "app_cpu", "app CPU shares")
    if end.irq_cpu is None:
        return missing_at(end, "irq_cpu", "irq CPU shares")
    app, irq = set(end.app_cpu.cpus), set(end.irq_cpu.cpus)
    if end.app_cpu.unnumbered or end.irq_cpu.unnumbered:  # a table that tells them apart says so
        return busy_cores(end.app_cpu) + busy_cores(end.irq_cpu)
    if app >= irq:
        return busy_cores(end.app_cpu)
    if app < irq:
        return busy_cores(end.irq_cpu)
    if app & irq:
        shared_cpus = ", ".join(map(str, sorted(app & irq)))
        return Missing(f"CPUs {shared_cpus} have both roles, so app and IRQ use cannot be added", end.host)
    return busy_cores(end.app_cpu) + busy_cores(end.irq_cpu)


def busy_cores(shares: CpuShares) -> float:
    """What the CPUs of a role used."""
    return (len(set(shares.cpus)) + shares.unnumbered) * shares.busy_ratio


PARTS: tuple[Literal["app"], Literal["irq"]] = ("app", "irq")
"""roles of CPUs at an end: those of the load, those of its interrupts"""


def why_no_end(trial: Trial, role: Role) -> Missing:
    """Why a trial has nothing of a role."""
    case = trial.case
    if not case.told_elsewhere(role):
        return NotRecorded(f"the {role} was not recorded")
    if case.is_ring:
        return Missing("several hosts: the CPU use of each is shown at the pair in which it sends")
    if case.flow_of is None:
        return Missing(f"several hosts: the CPU use of each {role} is shown at its pair")
    if case.shape == "ring":
        return Missing(
            f"{case.host(role)} also sends: its CPU use for both is shown at the pair in which it sends"
        )
    return Missing(
        f"{case.host(role)} is in {case.flow_of} pairs at once: its CPU use covers all of them together"
    )


def role_shares(trial: Trial, role: Role, part: Literal["app", "irq"]) -> CpuShares | Missing:
    """How the CPUs of a role spent a trial."""
    end = trial.end(role)
    if end is None:
        return why_no_end(trial, role)
    shares = end.app_cpu if part == "app" else end.irq_cpu
    return shares or missing_at(end, f"{part}_cpu", f"{part} CPU shares")


def shares_of(
    trials: Sequence[Trial], role: Role, part: Literal["app", "irq"], name: str, reasons: dict[str, str]
) -> list[CpuShares]:
    """How the CPUs of a role spent each trial that knows; why others do not goes under ``name``."""
    shares = [role_shares(trial, role, part) for trial in trials]
    note_missing(name, shares, reasons)
    return [trial_shares for trial_shares in shares if isinstance(trial_shares, CpuShares)]
