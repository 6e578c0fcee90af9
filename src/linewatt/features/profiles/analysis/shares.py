# SPDX-License-Identifier: Apache-2.0
"""Shares of busy samples: of functions and kinds of work, on the CPUs of one place of a host.

A share is of the samples in which the CPU was not idle, so that those of a CPU that is half idle compare with
those of a full one. How far it can be trusted follows from how it varies over slices of the window (circular
block bootstrap: neighbouring slices are alike).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linewatt.analysis.statistics import critical_t
from linewatt.features.profiles.analysis.groups import GROUPS, IDLE, UNRESOLVED, group_of
from linewatt.features.profiles.perf.model import PLACES, UNKNOWN, Function, HostProfile, Place

Floats = NDArray[np.float64]
FEWEST_SAMPLES = 200
"""busy ones, below which nothing is ranked: a share of 10 % would be known to ± 4 points"""
DRAWS = 1000
SEED = 20_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class PlaceProfile:
    """The busy samples of a host's app or IRQ CPUs.

    ``own`` has a row a slice and a column a function, the innermost of each sample; ``work`` the same by kind
    of work; ``total`` how many samples have a function anywhere in their stack.
    """

    host: HostProfile
    place: Place
    functions: tuple[Function, ...]
    own: Floats
    total: Floats
    work: Floats
    idle: int

    @property
    def busy(self) -> int:
        return int(self.own.sum())

    @property
    def unresolved(self) -> int:
        return int(self.work[:, GROUPS.index(UNRESOLVED)].sum())

    @property
    def why_not_ranked(self) -> str | None:
        """Why nothing can be told of its shares."""
        if self.busy >= FEWEST_SAMPLES:
            return None
        return f"{self.busy} samples in which it was not idle; {FEWEST_SAMPLES} are the least to tell shares"


@dataclass(frozen=True, slots=True)
class Share:
    """A part (0..1) of the busy samples, with the standard error of it; ``total`` with whatever it called."""

    function: Function
    group: str
    ratio: float
    error: float
    total_ratio: float


def place_profiles(host: HostProfile) -> Iterator[PlaceProfile]:
    """One for each place that has CPUs, in the order of :data:`PLACES`."""
    for place in PLACES:
        if host.cpus.get(place) and host.reason is None:
            yield place_profile(host, place)


def place_profile(host: HostProfile, place: Place) -> PlaceProfile:
    """What a host's profile has of the CPUs of a place."""
    stacks = [host.called(stack) for stack in host.stacks]
    index = {
        function: at
        for at, function in enumerate(dict.fromkeys(function for stack in stacks for function in stack))
    }
    kinds = [group_of(stack) for stack in stacks]
    cpus = set(host.cpus.get(place, ()))
    unknown = index.setdefault(Function(UNKNOWN, UNKNOWN), len(index))
    self_samples = np.zeros((max(1, host.slices), len(index)))
    work = np.zeros((max(1, host.slices), len(GROUPS)))
    total = np.zeros(len(index))
    idle = 0
    for count in host.counts:
        if count.cpu not in cpus:
            continue
        stack, kind = stacks[count.stack], kinds[count.stack]
        if kind == IDLE:
            idle += count.samples
            continue
        self_samples[count.slice, index[stack[-1]] if stack else unknown] += count.samples
        work[count.slice, GROUPS.index(kind)] += count.samples
        total[[index[function] for function in set(stack)]] += count.samples
    return PlaceProfile(host, place, tuple(index), self_samples, total, work, idle)


def hottest(profile: PlaceProfile, max_functions: int) -> list[Share]:
    """The functions in which most busy samples were taken, those first; none where they are too few.

    What is no one function, because it has no name, stands behind them.
    """
    if profile.why_not_ranked is not None:
        return []
    counts = profile.own.sum(axis=0)
    seen = [int(at) for at in np.argsort(-counts, kind="stable") if counts[at] > 0]
    named_indices = [at for at in seen if profile.functions[at].is_known]
    chosen = [*named_indices[:max_functions], *(at for at in seen if not profile.functions[at].is_known)]
    errors = share_errors(profile.own[:, chosen], profile.own.sum(axis=1))
    kinds = kinds_of(profile)
    return [
        Share(
            profile.functions[at],
            kinds.get(profile.functions[at], ""),
            counts[at] / profile.busy,
            float(error),
            profile.total[at] / profile.busy,
        )
        for at, error in zip(chosen, errors, strict=True)
    ]


def kinds_of(profile: PlaceProfile) -> dict[Function, str]:
    """The kind of work that a function does most of its time here."""
    host, cpus = profile.host, set(profile.host.cpus[profile.place])
    seen: dict[Function, dict[str, int]] = {}
    for count in host.counts:
        stack = host.called(host.stacks[count.stack])
        if count.cpu in cpus and stack:
            kinds = seen.setdefault(stack[-1], {})
            kind = group_of(stack)
            kinds[kind] = kinds.get(kind, 0) + count.samples
    return {function: max(kinds, key=lambda kind: kinds[kind]) for function, kinds in seen.items()}


def work_shares(profile: PlaceProfile) -> list[tuple[str, float, float]]:
    """Each kind of work that was seen, its share and the standard error of it, the largest first."""
    if profile.why_not_ranked is not None:
        return []
    counts = profile.work.sum(axis=0)
    errors = share_errors(profile.work, profile.work.sum(axis=1))
    shares = [
        (name, float(counts[at] / profile.busy), float(errors[at]))
        for at, name in enumerate(GROUPS)
        if counts[at] > 0
    ]
    return sorted(shares, key=lambda share: -share[1])


def share_errors(parts: Floats, busy_samples: Floats) -> Floats:
    """Standard errors of the shares that columns of ``parts`` have of ``busy_samples``, over their rows
    (slices)."""
    weights = _weights(len(busy_samples))
    wholes = weights @ busy_samples
    drawn = (weights @ parts)[wholes > 0] / wholes[wholes > 0][:, None]
    errors: Floats = drawn.std(axis=0, ddof=1) if len(drawn) > 1 else np.full(parts.shape[1], np.inf)
    return errors


def blocks_of(slices: int) -> tuple[int, int]:
    """How many slices a block has, and how many blocks there are."""
    length = max(1, round(slices ** (1 / 3)))
    return length, max(2, slices // length)


def _weights(slices: int) -> Floats:
    """How often each slice is in each draw of whole blocks, which go round the end of the window."""
    length, blocks = blocks_of(slices)
    starts = np.random.default_rng(SEED).integers(0, slices, size=(DRAWS, blocks))
    chosen = (starts[:, :, None] + np.arange(length)).reshape(DRAWS, -1) % slices
    weights = np.zeros((DRAWS, slices))
    np.add.at(weights, (np.arange(DRAWS)[:, None], chosen), 1.0)
    return weights


def quantile(blocks: int, comparisons: int = 1) -> float:
    """By how many standard errors an interval reaches, so that all of so many hold together (Bonferroni)."""
    return critical_t((1 - LEVEL) / max(1, comparisons), max(1, blocks - 1))


def half_width(profile: PlaceProfile, error: float) -> float:
    """Of the 95 % CI of one share."""
    _, blocks = blocks_of(len(profile.own))
    return quantile(blocks) * error
