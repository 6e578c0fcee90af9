# SPDX-License-Identifier: Apache-2.0
"""Which further measurement could change the advice most. Pure.

First what may make another point the cheapest, then what only moves figures. How much is the most by which
today's choice may turn out dearer than what the measurement may show, as a part of its cost; ``None`` where
nothing bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.features.advice.fleet.choice import By, Choice, worth
from linewatt.features.advice.fleet.question import Question
from linewatt.features.advice.fleet.totals import Fleet, at_watts, plural
from linewatt.units import format_percent

NEAR = 0.05
"""a point whose watts stand out counts if it would be dearer by less, were they as the others say"""
DOUBTED = 0.2
"""watts that a finding makes doubtful may be off by so much"""
FEWEST_RUNS = 5
MOST_RUNS = 100


@dataclass(frozen=True, slots=True)
class Measurement:
    """What to measure, of which point, why, and how much of the cost it could change.

    ``break_even_w``: the watts of one server below which this point would be the cheapest. ``other_choice``:
    whether another point may turn out the cheapest.
    """

    instances: int
    what: str
    why: str
    change_ratio: float | None = None
    break_even_w: float | None = None
    other_choice: bool = True


def measure_next(fleets: Sequence[Fleet], choice: Choice, question: Question) -> tuple[Measurement, ...]:
    """What could change the advice, the most first."""
    best = choice.cheapest
    if best is None:
        return tuple(_watts(fleet, None) for fleet in fleets if fleet.point.power_w is None)
    others = [fleet for fleet in fleets if fleet is not best]
    measurements = [
        *(_rival(best, rival, choice) for rival in choice.rivals),
        *(_doubtful(best, fleet, choice.by, question) for fleet in others),
        *(_unread(best, fleet, choice.by, question) for fleet in others),
        _doubtful_choice(best),
        _held_back(best),
        _repeats(best, choice),
        _idle(best, choice.by, question),
        _beyond(fleets, best),
    ]
    return tuple(
        sorted(
            (measurement for measurement in measurements if measurement is not None), key=_rank, reverse=True
        )
    )


def _rank(measurement: Measurement) -> tuple[bool, bool, float]:
    return measurement.other_choice, measurement.change_ratio is not None, measurement.change_ratio or 0.0


def _rival(best: Fleet, rival: Fleet, choice: Choice) -> Measurement | None:
    """What would tell two points apart whose intervals overlap: runs, or a better meter."""
    by, instances = choice.by, rival.point.instances
    alike = choice.sure == "open"
    high, low = (best.high_runs, rival.low_runs) if alike else (best.high, rival.low)
    if high is None or low is None:
        return None
    change = max(0.0, worth(high, by) - worth(low, by)) / worth(best.totals, by)
    pair = f"{best.point.instances} and {instances} instances"
    if not alike:
        why = f"{pair} are apart by the spread of their trials, not by how far the meter may be off"
        return Measurement(instances, "both points with a meter of a smaller error", why, change)
    runs = _runs_needed(best, rival, by)
    why = f"the intervals of {pair} overlap"
    if runs is None:
        why += f"; they are so near that more than {MOST_RUNS} trials would be needed"
        return Measurement(instances, "more trials, if it matters at all", why, change)
    needed = f"about {runs} trials of both points, if they spread as before"
    return Measurement(instances, needed, why, change)


def _runs_needed(best: Fleet, rival: Fleet, by: By) -> int | None:
    """Runs of each at which the intervals of their spread would part; ``None`` where that takes too many."""
    ends = (best.low_runs, best.high_runs, rival.low_runs, rival.high_runs)
    difference = worth(rival.totals, by) - worth(best.totals, by)
    if any(end is None for end in ends) or difference <= 0:
        return None
    low, high, low_other, high_other = (worth(end, by) for end in ends if end is not None)
    reach = (high - low + high_other - low_other) / 2
    runs = max(best.point.runs, rival.point.runs)
    needed = math.ceil(runs * (reach / difference) ** 2)
    return None if needed > MOST_RUNS else max(needed, runs + 1)


def _break_even_w(best: Fleet, rival: Fleet, by: By, question: Question) -> float | None:
    """W of a server at which the other fleet costs as much; ``None`` where no watts are few enough."""
    through = rival.through or best.through
    nothing = worth(at_watts(rival, 0.0, through, question), by)
    a_watt = worth(at_watts(rival, 1.0, through, question), by) - nothing
    if not math.isfinite(a_watt) or a_watt <= 0:
        return None
    watts = (worth(best.totals, by) - nothing) / a_watt
    return watts if watts > 0 else None


def _doubtful(best: Fleet, rival: Fleet, by: By, question: Question) -> Measurement | None:
    """A point whose figures are doubtful, where without the doubt it might be the cheapest."""
    point = rival.point
    if point.power_w is None or not point.doubts:
        return None
    even_w = _break_even_w(best, rival, by, question)
    if even_w is None:
        return None
    if point.expected_w is None:
        if even_w < (1 - DOUBTED) * point.power_w.mean:
            return None
        doubt = next(iter(point.doubts.values()))
        why = f"{doubt}; below {even_w:.1f} W a server it would be the cheapest"
        return Measurement(point.instances, f"{plural(point.instances)} again", why, None, even_w)
    expected = worth(at_watts(rival, point.expected_w, rival.through, question), by)
    dearer = expected / worth(best.totals, by) - 1
    if dearer >= NEAR:
        return None
    how = f"{format_percent(abs(dearer))} {'dearer' if dearer > 0 else 'cheaper'} than the cheapest"
    why = (
        f"its {point.power_w.mean:.1f} W stand out: at the {point.expected_w:.1f} W that the other "
        f"points say it would be {how}, below {even_w:.1f} W the cheapest itself"
    )
    return Measurement(point.instances, f"{plural(point.instances)} again", why, max(0.0, -dearer), even_w)


def _unread(best: Fleet, rival: Fleet, by: By, question: Question) -> Measurement | None:
    """A point without watts, or with watts of another kind than those that were compared."""
    point = rival.point
    if point.power_w is not None and point.provenance == best.point.provenance:
        return None
    return _watts(rival, _break_even_w(best, rival, by, question))


def _watts(fleet: Fleet, even_w: float | None) -> Measurement:
    why = fleet.point.reasons.get("power_w") or f"its watts are {fleet.point.provenance}"
    if even_w is not None:
        why += f"; below {even_w:.1f} W a server it would be the cheapest"
    return Measurement(fleet.point.instances, f"watts of {plural(fleet.point.instances)}", why, None, even_w)


def _doubtful_choice(best: Fleet) -> Measurement | None:
    if not best.point.doubts:
        return None
    why = f"it is the cheapest, and doubtful: {next(iter(best.point.doubts.values()))}"
    return Measurement(best.point.instances, f"{plural(best.point.instances)} again", why)


def _held_back(best: Fleet) -> Measurement | None:
    """A point that the other end limits says what that one can do, not what a server can."""
    if not best.point.held_back:
        return None
    what = f"{plural(best.point.instances)} with more from the other end"
    return Measurement(best.point.instances, what, f"{best.point.limit}: a server may carry more")


def _repeats(best: Fleet, choice: Choice) -> Measurement | None:
    """Runs, where there is nothing that tells chance from a difference."""
    if choice.sure != "not-known":
        return None
    why = "without a spread over trials nobody can tell what differs from chance"
    return Measurement(best.point.instances, f"{FEWEST_RUNS} trials or more of each point", why)


def _idle(best: Fleet, by: By, question: Question) -> Measurement | None:
    """Idle power, where spare servers were counted as if under load."""
    totals = best.totals
    if best.point.idle_w is not None or best.point.power_w is None:
        return None
    if not totals.spare or totals.energy_kwh_year is None:
        return None
    without = at_watts(best, best.point.power_w.mean, best.through, question).energy_kwh_year or 0.0
    energy = without * totals.spare / totals.servers
    part = energy * (1.0 if question.price_per_kwh is None else question.price_per_kwh) / worth(totals, by)
    why = f"{totals.spare} spare {'server is' if totals.spare == 1 else 'servers are'} counted as under load"
    return Measurement(best.point.instances, "idle power", why, part, other_choice=False)


def _beyond(fleets: Sequence[Fleet], best: Fleet) -> Measurement | None:
    """More instances than were measured, where the last point is the cheapest and nothing was full."""
    last = max(fleets, key=lambda fleet: fleet.point.instances)
    if last is not best or best.point.regime == "saturated" or best.point.limit is not None:
        return None
    why = "the cheapest is the last that was measured, and nothing that limits it was found"
    return Measurement(best.point.instances, f"more than {plural(best.point.instances)}", why)
