# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt show`` prints of a soak first, and what its report begins with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linewatt.features.soak import figures
from linewatt.features.soak.digest import Soak
from linewatt.features.soak.flags import findings
from linewatt.features.soak.ledger_tables import event_line
from linewatt.features.soak.summary import (
    UNREAD,
    Fact,
    best_facts,
    cpu_facts,
    dropped_note,
    dropped_text,
    packets,
    per_gb_text,
    scope_text,
    transfers,
    users_facts,
)
from linewatt.features.soak.terminal import state
from linewatt.findings import Figure
from linewatt.foreign import one_line
from linewatt.missing import Missing
from linewatt.report import bytes_text, number_text, plural, provenance_mark
from linewatt.report import provenance_words as sources
from linewatt.report.printing import TRUST, Block, Entry, Line, Screen, hosts_words, sparkline
from linewatt.units import MISSING, format_change, format_rate, format_seconds, format_time_utc


def first_screen(soak: Soak) -> Screen:
    """How fast over time, what became of every byte, what it cost, and whether to trust it."""
    name = one_line(soak.result.id)
    balance = soak.balance
    ledger = (
        f"the ledger {balance.words}" if balance.verdict else f"whether the ledger balances {balance.words}"
    )
    rate = (
        f"rate not known: {UNREAD}"
        if soak.mean_bps is None
        else f"{format_rate(soak.mean_bps, 4)} of payload, mean over {format_seconds(soak.load_s)} of load"
    )
    lab = ["Lab: simulated hosts on one machine; no measure of hardware"] if soak.is_lab else []
    unmeasured = sources(soak.power_provenances)
    lab += [f"Watts are {unmeasured}"] if unmeasured else []
    lab += [] if soak.complete else [f"Unfinished: 'linewatt resume {name}' continues it"]
    blocks = (
        Block("Rate", tuple(_rate(soak)), _steadiness(soak)),
        Block("Ledger", tuple(_ledger(soak)), balance.words if balance.verdict else ledger, least=2),
        Block("Users", tuple(_facts([*best_facts(soak), *users_facts(soak), *cpu_facts(soak)])), rest="line"),
        Block("Cost", tuple(_cost(soak)), "mean over the soak", rest="host", command="show --json"),
        Block(TRUST, tuple(_doubts(soak)), _trust(soak), rest="finding"),
    )
    return Screen(
        str(soak.result.manifest.name or MISSING),
        (
            hosts_words([*soak.hosts]),
            f"a soak, {state(soak)}",
            format_time_utc(soak.result.manifest.created_s),
        ),
        (" · ".join(lab),) if lab else (),
        f"{rate[0].upper()}{rate[1:]}; {ledger}.",
        _trust(soak),
        blocks,
        (f"linewatt show {name} --full", f"linewatt report {name}"),
        lists=blocks[:-1],
    )


_MOST_MARKS = 40


def _rate(soak: Soak) -> Iterator[Entry]:
    """Mean, least and most slice in a line, then the rate over time as a line of marks, then percentiles."""
    rates, cell_s = soak.rates, soak.scan.cell_s
    if soak.mean_bps is None:
        yield (Line("", prose=f"not known: {UNREAD}"),)
        return
    mean = f"{format_rate(soak.mean_bps, 4)} mean"
    if rates is None:
        yield (Line("", (mean,), "no slice of time has readings all through"),)
        return
    hidden = "" if rates.peak_at is not None else ", the most in time without readings"
    ends = (f"{format_rate(rates.least_bps, 4)} least", f"{format_rate(rates.peak_bps, 4)} most")
    of = f"of {plural(rates.cells, 'slice')} of {format_seconds(cell_s)}{hidden}"
    yield (Line("", (mean, *ends), of),)
    points = figures.downsample(soak.payload, _MOST_MARKS)
    top = max((point.mean for point in points if point.mean is not None), default=0.0)
    if top > 0:
        marks = sparkline([point.mean for point in points], top)
        mark_span = format_seconds((points[0].end - points[0].first) * cell_s)
        yield (Line("", (marks,), f"from 0 to {format_rate(top, 4)}, {mark_span} a mark", drawn=True),)
    shown = [f"{point} {format_rate(value)}" for point, value in rates.percentiles_bps.items()]
    yield (Line("", prose=f"slices: {', '.join(shown)}"),)


def _steadiness(soak: Soak) -> str:
    """Stalls and drift in few words."""
    if soak.rates is None:
        return "stalls and drift not known"
    stalls = plural(len(soak.stalls), "stall") if soak.stalls else "no stall"
    parts = [f"{stalls} in the time that was read" if soak.has_gaps else stalls]
    drift = soak.drift
    if isinstance(drift, Missing):
        parts.append(f"drift not known: {drift}")
    elif drift.is_sure:
        parts.append(f"drift {format_change(drift.per_day, 2)} a day")
    else:
        parts.append("no drift shown")
    return " · ".join(parts)


def _ledger(soak: Soak) -> Iterator[Entry]:
    packet_count, dropped = packets(soak), soak.ledger.dropped
    moved = ["bytes not read" if soak.moved_bytes is None else f"{bytes_text(soak.moved_bytes)} in all"]
    moved += [_counted(transfers(soak).value, "transfers", " done")] if soak.roles.has_users else []
    yield (Line("moved", tuple(moved), _counted(packet_count.value, "packets")),)
    share = dropped_note(soak)
    counted = f"{dropped_text(soak.ledger)} packets" if dropped is not None else "not counted"
    lost = Line("dropped", (counted,))
    unexplained = soak.balance.unexplained
    short = (
        "whether any is unexplained is not known"
        if unexplained is None
        else f"{unexplained:,} more unexplained"
    )
    words = (
        (soak.balance.unexplained_words, short)
        if unexplained
        else ("none unexplained" if unexplained == 0 else short,)
    )
    yield tuple(
        replace(lost, prose="; ".join(filter(None, (share, phrase)))) for phrase in dict.fromkeys(words)
    )
    if soak.events:
        shown_events = [event for event in soak.events if event.kind != "first-failure"]
        if shown_events:
            more = f"and {len(shown_events) - 1} more"
            forms = (f" ({more}: show --full)", f" ({more})") if len(shown_events) > 1 else ("",)
            yield tuple(Line("events", prose=f"{event_line(shown_events[0])}{form}") for form in forms)


def _counted(value: float | None, what: str, done: str = "") -> str:
    return f"{what} not counted" if value is None else f"{number_text(value)} {what}{done}"


def _facts(facts: list[Fact]) -> Iterator[Entry]:
    for fact in facts:
        short = Line(fact.title, prose=fact.value)
        yield Line(fact.title, prose=f"{fact.value}; {fact.note}" if fact.note else fact.value), short


def _cost(soak: Soak) -> Iterator[Entry]:
    server = soak.roles.ends.server
    for host_power in sorted(soak.power, key=lambda host_power: host_power.host != server):
        about = f"{'server ' if host_power.host == server else ''}{host_power.host}"
        total = host_power.total
        if total is None:
            yield (Line(about, prose=host_power.reason or "no power"),)
            continue
        per_gb, sure = per_gb_text(soak, host_power), provenance_mark(total.provenance)
        watts = [f"{total.power_w:,.1f} W", *([] if per_gb is None else [per_gb])]
        marked = tuple(f"{text} {sure}" if sure else text for text in watts)
        yield (Line(about, marked, scope_text(total.scope, host_power.covered)),)
    if not soak.power:
        why = "no source of power was named" if soak.series else "nothing of it was read"
        yield (Line("watts", prose=why),)


_FIGURES: tuple[tuple[str, Figure], ...] = (("rate", "throughput"), ("CPU", "cpu"), ("watts", "power"))


def _trust(soak: Soak) -> str:
    """Of rate, CPU and watts whether a finding speaks against them; of the ledger it says so itself."""
    numbered = list(enumerate(findings(soak).every, start=1))
    rate, cpu = soak.mean_bps, soak.client_cpu[0]
    is_known = {"throughput": rate is not None, "cpu": cpu is not None, "power": bool(soak.power_provenances)}
    fine = {"power": sources(soak.power_provenances)}
    alike: dict[str, list[str]] = {}
    for word, group in _FIGURES:
        doubts = [f"{number}" for number, finding in numbered if group in finding.kind.figures]
        if is_known[group]:
            verdict = f"doubtful ({', '.join(doubts)})" if doubts else fine.get(group) or "no doubt found"
            alike.setdefault(verdict, []).append(word)
    verdicts = [f"{', '.join(words)}: {verdict}" for verdict, words in alike.items()]
    return " · ".join([*verdicts, "one soak is one trial: its rate has no CI"])


def _doubts(soak: Soak) -> Iterator[Entry]:
    for number, finding in enumerate(findings(soak).every, start=1):
        seen, advice = finding.sightings[0], finding.advice[0]
        more = f" (and {len(finding.sightings) - 1} more: show --full)" if len(finding.sightings) > 1 else ""
        forms = (
            f"{finding.kind.title}: {seen.where}: {seen.evidence}{more}; do: {advice}",
            f"{finding.kind.title} ({seen.where}); do: {advice}",
            f"{finding.kind.title} ({seen.where})",
        )
        style = "" if finding.kind.rank == "note" else "yellow"
        yield tuple(Line(f"({number})", prose=words, style=style) for words in forms)
