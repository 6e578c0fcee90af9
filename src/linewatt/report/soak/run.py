# SPDX-License-Identifier: Apache-2.0
"""A soak as one value in a course over many: read from the ends of its parts alone."""

from __future__ import annotations

from linewatt.analysis.comparison.history import SoakRun
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.soaks import CLIENT_CPU, RATE
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.soak import figures
from linewatt.analysis.soak.job import clients_of, job_of
from linewatt.errors import StoreError
from linewatt.loads.registry import DEFAULT
from linewatt.store.read import Result
from linewatt.store.soak import parts, parts_gone
from linewatt.store.soak_totals import CPU, MOVED, USERS, LoadTotals, load_totals

OF_METRIC: dict[str, Response] = {"throughput": RATE, "efficiency": CLIENT_CPU}
"""what ``--metric`` of ``linewatt history`` means for soaks"""


def soak_run(result: Result, side: Side, response: Response) -> SoakRun | str:
    """The soak's value of a response, or why it has none. One that did not run to its end is no run."""
    if not result.complete:
        return "not complete"
    clients = clients_of(side.campaign)
    pairs = [host for pair in side.campaign.get("pairs") or () for host in pair]
    load = side.campaign.get("load", DEFAULT)
    needed = {*((name, USERS) for name in clients), *((name, load) for name in pairs)}
    try:
        stored = parts(result.path)
        lacking = [f"all of {name}" for name in parts_gone(result.path)]
        lacking += [f"chunk {one.missing[0]} of part {one.number}" for one in stored if one.missing]
        if lacking:
            return f"{lacking[0]} is missing"
        totals = load_totals(stored, needed)
    except StoreError as error:
        return str(error)
    value = _rate_bps(totals, clients) if response == RATE else _cpu_s_per_gbit(totals, clients)
    if not value:
        return f"nothing on record of {response.title.lower()}"
    return SoakRun(side, job_of(side.campaign), value)


def _rate_bps(totals: LoadTotals, clients: tuple[str, ...]) -> float | None:
    """Payload over the time of load: what users moved, and what a load beside them received anywhere."""
    users = totals.sum(MOVED[:2], clients)
    return 8 * (users + totals.sum(MOVED[2:])) / totals.load_s if totals.load_s > 0 else None


def _cpu_s_per_gbit(totals: LoadTotals, clients: tuple[str, ...]) -> float | None:
    return figures.per_gbit(totals.sum((CPU,), clients), totals.sum(MOVED[:2], clients))
