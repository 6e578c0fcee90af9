# SPDX-License-Identifier: Apache-2.0
"""A soak as one run: its digest as quantities, or one of these from the ends of its parts alone."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from linewatt.analysis.comparison import Quantity
from linewatt.analysis.metrics import Response
from linewatt.analysis.power import SCOPE_WORDS, least_sure
from linewatt.errors import StoreError
from linewatt.features.soak import figures
from linewatt.features.soak.comparison import SoakRun
from linewatt.features.soak.cpus import cpus_used
from linewatt.features.soak.digest import HostPower, Soak, digest
from linewatt.features.soak.flags import flags
from linewatt.features.soak.job import DRIFT, SUSTAINED, job_of
from linewatt.features.soak.ledger import CLIENTS, SERVER, Figure
from linewatt.features.soak.load_totals import CPU, MOVED, USERS, LoadTotals, load_totals
from linewatt.features.soak.metrics import CLIENT_CPU, RATE, UNEXPLAINED
from linewatt.features.soak.storage import parts, parts_gone
from linewatt.features.soak.summary import UNREAD, energy_j, transfers
from linewatt.loads import DEFAULT_LOAD
from linewatt.missing import Missing
from linewatt.store import Result

_POINTS = ("p50", "p99")


def soak_run(result: Result) -> SoakRun:
    """Read a soak; nothing of its samples stays in memory. Raises StoreError."""
    soak = digest(result)
    return SoakRun(
        task=job_of(result.manifest.asked),
        quantities=dict(_quantities(soak)),
        ran_s=soak.ran_s,
        complete=soak.complete,
        balance=soak.balance.verdict or "not known",
        balance_words=soak.balance.words,
        flags=flags(soak),
    )


def _quantities(soak: Soak) -> Iterator[tuple[str, Quantity]]:
    moved = soak.moved_bytes
    unread = UNREAD if moved is None and soak.load_s > 0 else None
    yield RATE.name, _by_time(soak, None if moved is None else moved * 8, unread)
    drift = soak.drift
    yield DRIFT, Quantity(None, drift.reason) if isinstance(drift, Missing) else Quantity(drift.per_day)
    if soak.roles.has_users:
        yield from _of_users(soak)
    if soak.roles.ends.server is not None:
        yield "server_cores", _server_cores(soak)
    unexplained = soak.balance.unexplained
    reason = soak.balance.unexplained_words if unexplained is None else None
    yield UNEXPLAINED.name, Quantity(unexplained, reason)
    yield from _energy(soak)


def _by_time(soak: Soak, count: float | None, reason: str | None = None) -> Quantity:
    if count is None or soak.load_s <= 0:
        return Quantity(None, reason or "no load ran")
    return Quantity(count / soak.load_s)


def _of_users(soak: Soak) -> Iterator[tuple[str, Quantity]]:
    done = transfers(soak)
    yield "transfers_hz", _by_time(soak, done.value, done.reason)
    yield "failed_ratio", _failed(soak, done)
    if soak.asked.sustained_bps is not None:
        yield SUSTAINED, _sustained(soak)
    cpu_s_per_gbit, _ = soak.client_cpu
    yield (
        CLIENT_CPU.name,
        Quantity(cpu_s_per_gbit, None if cpu_s_per_gbit is not None else "no client's CPU was read"),
    )
    times = soak.users.times if soak.users is not None else {}
    lacking = soak.users.reason if soak.users is not None else None
    for name in ("get.first_byte", "get.total", "put.first_byte", "put.total"):
        percentiles = times.get(name)
        for point in _POINTS:
            value = None if percentiles is None else percentiles.percentiles_s.get(f"{point}_s")
            why = None if value is not None else lacking or "no such transfer"
            yield f"{name.replace('.', '_')}_{point}_s", Quantity(value, why)


def _failed(soak: Soak, done: Figure) -> Quantity:
    failed = soak.ledger.value("gets_failed", CLIENTS) + soak.ledger.value("puts_failed", CLIENTS)
    if failed.value is None or done.value is None:
        return Quantity(None, failed.reason or done.reason)
    ended_count = failed.value + done.value
    return Quantity(failed.value / ended_count) if ended_count else Quantity(None, "no transfer ended")


def _sustained(soak: Soak) -> Quantity:
    """Of the users that were planned: their number is part of the job."""
    if soak.users is None or soak.sustained_users is None:
        return Quantity(None, "no load ran")
    if soak.users_lack:
        return Quantity(None, soak.users_lack)
    return Quantity(soak.sustained_users / (soak.asked.users or len(soak.users.bytes_by_user)))


def _server_cores(soak: Soak) -> Quantity:
    """All CPUs of the server, over the slices in which loads ran all the time."""
    cpu_use = cpus_used(soak, SERVER)
    if cpu_use is None:
        return Quantity(None, "no reading of mpstat")
    used = [
        cores
        for cores, rate in zip(cpu_use.cores, soak.payload, strict=False)
        if cores is not None and rate is not None
    ]
    return Quantity(fmean(used)) if used else Quantity(None, "no reading of mpstat while loads ran")


def _energy(soak: Soak) -> Iterator[tuple[str, Quantity]]:
    server = [host_power for host_power in soak.power if host_power.host == soak.roles.ends.server]
    others = [host_power for host_power in soak.power if host_power.host in soak.roles.ends.clients]
    for name, hosts, needed in (
        ("server", server, 1),
        ("clients", others, len(soak.roles.ends.clients)),
    ):
        if hosts:
            yield f"{name}_energy_j_per_gb", _energy_of(soak, hosts, needed)


def _energy_of(soak: Soak, hosts: list[HostPower], needed: int) -> Quantity:
    """Of all hosts of a side together, where each has watts of one scope."""
    totals = [host.total for host in hosts if host.total is not None]
    if len(totals) < needed:
        reasons = [f"{host.host}: {host.reason}" for host in hosts if host.total is None]
        return Quantity(None, reasons[0] if reasons else f"{len(totals)} of {needed} hosts have watts")
    scopes = dict.fromkeys(total.scope for total in totals)
    if len(scopes) > 1:
        words = ", ".join(SCOPE_WORDS.get(scope, scope) for scope in scopes)
        return Quantity(None, f"watts of several scopes: {words}")
    used = sum(energy_j(soak, host) or 0.0 for host in hosts)
    energy_j_per_gb = figures.j_per_gb(used, soak.total_bytes)
    worst = least_sure(total.provenance for total in totals)
    return Quantity(
        energy_j_per_gb, None if energy_j_per_gb is not None else "nothing was moved", totals[0].scope, worst
    )


def followed_run(result: Result, response: Response) -> SoakRun:
    """A soak with its value of a response alone. Raises StoreError: one that was cut off is no run."""
    if not result.complete:
        raise StoreError("not complete")
    campaign = result.manifest.asked
    clients = campaign.users.clients if campaign.users else ()
    load = campaign.load or DEFAULT_LOAD
    needed = {*((name, USERS) for name in clients), *((name, load) for name in campaign.paired)}
    stored = parts(result.path)
    lacking = [f"all of {name}" for name in parts_gone(result.path)]
    lacking += [f"chunk {part.missing[0]} of part {part.number}" for part in stored if part.missing]
    if lacking:
        raise StoreError(f"{lacking[0]} is missing")
    totals = load_totals(stored, needed)
    value = _rate_of_ends(totals, clients) if response == RATE else _cpu_of_ends(totals, clients)
    if not value:
        raise StoreError(f"nothing on record of {response.title.lower()}")
    return SoakRun(job_of(campaign), {response.name: Quantity(value)})


def _rate_of_ends(totals: LoadTotals, clients: tuple[str, ...]) -> float | None:
    """Payload over the time of load: what users moved, and what a load beside them received anywhere."""
    users = totals.sum(MOVED[:2], clients)
    return 8 * (users + totals.sum(MOVED[2:])) / totals.load_s if totals.load_s > 0 else None


def _cpu_of_ends(totals: LoadTotals, clients: tuple[str, ...]) -> float | None:
    return figures.per_gbit(totals.sum((CPU,), clients), totals.sum(MOVED[:2], clients))
