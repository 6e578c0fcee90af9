# SPDX-License-Identifier: Apache-2.0
"""A table of host blocks, as studies of host matrices print them, as trials: a row an end. Pure.

Nothing is guessed: what the table does not say is ``None`` with :data:`NOT_SAID` for a reason, and a cell
that cannot be right ends the import with its row and column (docs/tables.md, "Importing a table").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

from linewatt.analysis.cases import CPU_SHARES
from linewatt.analysis.power import SYSTEM_SCOPES
from linewatt.delimited import Row, Table, quoted
from linewatt.errors import InvalidInput
from linewatt.features.tables import inputs
from linewatt.features.tables.inputs import BadCell
from linewatt.model import (
    Case,
    CpuShares,
    Direction,
    EndResult,
    PowerResult,
    Provenance,
    Role,
    TestName,
    Trial,
)
from linewatt.sizes import ANY_SIZE, OTHER_TESTS, among
from linewatt.units import ratio_from_percent

NOT_SAID = "not in the imported table"
SOURCE = "imported"
"""the name of the source of an imported table's watts"""
REQUIRED = ("test", "receiver", "sender", "host", "role", "throughput", "throughput_unit")
OPTIONAL = ("network", "kernel", "instances", "direction", "family", "repetition")
POWER = ("power_w", "idle_w", "power_scope", "power_provenance")
PARTS = ("app", "irq")
_GIVEN = tuple(name for name in CPU_SHARES if name != "other")
SHARE_COLUMNS = tuple(f"{part}_cpu_{name}_pct" for part in PARTS for name in _GIVEN)
RECOGNISED = (*REQUIRED, *OPTIONAL, *POWER, *SHARE_COLUMNS)

TESTS = ", ".join(("tcp-tput", *OTHER_TESTS, "udp-1500", ANY_SIZE))
# who opens the connection may be said beside who receives: srv is the server, which waits for it
_ROLES: dict[str, tuple[Role, Direction | None]] = {
    "receiver": ("receiver", None),
    "sender": ("sender", None),
    "srv(rcv)": ("receiver", "forward"),
    "clt(snd)": ("sender", "forward"),
    "clt(rcv)": ("receiver", "reverse"),
    "srv(snd)": ("sender", "reverse"),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
_MOST_PERCENT = 100.5
"""Five shares of two decimals each, added up, may be so far above 100."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What a table holds: trials as a campaign stores them, hosts with the facts that it names.

    ``factors`` maps each factor to its levels; ``ignored`` are columns that nothing is read from.
    """

    trials: tuple[Trial, ...]
    hosts: Mapping[str, Mapping[str, Any]]
    factors: Mapping[str, tuple[str, ...]]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One row, read: an end of a trial."""

    row: Row
    case: Case
    repetition: int
    role: Role
    rate_bps: float
    end: EndResult
    kernel: str | None


def import_table(table: Table, source: str, imported_s: float) -> Imported:
    """The trials of a table whose columns are :data:`RECOGNISED`; ``source`` names it in messages.

    ``imported_s`` (Unix seconds) stands for when they ran, which no such table says. Raises InvalidInput, one
    line with row and column, for whatever cannot be read.
    """
    lacking = [name for name in REQUIRED if name not in table.columns]
    if lacking:
        raise InvalidInput(f"{source}: the table lacks {', '.join(lacking)}; it needs {', '.join(REQUIRED)}")
    lines = [_line(row, source) for row in table.rows]
    by_kernel = _kernel_varies(lines)
    if by_kernel:
        lines = [_with_kernel(line) for line in lines]
    trials = _trials(lines, source, imported_s)
    kernels = dict.fromkeys(level for line in lines for _, level in line.case.factors)
    return Imported(
        trials=trials,
        hosts=_hosts(lines, named=not by_kernel),
        factors={"kernel": tuple(kernels)} if kernels else {},
        ignored=tuple(name for name in table.columns if name not in RECOGNISED),
    )


def _line(row: Row, source: str) -> _Line:
    read = Reader(aligned(row, source), source)
    role, implied = read.cell("role", lambda cell: one_of(cell, _ROLES))
    case = _case(read, implied)
    host = read.cell("host", _name)
    if host != case.host(role):
        read.fail("host", f"{host} is not the {role} of this row")
    scale = read.cell("throughput_unit", inputs.unit)
    return _Line(
        row=row,
        case=case,
        repetition=read.optional("repetition", _whole, 1),
        role=role,
        rate_bps=read.cell("throughput", inputs.positive) * scale,
        end=_end(read, host, role),
        kernel=read.optional("kernel", _text, None),
    )


def _case(read: Reader, implied: Direction | None) -> Case:
    case = Case(
        test=read.cell("test", _test),
        sender=read.cell("sender", _name),
        receiver=read.cell("receiver", _name),
        instances=read.optional("instances", _whole, 1),
        family=read.optional("family", lambda cell: one_of(cell.lower(), same_words("ipv4", "ipv6")), "ipv4"),
        network=read.optional("network", _name, "bare"),
    )
    if case.sender == case.receiver:
        read.fail("sender", f"{case.sender} cannot be the receiver as well")
    directions: dict[str, Direction] = {"forward": "forward", "reverse": "reverse"}
    direction = read.optional("direction", lambda cell: one_of(cell, directions), None)
    if direction and implied and direction != implied:
        read.fail("direction", f"{direction} is not what role {quoted(read.row.cells['role'])} says")
    return replace(case, direction=direction or implied or "forward")


def _end(read: Reader, host: str, role: Role) -> EndResult:
    shares = {part: _shares(read, part) for part in PARTS}
    power = _power(read)
    return replace(
        unknown_end(host, role, NOT_SAID),
        app_cpu=shares["app"],
        irq_cpu=shares["irq"],
        power=() if power is None else (power,),
    )


def unknown_end(host: str, role: Role, reason: str) -> EndResult:
    """An end of which nothing is known, for one reason."""
    fields = ("cpu_cores", "app_cpu", "irq_cpu", "load_cpu_cores", "base_frequency_hz")
    reasons = dict.fromkeys(fields, reason)
    return EndResult(host, role, None, None, None, None, None, reasons=reasons)


def _shares(read: Reader, part: str) -> CpuShares | None:
    """What one role's CPU did; all of its five columns are given, or none is."""
    columns = {name: f"{part}_cpu_{name}_pct" for name in _GIVEN}
    filled = [column for column in columns.values() if read.row.cells.get(column)]
    if not filled:
        return None
    ratios = {name: read.cell(column, inputs.share) for name, column in columns.items()}
    total = sum(ratios.values())
    if total > ratio_from_percent(_MOST_PERCENT):
        read.fail(filled[0], f"the five shares add up to {100 * total:.2f} %, which is more than one CPU has")
    return shares_of(ratios)


def shares_of(ratios: Mapping[str, float]) -> CpuShares:
    """What the CPU of a role did, by the five shares that tables give; what they leave is other time."""
    return CpuShares(
        cpus=(),
        unnumbered=1,
        usr_ratio=ratios["usr"],
        sys_ratio=ratios["sys"],
        irq_ratio=ratios["irq"],
        soft_ratio=ratios["soft"],
        idle_ratio=ratios["idle"],
        other_ratio=max(0.0, 1 - sum(ratios.values())),
    )


def _power(read: Reader) -> PowerResult | None:
    """The watts of a row; ``None`` where the table has no column for them."""
    if "power_w" not in read.row.cells:
        return None
    power_w = read.optional("power_w", inputs.positive, None)
    scopes, provenances = same_words(*SYSTEM_SCOPES), same_words(*get_args(Provenance))
    return PowerResult(
        source=SOURCE,
        channel="power_w",
        scope=read.optional("power_scope", lambda cell: one_of(cell, scopes), "system"),
        provenance=read.optional("power_provenance", lambda cell: one_of(cell, provenances), "measured"),
        method="as the imported table has it",
        power_w=power_w,
        idle_w=read.optional("idle_w", inputs.positive, None),
        reason=NOT_SAID if power_w is None else None,
    )


def _kernel_varies(lines: list[_Line]) -> bool:
    """Whether any host ran more than one kernel: cases then differ by it."""
    kernels: dict[str, set[str | None]] = {}
    for line in lines:
        kernels.setdefault(line.end.host, set()).add(line.kernel)
    return any(len(host_kernels) > 1 for host_kernels in kernels.values())


def _with_kernel(line: _Line) -> _Line:
    if line.kernel is None:
        return line
    return replace(line, case=replace(line.case, factors=(("kernel", line.kernel),)))


def _hosts(lines: list[_Line], *, named: bool) -> dict[str, dict[str, Any]]:
    hosts: dict[str, dict[str, Any]] = {host: {} for line in lines for host in reversed(line.case.hosts)}
    for line in lines:
        if named and line.kernel is not None:
            hosts[line.end.host] = {"facts": {"kernel": {"release": line.kernel}}}
    return hosts


def _trials(lines: list[_Line], source: str, imported_s: float) -> tuple[Trial, ...]:
    """One trial for the two rows that are of the same case and repetition, or for the one that is there."""
    ends: dict[tuple[Case, int], dict[Role, _Line]] = {}
    for line in lines:
        trial_ends = ends.setdefault((line.case, line.repetition), {})
        if line.role in trial_ends:
            first = _place(trial_ends[line.role].row)
            raise InvalidInput(
                f"{source}: {_place(line.row)}, column role: {first} is the {line.role} "
                "of the same trial; number the runs of a case in a column repetition"
            )
        trial_ends[line.role] = line
    return tuple(
        _trial(number, case, repetition, trial_ends, imported_s)
        for number, ((case, repetition), trial_ends) in enumerate(ends.items(), start=1)
    )


def _trial(number: int, case: Case, repetition: int, ends: Mapping[Role, _Line], at_s: float) -> Trial:
    receiver, sender = ends.get("receiver"), ends.get("sender")
    return Trial(
        number=number,
        repetition=repetition,
        case=case,
        case_key=case.key,
        status="done",
        started_s=at_s,
        reason=NOT_SAID,
        throughput_bps=receiver.rate_bps if receiver else None,
        offered_bps=sender.rate_bps if sender else None,
        lost_ratio=_lost_ratio(case, receiver, sender),
        sender=sender.end if sender else unknown_end(case.sender, "sender", NOT_SAID),
        receiver=receiver.end if receiver else unknown_end(case.receiver, "receiver", NOT_SAID),
    )


def _lost_ratio(case: Case, receiver: _Line | None, sender: _Line | None) -> float | None:
    """Of UDP the part of what was sent that did not arrive; ``None`` where one end has no row."""
    if case.is_tcp or receiver is None or sender is None:
        return None
    return max(0.0, 1 - receiver.rate_bps / sender.rate_bps)


T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Reader:
    """Cells of one row; what is wrong with one ends the import."""

    row: Row
    source: str

    def cell(self, column: str, read: Callable[[str], T]) -> T:
        """A cell that must be there."""
        try:
            return read(self.row.cells.get(column, ""))
        except BadCell as problem:
            self.fail(column, str(problem))
            raise

    def optional(self, column: str, read: Callable[[str], T], default: D) -> T | D:
        """A cell that may be empty, and its column missing."""
        return self.cell(column, read) if self.row.cells.get(column) else default

    def fail(self, column: str, why: str) -> None:
        """End the import over a cell. Raises InvalidInput."""
        raise InvalidInput(f"{_place(self.row)}, column {column}: {why}", where=self.source) from None


def aligned(row: Row, source: str) -> Row:
    """The row, whose cells are those of the header. Raises InvalidInput."""
    if not row.aligned:
        raise InvalidInput(f"{_place(row)}: its cells are not as many as the header has", where=source)
    return row


def _place(row: Row) -> str:
    return f"row {row.number} (line {row.line})"


def same_words(*words: str) -> dict[str, Any]:
    """Each word for itself."""
    return {word: word for word in words}


def test_of(cell: str) -> TestName | None:
    """The test that a word of a table means."""
    return "tcp" if cell == "tcp-tput" else cell if among(cell, (*OTHER_TESTS, ANY_SIZE)) else None


def _test(cell: str) -> TestName:
    test = test_of(cell)
    if test is None:
        raise BadCell(f"{_shown(cell)} is not one of {TESTS}")
    return test


def one_of(cell: str, meanings: Mapping[str, T]) -> T:
    """What a word stands for. Raises BadCell."""
    if cell not in meanings:
        raise BadCell(f"{_shown(cell)} is not one of {', '.join(meanings)}")
    return meanings[cell]


def _name(cell: str) -> str:
    if not _NAME.fullmatch(cell):
        raise BadCell(f"{_shown(cell)} is not a name: letters, digits, dots, underscores, dashes")
    return cell


def _text(cell: str) -> str:
    if not cell.isprintable() or len(cell) > 200:
        raise BadCell(f"{_shown(cell)} cannot be shown: control characters, or longer than 200")
    return cell


def _shown(cell: str) -> str:
    return quoted(cell) if cell else "the empty cell"


def _whole(cell: str) -> int:
    try:
        return int(inputs.whole(cell))
    except BadCell:
        raise BadCell(f"{_shown(cell)} is not a whole number from 1") from None
