# SPDX-License-Identifier: Apache-2.0
"""Whether throughput, CPU use and power stay where they are inside the window. Pure.

Nothing is trimmed. One event is told once: a CPU whose load changes needs no finding of its own, nor the
power of a CPU whose use changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import NamedTuple

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.statistics import FEWEST_INTERVALS, SeriesStep, Slope, shapes
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.feature_load import measuring_of
from linewatt.engine.measuring.window import EndRun, edges_over, total_rates
from linewatt.findings import LEAST_CHANGE_CORES, LEAST_METER_STEPS, SCOPES_THAT_FOLLOW_THE_CPU, WARM_UP_PART
from linewatt.loads import SHORT_RATIO
from linewatt.model import Case, EndResult, Flag, PowerResult, Window
from linewatt.units import format_change, format_rate, format_significant

CLOSE = 0.05
"""polls come a little early and late"""
_SHARE = re.compile(r"cpu(\d+)\.(idle|iowait|steal)_ratio")
_ADVICE = (
    "check for other traffic, a shaper, other processes, and temperature and frequency (cpufreq) at that time"
)


def check(seen: Seen) -> Iterator[Flag]:
    """Throughput of all instances together; where that is steady, of each pair of several at once; where all
    of it is, CPU use and then power of each end."""
    cut = seen.cut
    if measuring := measuring_of(cut.run.planned.case):
        flags = measuring.unsteady(cut.run, seen.window)
    else:
        flags = throughput([run.receiver for run in cut.runs], seen.window) or _of_pairs(seen)
    yield from flags
    for end in () if flags else seen.ends:
        readings, cpus = seen.readings(end), seen.spec(end).cpus
        cpu_flags = cpu(end, readings, cpus, seen.window)
        yield from cpu_flags
        if not cpu_flags and len(_cores(readings, cpus, seen.window)) >= FEWEST_INTERVALS:
            yield from power(
                end, readings, seen.window
            )  # else nobody knows whether what it follows is steady


def _of_pairs(seen: Seen) -> list[Flag]:
    """Of pairs that run at once, those that give and take while all together are steady."""
    case = seen.cut.run.planned.case
    receivers: dict[Case, list[EndRun]] = {pair: [] for pair in case.pairs if case.flows}
    for run in seen.cut.runs if receivers else ():
        receivers[case.pair_of(run.output.planned.instance)].append(run.receiver)
    pair_flags = [
        (pair, flag) for pair, pair_runs in receivers.items() for flag in throughput(pair_runs, seen.window)
    ]
    return [replace(flag, where=pair.way) for pair, flag in pair_flags]


def throughput(receivers: Sequence[EndRun], window: Window) -> list[Flag]:
    """What the receivers' intervals say together; nothing below ten of them."""
    total = total_rates(receivers, window)
    before = total_rates(receivers, Window(window.start_s - window.seconds, window.start_s))
    return flag_of_shape(shapes.find_shape(total), edges_over(receivers, window), window, before)


def flag_of_shape(
    shape: shapes.SeriesShape | None, edges_s: Sequence[float], window: Window, before: Sequence[float] = ()
) -> list[Flag]:
    """What the shape of throughput is found to be.

    ``edges_s``: where its intervals meet, in seconds of the window, and where the last one ends; ``before``:
    the rates of those before the window, as far as they are known.
    """
    if shape is None:
        return []
    length = len(edges_s) - 1
    shape_words = Words(format_rate, edges_s, window)
    effect = shapes.effect_ratio(shape, length)
    evidence = f"throughput {shape_words.of(shape)}{_changed(effect)}"
    match shape:
        case SeriesStep(at, low, others) if at <= WARM_UP_PART * length and _is_warm_up(
            before, at, low, others
        ):
            return [_warm_up(shape_words, at, low, others, effect)]
        case shapes.Lows(count, 0, _, low, others) if (
            shape.together and count <= WARM_UP_PART * length and _is_warm_up(before, count, low, others)
        ):
            return [_warm_up(shape_words, count, low, others, effect)]
        case SeriesStep(at, low, others) if at <= WARM_UP_PART * length and low < others:
            few = shape_words.of(shapes.Lows(at, 0, at, low, others))
            return [Flag("throughput-dips", "window", f"throughput {few}{_changed(effect)}", _ADVICE, effect)]
        case shapes.Lows():
            return [Flag("throughput-dips", "window", evidence, _ADVICE, effect)]
        case shapes.Segment(_, _, inside, outside) if inside < outside:
            return [Flag("throughput-dips", "window", evidence, _ADVICE, effect)]
        case shapes.Wave():
            return [Flag("throughput-oscillates", "window", evidence, _ADVICE)]
    advice = f"if this is warm-up, raise window.omit; otherwise {_ADVICE}"
    return [Flag("throughput-drifts", "window", evidence, advice, effect)]


def _is_warm_up(before: Sequence[float], count: int, first_bps: float, later_bps: float) -> bool:
    """Whether the load had not reached its later rate yet just before the window, or nobody knows.

    ``count``: how many intervals of the window run at the first rate.
    """
    latest = before[-count:]
    return not latest or abs(fmean(latest) - first_bps) <= abs(fmean(latest) - later_bps)


def _changed(effect: float | None) -> str:
    return "" if effect is None else f"; it changes the mean by {format_change(effect)}"


def _warm_up(words: Words, at: int, before: float, after: float, effect: float | None) -> Flag:
    return Flag(
        "warm-up-in-window",
        "window",
        f"the first {at} of {words.length} intervals ({words.seconds_of(at)}) run at {format_rate(before)}, "
        f"the rest at {format_rate(after)}{_changed(effect)}",
        "raise window.omit until this finding disappears",
        effect,
    )


def cpu(
    end: EndResult, readings: Sequence[Reading], cpus: Sequence[int] | None, window: Window
) -> list[Flag]:
    """CPU use of a host, record by record, although throughput is steady."""
    used = _cores(readings, cpus, window)
    shape = shapes.find_shape([over.cores for over in used])
    if shape is None or _extent(shape) < LEAST_CHANGE_CORES:
        return []
    edges_s = [each_s - window.start_s for each_s in (*(over.start_s for over in used), used[-1].end_s)]
    words = Words(lambda cores: f"{cores:.2f} cores", edges_s, window)
    advice = "throughput was steady, so check other processes (top, systemd timers), frequency and interrupts"
    effect = shapes.effect_ratio(shape, len(used))
    return [Flag("cpu-unsteady", end.host, f"CPU use {words.of(shape)}{_changed(effect)}", advice, effect)]


class CoresUsed(NamedTuple):
    """Cores in use over some time, Unix seconds."""

    start_s: float
    end_s: float
    cores: float


def _cores(readings: Sequence[Reading], cpus: Sequence[int] | None, window: Window) -> list[CoresUsed]:
    mpstat = next((reading for reading in readings if reading.source == "mpstat"), None)
    return cores_over(mpstat, cpus, window) if mpstat else []


def cores_over(mpstat: Reading, cpus: Sequence[int] | None, window: Window) -> list[CoresUsed]:
    """Cores in use by each record that lies wholly inside the window, is not short and has all CPUs of the
    host."""
    host_cpus = None if cpus is None else {*cpus}
    names = [
        name for name in mpstat.channels if (match := _SHARE.fullmatch(name)) and _is_of(match[1], host_cpus)
    ]
    number = len({name.partition(".")[0] for name in names})
    used: list[CoresUsed] = []
    least_s = SHORT_RATIO * median([record.span_s for record in mpstat.records] or [0.0])
    for record in mpstat.records:
        start_s = record.time_s - record.span_s
        if start_s < window.start_s or record.time_s > window.end_s:
            continue
        if record.span_s < least_s:
            continue
        unused = whole_sum(record.values.get(name) for name in names)
        if unused is not None:
            used.append(CoresUsed(start_s, record.time_s, number - unused))
    return used


def _is_of(cpu: str, cpus: set[int] | None) -> bool:
    return cpus is None or int(cpu) in cpus


def power(end: EndResult, readings: Sequence[Reading], window: Window) -> list[Flag]:
    """Watts of a host, reading by reading, although throughput and CPU use are steady."""
    sources = {reading.source: reading for reading in readings}
    changes = [
        change for result in end.power if (change := _power(result, sources.get(result.source), window))
    ]
    if not changes:
        return []
    first, *others = changes
    opposite = [change for change in others if change.rise_w * first.rise_w < 0]
    alike = len(others) - len(opposite)
    more = f"; so do {alike} other channels" if alike > 1 else "; so does another channel" if alike else ""
    if opposite:
        way = "falls" if first.rise_w > 0 else "rises"
        more += f"; {opposite[0].channel} {way} by {format_significant(abs(opposite[0].rise_w))} W meanwhile"
    advice = (
        "throughput and CPU use were steady, so check fans, temperature, a power cap, and whether the "
        "meter averages over a time that began before the window"
    )
    return [Flag("power-unsteady", end.host, first.words + more, advice)]


class _Change(NamedTuple):
    """How a channel changed within the window: by how much it rose (0: it went up and down), and in words."""

    channel: str
    rise_w: float
    words: str


def _power(power_result: PowerResult, reading: Reading | None, window: Window) -> _Change | None:
    follows = (
        power_result.scope.partition(":")[0] in SCOPES_THAT_FOLLOW_THE_CPU
        and power_result.provenance != "estimate"
    )
    if reading is None or power_result.updates < FEWEST_INTERVALS or not follows:
        return None
    if power_result.channel not in reading.channels or reading.channels[power_result.channel].unit != "W":
        return None
    values = apart(reading.within(power_result.channel, window), power_result.averaging_s or 0.0)
    shape = shapes.find_shape([watts for _, watts in values])
    if shape is None or _extent(shape) < LEAST_METER_STEPS * (power_result.step_w or 0.0):
        return None
    times_s = [time_s - window.start_s for time_s, _ in values]
    is_mean = reading.channels[power_result.channel].kind == "mean"  # of the time that ends with its reading
    edges_s = [0.0, *times_s] if is_mean else [*times_s, window.seconds]
    words = Words(lambda watts: f"{format_significant(watts)} W", edges_s, window)
    return _Change(
        power_result.channel, _rise(shape), f"{power_result.source} {power_result.channel} {words.of(shape)}"
    )


def apart(readings: Sequence[tuple[float, float]], seconds: float) -> list[tuple[float, float]]:
    """Readings with their times, at least so far apart: those of a meter that averages have what they average
    in common."""
    distant: list[tuple[float, float]] = []
    for time_s, value in readings:
        if not distant or time_s - distant[-1][0] >= seconds * (1 - CLOSE):
            distant.append((time_s, value))
    return distant


def _rise(shape: shapes.SeriesShape) -> float:
    """By how much it rose, or was higher for a while; 0 of a wave."""
    match shape:
        case SeriesStep(_, first, last) | Slope(first, last):
            return last - first
        case shapes.Segment(_, _, inside, outside) | shapes.Lows(_, _, _, inside, outside):
            return inside - outside
        case shapes.Wave():
            return 0.0


def _extent(shape: shapes.SeriesShape) -> float:
    """How far apart the values are that the mean is of."""
    return 2 * shape.amplitude if isinstance(shape, shapes.Wave) else abs(_rise(shape))


class Words:
    """A shape in words: its values in a unit, its places in seconds of the window.

    ``edges_s``: when each value begins to hold, and when the last one ends.
    """

    def __init__(self, value: Callable[[float], str], edges_s: Sequence[float], window: Window) -> None:
        self.length = len(edges_s) - 1
        self._value = value
        self._edges_s = edges_s
        self._window = window

    def seconds(self, at: int) -> str:
        """When value number ``at`` begins."""
        return _seconds(self._edges_s[at])

    def seconds_of(self, count: float) -> str:
        """How long so many values hold."""
        return _seconds(count * (self._edges_s[-1] - self._edges_s[0]) / self.length)

    def of(self, shape: shapes.SeriesShape) -> str:
        value, seconds = self._value, self.seconds
        in_window = f"within the window of {self._window.seconds:g} s"
        match shape:
            case SeriesStep(at, first, last):
                return f"{_went(first, last)} at {seconds(at)}, {self._change(first, last)} {in_window}"
            case Slope(first, last):
                return f"{_went(first, last)} steadily, {self._change(first, last)} {in_window}"
            case shapes.Segment(start, end, inside, outside):
                went = _went(outside, inside)
                back = f"from {seconds(start)} to {seconds(end)}"
                return (
                    f"{went} {back}, to {value(inside)} from {value(outside)} before and after, {in_window}"
                )
            case shapes.Lows(count, start, end, low, others):
                few = f"{count} of {self.length} intervals (within {seconds(start)} to {seconds(end)})"
                return f"is {value(low)} in {few} and {value(others)} in the others"
            case shapes.Wave(period, amplitude, mean):
                around = f"{value(mean)} ± {100 * amplitude / mean:.0f} %"
                return f"oscillates with a period of {self.seconds_of(period)} around {around} {in_window}"

    def _change(self, first: float, last: float) -> str:
        change = f"{100 * (last / first - 1):+.1f} %".replace("-", "−")
        return f"from {self._value(first)} to {self._value(last)} ({change})"


def _seconds(time_s: float) -> str:
    return f"{round(time_s, 2):.3g} s"


def _went(first: float, last: float) -> str:
    return "rises" if last > first else "falls"
