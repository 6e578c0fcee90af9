# SPDX-License-Identifier: Apache-2.0
"""What makes a figure of a soak doubtful, with evidence and advice; docs/soak.md lists them."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.analysis import Findings, gather_findings
from linewatt.analysis.flags import exceeded_flags, not_ready_flags
from linewatt.analysis.statistics import rate_disagrees
from linewatt.features.soak.digest import Soak
from linewatt.features.soak.figures import STALL_SHARE
from linewatt.features.soak.scan import MissingChunks
from linewatt.features.soak.stuck_meters import frozen
from linewatt.missing import Missing
from linewatt.model import Flag
from linewatt.report import plural
from linewatt.units import (
    first_of,
    format_change,
    format_percent,
    format_rate,
    format_seconds,
    format_time_utc,
)

FEWEST_CELLS = 100
"""slices from which the mean of their rates must agree with the total"""
_MOST_NAMED = 4
_COVERED = 0.99


def findings(soak: Soak) -> Findings:
    """The same, each told once at its scope."""
    return gather_findings((), (), flags(soak))


def flags(soak: Soak) -> tuple[Flag, ...]:
    """All flags of a soak, gravest first."""
    return (
        *_damaged(soak),
        *not_ready_flags(soak.result.manifest.not_ready),
        *_missing(soak),
        *_ledger(soak),
        *_drops(soak),
        *_exceeded(soak),
        *_disagrees(soak),
        *_interrupted(soak),
        *_silent(soak),
        *_resets(soak),
        *_saturated(soak),
        *_stalls(soak),
        *_drifts(soak),
        *_power(soak),
        *frozen(soak),
    )


def _damaged(soak: Soak) -> Iterator[Flag]:
    if soak.damaged:
        named = [f"{path.parent.name}/{path.name} ({why})" for path, why in soak.damaged.items()]
        yield Flag(
            "chunk-damaged",
            "the result",
            f"{plural(len(named), 'file')} cannot be read: {first_of(named, _MOST_NAMED)}",
            "all other files are in every figure; totals bridge a damaged chunk with the readings around it; "
            "rates leave its time out; times of transfers miss what damaged files of users contained",
        )


def _missing(soak: Soak) -> Iterator[Flag]:
    if soak.missing or soak.gone:
        named = [
            f"part {missing_span.part}, {missing_span.numbers}, {_time(missing_span)}"
            for missing_span in soak.missing
        ]
        named += soak.gone
        yield Flag(
            "chunk-missing",
            "the result",
            f"missing: {first_of(named, _MOST_NAMED)}",
            "figures cover only the time that is stored, except totals, which bridge chunks missing in "
            "between; look for the files in a backup",
        )


def _time(missing: MissingChunks) -> str:
    """The time that is not there: how much, unless the part's end is only known by what is there."""
    took_s = missing.end_s - missing.start_s
    start = format_time_utc(missing.start_s)
    return f"{format_seconds(took_s)} from {start}" if took_s > 0 else f"after {start}"


def _ledger(soak: Soak) -> Iterator[Flag]:
    for check in soak.balance.checks:
        if check.verdict == "off":
            yield Flag(
                "ledger-off",
                check.title,
                check.words,
                "look for other traffic, counters that were reset, and a server that was killed before it "
                "wrote its log",
            )


def _drops(soak: Soak) -> Iterator[Flag]:
    if soak.balance.unexplained:
        yield Flag(
            "drops-unexplained",
            "the network",
            soak.balance.unexplained_words,
            "read the counters of each switch port and link between the ends, before and after",
        )


def _disagrees(soak: Soak) -> Iterator[Flag]:
    rates = soak.rates
    if rates is None or rates.cells < FEWEST_CELLS or soak.load_s <= 0:
        return
    disagreement = rate_disagrees(soak.total_bytes * 8, soak.load_s, rates.mean_bps)
    if disagreement is not None:
        yield Flag(
            "total-disagrees-with-rate",
            "the summary",
            f"the mean of the rates is {format_rate(disagreement.stated_bps, 4)}, the total ÷ "
            f"{format_seconds(soak.load_s)} is {format_rate(disagreement.mean_bps, 4)}",
            "check the gaps: the total includes what was counted in them, the rates do not",
        )


def _exceeded(soak: Soak) -> Iterator[Flag]:
    """The load beside the users, which has a rate of its own."""
    asked_bps, moved = soak.load_asked_bps, soak.mean_of("load.received_bytes")
    if asked_bps and moved is not None:
        yield from exceeded_flags([(asked_bps, 8 * moved)], soak.load)


def _interrupted(soak: Soak) -> Iterator[Flag]:
    for before, after in zip(soak.parts, soak.parts[1:], strict=False):
        yield Flag(
            "soak-interrupted",
            f"part {before.number} to {after.number}",
            f"interrupted at {format_time_utc(before.ended_s)} for "
            f"{format_seconds(after.started_s - before.ended_s)} ({before.why or 'the controller ended'}): "
            "no load ran, and no sensor was read",
            "totals and rates cover only the measured time; effects that build up over days started again",
        )


def _silent(soak: Soak) -> Iterator[Flag]:
    slack_s = soak.scan.slowest_s
    gaps = [
        gap
        for gap in soak.scan.gaps
        if not any(missing_span.holds(gap, slack_s) for missing_span in soak.missing)
    ]
    if gaps:
        longest = sorted(gaps, key=lambda gap: gap.start_s - gap.end_s)
        named = [
            f"{gap.host} {gap.source} for {format_seconds(gap.end_s - gap.start_s)} "
            f"from {format_time_utc(gap.start_s)}"
            for gap in longest
        ]
        yield Flag(
            "readings-missing",
            "sensors and clients",
            f"{plural(len(gaps), 'gap')}: {first_of(named, _MOST_NAMED)}",
            "totals include what counters counted in the gaps, rates do not; the events may show the cause",
        )


def _resets(soak: Soak) -> Iterator[Flag]:
    reset = [f"{total.host} {total.channel}" for total in soak.totals if total.resets]
    if reset:
        yield Flag(
            "counter-reset",
            "the ledger",
            f"{plural(len(reset), 'counter')} went back: {first_of(reset, _MOST_NAMED)}",
            "their totals are lower bounds; check whether a host was rebooted or a driver reloaded",
        )


def _saturated(soak: Soak) -> Iterator[Flag]:
    for host, share in soak.client_cpu[1].items():
        yield Flag(
            "client-saturated",
            host,
            f"its users' process used a whole core in {format_percent(share, 0)} of the time",
            "the client may limit the rate, not the server: spread the users over more clients",
        )


def _stalls(soak: Soak) -> Iterator[Flag]:
    if soak.stalls:
        scan = soak.scan
        named = [
            f"{format_time_utc(scan.start_s + stall.first * scan.cell_s)} for "
            f"{format_seconds((stall.end - stall.first) * scan.cell_s)}"
            for stall in soak.stalls
        ]
        yield Flag(
            "stalls",
            "the load",
            f"the rate was below {format_percent(STALL_SHARE, 0)} of its median while users ran, "
            f"{plural(len(named), 'time')}: {first_of(named, _MOST_NAMED)}",
            "check the events and the drops at the same time",
        )


def _drifts(soak: Soak) -> Iterator[Flag]:
    drift = soak.drift
    if not isinstance(drift, Missing) and drift.matters:
        went = "rises" if drift.per_day > 0 else "falls"
        ratios = (drift.per_day, drift.low_per_day, drift.high_per_day, drift.over_all)
        change, low, high, over_all = (format_change(ratio, 2) for ratio in ratios)
        yield Flag(
            "rate-drifts",
            "the load",
            f"the rate {went} by {change} a day (95 % CI {low} to {high}), {over_all} over the soak",
            "check temperature, memory and the fill level of the server's disk over the same time",
        )


def _power(soak: Soak) -> Iterator[Flag]:
    for host_power in soak.power:
        if host_power.total is not None and host_power.covered < _COVERED:
            yield Flag(
                "power-incomplete",
                host_power.host,
                f"its power was read in {format_percent(host_power.covered, 0)} of the time",
                "its energy assumes the mean of that time for the whole soak",
            )
