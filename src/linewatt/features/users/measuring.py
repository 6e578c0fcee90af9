# SPDX-License-Identifier: Apache-2.0
"""What users did in the window of a trial, from the reports of their clients. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.statistics import shapes, standard_error
from linewatt.engine.live import Reading, TrialRun, UsersReport
from linewatt.engine.measuring import COVERAGE_NEEDED, Cut, Setup, flag_of_shape, overlap_s, trial_of
from linewatt.errors import ParseError
from linewatt.features.users.findings import CHANCE, KEPT_OUT, MANY_FAILED
from linewatt.features.users.worker.decisions import RETRY_LAST_S
from linewatt.findings import FULL_RATIO, REACHED_RATE_RATIO
from linewatt.hosts import HostSpec
from linewatt.model import Channel, Flag, Sample, Trial, Window
from linewatt.store import Series

SOURCE = "users"


@dataclass(frozen=True, slots=True)
class Done:
    """What the users of all clients did in the window; reports on its edges count in proportion.

    ``client_cores`` is the CPU use of each client's users. ``failures`` are those of reports that touch it.
    """

    client_bps: Mapping[str, float]
    client_cores: Mapping[str, float]
    transfers: float
    failures: Mapping[str, int]
    kept_out: float
    """users who were refused all the time, that try as many logins as failed"""
    window_s: float

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def many_failed(self) -> bool:
        """Whether throughput is that of whom the server let through."""
        return self.failed >= MANY_FAILED * (self.failed + self.transfers) or self.kept_out >= KEPT_OUT

    @property
    def payload_bps(self) -> float:
        """Of all clients."""
        return sum(self.client_bps.values())


def done_in(run: TrialRun, window: Window, clients: Sequence[str]) -> Done:
    """Raises ParseError where a client's reports leave a part of the window uncovered."""
    rates_bps: dict[str, float] = {}
    cores: dict[str, float] = {}
    transfers = 0.0
    failures: Counter[str] = Counter()
    for host in clients:
        parts = [(report, _share(report, window)) for report in run.users if report.host == host]
        covered_s = sum(share * (report.end_s - report.start_s) for report, share in parts)
        if covered_s < COVERAGE_NEEDED * window.seconds:
            raise ParseError(
                f"{host}: the reports of its users cover {covered_s:.1f} s of the window of "
                f"{window.seconds:.1f} s"
            )
        payload = sum(share * (report.received_bytes + report.sent_bytes) for report, share in parts)
        rates_bps[host] = 8 * payload / window.seconds
        transfers += sum(share * (report.gets + report.puts) for report, share in parts)
        cores[host] = sum(share * report.cpu_s for report, share in parts) / window.seconds
        for report, share in parts:
            failures.update(dict(report.failures) if share > 0 else {})
    logins = sum(count for kind, count in failures.items() if kind.startswith("login "))
    return Done(rates_bps, cores, transfers, failures, RETRY_LAST_S * logins / window.seconds, window.seconds)


def _share(users_report: UsersReport, window: Window) -> float:
    length_s = users_report.end_s - users_report.start_s
    return overlap_s(users_report.start_s, users_report.end_s, window) / length_s if length_s > 0 else 0.0


def users_rates(reports: Sequence[UsersReport], window: Window) -> list[float]:
    """What all users moved both ways, in equal intervals of the window, none shorter than a report, bit/s."""
    longest_s = max((report.end_s - report.start_s for report in reports), default=0.0)
    count = int(window.seconds // longest_s) if longest_s > 0 else 0
    each_s = window.seconds / max(1, count)
    rates = []
    for number in range(count):
        part = Window(window.start_s + number * each_s, window.start_s + (number + 1) * each_s)
        payload = sum(
            _share(report, part) * (report.received_bytes + report.sent_bytes) for report in reports
        )
        rates.append(8 * payload / each_s)
    return rates


def users_flags(run: TrialRun, done: Done, hosts: Mapping[str, HostSpec]) -> Iterator[Flag]:
    """Transfers that failed, and clients that could do no more."""
    server = run.planned.case.receiver
    if done.failed:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(done.failures.items()))
        first = f"; the first: {run.complaints[0]}" if run.complaints else ""
        yield Flag(
            "many-transfers-failed" if done.many_failed else "transfers-failed",
            server,
            f"{done.failed} failed, about {done.transfers:.0f} completed in the window: {kinds}{first}",
            "look up the kind of failure in docs/users.md, remove its cause, and measure again",
        )
    yield from _unserved(run, done)
    for host, cores in done.client_cores.items():
        if cores >= FULL_RATIO and not hosts[host].shares_cpus_with:
            yield Flag(
                "client-saturated",
                host,
                f"its users used {cores:.2f} cores; they run in a single thread",
                "spread the users over more clients",
            )


def _unserved(run: TrialRun, done: Done) -> Iterator[Flag]:
    """Fewer transfers than an open loop asked for, beyond what arrivals at random vary by."""
    case = run.planned.case
    due = (case.arrival_rate_hz or 0.0) * done.window_s
    if done.transfers < REACHED_RATE_RATIO * due and due - done.transfers > CHANCE * math.sqrt(due):
        yield Flag(
            "arrivals-not-served",
            case.receiver,
            f"about {done.transfers:.0f} of {due:.0f} requested transfers completed in the window "
            f"({100 * done.transfers / due:.0f} %); requested rate {case.arrival_rate_hz:g} per second",
            "the figures belong to the completed transfers; lower the rate, or add users",
        )


def users_throughput(rates: Sequence[float], window: Window) -> list[Flag]:
    """What the reports of all users say together. Few low intervals are no event: files end, users think."""
    shape = shapes.find_shape(rates)
    if shape is None or isinstance(shape, shapes.Lows):
        return []
    edges_s = [at * window.seconds / len(rates) for at in range(len(rates) + 1)]
    return flag_of_shape(shape, edges_s, window)


class UsersMeasuring:
    """Keeps to :class:`~linewatt.engine.measuring.feature_load.LoadMeasuring`."""

    def measure(
        self, run: TrialRun, readings: Mapping[str, Sequence[Reading]], setup: Setup, overhead_s: float
    ) -> tuple[Window, Trial]:
        """What users moved both ways, and what that cost. Raises ParseError."""
        case = run.planned.case
        start_s = run.started_s + setup.omit_s  # all users of all clients are let go at once
        window = Window(start_s, start_s + setup.window_s)
        done = done_in(run, window, [name for name in case.hosts if name != case.receiver])
        if not done.payload_bps:
            raise ParseError(
                f"users moved no data in the window; {'; '.join(run.complaints) or 'no transfer failed'}"
            )
        trial = trial_of(Cut(run, [], window, readings, setup, done.client_cores), overhead_s)
        again = whole_sum(end.counters.get("nstat.TcpRetransSegs") for end in trial.ends)
        return window, replace(
            trial,
            throughput_bps=done.payload_bps,
            throughput_se_bps=standard_error(users_rates(run.users, window)),
            offered_bps=None,
            flows=tuple(replace(flow, users_bps=done.client_bps.get(flow.sender)) for flow in trial.flows),
            retransmits=None if again is None else round(again),
            flags=(*trial.flags, *users_flags(run, done, setup.hosts)),
        )

    def unsteady(self, run: TrialRun, window: Window) -> list[Flag]:
        return users_throughput(users_rates(run.users, window), window)

    def series(self, run: TrialRun) -> Iterator[Series]:
        """What the users of each client moved, report by report, as samples of its host."""
        name = f"{SOURCE}.throughput_bps"
        for host in dict.fromkeys(report.host for report in run.users):
            samples = [
                Sample(
                    report.end_s,
                    name,
                    8 * (report.received_bytes + report.sent_bytes) / (report.end_s - report.start_s),
                    report.end_s - report.start_s,
                )
                for report in run.users
                if report.host == host and report.end_s > report.start_s
            ]
            yield Series(host, SOURCE, {name: Channel(name, "bit/s", "mean", "host")}, samples)


MEASURING = UsersMeasuring()
