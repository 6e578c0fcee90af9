# SPDX-License-Identifier: Apache-2.0
"""Whether throughput stays where it is inside the window: warm-up that was not left out, and drift. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis import steadiness
from linewatt.engine.measuring.seen import Seen
from linewatt.engine.measuring.window import EndRun, rates_over
from linewatt.findings.steadiness import WARM_UP_PART
from linewatt.model import Flag, Window
from linewatt.units import format_rate


def check(seen: Seen) -> Iterator[Flag]:
    """Throughput of all instances together."""
    yield from throughput([one.receiver for one in seen.cut.runs], seen.window)


def throughput(receivers: Sequence[EndRun], window: Window) -> list[Flag]:
    """What the receivers' intervals say together; nothing below ten of them. Nothing is trimmed."""
    series = [rates_over(run, window) for run in receivers]
    length = min((len(rates) for rates in series), default=0)
    total = [sum(rates[i] for rates in series) for i in range(length)]
    step = steadiness.step(total)
    if step is not None and step.at <= WARM_UP_PART * length:
        return [_warm_up(step, length, window)]
    if step is not None:
        return [_drifts(step.before, step.after, f"at {_seconds(step.at, length, window)}", window)]
    slope = steadiness.slope(total)
    if slope is not None:
        return [_drifts(slope.first, slope.last, "steadily", window)]
    return []


def _warm_up(step: steadiness.Step, length: int, window: Window) -> Flag:
    return Flag(
        "warm-up-in-window",
        "window",
        f"the first {step.at} of {length} intervals ({_seconds(step.at, length, window)}) run at "
        f"{format_rate(step.before)}, the rest at {format_rate(step.after)}",
        "raise window.omit until the flag goes away",
    )


def _drifts(first: float, last: float, when: str, window: Window) -> Flag:
    went = "rises" if last > first else "falls"
    return Flag(
        "throughput-drifts",
        "window",
        f"throughput {went} {when}, from {format_rate(first)} to {format_rate(last)} "
        f"({100 * (last / first - 1):+.1f} %) within the window of {window.seconds:g} s".replace("-", "−"),
        "raise window.omit if it is warm-up; else look at temperature, frequency (cpufreq) and other traffic",
    )


def _seconds(at: int, length: int, window: Window) -> str:
    return f"{at / length * window.seconds:.3g} s"
