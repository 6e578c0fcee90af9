# SPDX-License-Identifier: Apache-2.0
"""Which kind a published table is of, told from its columns, and what is stored of it. Pure.

Host blocks and series of instances become trials. What is no run (a mean with its SD, a part of a machine, a
reading of a router, a soak's summary) never does: the table itself is stored, and read by each view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from linewatt.delimited import Table, TableWarning
from linewatt.errors import InvalidInput
from linewatt.features.tables import analysed, imported, inputs, published, quantities
from linewatt.features.tables.imported import NOT_SAID, SOURCE, TESTS, Imported, test_of
from linewatt.model import EndResult, Trial

_RATES = ("throughput_mbps", "throughput_gbps", "throughput_bps")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table: what it is called, the columns that it needs, and those in words where they vary."""

    name: str
    needs: tuple[str, ...]
    words: str = ""
    trials: bool = False

    @property
    def columns(self) -> str:
        """What a table of this kind has, for people."""
        return self.words or ", ".join(self.needs)


KINDS = (
    Kind(
        published.MEANS,
        (),
        "NAME beside NAME_sd for each figure; what a row is (test, direction, …) in words; runs, if stated",
    ),
    Kind("host blocks", imported.REQUIRED, trials=True),
    Kind("scaling", ("instances",), f"instances, and one of {', '.join(_RATES)}", trials=True),
    Kind(published.PACKET_POWER, published.PACKET_POWER_COLUMNS),
    Kind(published.COMPONENTS, published.COMPONENT_COLUMNS),
    Kind(published.SOAK, ("quantity", "value", "unit")),
)
"""In the order in which they are tried."""
RECOGNISED = tuple(
    dict.fromkeys(
        [
            *imported.RECOGNISED,
            *inputs.RECOGNISED,
            *analysed.EXTRA,
            *(n for kind in KINDS for n in kind.needs),
        ]
    )
)


def kind_of(table: Table, source: str) -> Kind:
    """The kind that its columns are of. Raises InvalidInput, one line with all kinds."""
    columns = set(table.columns)
    for kind in KINDS:
        if _is(kind, columns):
            return kind
    nearest = max(KINDS, key=lambda kind: _part(kind, columns))
    lacking = [name for name in nearest.needs if name not in columns]
    near = f"; nearest is {nearest.name}, without {', '.join(lacking)}" if _part(nearest, columns) else ""
    kinds = "; ".join(f"{kind.name} ({kind.columns})" for kind in KINDS)
    raise InvalidInput(
        f"{source}: its columns are those of no kind of table that is known{near}; rename them as one kind "
        f"has them: {kinds}"
    )


def _is(kind: Kind, columns: set[str]) -> bool:
    if kind.name == published.MEANS:
        return bool(published.with_sd(columns))
    if kind.name == "scaling":
        return columns >= set(kind.needs) and "throughput_bps" in inputs.resolve(columns)
    return columns >= set(kind.needs)


def _part(kind: Kind, columns: set[str]) -> float:
    """How much of what a kind needs is there."""
    return sum(name in columns for name in kind.needs) / len(kind.needs) if kind.needs else 0.0


def import_any(table: Table, source: str, imported_s: float) -> tuple[Kind, Imported]:
    """What is stored of a table. Raises InvalidInput, for a wrong cell one line with row and column."""
    kind = kind_of(table, source)
    published.refuse_no_figures(table, source)
    if kind.name == "host blocks":
        return kind, imported.import_table(table, source, imported_s)
    if kind.name == "scaling":
        return kind, _series(table, source, imported_s)
    _CHECKS[kind.name](table, source)
    reads_no_others = kind.name in (published.PACKET_POWER, published.COMPONENTS)
    read_columns = {*kind.needs, *((published.KIND_OF_PART,) if kind.name == published.COMPONENTS else ())}
    ignored = tuple(name for name in table.columns if reads_no_others and name not in read_columns)
    return kind, Imported((), {}, {}, ignored)


def _series(table: Table, source: str, imported_s: float) -> Imported:
    """A row a number of instances, as a trial."""
    _known_tests(table, source)
    try:
        read = analysed.trials_of(table)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from None
    _refuse(table, source, read.warnings)
    if len(read.trials) < len(table.rows):
        raise InvalidInput(
            f"{source}: a row has no instances or no throughput, or other cells than the header"
        )
    levels: dict[str, tuple[str, ...]] = {}
    for name, level in (pair for trial in read.trials for pair in trial.case.factors):
        levels[name] = tuple(dict.fromkeys((*levels.get(name, ()), level)))
    factors = {name: factor_levels for name, factor_levels in levels.items() if len(factor_levels) > 1}
    trials = tuple(_imported_trial(_with_factors(trial, factors), imported_s) for trial in read.trials)
    same = {
        name: factor_levels[0]
        for name, factor_levels in levels.items()
        if len(factor_levels) == 1 and factor_levels[0]
    }
    facts = {"facts": {"table": same}} if same else {}
    hosts = {host: facts for trial in trials for host in reversed(trial.case.hosts)}
    used = {name for source_of in inputs.resolve(table.columns).values() for name in source_of.columns}
    taken = {*used, *levels, *analysed.EXTRA, "test"} - {"fan_rpm"}
    return Imported(trials, hosts, factors, tuple(name for name in table.columns if name not in taken))


def _with_factors(trial: Trial, factors: Collection[str]) -> Trial:
    """Of what the table says of a row, that which varies; by name, as in campaigns."""
    varying_factors = tuple(sorted((name, level) for name, level in trial.case.factors if name in factors))
    case = replace(trial.case, factors=varying_factors)
    return replace(trial, case=case, case_key=case.key)


def _known_tests(table: Table, source: str) -> None:
    for row in table.rows:
        test = row.cells.get("test", "")
        if test and test_of(test) is None:
            raise InvalidInput(f"{source}: row {row.number}, column test: {test!r} is not one of {TESTS}")


def _imported_trial(trial: Trial, at_s: float) -> Trial:
    """A row as other imported trials are."""
    receiver, sender = (None if end is None else _imported_end(end) for end in (trial.receiver, trial.sender))
    return replace(trial, started_s=at_s, reason=NOT_SAID, receiver=receiver, sender=sender)


def _imported_end(end: EndResult) -> EndResult:
    watts = tuple(replace(power, source=SOURCE) for power in end.power)
    return replace(end, power=watts, reasons=dict.fromkeys(end.reasons, NOT_SAID))


def _refuse(table: Table, source: str, warnings: Iterable[TableWarning]) -> None:
    """An empty cell is what the table does not say; any other that was not read is wrong."""
    cells = {row.number: row.cells for row in table.rows}
    for warning in warnings:
        if warning.row is not None and (warning.column is None or cells[warning.row].get(warning.column)):
            raise InvalidInput(f"{source}: {warning}")


def _check_soak(table: Table, source: str) -> None:
    _refuse(table, source, quantities.published(table).warnings)


_CHECKS: dict[str, Callable[[Table, str], object]] = {
    published.MEANS: published.means,
    published.PACKET_POWER: published.packet_power,
    published.COMPONENTS: published.components,
    published.SOAK: _check_soak,
}
