# SPDX-License-Identifier: Apache-2.0
"""Several data ports as a table: what the instances of each counted, and what its interfaces did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from linewatt.analysis.cases import CaseSummary
from linewatt.model import PortResult, Trial
from linewatt.report.series import TestGroup
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table
from linewatt.report.trials.settings.scalability import INSTANCES
from linewatt.units import MISSING, format_percent, format_rate

_HEADS = (
    Head("On it", kind="text"),
    Head("Throughput", kind="text"),
    Head("Of its line", kind="text"),
    Head("Sent by sender's", kind="text", lines="Sent by\nsender's"),
    Head("Received by receiver's", kind="text", lines="Received by\nreceiver's"),
)
_WORDS = (
    "Sent and received are what the kernels counted at these interfaces: frames with their headers, at a "
    "virtual interface segments that are still one"
)


def port_tables(tests: Iterable[TestGroup], trials: Sequence[Trial]) -> Iterator[Table]:
    """One a test whose hosts have several: a row for each port of every case, means over its trials."""
    done = [trial for trial in trials if trial.data_ports and trial.window is not None]
    for test in tests:
        groups = tuple(
            RowGroup(label, rows)
            for label, series in test.labelled
            if (rows := tuple(row for summary in series.summaries for row in _rows(summary, done)))
        )
        if groups:
            title = f"{test.title}: data ports, mean over trials"
            keys = (INSTANCES, Head("Port", kind="text"))
            yield Table(title, keys, _HEADS, groups, (Note("legend", _WORDS),))


def _rows(summary: CaseSummary, trials: Sequence[Trial]) -> Iterator[Row]:
    of_case = [trial for trial in trials if trial.case == summary.case and trial.throughput_bps is not None]
    for number in range(min((len(trial.data_ports) for trial in of_case), default=0)):
        yield _row(summary.case.instances, [(trial, trial.data_ports[number]) for trial in of_case])


def _row(instances: int, trial_ports: Sequence[tuple[Trial, PortResult]]) -> Row:
    first = trial_ports[0][1]
    rate_bps = fmean(port.throughput_bps for _, port in trial_ports)
    line_bps = first.line_goodput_bps
    ways = f"{first.sender_interface} → {first.receiver_interface}"
    return Row(
        (Cell(f"{instances}"), Cell(ways)),
        (
            Cell(f"{first.instances}"),
            Cell(format_rate(rate_bps)),
            Cell(format_percent(rate_bps / line_bps))
            if line_bps
            else Cell(MISSING, reason="the rate of its line is not known"),
            _counted([(trial, port.sent_bytes) for trial, port in trial_ports]),
            _counted([(trial, port.received_bytes) for trial, port in trial_ports]),
        ),
    )


def _counted(trial_bytes: Sequence[tuple[Trial, float | None]]) -> Cell:
    """As a rate over the window."""
    rates = [
        8 * counted / trial.window.seconds
        for trial, counted in trial_bytes
        if counted is not None and trial.window
    ]
    if len(rates) < len(trial_bytes):
        return Cell(MISSING, reason="netcounters does not cover the window in every trial")
    return Cell(format_rate(fmean(rates)))
