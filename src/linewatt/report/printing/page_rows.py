# SPDX-License-Identifier: Apache-2.0
"""Rows of a table for a page, as text: a template takes ten times as long for the cells of a large table.

Every word goes through ``escape``; templates put around them what a table has once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from linewatt.report.table import Cell, Head, Row, Table


def rows_html(
    table: Table, rows: Sequence[Row], *, flagged: bool, href: Callable[[Row], str] | None = None
) -> Markup:
    """Rows of a table as ``<tr>``: what each is, the marks of findings if any row has some, what is in it.

    ``href``: where what a row is has a page of its own.
    """
    rows_text = "\n".join("".join(_row(table, row, flagged=flagged, href=href)) for row in rows)
    return Markup(rows_text)  # noqa: S704 - made of escaped text; a test holds it to that


def marks_html(marks: Sequence[str]) -> Markup:
    """Letters of findings, each leading to its own."""
    return Markup("").join(
        Markup('<a class="mark" href="#finding-{0}" aria-label="finding {0}">{0}</a>').format(mark)
        for mark in marks
    )


def _row(table: Table, row: Row, *, flagged: bool, href: Callable[[Row], str] | None) -> Iterator[str]:
    style = row.style or ("flagged" if row.marks else "")
    kind = f' data-kind="{escape(row.kind)}"' if row.kind else ""
    yield f'<tr class="{escape(style)}"{kind}>' if style else f"<tr{kind}>"
    sign = ' <span class="sign" title="differs between the hosts">≠</span>' if row.style == "differs" else ""
    for at, (head, cell) in enumerate(zip(table.keys, row.keys, strict=True)):
        tag, scope = ("td", "") if at else ("th", ' scope="row"')
        text = _text(cell, head)
        text = text if at or href is None else f'<a href="{escape(href(row))}">{text}</a>'
        yield f"<{tag}{scope}{_kind(head)}>{text}{sign}</{tag}>"
    if flagged:
        yield f"<td>{marks_html(row.marks)}</td>"
    last = len(row.cells) - 1
    for at, (head, cell) in enumerate(zip(table.heads, row.cells, strict=False)):
        wider = len(table.heads) - at if at == last else 1
        span = f' colspan="{wider}"' if wider > 1 else ""
        title = f' title="{escape(cell.reason)}"' if cell.reason and not cell.missing else ""
        yield f"<td{_kind(head)}{span}{_data(head, cell)}{title}>{_text(cell, head)}</td>"
    yield "</tr>"


def _kind(head: Head) -> str:
    return "" if head.kind == "number" else ' class="text"'


def _data(head: Head, cell: Cell) -> str:
    """The value itself, for programs that read a page; the head of its column has its key."""
    if not head.key or not (cell.missing or cell.si is not None):
        return ""
    return f' data-si="{"" if cell.si is None else cell.si}"'


def _text(cell: Cell, head: Head) -> str:
    parts = [_value(cell)]
    if cell.bar is not None:
        part = min(1.0, max(0.0, cell.bar))
        parts.append(f'<span class="bar"><span style="width:{100 * part:.1f}%"></span></span>')
    if cell.mark:
        parts.append(f' <span class="unmeasured">{escape(cell.mark)}</span>')
    if cell.doubts:
        letters = escape(", ".join(cell.doubts))
        parts.append(
            f'<a class="doubt" href="#finding-{escape(cell.doubts[0])}" title="doubtful: see {letters}" '
            f'aria-label="doubtful: see finding {letters}">*</a>'
        )
    if cell.warning:
        parts.append(f' <span class="doubt">{escape(cell.warning)}</span>')
    if cell.sd is not None:
        parts.append(f" <i>±\u00a0{escape(cell.sd)}</i>")
    if cell.note:
        parts.append(f" <i>({escape(cell.note)})</i>")
    if cell.ci and head.show_ci:
        parts.append(f" <i>[{escape(cell.ci)}]</i>")
    return "".join(parts)


def _value(cell: Cell) -> str:
    text = escape(cell.text)
    if cell.missing:
        why = f' title="{escape(cell.reason)}"' if cell.reason else ""
        return f'<span class="missing"{why}>{text}</span>'
    return f"<b>{text}</b>" if cell.strong else text.replace("± ", "±\u00a0")
