# SPDX-License-Identifier: Apache-2.0
"""How the CPUs of a role spent the trials of a case: mean and spread of each share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.model import CpuShares

SHARES = ("usr", "sys", "irq", "soft", "idle", "other")


@dataclass(frozen=True, slots=True)
class ShareSpread:
    """Each share 0..1 per CPU with its mean and SD over trials; ``cpus`` had the role in any of them.

    ``unnumbered`` are further CPUs whose numbers nobody wrote down.
    """

    cpus: tuple[int, ...]
    unnumbered: int
    usr_ratio: Estimate
    sys_ratio: Estimate
    irq_ratio: Estimate
    soft_ratio: Estimate
    idle_ratio: Estimate
    other_ratio: Estimate

    def share(self, name: str) -> Estimate:
        """One of :data:`SHARES`."""
        value: Estimate = getattr(self, f"{name}_ratio")
        return value


def share_spread(shares: Sequence[CpuShares]) -> ShareSpread | None:
    """Mean and SD of each share over trials, each trial counting once; ``None`` when there is none.

    The shares of one trial are means over its CPUs, so the SD is between trials, never between CPUs.
    """
    spread = {f"{name}_ratio": estimate(getattr(one, f"{name}_ratio") for one in shares) for name in SHARES}
    known = {name: value for name, value in spread.items() if value is not None}
    if len(known) < len(SHARES):
        return None
    return ShareSpread(
        cpus=tuple(sorted({cpu for one in shares for cpu in one.cpus})),
        unnumbered=max(one.unnumbered for one in shares),
        **known,
    )


def mean_shares(shares: Sequence[CpuShares]) -> CpuShares | None:
    """Mean of the shares of several trials, each trial counting once; ``None`` when there is none.

    ``cpus`` are all CPUs that had the role in any of the trials.
    """
    if not shares:
        return None

    def mean(read: Callable[[CpuShares], float]) -> float:
        return sum(map(read, shares)) / len(shares)

    return CpuShares(
        cpus=tuple(sorted({cpu for item in shares for cpu in item.cpus})),
        unnumbered=max(item.unnumbered for item in shares),
        usr_ratio=mean(lambda item: item.usr_ratio),
        sys_ratio=mean(lambda item: item.sys_ratio),
        irq_ratio=mean(lambda item: item.irq_ratio),
        soft_ratio=mean(lambda item: item.soft_ratio),
        idle_ratio=mean(lambda item: item.idle_ratio),
        other_ratio=mean(lambda item: item.other_ratio),
        steal_ratio=mean(lambda item: item.steal_ratio),
    )
