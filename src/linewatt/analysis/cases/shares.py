# SPDX-License-Identifier: Apache-2.0
"""How the CPUs of a role spent the trials of a case: mean and spread of each share. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.model import CpuShares

CPU_SHARES = ("usr", "sys", "irq", "soft", "idle", "other")
_FIELDS = [f"{name}_ratio" for name in (*CPU_SHARES, "steal", "guest")]
_ratios = attrgetter(*_FIELDS)


@dataclass(frozen=True, slots=True)
class ShareSpread:
    """Each share 0..1 per CPU with its mean and SD over trials; ``cpus`` had the role in any of them.

    ``unnumbered`` are further CPUs whose numbers nobody wrote down.
    """

    cpus: tuple[int, ...]
    unnumbered: int
    of_name: Mapping[str, Estimate]
    """each of :data:`CPU_SHARES`"""

    def share(self, name: str) -> Estimate:
        """One of :data:`CPU_SHARES`."""
        return self.of_name[name]


def share_spread(shares: Sequence[CpuShares]) -> ShareSpread | None:
    """Mean and SD of each share over trials, each trial counting once; ``None`` when there is none.

    The shares of one trial are means over its CPUs, so the SD is between trials, never between CPUs.
    """
    spread = {name: estimate(getattr(share, f"{name}_ratio") for share in shares) for name in CPU_SHARES}
    estimates = {name: value for name, value in spread.items() if value is not None}
    return ShareSpread(*_cpus(shares), estimates) if len(estimates) == len(CPU_SHARES) else None


def mean_shares(shares: Sequence[CpuShares]) -> CpuShares | None:
    """Mean of the shares of several trials, each trial counting once; ``None`` when there is none."""
    if not shares:
        return None
    cpus, unnumbered = _cpus(shares)
    columns = zip(*map(_ratios, shares), strict=True)
    means = {field: sum(ratios) / len(shares) for field, ratios in zip(_FIELDS, columns, strict=True)}
    return CpuShares(cpus, unnumbered=unnumbered, **means)


def _cpus(shares: Sequence[CpuShares]) -> tuple[tuple[int, ...], int]:
    """All CPUs that had the role in any of the trials, and how many without a number."""
    return tuple(sorted({cpu for share in shares for cpu in share.cpus})), max(
        share.unnumbered for share in shares
    )
