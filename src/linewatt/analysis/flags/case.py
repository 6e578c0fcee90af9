# SPDX-License-Identifier: Apache-2.0
"""What makes a case doubtful that no single trial of it shows: two modes, drift over the campaign. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from linewatt.analysis.flags.power import power_flags
from linewatt.analysis.statistics.modes import Modes, modes
from linewatt.analysis.statistics.stats import Estimate
from linewatt.analysis.statistics.steadiness import drift, unlike
from linewatt.model import Case, EndResult, Flag, Trial
from linewatt.units import format_rate, format_seconds


def case_modes(trials: Sequence[Trial]) -> Modes | None:
    """The two modes of the throughput of a case's done trials; ``None`` where there is one."""
    return modes([trial.throughput_bps for trial in trials if trial.throughput_bps is not None])


def case_flags(case: Case, trials: Sequence[Trial], found: Modes | None) -> Iterator[Flag]:
    """Flags of a case as a whole, from its done ``trials`` and the modes they have."""
    where = f"{case.sender} → {case.receiver}"
    if found is not None:
        yield Flag(
            "two-modes",
            where,
            f"throughput has two modes, by {found.by}: {_mode(found.high)}, and {_mode(found.low)} "
            f"({100 * found.apart_ratio:.0f} % less); the mean is of neither",
            "some trials' streams may share a receive queue (RSS hashes addresses and ports): give each a "
            "queue with steer: true, spread them over more streams (streams: 8), or pin processes and "
            "interrupts (placement); look at each mode apart",
        )
    yield from _first(where, trials)
    timed = [(one.started_s, one.throughput_bps) for one in trials if one.throughput_bps is not None]
    times_s, values = [time_s for time_s, _ in timed], [value for _, value in timed]
    trend = drift(times_s, values)
    if trend is not None:
        went = "rises" if trend.last > trend.first else "falls"
        change = f"{100 * (trend.last / trend.first - 1):+.1f} %".replace("-", "−")
        yield Flag(
            "drifts-over-trials",
            where,
            f"throughput {went} over its {len(values)} runs from {format_rate(trend.first)} to "
            f"{format_rate(trend.last)} ({change}) in {format_seconds(max(times_s) - min(times_s))}",
            "look at temperature, frequency and what else ran; let hosts warm up, and compare interleaved "
            "cases only (order: interleaved)",
        )
    yield from _congestion(where, trials)
    yield from power_flags(trials)


def _congestion(where: str, trials: Sequence[Trial]) -> Iterator[Flag]:
    """Trials of one case whose senders did not use the same congestion control."""
    used: dict[str, list[int]] = {}
    for trial in trials:
        for name in sorted({one.congestion for one in trial.instances if one.congestion is not None}):
            used.setdefault(name, []).append(trial.number)
    if len(used) > 1:
        said = ", ".join(f"{name} in {len(own)} of them" for name, own in used.items())
        yield Flag(
            "congestion-differs",
            where,
            f"{len(trials)} runs: {said}",
            "set it (settings: sysctl: net.ipv4.tcp_congestion_control) and measure again",
        )


def _first(where: str, trials: Sequence[Trial]) -> Iterator[Flag]:
    """A first run that is unlike the others in throughput or in CPU use."""
    ordered = sorted(trials, key=lambda one: one.started_s)
    said = []
    for name, read, words in _FIGURES:
        values = [value for one in ordered if (value := read(one)) is not None]
        if len(values) == len(ordered) > 1 and unlike(values[0], values[1:]):
            mean = fmean(values[1:])
            change = f"{100 * (values[0] / mean - 1):+.1f} %".replace("-", "−")
            said.append(
                f"{name} {words(values[0])} where the {len(values) - 1} others have {words(mean)} ({change})"
            )
    if said:
        yield Flag(
            "first-trial-differs",
            where,
            f"the first run (trial {ordered[0].number}) has {'; '.join(said)}",
            "compare its raw readings with the next; let hosts warm up (longer window.omit, a first case to "
            "throw away)",
        )


def _cores(end: EndResult | None) -> float | None:
    return None if end is None else end.cpu_cores


_FIGURES: tuple[tuple[str, Callable[[Trial], float | None], Callable[[float], str]], ...] = (
    ("throughput", lambda one: one.throughput_bps, format_rate),
    ("sender's CPU use", lambda one: _cores(one.sender), lambda cores: f"{cores:.2f} cores"),
    ("receiver's CPU use", lambda one: _cores(one.receiver), lambda cores: f"{cores:.2f} cores"),
)


def _mode(mode: Estimate) -> str:
    spread = "" if mode.sd is None else f" ± {format_rate(mode.sd)}"
    return f"{mode.n} runs at {format_rate(mode.mean)}{spread}"
