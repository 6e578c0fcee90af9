# SPDX-License-Identifier: Apache-2.0
"""What makes a case doubtful that no single trial of it shows: two modes, drift over the campaign. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Protocol

from linewatt.analysis.flags.case_flag import case_flag
from linewatt.analysis.flags.group import said_of, test_bed_of_pair
from linewatt.analysis.flags.retransmits import retransmit_flags
from linewatt.analysis.limits import limit_text
from linewatt.analysis.limits.paths import asked_bps
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.power.machine_conditions import beside_of, evidence
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.power.totals import SCOPE_WORDS, Total, power_of_system
from linewatt.analysis.statistics.few_runs import Unresolved, unresolved
from linewatt.analysis.statistics.modes import FEWEST_RUNS, Modes, modes
from linewatt.analysis.statistics.stats import Estimate
from linewatt.analysis.statistics.steadiness import drift, unlike
from linewatt.findings import (
    EXCEEDED_RATE_RATIO,
    FEWEST_RUNS_OF_CASE,
    FULL_RATIO,
    IMPOSSIBLE_LINE_RATIO,
    MIN_OUTLIER,
    MIN_OUTLIER_W,
    REACHED_RATE_RATIO,
    SAME_CORES,
)
from linewatt.model import Case, EndResult, Flag, Trial
from linewatt.units import format_change, format_percent, format_rate, format_rates, format_seconds


def case_modes(trials: Sequence[Trial]) -> Modes | None:
    """The two modes of the throughput of a case's done trials; ``None`` where there is one."""
    return modes([trial.throughput_bps for trial in trials if trial.throughput_bps is not None])


def case_unresolved(trials: Sequence[Trial]) -> Unresolved | None:
    """Runs of a case that may be of two modes and are too few to tell.

    ``None`` also where another finding tells why they differ: a first run unlike the others, or a drift.
    """
    ordered = sorted(
        (trial for trial in trials if trial.throughput_bps is not None), key=lambda trial: trial.started_s
    )
    rates = [trial.throughput_bps for trial in ordered if trial.throughput_bps is not None]
    unclear = unresolved(rates, [trial.throughput_se_bps for trial in ordered])
    if unclear is None or unlike(rates[0], rates[1:]):
        return None
    return None if drift([trial.started_s for trial in ordered], rates) else unclear


def case_flags(
    case: Case, trials: Sequence[Trial], two_modes: Modes | None, unclear: Unresolved | None = None
) -> Iterator[Flag]:
    """Flags of a case as a whole, from its done ``trials``, and the modes that they have or may have."""
    where = case.way
    if unclear is not None:
        yield Flag(
            "modes-unresolved",
            where,
            f"throughput of {len(unclear.values)} trials: {format_rates(unclear.values)}, "
            f"range {format_percent(unclear.range_ratio, 0)} of the mean{_why(unclear)}; "
            f"with fewer than {FEWEST_RUNS} trials linewatt cannot tell whether there are two modes",
            f"repeat the case {FEWEST_RUNS} times or more (trials: {FEWEST_RUNS}); streams may share a "
            "receive queue in some trials (steer: true, streams: 8), or processes and interrupts may move "
            "(placement)",
        )
    if two_modes is not None:
        yield case_flag(
            "two-modes",
            where,
            (
                f"throughput has two modes ({two_modes.by}): {_mode(two_modes.high)} and "
                f"{_mode(two_modes.low)} ({100 * two_modes.apart_ratio:.0f} % less)",
                "the mean describes neither mode",
            ),
            "streams may share a receive queue in some trials (RSS hashes addresses and ports): give each "
            "instance a queue (steer: true), use more streams (streams: 8), or pin processes and interrupts "
            "(placement); analyze each mode separately",
        )
    yield from _first(where, trials)
    timed = [(trial.started_s, trial.throughput_bps) for trial in trials if trial.throughput_bps is not None]
    times_s, values = [time_s for time_s, _ in timed], [value for _, value in timed]
    trend = drift(times_s, values)
    if trend is not None:
        went = "rises" if trend.last > trend.first else "falls"
        change = format_change(trend.last / trend.first - 1)
        yield Flag(
            "drifts-over-trials",
            where,
            f"throughput {went} over {len(values)} trials from {format_rate(trend.first)} to "
            f"{format_rate(trend.last)} ({change}) in {format_seconds(max(times_s) - min(times_s))}",
            "check temperature, frequency and other processes; let hosts warm up, and compare interleaved "
            "cases only (order: interleaved)",
        )
    yield from _congestion(where, trials)
    yield from power_flags(trials)


def _congestion(where: str, trials: Sequence[Trial]) -> Iterator[Flag]:
    """Trials of one case whose senders did not use the same congestion control."""
    used: dict[str, list[int]] = {}
    for trial in trials:
        for name in sorted(
            {instance.congestion for instance in trial.instances if instance.congestion is not None}
        ):
            used.setdefault(name, []).append(trial.number)
    if len(used) > 1:
        usage_words = ", ".join(f"{name} in {len(trial_numbers)}" for name, trial_numbers in used.items())
        yield Flag(
            "congestion-differs",
            where,
            f"congestion control in {len(trials)} trials: {usage_words}",
            "set it (settings: sysctl: net.ipv4.tcp_congestion_control) and measure again",
        )


def _first(where: str, trials: Sequence[Trial]) -> Iterator[Flag]:
    """A first trial that is unlike the others in throughput or in CPU use."""
    ordered = sorted(trials, key=lambda trial: trial.started_s)
    differences = []
    for name, read, text in _FIGURES:
        values = [value for trial in ordered if (value := read(trial)) is not None]
        if len(values) == len(ordered) > 1 and unlike(values[0], values[1:]):
            mean = fmean(values[1:])
            change = format_change(values[0] / mean - 1)
            differences.append(
                f"{name} {text(values[0])}, "
                f"mean of the {len(values) - 1} later trials {text(mean)} ({change})"
            )
    if differences:
        first, *others = differences
        yield case_flag(
            "first-trial-differs",
            where,
            (f"trial {ordered[0].number}, the first: {first}", *others),
            "compare its raw readings with those of the next trial; let hosts warm up (longer window.omit, "
            "or a first case that you discard)",
        )


def _cores(end: EndResult | None) -> float | None:
    return None if end is None else end.cpu_cores


_FIGURES: tuple[tuple[str, Callable[[Trial], float | None], Callable[[float], str]], ...] = (
    ("throughput", lambda trial: trial.throughput_bps, format_rate),
    ("sender's CPU use", lambda trial: _cores(trial.sender), lambda cores: f"{cores:.2f} cores"),
    ("receiver's CPU use", lambda trial: _cores(trial.receiver), lambda cores: f"{cores:.2f} cores"),
)


def _why(unclear: Unresolved) -> str:
    levels = {"far apart": "", "two levels": ", on two levels", "in turn": ", on two levels in turn"}[
        unclear.by
    ]
    if unclear.error is None:
        return levels
    return f"{levels}, standard error of one trial ± {format_rate(unclear.error)}"


def _mode(mode: Estimate) -> str:
    spread = "" if mode.sd is None else f" ± {format_rate(mode.sd)}"
    return f"{mode.n} trials at {format_rate(mode.mean)}{spread}"


def power_flags(trials: Sequence[Trial]) -> Iterator[Flag]:
    """Flags of the done trials of a case; ``where`` begins with the host."""
    for ends in (
        [(trial.number, trial.sender) for trial in trials],
        [(trial.number, trial.receiver) for trial in trials],
    ):
        yield from _above_the_others(ends)


def _above_the_others(ends: Sequence[tuple[int, EndResult | None]]) -> Iterator[Flag]:
    measured_ends = [
        (number, end, total)
        for number, end in ends
        if end is not None and isinstance(total := power_of_system(end.power), Total)
    ]
    if len(measured_ends) < FEWEST_RUNS_OF_CASE or len({total.scope for _, _, total in measured_ends}) > 1:
        return
    usual_w = median(total.power_w for _, _, total in measured_ends)
    cores = [end.cpu_cores for _, end, _ in measured_ends if end.cpu_cores is not None]
    usual_cores = median(cores) if cores else 0.0
    for number, end, total in measured_ends:
        above_w = total.power_w - usual_w
        sure_w = above_w - (total.uncertainty_w or 0.0)
        as_busy = end.cpu_cores is not None and end.cpu_cores <= usual_cores + SAME_CORES
        if as_busy and sure_w > max(MIN_OUTLIER_W, MIN_OUTLIER * usual_w):
            others = [beside_of([other_end]) for _, other_end, _ in measured_ends if other_end is not end]
            explanations = evidence(beside_of([end]), others, above_w)
            yield case_flag(
                "power-unexplained",
                f"{end.host}: {total.source} {SCOPE_WORDS[total.scope]}",
                (
                    f"trial {number}: {total.power_w:.1f} W, {above_w:.1f} W above the median of its case, "
                    f"with {end.cpu_cores:.2f} cores in use (median {usual_cores:.2f})",
                    *explanations,
                ),
                "check fan speed, GPUs and other cards, and other processes in that trial",
            )


def idle_flags(ends: Iterable[EndPower | None]) -> Iterator[Flag]:
    """Flags of the ends of a case; ``where`` begins with their host."""
    for end in ends:
        if end is not None:
            yield from _flags(end)


def _flags(end: EndPower) -> Iterator[Flag]:
    if end.idle_drift is not None:
        yield case_flag(
            "idle-drifted",
            end.host,
            (end.idle_drift, "watts above idle are withheld"),
            "let the host warm up and settle, lengthen idle.seconds, find what changed (fans, a job, a power "
            "setting), and measure again",
        )
    if end.idle_doubt is not None:
        yield Flag(
            "idle-not-settled",
            end.host,
            f"when an idle window began, {end.idle_doubt}",
            "find what else runs there (top, systemd timers) and stop it, or lengthen idle.seconds",
        )
    above, bound = end.dynamic_w, end.dynamic_uncertainty_w
    if above is not None and bound is not None and end.idle_w is not None and above.mean + bound.mean < 0:
        yield Flag(
            "power-below-idle",
            end.host,
            f"{end.idle_w.mean + above.mean:.1f} W under load, {end.idle_w.mean:.1f} W idle: "
            f"{-above.mean:.1f} W less, with an uncertainty of ± {bound.mean:.1f} W",
            "compare the raw readings of idle and load; possible causes: a frozen meter, a power cap, fans, "
            "or a job that ran only while idle",
        )


def limit_flags(
    case: Case, trials: Sequence[Trial], limit: Limit, of_group: Limit | None = None
) -> Iterator[Flag]:
    """Findings on a case, from its done ``trials`` and its limit; of a pair of a group also from that."""
    yield from _asked(case, limit, case.way)
    yield from exceeded_flags(_asked_and_moved(trials), case.way)
    yield from _impossible(trials, limit, case.way)
    yield from retransmit_flags(case, trials)
    yield from test_bed_of_pair(case, limit, of_group) if of_group else _test_bed(case, limit)


def _asked(case: Case, limit: Limit, where: str) -> Iterator[Flag]:
    """Load levels and searches say it themselves (load_levels.py, rate_search.py)."""
    paced_candidate = limit.candidate("paced")
    if paced_candidate is None or paced_candidate.capacity is None or paced_candidate.used is None:
        return
    if case.load_level is not None or case.search or paced_candidate.share >= REACHED_RATE_RATIO:
        return
    yield case_flag(
        "rate-not-reached",
        where,
        (
            f"{format_rate(paced_candidate.used)} arrived of the requested "
            f"{format_rate(paced_candidate.capacity)} ({format_percent(paced_candidate.share)})",
            f"limited by {limit.what}" if limit.found else "no limit found",
        ),
        "less was sent or received than asked for: ask for the rate that arrived, or for none",
    )


def _asked_and_moved(trials: Sequence[Trial]) -> list[tuple[float, float]]:
    """The asked rate of each trial, and what was sent or arrived, whichever is more, bit/s."""
    rates_by_trial = [
        (target_bps, [rate for rate in (trial.throughput_bps, trial.offered_bps) if rate is not None])
        for trial in trials
        if (target_bps := asked_bps(trial))
    ]
    return [(target_bps, max(rates)) for target_bps, rates in rates_by_trial if rates]


def exceeded_flags(asked_and_moved: Sequence[tuple[float, float]], where: str) -> Iterator[Flag]:
    """That more was moved than was asked for, in the mean."""
    if not asked_and_moved:
        return
    target_bps, moved_bps = (fmean(rates) for rates in zip(*asked_and_moved, strict=True))
    if moved_bps <= EXCEEDED_RATE_RATIO * target_bps:
        return
    yield Flag(
        "rate-exceeded",
        where,
        f"{format_rate(moved_bps)} with a requested {format_rate(target_bps)} "
        f"({format_percent(moved_bps / target_bps)})",
        "check how the load paces, and whether its rate is per stream or per process; then correct the rate",
    )


def _impossible(trials: Sequence[Trial], limit: Limit, where: str) -> Iterator[Flag]:
    lines = [candidate for candidate in limit.ranked if candidate.kind in ("line-rate", "shaper")]
    line = max(lines, key=lambda line: max(line.known, default=0.0), default=None)
    above = [share for share in line.known if share > IMPOSSIBLE_LINE_RATIO] if line else []
    if line is None or line.capacity is None or not above:
        return
    of = f"of data port {line.port} " if line.port else ""
    yield Flag(
        "above-line-rate",
        where,
        f"up to {format_percent(max(above))} of the payload rate that the line {of}can carry "
        f"({format_rate(line.capacity)}), above it in {len(above)} of {len(trials)} trials",
        "check which interface the data takes (ip route get), its speed and its shaper",
    )


def _test_bed(case: Case, limit: Limit) -> Iterator[Flag]:
    if (
        case.is_both_ways
        or case.is_ring
        or case.paced
        or not limit.named
        or any(candidate.end != "sender" for candidate in limit.named)
    ):
        return
    receiving = [
        candidate for candidate in limit.ranked if candidate.end == "receiver" and candidate.cpu is not None
    ]
    if not receiving or any(candidate.share >= FULL_RATIO for candidate in receiving):
        return
    yield case_flag(
        "test-bed-is-the-limit",
        case.sender,
        (
            *said_of(limit.named, f"{case.sender} is the limit, not {case.receiver}"),
            f"busiest at the receiver: {limit_text.short_limit(receiving[0])}",
        ),
        "the receiver could take more: send from more instances or a faster host",
    )


@dataclass(frozen=True, slots=True)
class FlagCount:
    """A flag's code, how often it was raised, in how many trials of the case, and its first occurrence.

    ``is_light``: what it changes in the means of the case is too little to make them doubtful.
    """

    code: str
    count: int
    trials: int
    example: Flag
    is_light: bool = False


class Flagged(Protocol):
    """A trial, or any other run with flags."""

    @property
    def flags(self) -> tuple[Flag, ...]: ...


def count_flags(runs: Iterable[Flagged], light: Collection[str] = ()) -> tuple[FlagCount, ...]:
    """The flags of ``runs`` by code, in order of first appearance, with counts and the first example."""
    counts: dict[str, FlagCount] = {}
    for run in runs:
        seen: set[str] = set()
        for flag in run.flags:
            so_far = counts.get(flag.code, FlagCount(flag.code, 0, 0, flag, flag.code in light))
            first = flag.code not in seen
            counts[flag.code] = replace(so_far, count=so_far.count + 1, trials=so_far.trials + first)
            seen.add(flag.code)
    return tuple(counts.values())
