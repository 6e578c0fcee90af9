# SPDX-License-Identifier: Apache-2.0
"""Power at throughputs that were asked for: as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linewatt.analysis.power.at_rate import Point, WattsAt, watts_at
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.declare import BOOLEAN, NUMBER, TEXT, Schema, choice, listing, maybe, record, said
from linewatt.model import ENDS
from linewatt.report.columns import provenance_schema
from linewatt.report.printing.export import case_key_schema, case_keys, case_schema
from linewatt.report.provenance import legend, mark
from linewatt.report.series import OF_RING, case_names
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, legend_notes
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.levels import level_name
from linewatt.units import MISSING, format_rate

Asked = Sequence[float]
"""bit/s, all instances together"""


def found_at(view: Digest, asked: Asked) -> list[WattsAt]:
    return [one for bps in asked for one in watts_at(view.summaries, bps)]


def watts_table(view: Digest, asked: Asked) -> Table:
    """A row for each throughput, kind of load and end; why there is none stands in it."""
    found = found_at(view, asked)
    names = case_names(dict.fromkeys(one.case for one in found), with_test=True)
    doubts = {mark_: None for one in found for mark_ in _doubts(one, view)}
    said = [
        "± is 95 % of the cases (over trials, and the meter's bound); between two of them it reaches "
        "both: power may step anywhere between"
        if any(one.power_w is not None for one in found)
        else "",
        "" if found else _nothing(view),
        f"Ring: {OF_RING}, and the throughput is that of its pair" if _of_ring(found) else "",
        f"({','.join(doubts)}): findings that make its watts or throughput doubtful: show --full"
        * bool(doubts),
    ]
    return Table(
        title="Watts at a throughput",
        keys=(Head("At"), Head("End", kind="text")),
        heads=(Head("Power", "W"), Head("±", "W"), Head("From", kind="prose")),
        groups=tuple(
            RowGroup(name, tuple(_row(one, view) for one in found if one.case == case))
            for case, name in names.items()
        ),
        notes=(
            *(Note("remark", text) for text in said if text),
            *legend_notes(legend(one.provenance for one in found)),
        ),
    )


def _of_ring(found: Sequence[WattsAt]) -> bool:
    return any(one.case.shape == "ring" for one in found)


def _nothing(view: Digest) -> str:
    """Why there is no row at all."""
    if not any(one.power(role) for one in view.summaries for role in ENDS):
        return "no source of power was named, or no trial is done"
    return "no case with watts carried as much, and none was sent at several rates or load levels"


def _row(one: WattsAt, view: Digest) -> Row:
    power = MISSING if one.power_w is None else f"{one.power_w:.1f}"
    unknown = MISSING if one.power_w is None else "not known"
    cells = (
        Cell(power, mark=mark(one.provenance) if one.power_w is not None else ""),
        Cell(unknown if one.reach_w is None else f"{one.reach_w:.1f}"),
        Cell(one.reason or _from(one, view)),
    )
    return Row((Cell(format_rate(one.bps, 4)), Cell(f"{one.role} {one.host}")), cells)


def _from(one: WattsAt, view: Digest) -> str:
    """``measured at 4.99 Gbps (50 %)``; ``between 4.01 Gbps (40 %) and 6.02 Gbps (60 %)``."""
    points = " and ".join(map(_point, one.points))
    watts = SCOPE_WORDS.get(one.scope or "", one.scope)
    letters = ",".join(_doubts(one, view))
    marked = f" ({letters})" if letters else ""
    known = f"; ± not known: {one.unknown}" if one.unknown else ""
    return f"{'measured at' if len(one.points) == 1 else 'between'} {points}; watts: {watts}{known}{marked}"


def _point(one: Point) -> str:
    case = one.summary.case
    level = "" if case.load_level is None else f" ({level_name(case.load_level)})"
    return f"{format_rate(one.bps, 4)}{level}"


def _doubts(one: WattsAt, view: Digest) -> tuple[str, ...]:
    """The letters of what makes a figure behind it doubtful."""
    return view.marks.of(_codes(one, view))


def _codes(one: WattsAt, view: Digest) -> Iterator[str]:
    for point in one.points:
        case = point.summary.case
        yield from view.findings.doubts(case, "power", one.role)
        yield from view.findings.doubts(case, "throughput")


def as_documents(view: Digest, asked: Asked) -> list[dict[str, Any]]:
    """The ``watts_at`` of ``show --json --at``."""
    return [_document(one, view) for one in found_at(view, asked)]


def _document(one: WattsAt, view: Digest) -> dict[str, Any]:
    return {
        **case_keys(one.case),
        "role": one.role,
        "host": one.host,
        "at_bps": one.bps,
        "system_w": one.power_w,
        "system_w_half_width": one.reach_w,
        "system_w_half_width_reason": one.unknown,
        "reaches_ends_w": one.ends_w,
        "measured": None if one.power_w is None else len(one.points) == 1,
        "system_scope": one.scope,
        "provenance": one.provenance,
        "reason": one.reason,
        "doubts": [*dict.fromkeys(_codes(one, view))],
        "of": [
            {
                "case_key": point.summary.case.key,
                "load_level": point.summary.case.load_level,
                "throughput_bps": point.bps,
                "system_w": point.power_w,
                "system_w_half_width": point.reach_w,
                "system_w_half_width_reason": point.unknown,
            }
            for point in one.points
        ],
    }


def schema() -> Schema:
    """Of :func:`as_documents`."""
    reach = {"system_w_half_width": maybe(NUMBER), "system_w_half_width_reason": maybe(TEXT)}
    point = {
        **case_key_schema(),
        "load_level": maybe(NUMBER),
        "throughput_bps": NUMBER,
        "system_w": maybe(NUMBER),
        **reach,
    }
    keys = {
        **case_schema(),
        "role": choice(*ENDS),
        "host": TEXT,
        "at_bps": said(NUMBER, "The throughput that was asked for."),
        "system_w": maybe(NUMBER),
        **reach,
        "reaches_ends_w": said(maybe(NUMBER), "How far the further of the two is that it lies between."),
        "measured": said(
            maybe(BOOLEAN), "Whether a case has just this throughput; false: it lies between two."
        ),
        "system_scope": maybe(TEXT),
        "provenance": provenance_schema(),
        "reason": maybe(TEXT),
        "doubts": listing(TEXT, "Codes of findings."),
        "of": listing(record(point)),
    }
    return listing(record(keys), "Watts at throughputs that `--at` asked for.")
