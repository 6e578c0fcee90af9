# SPDX-License-Identifier: Apache-2.0
"""Watts that cannot be: more out than in, more than the supplies can give, parts without their sum, CPUs that
draw more than their host, another unit, one meter for two hosts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations

from linewatt.analysis.power import SCOPE_WORDS, Total, power_of_cpus, total_of_scope
from linewatt.engine.measuring.cut import Seen
from linewatt.findings import (
    ALIKE_CHANGES,
    ALIKE_RATIO,
    LEAST_HOST_W,
    LEAST_W_PER_CPU,
    MAX_PSU_GAIN,
    MAX_RATING_RATIO,
    MIN_OUT_RATIO,
    MOST_HOST_W,
    MOST_W_PER_CPU,
)
from linewatt.missing import Missing
from linewatt.model import EndResult, Flag, PowerResult
from linewatt.records import Supplies

CODE = "power-implausible"
FROM_THE_GRID = ("wall", "psu-in", "system", "psu-out")
"""in the order in which the power flows: none shows clearly more than one before it"""


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from implausible(end, seen.setup.supplies.get(end.host))
        yield from another_unit(end, len(seen.cpu_shares(end)))
        yield from less_than_its_cpus(end, [peer for peer in seen.ends if peer is not end])
    yield from one_meter(seen)


def implausible(end: EndResult, supplies: Supplies | None) -> Iterator[Flag]:
    """Flags for one end; ``supplies`` is what the campaign file says of its power supplies."""
    yield from _negative(end)
    yield from _units(end)
    yield from _sums(end)
    if supplies is not None:
        yield from _above_rating(end, supplies)


def _negative(end: EndResult) -> Iterator[Flag]:
    for result in end.power:
        if result.power_w is not None and result.power_w < 0:
            where = f"{end.host}: {result.source} {result.channel}"
            yield Flag(CODE, where, f"{result.power_w:.1f} W: power is never negative", "use another source")


def _units(end: EndResult) -> Iterator[Flag]:
    """Each supply by itself: what goes out came in."""
    units = {
        (result.source, *result.scope.split(":", 1)): result.power_w
        for result in end.power
        if result.scope.startswith("psu-") and result.power_w is not None
    }
    for (source, scope, *part), out_w in units.items():
        in_w = units.get((source, "psu-in", *part))
        if scope == "psu-out" and in_w is not None and out_w > in_w * (1 + MAX_PSU_GAIN):
            yield Flag(
                CODE,
                f"{end.host}: {' '.join((source, *part))}",
                f"output {out_w:.1f} W, input only {in_w:.1f} W",
                "one of the two sensors is wrong, or its name is misleading; use neither",
            )


def _sums(end: EndResult) -> Iterator[Flag]:
    """All supplies together against what else tells of the whole machine."""
    totals = [power_total for scope in FROM_THE_GRID if isinstance(power_total := _whole(end, scope), Total)]
    for before, after in combinations(totals, 2):
        comparison = f"{_words(after)}, but {_words(before)}"
        if after.scope == "psu-out" and _most(after) < _least(before) * MIN_OUT_RATIO:
            yield Flag(
                CODE,
                f"{end.host}: {after.source} {SCOPE_WORDS[after.scope]}",
                comparison,
                "possible causes: a supply is not read, or only part of the time, or the input also feeds "
                "another host",
            )
        alike = before.source == after.source and (before.scope, after.scope) == ("psu-in", "psu-out")
        if not alike and _least(after) > _most(before) * (1 + MAX_PSU_GAIN):
            yield Flag(
                CODE,
                f"{end.host}: {before.source} {SCOPE_WORDS[before.scope]}",
                comparison,
                "one of them is wrong, or does not cover the whole machine; find which before you use either",
            )


def another_unit(end: EndResult, cpus: int) -> Iterator[Flag]:
    """A whole host that takes next to nothing, or as much as a hall: its meter's unit is another one."""
    least_w = max(LEAST_HOST_W, LEAST_W_PER_CPU * cpus)
    most_w = MOST_HOST_W + MOST_W_PER_CPU * cpus
    for scope in FROM_THE_GRID:
        host_total = _whole(end, scope)
        if not isinstance(host_total, Total) or least_w <= host_total.power_w <= most_w:
            continue
        shown = f"{host_total.power_w:,.{0 if host_total.power_w > most_w else 3}f}"
        limit = f"at least {least_w:g}" if host_total.power_w < least_w else f"at most {most_w:,g}"
        yield Flag(
            CODE,
            f"{end.host}: {host_total.source} {SCOPE_WORDS[scope]}",
            f"{shown} W, but a host with {cpus} CPUs draws {limit} W",
            "check the unit of the meter (mW, W, kW) and its scale in the campaign file",
        )
        return


def less_than_its_cpus(end: EndResult, others: Sequence[EndResult]) -> Iterator[Flag]:
    """CPUs that draw more than the whole host: one of the two is another host's."""
    of_cpus, host_total = power_of_cpus(_readings(end)), _smallest_whole(end)
    if not isinstance(of_cpus, Total) or host_total is None:
        return
    if _least(of_cpus) <= _most(host_total) * (1 + MAX_PSU_GAIN):
        return
    fitting = [
        f"; the meter of {peer.host} would fit ({_words(its)})"
        for peer in others
        if (its := _smallest_whole(peer)) is not None and _most(its) >= of_cpus.power_w
    ]
    yield Flag(
        CODE,
        f"{end.host}: {host_total.source} {SCOPE_WORDS[host_total.scope]}",
        f"{_words(of_cpus)}, but {_words(host_total)}{''.join(fitting[:1])}",
        "one of them is wrong, or belongs to another host: check whether the meters of two hosts are swapped",
    )


def one_meter(seen: Seen) -> Iterator[Flag]:
    """Two hosts whose meters change at the same times to the same values: one meter that feeds both.

    Hosts that share CPUs are one machine, whose meter is that of both.
    """
    for end, peer in permutations(seen.ends, 2):
        if peer.host in seen.setup.hosts[end.host].shares_cpus_with:
            continue
        pairs = (
            (result, peer_result)
            for result in _readings(end)
            for peer_result in _readings(peer)
            if result.scope == peer_result.scope and result.scope.partition(":")[0] in FROM_THE_GRID
        )
        for result, peer_result in pairs:
            changes = changes_alike(_course(seen, end, result), _course(seen, peer, peer_result))
            if changes is None:
                continue
            yield Flag(
                CODE,
                f"{end.host}: {result.source} {result.channel}",
                f"it changed {changes} times together with {peer_result.source} {peer_result.channel} of "
                f"{peer.host}, to the same values: both are the same meter",
                "these watts are the sum of both hosts; give each host its own meter (another outlet, its "
                "BMC)",
            )
            break


def _course(seen: Seen, end: EndResult, result: PowerResult) -> list[float]:
    """What a channel read in the window, in W."""
    reading = seen.reading(end, result.source)
    if reading is None or result.channel not in reading.channels:
        return []
    if reading.channels[result.channel].unit != "W":
        return []
    return [value for _, value in reading.within(result.channel, seen.window)]


def changes_alike(course: Sequence[float], peer_course: Sequence[float]) -> int | None:
    """How many changes two courses share, if they are of one meter; ``None``: they are not, or hardly change.

    Who reads one meter twice reads it up to one reading apart.
    """
    for shift in (0, 1, -1):
        changes = _changes(course[max(0, shift) :])
        others = _changes(peer_course[max(0, -shift) :])
        common = len(changes & others)
        if common >= ALIKE_CHANGES and common >= ALIKE_RATIO * len(changes | others):
            return common
    return None


def _changes(course: Sequence[float]) -> set[tuple[int, float]]:
    """(number of a reading, value) where the value is not that of the reading before."""
    return {(at, value) for at, (before, value) in enumerate(pairwise(course)) if value != before}


def _smallest_whole(end: EndResult) -> Total | None:
    """What is nearest to the parts of a host: the last in the way of the power that is read."""
    wholes = [host_total for scope in FROM_THE_GRID if isinstance(host_total := _whole(end, scope), Total)]
    return wholes[-1] if wholes else None


def _above_rating(end: EndResult, supplies: Supplies) -> Iterator[Flag]:
    """More than the supplies that were declared can give: one of them, else all together."""
    alone = [
        _rated(f"{end.host}: {reading.source} {reading.channel}", reading.power_w, supplies.rating_w)
        for reading in _readings(end)
        if reading.scope.startswith("psu-out:")
        and reading.power_w is not None
        and reading.power_w > supplies.rating_w * MAX_RATING_RATIO
    ]
    yield from alone
    output = _whole(end, "psu-out")
    if not alone and isinstance(output, Total) and _least(output) > supplies.capacity_w * MAX_RATING_RATIO:
        where = f"{end.host}: {output.source} {SCOPE_WORDS[output.scope]}"
        yield _rated(where, output.power_w, supplies.capacity_w)


def _rated(where: str, power_w: float, rating_w: float) -> Flag:
    return Flag(
        CODE,
        where,
        f"output {power_w:.1f} W, rated {rating_w:g} W",
        "either the sensor or `psus` in the campaign file is wrong; correct it",
    )


def _readings(end: EndResult) -> list[PowerResult]:
    """Estimates follow from a model and prove nothing."""
    return [result for result in end.power if result.provenance != "estimate"]


def _whole(end: EndResult, scope: str) -> Total | Missing | None:
    return total_of_scope(_readings(end), scope)


def _least(power_total: Total) -> float:
    return power_total.power_w - (power_total.uncertainty_w or 0.0)


def _most(power_total: Total) -> float:
    return power_total.power_w + (power_total.uncertainty_w or 0.0)


def _words(power_total: Total) -> str:
    return f"{power_total.power_w:.1f} W of {SCOPE_WORDS[power_total.scope]} ({power_total.source})"
