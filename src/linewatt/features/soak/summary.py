# SPDX-License-Identifier: Apache-2.0
"""The summary of a soak as studies publish it, and what is said of users, CPU and energy: lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis.power import SCOPE_WORDS
from linewatt.features.soak import figures
from linewatt.features.soak.digest import HostPower, Soak
from linewatt.features.soak.ledger import CLIENT_NICS, CLIENTS, SERVER_NICS, Figure, Ledger
from linewatt.features.soak.metrics import J_PER_GB
from linewatt.features.soak.users_summary import TITLES
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.report import bits_text, bytes_text, number_text, provenance_mark
from linewatt.units import (
    MISSING,
    format_change,
    format_percent,
    format_rate,
    format_seconds,
    format_significant,
)

UNREAD = "no counter of payload was read"
_MOST_HOSTS = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what, its value, and what a reader must know beside it. ``mark``: it was not measured."""

    title: str
    value: str
    note: str = ""
    mark: str | None = None


def packets(soak: Soak) -> Figure:
    """Packets both ways, as the server's NICs counted them; the clients' where there is none."""
    book = soak.ledger
    for column in (SERVER_NICS, CLIENT_NICS):
        both_ways = book.value("to_clients_packets", column) + book.value("to_server_packets", column)
        if both_ways.value is not None:
            return both_ways
    return both_ways


def transfers(soak: Soak) -> Figure:
    """Transfers done, both ways, as clients counted them."""
    book = soak.ledger
    return book.value("gets_done", CLIENTS) + book.value("puts_done", CLIENTS)


def energy_j(soak: Soak, host_power: HostPower) -> float | None:
    """A host's energy over the time that loads ran: its mean power, that of the whole soak, times that."""
    return None if host_power.total is None else host_power.total.power_w * soak.load_s


def energy_j_per_gb(soak: Soak, host_power: HostPower) -> float | None:
    """The same for each GB of payload."""
    used_j = energy_j(soak, host_power)
    return None if used_j is None else figures.j_per_gb(used_j, soak.total_bytes)


def per_gb_text(soak: Soak, host_power: HostPower) -> str | None:
    """``12.3 J/GB``."""
    per_gb = energy_j_per_gb(soak, host_power)
    return None if per_gb is None else f"{J_PER_GB.text(per_gb)} {J_PER_GB.name}"


def scope_text(scope: str, covered: float) -> str:
    """What watts are of, and in how much of the time they were read where that is not all of it."""
    words = SCOPE_WORDS.get(scope, scope)
    return words if covered > 0.99 else f"{words}, read in {format_percent(covered, 0)} of the time"


def summary(soak: Soak) -> list[Fact]:
    """Rate, transfers, packets, dropped, total data: the lines that studies print."""
    rates, book = soak.rates, soak.ledger
    total = soak.moved_bytes
    packet_count = packets(soak)
    counts = [Fact("File transfers", number_text(transfers(soak).value))] if soak.roles.has_users else []
    return [
        Fact(
            "Rate, mean", format_rate(soak.mean_bps, 4), f"payload over {format_seconds(soak.load_s)} of load"
        ),
        Fact("Rate, peak", format_rate(rates.peak_bps if rates else None, 4), _slice(soak)),
        *counts,
        Fact("Packets", number_text(packet_count.value), packet_count.reason or "both ways, as NICs counted"),
        Fact("Dropped or overrun", dropped_text(book), dropped_note(soak)),
        Fact("Total data", MISSING, UNREAD)
        if total is None
        else Fact("Total data", bits_text(total * 8), bytes_text(total)),
    ]


def dropped_text(book: Ledger) -> str:
    """``1,204``; ``≥ 1,204`` where not all are counted."""
    text = number_text(book.dropped)
    return text if book.dropped is None or not book.dropped_lacks else f"≥ {text}"


def dropped_note(soak: Soak) -> str:
    """The part of the packets that was dropped, or what keeps it from being known."""
    packet_count, dropped, lacks = packets(soak).value, soak.ledger.dropped, soak.ledger.dropped_lacks
    if dropped is not None and lacks:
        return f"at least: {lacks}"
    return of_packets(dropped / packet_count) if dropped is not None and packet_count else ""


def of_packets(ratio: float) -> str:
    """A share that is small, as people say it."""
    return f"{1e6 * ratio:.3g} per million packets" if ratio else "none of the packets"


def _slice(soak: Soak) -> str:
    if soak.rates is not None and soak.rates.peak_at is None:
        return "at least: it was in time without readings"
    return f"over {format_seconds(soak.scan.cell_s)}"


def details(soak: Soak) -> list[Fact]:
    """Whose best setting it has, percentiles of the rate, drift, users, their CPU, and energy."""
    return [*best_facts(soak), *_rates(soak), *users_facts(soak), *cpu_facts(soak), *_energy(soak)]


def best_facts(soak: Soak) -> Iterator[Fact]:
    """Which experiment the settings are the best of."""
    best = soak.result.manifest.asked.best_of
    if best is not None:
        yield Fact(f"Best of {best.result}", best.text, "; ".join([best.words, *best.notes]))


def _rates(soak: Soak) -> Iterator[Fact]:
    rates, drift = soak.rates, soak.drift
    if rates is not None:
        shown = ", ".join(f"{name} {format_rate(value)}" for name, value in rates.percentiles_bps.items())
        yield Fact("Rate, percentiles", shown, f"of slices of {format_seconds(soak.scan.cell_s)}")
    if not isinstance(drift, Missing):
        low, high = (format_change(day_ratio, 2) for day_ratio in (drift.low_per_day, drift.high_per_day))
        change = f"{format_change(drift.per_day, 2)} a day"
        yield Fact("Slow drift", change, f"95 % CI {low.removesuffix(' %')} to {high} (Theil–Sen)")


def users_facts(soak: Soak) -> Iterator[Fact]:
    """Users sustained, and times of what they did."""
    done, sustained = soak.users, soak.sustained_users
    if done is None:
        return
    if sustained is not None:
        lack, sustained_rate = soak.users_lack, format_rate(soak.asked.sustained_bps)
        yield Fact(
            "Users sustained",
            f"{'≥ ' if lack else ''}{sustained} of {soak.asked.users or len(done.bytes_by_user)}",
            f"at {sustained_rate} or more each, on average{f'; {lack}' if lack else ''}",
        )
    for name, time in done.times.items():
        points = ", ".join(
            f"{_point(at)} {format_seconds(value)}" for at, value in time.percentiles_s.items()
        )
        yield Fact(TITLES[name], points, f"of {time.count:,}; longest {format_seconds(time.max_s)}")
    if done.reason:
        yield Fact("Times of transfers", MISSING, done.reason)


def _point(name: str) -> str:
    return name.removesuffix("_s")


def cpu_facts(soak: Soak) -> Iterator[Fact]:
    """What the clients' processes used."""
    cpu_s_per_gbit, saturated = soak.client_cpu
    if cpu_s_per_gbit is not None:
        note = f"saturated: {', '.join(saturated)}" if saturated else "no client was saturated"
        yield Fact("Client CPU", f"{format_significant(cpu_s_per_gbit)} CPU-s/Gbit", note)


def _energy(soak: Soak) -> Iterator[Fact]:
    """Of each host where they are few, else of the server and of all others together."""
    server = [host_power for host_power in soak.power if host_power.host == soak.roles.ends.server]
    others = [host_power for host_power in soak.power if host_power not in server]
    if len(others) <= _MOST_HOSTS:
        yield from _of_hosts(soak, [*server, *others])
        return
    yield from _of_hosts(soak, server)
    alike: dict[tuple[str, Provenance], list[float]] = {}
    for total in (host_power.total for host_power in others if host_power.total is not None):
        alike.setdefault((total.scope, total.provenance), []).append(total.power_w)
    for (scope, provenance), watts in alike.items():
        together = f"{len(watts)} of {len(others)} hosts together"
        note = f"{together}, mean, {SCOPE_WORDS.get(scope, scope)}"
        yield Fact("Power, other hosts", f"{sum(watts):,.1f} W", note, provenance_mark(provenance))


def _of_hosts(soak: Soak, hosts: Sequence[HostPower]) -> Iterator[Fact]:
    for host in hosts:
        if host.total is None:
            yield Fact(f"Power, {host.host}", MISSING, host.reason or "")
            continue
        note = f"mean, {scope_text(host.total.scope, host.covered)}"
        sure = provenance_mark(host.total.provenance)
        yield Fact(f"Power, {host.host}", f"{host.total.power_w:,.1f} W", note, sure)
        per_gb = per_gb_text(soak, host)
        if per_gb is not None:
            used_kwh = (energy_j(soak, host) or 0.0) / 3.6e6
            yield Fact(f"Energy per GB, {host.host}", per_gb, f"{used_kwh:,.3g} kWh while loads ran", sure)
