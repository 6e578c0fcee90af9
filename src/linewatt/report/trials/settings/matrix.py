# SPDX-License-Identifier: Apache-2.0
"""A matrix of hosts as a table a test: a row a pair of hosts, what it reached and what it cost both ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases import CaseSummary, Matrix, fullest_matrix, pair_matrices_of
from linewatt.analysis.metrics import METRIC_BY_NAME, POWER_BY_NAME, Unit, power_unit
from linewatt.model import ENDS, Case
from linewatt.report.columns import Shown, of_cases, of_power
from linewatt.report.provenance import provenance_legend
from linewatt.report.series import TestGroup, hostless_labels, plural, test_title
from linewatt.report.table import Cell, Head, Row, RowGroup, Table, legend_notes
from linewatt.report.trials.settings.scalability import TRIALS, trials_cell
from linewatt.units import MISSING

_MANY_HOSTS = 12
_LEAST_PART = 1 / 3
"""of the ordered pairs of many hosts, from which they are a matrix"""
NO_TRIAL = "no trial of this pair is on record"
_FIELDS = (
    "throughput_bps",
    "offered_bps",
    "lost_ratio",
    "receiver_cpu_cores",
    "sender_cpu_cores",
    "receiver_cpu_cores_per_bps",
    "sender_cpu_cores_per_bps",
    "efficiency_receiver_bps_per_core",
    "efficiency_sender_bps_per_core",
)
_POWER_FIELDS = (
    ("system_w", "Power", "Power"),
    ("system_bps_per_w", "Efficiency", "Efficiency"),
    ("dynamic_w_per_bps", "Above idle per throughput", "Above idle\nper tput"),
)
"""metrics of power, and their titles before the end"""


@dataclass(frozen=True, slots=True)
class PairCases:
    """The matrices of a test; ``labels`` say what each differs in from the others, if in anything."""

    test: str
    matrices: tuple[Matrix, ...]
    labels: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{test_title(self.test)}: every pair of hosts"

    @property
    def drawn(self) -> tuple[tuple[str, Matrix], ...]:
        """Of those that differ in instances only, the one with most of them: what heat maps are of."""
        chosen = fullest_matrix(self.matrices)
        return tuple(
            (label, matrix)
            for label, matrix in zip(self.labels, self.matrices, strict=True)
            if matrix in chosen
        )


def pair_cases(groups: Sequence[TestGroup], order: Sequence[str] = ()) -> tuple[PairCases, ...]:
    """The matrices by test, hosts in ``order``; nothing for fewer than three ordered pairs of hosts.

    Many hosts of which few pairs were run, say all to one, are no matrix: nearly all of it would be empty.
    """
    summaries = [summary for group in groups for summary in group.summaries]
    pairs = {summary.case.hosts for summary in summaries if summary.case.shape is None}
    hosts = {host for pair in pairs for host in pair}
    if len(hosts) > _MANY_HOSTS and len(pairs) < _LEAST_PART * len(hosts) * (len(hosts) - 1):
        return ()
    all_matrices = pair_matrices_of(summaries, order)
    labels = matrix_labels([matrix.case for matrix in all_matrices])
    by_test: dict[str, list[Matrix]] = {}
    for matrix in all_matrices:
        by_test.setdefault(matrix.case.test, []).append(matrix)
    return tuple(
        PairCases(test, tuple(test_matrices), tuple(labels[matrix.case] for matrix in test_matrices))
        for test, test_matrices in by_test.items()
    )


def matrix_labels(cases: Sequence[Case]) -> dict[Case, str]:
    """What tells cases without hosts apart, beside their test: ``vxlan, reverse, 4 instances``."""
    single = hostless_labels(dict.fromkeys(case.single for case in cases))
    counts = {case.instances for case in cases}
    labels = {}
    for case in cases:
        count = plural(case.instances, "instance") if counts != {1} else ""
        labels[case] = ", ".join(filter(None, (single[case.single], count)))
    return labels


def matrix_table(cases: PairCases) -> Table:
    """The table of a test, a row an ordered pair of hosts."""
    summaries = [summary for matrix in cases.matrices for summary in matrix.cells.values()]
    columns = list(_columns(summaries))
    powers = [summary.power(role) for summary in summaries for role in ENDS]
    return Table(
        title=cases.title,
        keys=(Head("Pair", kind="text"),),
        heads=(*(column.head for column in columns), TRIALS),
        groups=tuple(
            RowGroup(label, tuple(_row(matrix, *pair, columns) for pair in _pairs(matrix)))
            for label, matrix in zip(cases.labels, cases.matrices, strict=True)
        ),
        notes=legend_notes(
            provenance_legend(power.system_provenance for power in powers if power is not None)
        ),
        group_title="",
        style="numbers matrix",
    )


def _pairs(matrix: Matrix) -> list[tuple[str, str]]:
    """Every ordered pair, sender and receiver, those with the same receiver together."""
    return [(s, r) for r in matrix.hosts for s in matrix.hosts if s != r]


def _columns(summaries: Sequence[CaseSummary]) -> Iterator[Shown]:
    """What a pair reached, what it cost, and the watts of both ends where there are any."""
    for shown_column in of_cases([METRIC_BY_NAME[name] for name in _FIELDS], summaries):
        plain = replace(shown_column.head, show_sd=True, key="")
        for role in ENDS:
            if plain.title == METRIC_BY_NAME[f"{role}_cpu_cores_per_bps"].title:
                plain = replace(plain, lines=f"{plain.lines}\n{role}", rank=0)
        yield Shown(
            plain, shown_column.cell if shown_column.head.show_sd else shown_column.without_spread.cell
        )
    for field, title, heading in _POWER_FIELDS:
        column = POWER_BY_NAME[field]
        unit = w_per_rate(summaries) if field == "dynamic_w_per_bps" else column.units[0]
        for role in ENDS:
            powers = {
                summary.case: power for summary in summaries if (power := summary.power(role)) is not None
            }
            if any(power.values.get(column.name) is not None for power in powers.values()):
                shown = of_power(column, unit, role, None, powers).without_spread
                head = Head(f"{title}, {role}", shown.head.unit, lines=f"{heading}\n{role}")
                yield Shown(head, shown.cell)


def w_per_rate(summaries: Sequence[CaseSummary]) -> Unit:
    """W per Gbps, or per Mbps for cases whose throughput is in Mbps."""
    throughput = METRIC_BY_NAME["throughput_bps"]
    is_gbps = throughput.unit(summaries) is throughput.units[0]
    return power_unit(POWER_BY_NAME["dynamic_w_per_bps"], (), gbps=is_gbps)


def _row(matrix: Matrix, sender: str, receiver: str, columns: Sequence[Shown]) -> Row:
    keys = (Cell(f"{sender} → {receiver}"),)
    summary = matrix.cells.get((sender, receiver))
    if summary is None:
        return Row(keys, (*[Cell(MISSING, reason=NO_TRIAL)] * len(columns), Cell("none")))
    return Row(keys, (*(column.cell(summary) for column in columns), trials_cell(summary)))
