# SPDX-License-Identifier: Apache-2.0
"""What limits a case, in words with the evidence; or what it is not. Pure.

A rate cannot exceed what its narrowest part lets through, so the part that is full is named: the line, or the
CPUs of a role at one end. Shares are means over the CPUs of a role; several CPUs of which only one is full
look like room, so "not found" is no proof that there is any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.shares import SHARES
from linewatt.analysis.summary import CaseSummary
from linewatt.model import CpuShares

Kind = Literal[
    "paced",
    "line-rate",
    "receiver-app-cpu",
    "receiver-irq-cpu",
    "sender-app-cpu",
    "sender-irq-cpu",
    "not-found",
    "unknown",
]

FULL_CPU_RATIO = 0.98
"""A role busy to this is full, as in the flag ``sender-is-the-bottleneck``."""
LINE_RATE_RATIO = 0.97
"""Goodput of this part of what the link can carry is all of it."""
LOSS_RATIO = 0.01
"""From this on what the sender sends is more than the receiver takes."""

ROLES: dict[str, str] = {
    "receiver_irq": "the receiver's IRQ CPU",
    "receiver_app": "the receiver's app CPU",
    "sender_app": "the sender's app CPU",
    "sender_irq": "the sender's IRQ CPU",
}
_KINDS: dict[str, Kind] = {
    "receiver_irq": "receiver-irq-cpu",
    "receiver_app": "receiver-app-cpu",
    "sender_app": "sender-app-cpu",
    "sender_irq": "sender-irq-cpu",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits a case: ``what`` in few words, ``evidence`` with the figures, both parts of a sentence.

    ``kinds`` are stable words, the first limit first.
    """

    kinds: tuple[Kind, ...]
    what: str
    evidence: str

    @property
    def kind(self) -> Kind:
        return self.kinds[0]

    @property
    def words(self) -> str:
        """The whole as one line of text."""
        return f"{self.what} ({self.evidence})" if self.evidence else self.what


def limit(summary: CaseSummary, line_rate_ratio: float | None = None) -> Limit:
    """What limits the case; ``line_rate_ratio`` is its goodput as part of what the link can carry.

    With UDP the sender sends whether or not anything arrives, so a full app CPU of the sender limits what is
    sent, and a full CPU of the receiver what is left of it. With TCP any full CPU slows down both.
    """
    if summary.throughput_bps is None and summary.offered_bps is None:
        return Limit(("unknown",), "not known", "no trial has a throughput")
    if summary.case.paced:
        return Limit(("paced",), "the rate that was asked for", "the load is held to it")
    if line_rate_ratio is not None and line_rate_ratio >= LINE_RATE_RATIO:
        evidence = f"{_percent(line_rate_ratio)} of the goodput that the link can carry"
        return Limit(("line-rate",), "the line rate", evidence)
    full = _full_roles(summary)
    if not full:
        return _not_found(summary, line_rate_ratio)
    names = _named(summary, full)
    return Limit(
        tuple(_KINDS[name] for name in names),
        _what(names),
        "; ".join(_evidence(name, full[name], several=len(names) > 1) for name in names)
        + _loss(summary, names),
    )


def _roles(summary: CaseSummary) -> dict[str, CpuShares]:
    found = {name: getattr(summary, name) for name in ROLES}
    return {name: shares for name, shares in found.items() if shares is not None}


def _full_roles(summary: CaseSummary) -> dict[str, CpuShares]:
    return {
        name: shares for name, shares in _roles(summary).items() if _busy(shares) >= FULL_CPU_RATIO - 1e-9
    }


def _named(summary: CaseSummary, full: dict[str, CpuShares]) -> list[str]:
    """The full roles that limit, the narrowest first."""
    names = sorted(full, key=lambda name: -_busy(full[name]))
    if summary.case.test == "tcp":
        return names
    sending = [name for name in names if name.startswith("sender")]
    receiving = [name for name in names if name.startswith("receiver")]
    lossless = summary.throughput_bps is not None and _lost(summary) < LOSS_RATIO
    return sending if sending and lossless else sending + receiving


def _what(names: Sequence[str]) -> str:
    """``the receiver's IRQ CPU and the sender's app CPU``; both of one end in one."""
    if len(names) == len(ROLES):
        return "all CPUs of both ends"
    ends = dict.fromkeys(name.partition("_")[0] for name in names)
    said = []
    for end in ends:
        own = [name for name in names if name.startswith(end)]
        said.append(f"the {end}'s app and IRQ CPUs" if len(own) > 1 else ROLES[own[0]])
    return " and ".join(said)


def _lost(summary: CaseSummary) -> float:
    """Part of what was sent that did not arrive: counted, else from both rates, 1 where nobody knows."""
    if summary.lost_ratio is not None:
        return summary.lost_ratio.mean
    if summary.throughput_bps is None or summary.offered_bps is None or summary.offered_bps.mean <= 0:
        return 1.0
    return 1 - summary.throughput_bps.mean / summary.offered_bps.mean


def _loss(summary: CaseSummary, full: Sequence[str]) -> str:
    """How much of a UDP load did not arrive, and whether a full CPU of the receiver explains it."""
    if summary.case.test == "tcp" or summary.throughput_bps is None or summary.offered_bps is None:
        return ""
    lost = _lost(summary)
    if lost < LOSS_RATIO:
        return ""
    receivers = [name for name in _roles(summary) if name.startswith("receiver")]
    unexplained = len(receivers) == 2 and not set(receivers) & set(full)
    why = ", though no CPU of the receiver is full" if unexplained else ""
    return f"; {_percent(lost)} of what was sent did not arrive{why}"


def _not_found(summary: CaseSummary, line_rate_ratio: float | None) -> Limit:
    known = _roles(summary)
    parts = []
    if line_rate_ratio is None:
        parts.append("line rate not known")
    else:
        parts.append(f"{_percent(line_rate_ratio)} of what the link can carry")
    if known:
        busiest = max(known, key=lambda name: _busy(known[name]))
        parts.append(f"no full CPU, the busiest is {ROLES[busiest]} with {_percent(_busy(known[busiest]))}")
    unknown = [ROLES[name] for name in ROLES if name not in known]
    if unknown:
        parts.append(f"not known: {', '.join(unknown) if known else 'the CPUs of both ends'}")
    cores = bool(known) and not unknown
    if line_rate_ratio is None:
        what = "not found: no full core" if cores else "not found"
    else:
        what = "not found: neither line rate nor a full core" if cores else "not found: not the line rate"
    return Limit(("not-found",), what, "; ".join(parts))


def _evidence(name: str, shares: CpuShares, *, several: bool) -> str:
    """``99.9 % busy, 99.9 % soft``: how full, and with what."""
    kinds = {kind: getattr(shares, f"{kind}_ratio") for kind in SHARES if kind != "idle"}
    most = max(kinds, key=lambda kind: kinds[kind])
    which = f"{ROLES[name].removeprefix('the ')} " if several else ""
    return f"{which}{_percent(_busy(shares))} busy, {_percent(kinds[most])} {most}"


def _busy(shares: CpuShares) -> float:
    return 1 - shares.idle_ratio


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"
