# SPDX-License-Identifier: Apache-2.0
"""Anybody's table of a series as trials, so that tables and results are judged by one finder. Pure.

Columns are those of ``derive`` (features/tables/inputs.py) and those of EXTRA. Rows that agree in what
describes a case are trials of it. Nothing is guessed: what the table lacks is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from linewatt.analysis.power import SYSTEM_SCOPES
from linewatt.delimited import Row, Table, TableWarning
from linewatt.errors import InvalidInput
from linewatt.features.tables import groups, inputs
from linewatt.features.tables.columns import COLUMNS
from linewatt.features.tables.imported import one_of, same_words, test_of, unknown_end
from linewatt.features.tables.inputs import Source
from linewatt.model import Case, CpuShares, EndResult, PowerResult, Provenance, Trial
from linewatt.network import Framing, goodput_bps
from linewatt.units import bps_from_gbps

PROVENANCE = "power_provenance"
"""how the watts of a row came about; measured where it does not say"""
SCOPE = "power_scope"
"""what the watts of a row cover; the system where neither it nor the name of their column says"""
EXTRA = (
    "line_rate_gbps",
    "ports",
    "mtu",
    "app_cpu_idle_pct",
    "irq_cpu_idle_pct",
    "fan_rpm",
    PROVENANCE,
    SCOPE,
)
NOT_SAID = "not in the table"
FAN = "fan speed (rpm)"
_NEEDED = ("instances", "throughput_bps")
_EXTRA_SOURCES: Mapping[str, Source] = {
    "line_rate_bps": Source({"line_rate_gbps": inputs.positive}, bps_from_gbps),
    "ports": Source({"ports": inputs.whole}, lambda value: value),
    "mtu": Source({"mtu": inputs.whole}, lambda value: value),
    "app_idle": Source({"app_cpu_idle_pct": inputs.share}, lambda value: value),
    "irq_idle": Source({"irq_cpu_idle_pct": inputs.share}, lambda value: value),
    "fan_rpm": Source({"fan_rpm": inputs.number}, lambda value: value),
}
_PROVENANCES: Mapping[str, Provenance] = same_words(*get_args(Provenance))
_OUTPUT = "psu_out_w"


@dataclass(frozen=True, slots=True)
class AnalysedTable:
    """Trials of a table, fan speeds by case, and what of it could not be read."""

    trials: tuple[Trial, ...]
    fan_rpm: Mapping[Case, float] = field(default_factory=dict)
    warnings: tuple[TableWarning, ...] = ()


def trials_of(table: Table) -> AnalysedTable:
    """The rows as trials. Raises InvalidInput where no series can be made of them."""
    sources = inputs.resolve(table.columns) | {
        name: trial for name, trial in _EXTRA_SOURCES.items() if set(trial.columns) <= set(table.columns)
    }
    lacking = [name for name in _NEEDED if name not in sources]
    if lacking:
        words = {
            "instances": "instances",
            "throughput_bps": "a throughput (throughput_mbps, throughput_gbps …)",
        }
        raise InvalidInput(f"the table lacks {' and '.join(words[name] for name in lacking)}")
    known_columns = {*inputs.RECOGNISED, *(column.name for column in COLUMNS), *EXTRA}
    agree = [name for name in groups.group_columns(table, known_columns) if name not in ("mtu", "test")]
    warnings: list[TableWarning] = []
    trials: list[Trial] = []
    repetitions: Counter[Case] = Counter()
    fans: dict[Case, float] = {}
    for row in table.rows:
        read = _read(row, sources, warnings)
        if row.aligned and all(name in read for name in _NEEDED):
            watts = _power(row, read, warnings)
            trial = _trial(len(trials) + 1, row, read, agree, watts)
            repetitions[trial.case] += 1
            trials.append(replace(trial, repetition=repetitions[trial.case]))
            fans |= {trial.case: read["fan_rpm"]} if "fan_rpm" in read else {}
    if not trials:
        why = f" that can be read: {warnings[0]}" if warnings else ""
        raise InvalidInput(f"no row has both instances and a throughput{why}")
    return AnalysedTable(tuple(trials), fans, tuple(warnings))


def _read(row: Row, sources: Mapping[str, Source], warnings: list[TableWarning]) -> dict[str, float]:
    if not row.aligned:  # has its warning already
        return {}
    bad: dict[str, str] = {}
    values = {name: source.read(row.cells, bad) for name, source in sources.items()}
    warnings += [TableWarning(why, row.number, row.line, column) for column, why in bad.items()]
    return {name: value for name, value in values.items() if value is not None}


def _trial(
    number: int, row: Row, read: Mapping[str, float], agree: Sequence[str], watts: tuple[PowerResult, ...]
) -> Trial:
    case = Case(
        test=test_of(row.cells.get("test", "")) or "tcp",
        sender="sender",
        receiver="receiver",
        instances=int(read["instances"]),
        data_ports=_several(read.get("ports")),
        factors=tuple((name, row.cells[name]) for name in agree),
    )
    return Trial(
        number=number,
        repetition=1,
        case=case,
        case_key=case.key,
        status="done",
        started_s=0.0,
        reason=NOT_SAID,
        throughput_bps=read["throughput_bps"],
        line_goodput_bps=_line_goodput_bps(case, read),
        sender=replace(unknown_end(case.sender, "sender", NOT_SAID), cpu_cores=read.get("local_cores")),
        receiver=_receiver(case, read, watts),
    )


def _several(ports: float | None) -> int | None:
    """How many data ports share the instances; ``None``: one, or not known."""
    return int(ports) if ports is not None and ports > 1 else None


def _line_goodput_bps(case: Case, read: Mapping[str, float]) -> float | None:
    """Of the line's rate with the table's MTU, 1500 where it names none. Raises InvalidInput."""
    if "line_rate_bps" not in read:
        return None
    framing = Framing(int(read.get("mtu", 1500)))
    return goodput_bps(read["line_rate_bps"], case.test, case.family, framing)


def _receiver(case: Case, read: Mapping[str, float], watts: tuple[PowerResult, ...]) -> EndResult:
    return replace(
        unknown_end(case.receiver, "receiver", NOT_SAID),
        cpu_cores=read.get("efficiency_cores"),
        base_frequency_hz=read.get("base_frequency_hz"),
        app_cpu=_shares(read.get("app_idle")),
        irq_cpu=_shares(read.get("irq_idle")),
        power=watts,
    )


def _shares(idle: float | None) -> CpuShares | None:
    """A CPU of which only its idle time is known; what it did is among ``other``."""
    if idle is None:
        return None
    return CpuShares((), 0.0, 0.0, 0.0, 0.0, idle, max(0.0, 1 - idle), unnumbered=1)


def _power(row: Row, read: Mapping[str, float], warnings: list[TableWarning]) -> tuple[PowerResult, ...]:
    """The watts of a row; none where what they cover or how they came about is no word that is known."""
    column, word = PROVENANCE, row.cells.get(PROVENANCE)
    try:
        provenance = one_of(word, _PROVENANCES) if word else "measured"
        column = SCOPE
        scopes = (("system_w", "system", _scope(row), read.get("idle_w")), ("cpu_w", "cpu", "cpu", None))
    except inputs.BadCell as problem:
        warnings.append(TableWarning(str(problem), row.number, row.line, column))
        return ()
    return tuple(
        PowerResult("table", channel, scope, provenance, "as the table has it", read[name], idle_w=idle_w)
        for name, channel, scope, idle_w in scopes
        if name in read
    )


def _scope(row: Row) -> str:
    """What the system's watts of a row cover. Raises BadCell."""
    word, is_output = row.cells.get(SCOPE), _OUTPUT in row.cells
    scope = one_of(word, same_words(*SYSTEM_SCOPES)) if word else ""
    if is_output and "power_w" not in row.cells and scope not in ("", "psu-out"):
        raise inputs.BadCell(f"{word} is not what {_OUTPUT} holds")
    return "psu-out" if is_output else scope or "system"
