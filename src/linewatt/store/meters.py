# SPDX-License-Identifier: Apache-2.0
"""What a campaign had learned of its meters at its end, put into the trials that it stored before. Pure.

A trial is measured with what is known when it is stored, which for the first may be nothing. What was learned
later widens the bound of its energy, or takes its power away, with the reason, where the window was too short
for the meter; and takes such a reason back that later loads refute. Figures are never made again here: that
is ``linewatt rederive``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from linewatt.findings import LONGER_WINDOW_ADVICE
from linewatt.loads import load_of
from linewatt.model import EndResult, Flag, PowerResult, Trial, Window
from linewatt.records import Meter
from linewatt.sensors.power import POLL_LIMITED, TOO_SHORT_WORDS, Dynamics, student_t, why_too_short

TOO_SHORT_CODE = "power-window-too-short"
FEWEST_STEPS = 2
"""A load that begins unevenly makes its meter look slow; so many tell more than the first one did."""
LOOKED_SLOW = (
    "not made when it was measured, as its first loads made the meter look too slow for this window; later"
    " ones show that it is not: linewatt rederive --write makes it"
)

Key = tuple[str, str, str]
"""host, source, channel"""


def known_meters(meters: Iterable[Meter]) -> dict[Key, Meter]:
    """The meter of each channel, by host, source and channel."""
    return {(meter.host, meter.source, meter.channel): meter for meter in meters}


def with_meters(trials: Sequence[Trial], meters: Mapping[Key, Meter]) -> tuple[Trial, ...]:
    """The trials with the dynamics of each channel's meter applied. Call it after :func:`with_idle`."""
    return tuple(_trial(trial, meters) for trial in trials) if meters else tuple(trials)


def _trial(trial: Trial, meters: Mapping[Key, Meter]) -> Trial:
    """A number that is taken away gets a flag; a flag goes whose window is long enough, as is known now."""
    if trial.window is None or trial.status != "done":
        return trial
    window = trial.window
    now = trial.with_ends(lambda end: _end(trial, window, end, meters))
    if now is trial:
        return trial
    changes = [
        (f"{end.host}: {after.source} {after.channel}", before, after)
        for stored_end, end in zip(trial.ends, now.ends, strict=True)
        for before, after in zip(stored_end.power, end.power, strict=True)
    ]
    taken = (
        Flag(TOO_SHORT_CODE, where, after.reason or "", LONGER_WINDOW_ADVICE)
        for where, before, after in changes
        if before.power_w is not None and after.power_w is None
    )
    refuted = {where for where, before, after in changes if after.reason == LOOKED_SLOW != before.reason}
    remaining = (flag for flag in trial.flags if flag.code != TOO_SHORT_CODE or flag.where not in refuted)
    return replace(now, flags=(*remaining, *taken))


def looked_too_slow(trial: Trial) -> bool:
    """Whether a trial, read with what was learned by the end, lacks power that can be made by now."""
    return any(channel.reason == LOOKED_SLOW for end in trial.ends for channel in end.power)


def refuting_dynamics(trial: Trial, meters: Mapping[Key, Meter]) -> dict[Key, Dynamics]:
    """Dynamics of the meters for which a trial was wrongly called too short."""
    if trial.window is None:
        return {}
    window = trial.window
    now = trial.with_ends(lambda end: _end(trial, window, end, meters))
    return {
        (end.host, channel.source, channel.channel): meters[
            end.host, channel.source, channel.channel
        ].dynamics
        for end in now.ends
        for channel in end.power
        if channel.reason == LOOKED_SLOW
    }


def _end(trial: Trial, window: Window, end: EndResult, meters: Mapping[Key, Meter]) -> EndResult:
    begun_s = trial.started_s + load_of(trial.case.load).lead_s
    power = tuple(
        _power(begun_s, window, channel, meters.get((end.host, channel.source, channel.channel)))
        for channel in end.power
    )
    return end if power == end.power else replace(end, power=power)


def _power(begun_s: float, window: Window, channel: PowerResult, meter: Meter | None) -> PowerResult:
    """A channel with its meter's dynamics applied. Energy totals have no ``spread_w`` and are unchanged."""
    if meter is None:
        return channel
    if channel.power_w is None and TOO_SHORT_WORDS in (channel.reason or ""):
        return replace(channel, reason=LOOKED_SLOW) if _would_do(begun_s, window, channel, meter) else channel
    if channel.spread_w is None or channel.power_w is None:
        return channel
    learned = {name: value for name, value in asdict(meter.dynamics).items() if value is not None}
    now, every_s = replace(channel, **learned), meter.read_every_s or 1.0
    cut_s, used_s = (
        max(0.0, begun_s + max(every_s, settle_s or 0.0) - window.start_s)
        for settle_s in (now.settle_s, channel.settle_s)
    )
    dynamics = Dynamics(now.refresh_s, now.averaging_s, now.delay_s, now.settle_s)
    refused = why_too_short(window.seconds, cut_s, dynamics, every_s)
    if refused:
        return replace(now, power_w=None, energy_j=None, energy_uncertainty_j=None, reason=refused)
    above_w = abs(channel.power_w - (channel.power_w if channel.idle_w is None else channel.idle_w))
    late_j = max(0.0, cut_s - used_s) * max(channel.spread_w, above_w)
    more_j = late_j + _unknown_j(now, channel, window.seconds, every_s)
    if more_j <= 0 or channel.energy_uncertainty_j is None:
        return now
    return replace(now, energy_uncertainty_j=channel.energy_uncertainty_j + more_j)


def _would_do(begun_s: float, window: Window, channel: PowerResult, meter: Meter) -> bool:
    """Whether several loads say that a window is long enough for a meter, which was measured without them."""
    seemed_late = Dynamics(channel.refresh_s, delay_s=channel.delay_s).is_late
    is_refuted = (
        not meter.dynamics.is_late  # all loads together tell that
        if seemed_late
        else meter.steps >= FEWEST_STEPS and meter.settle_s not in (None, channel.settle_s)
    )
    if not is_refuted:
        return False
    every_s = meter.read_every_s or 1.0
    cut_s = max(0.0, begun_s + max(every_s, meter.settle_s or 0.0) - window.start_s)
    return why_too_short(window.seconds, cut_s, meter.dynamics, every_s) is None


def _unknown_j(now: PowerResult, channel: PowerResult, window_s: float, every_s: float) -> float:
    """Added uncertainty where a meter refreshes more slowly than was assumed, J."""
    then_s, now_s = channel.refresh_s or 0.0, now.refresh_s or 0.0
    if now_s <= max(POLL_LIMITED * every_s, 1.1 * then_s) or channel.spread_w is None:
        return 0.0
    samples = max(2, int(window_s / now_s))
    return student_t(samples - 1) * channel.spread_w / 2 / math.sqrt(samples) * window_s
