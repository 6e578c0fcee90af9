# SPDX-License-Identifier: Apache-2.0
"""The query of the result list, stored in the URL: filters, sort order and page. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from linewatt.errors import InvalidInput
from linewatt.features.serve.unread_result import UnreadResult
from linewatt.report import Listed, id_of, remarks, test_title
from linewatt.store import Damaged
from linewatt.units import stamp

ResultRow = Listed | Damaged | UnreadResult
ListedResult = tuple[Path, ResultRow]
ROWS = 100
"""rows per page"""
_LONGEST = 200
_BEGUN = re.compile(r"\d{8}-\d{6}")

KINDS = {"trials": "Trials", "soak": "Soaks", "imported": "Imported"}
STATES = {"complete": "Complete", "unfinished": "Unfinished", "damaged": "Damaged"}
FINDINGS = {"with": "With findings", "without": "Without findings"}


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Filters, sort order and page of the list: ``sort`` is one of SORTS, ``page`` starts at 1."""

    words: str = ""
    kind: str = ""
    state: str = ""
    findings: str = ""
    sort: str = "when"
    down: bool = True
    page: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether no filter is set."""
        return not (self.words or self.kind or self.state or self.findings)

    @property
    def sorts_by_figure(self) -> bool:
        """Whether results that are not read yet have no place in the sort order."""
        return self.sort not in _SORTS_OF_UNREAD

    def url(self, **changes: Any) -> str:
        """The URL of this query with ``changes``."""
        changed = replace(self, **changes)
        parameters = {
            "q": changed.words,
            "kind": changed.kind,
            "state": changed.state,
            "findings": changed.findings,
            "sort": changed.sort if (changed.sort, changed.down) != ("when", True) else "",
            "order": ""
            if (changed.sort, changed.down) == ("when", True)
            else ("desc" if changed.down else "asc"),
            "page": str(changed.page) if changed.page > 1 else "",
        }
        query = urlencode({name: value for name, value in parameters.items() if value})
        return f"/?{query}" if query else "/"

    def sorted_by(self, key: str) -> str:
        """The URL of the list sorted by ``key``; the current sort column is reversed."""
        down = not self.down if key == self.sort else key in _LARGEST_FIRST
        return self.url(sort=key, down=down, page=1)


def parse_query(query: Mapping[str, str]) -> ListQuery:
    """Parse query parameters. Raises InvalidInput for an invalid value."""
    words = query.get("q", "").strip()
    if len(words) > _LONGEST:
        raise InvalidInput(f"q: is longer than {_LONGEST} characters")
    sort = _checked_choice(query, "sort", SORTS) or "when"
    order = _checked_choice(query, "order", ("asc", "desc"))
    page = query.get("page") or "1"
    if not re.fullmatch(r"[1-9][0-9]{0,5}", page, re.ASCII):
        raise InvalidInput(f"page={page[:20]!r}: must be a whole number from 1 on")
    return ListQuery(
        words,
        _checked_choice(query, "kind", KINDS),
        _checked_choice(query, "state", STATES),
        _checked_choice(query, "findings", FINDINGS),
        sort,
        order == "desc" if order else sort in _LARGEST_FIRST,
        int(page),
    )


def _checked_choice(query: Mapping[str, str], name: str, choices: Iterable[str]) -> str:
    value = query.get(name, "")
    if value and value not in choices:
        raise InvalidInput(f"{name}={value[:40]!r}: must be one of {', '.join(choices)}")
    return value


def select(results: Sequence[ListedResult], query: ListQuery) -> list[ListedResult]:
    """The results that match a query, sorted; results without the sort value come last in both orders."""

    def value(match: ListedResult) -> Any:
        return _sort_value(match[1], query.sort)

    matches = [result for result in results if _matches(result[1], query)]
    with_value = [match for match in matches if value(match) is not None]
    without_value = [match for match in matches if value(match) is None]
    by_name = sorted(with_value, key=lambda match: match[0].name, reverse=query.down)
    return sorted(by_name, key=value, reverse=query.down) + without_value


def _matches(result: ResultRow, query: ListQuery) -> bool:
    if isinstance(result, UnreadResult) and (query.state or query.kind or query.findings):
        return False  # not known yet; the page says so
    if query.state and state_of(result) != query.state:
        return False
    if query.kind and kind_of(result) != query.kind:
        return False
    if query.findings:
        if not isinstance(result, Listed) or result.shown is None:
            return False
        if bool(result.shown) != (query.findings == "with"):
            return False
    text = _searched_text(result)
    return all(word in text for word in query.words.lower().split())


def state_of(result: ResultRow) -> str:
    """``complete``, ``unfinished`` or ``damaged``; empty for a result that is not read yet."""
    if not isinstance(result, Listed):
        return "damaged" if isinstance(result, Damaged) else ""
    return "complete" if result.heading["complete"] else "unfinished"


def kind_of(result: ResultRow) -> str:
    """``trials``, ``soak`` or ``imported``; empty for a result that is damaged or not read yet."""
    if not isinstance(result, Listed):
        return ""
    return "soak" if result.heading["soak"] else "imported" if result.heading["imported_from"] else "trials"


def _searched_text(result: ResultRow) -> str:
    """The text of a result that the words of a query are searched in, in lower case."""
    if isinstance(result, UnreadResult):
        return f"{result.id} {result.name or ''}".lower()
    parts = [id_of(result), *remarks(result)]
    if isinstance(result, Listed):
        parts += [str(result.heading["name"] or ""), str(result.heading["imported_from"] or "")]
        parts += [result.best.test, test_title(result.best.test)] if result.best is not None else []
    return " ".join(parts).lower()


def _begun(result: Listed | Damaged) -> str:
    created_s = result.heading["created_s"] if isinstance(result, Listed) else None
    match = _BEGUN.match(id_of(result))
    return stamp(created_s) if created_s is not None else match[0] if match else ""


def _sort_value(result: ResultRow, sort: str) -> Any:
    """What a result is sorted by; ``None`` where it has no such value."""
    if isinstance(result, UnreadResult):
        name = result.name and result.name.lower()
        return {"id": result.id, "when": result.stamp, "name": name}.get(sort)
    if sort == "id":
        return id_of(result)
    if sort == "when":
        return _begun(result)
    if isinstance(result, Damaged):
        return None
    best = result.best
    values = {
        "best": best and best.throughput_bps,
        "test": best and test_title(best.test),
        "per-watt": best and best.bps_per_w,
        "findings": result.shown,
        "done": result.heading["trials_done"],
        "name": str(result.heading["name"] or "").lower() or None,
    }
    return values[sort]


SORTS = ("id", "best", "test", "per-watt", "findings", "done", "when", "name")
_SORTS_OF_UNREAD = ("id", "when", "name")
_LARGEST_FIRST = ("best", "per-watt", "findings", "done", "when")
