# SPDX-License-Identifier: Apache-2.0
"""What a reader asks of the list: words, kinds, an order, a page; all of it in the URL. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from linewatt.errors import InvalidInput
from linewatt.report.listing import Listed, id_of, remarks
from linewatt.report.series import test_title
from linewatt.store.read import Damaged
from linewatt.units import stamp

Found = tuple[Path, Listed | Damaged]
ROWS = 100
"""on one page"""
_LONGEST = 200
_BEGUN = re.compile(r"\d{8}-\d{6}")

KINDS = {"trials": "Trials", "soak": "Soaks", "imported": "Imported"}
STATES = {"complete": "Complete", "unfinished": "Unfinished", "damaged": "Damaged"}
FINDINGS = {"with": "With findings", "without": "Without findings"}


@dataclass(frozen=True, slots=True)
class Asked:
    """``sort`` is the key of a column, ``page`` counts from 1; what is empty is not asked for."""

    words: str = ""
    kind: str = ""
    state: str = ""
    findings: str = ""
    sort: str = "when"
    down: bool = True
    page: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether all results are asked for."""
        return not (self.words or self.kind or self.state or self.findings)

    def url(self, **changes: Any) -> str:
        """The list as it is asked for, or with changes."""
        one = replace(self, **changes)
        given = {
            "q": one.words,
            "kind": one.kind,
            "state": one.state,
            "findings": one.findings,
            "sort": one.sort if (one.sort, one.down) != ("when", True) else "",
            "order": "" if (one.sort, one.down) == ("when", True) else ("desc" if one.down else "asc"),
            "page": str(one.page) if one.page > 1 else "",
        }
        query = urlencode({name: value for name, value in given.items() if value})
        return f"/?{query}" if query else "/"

    def sorted_by(self, key: str) -> str:
        """The list by another column: first with the largest or the newest above, then turned round."""
        down = not self.down if key == self.sort else key in _LARGEST_FIRST
        return self.url(sort=key, down=down, page=1)


def asked(query: Mapping[str, str]) -> Asked:
    """What a query says. Raises InvalidInput for a value that it cannot have."""
    words = query.get("q", "").strip()
    if len(words) > _LONGEST:
        raise InvalidInput(f"q: is longer than {_LONGEST} characters")
    sort = _one_of(query, "sort", SORTS) or "when"
    order = _one_of(query, "order", ("asc", "desc"))
    page = query.get("page") or "1"
    if not re.fullmatch(r"[1-9][0-9]{0,5}", page, re.ASCII):
        raise InvalidInput(f"page={page[:20]!r}: must be a whole number from 1 on")
    return Asked(
        words,
        _one_of(query, "kind", KINDS),
        _one_of(query, "state", STATES),
        _one_of(query, "findings", FINDINGS),
        sort,
        order == "desc" if order else sort in _LARGEST_FIRST,
        int(page),
    )


def _one_of(query: Mapping[str, str], name: str, known: Iterable[str]) -> str:
    value = query.get(name, "")
    if value and value not in known:
        raise InvalidInput(f"{name}={value[:40]!r}: must be one of {', '.join(known)}")
    return value


def chosen(every: Sequence[Found], wanted: Asked) -> list[Found]:
    """Those that are asked for, in their order; what lacks a figure comes last, whichever way round."""
    key = SORTS[wanted.sort]
    found = [one for one in every if _is_wanted(one[1], wanted)]
    known = [one for one in found if key(one[1]) is not None]
    lacking = [one for one in found if key(one[1]) is None]
    by_name = sorted(known, key=lambda one: one[0].name, reverse=wanted.down)
    return sorted(by_name, key=lambda one: key(one[1]), reverse=wanted.down) + lacking


def _is_wanted(one: Listed | Damaged, wanted: Asked) -> bool:
    if wanted.state and state_of(one) != wanted.state:
        return False
    if wanted.kind and kind_of(one) != wanted.kind:
        return False
    if wanted.findings:
        if isinstance(one, Damaged) or one.shown is None:
            return False
        if bool(one.shown) != (wanted.findings == "with"):
            return False
    text = _text(one)
    return all(word in text for word in wanted.words.lower().split())


def state_of(one: Listed | Damaged) -> str:
    """How whole it is."""
    if isinstance(one, Damaged):
        return "damaged"
    return "complete" if one.heading["complete"] else "unfinished"


def kind_of(one: Listed | Damaged) -> str:
    """What it holds; of a damaged one that is not known."""
    if isinstance(one, Damaged):
        return ""
    return "soak" if one.heading["soak"] else "imported" if one.heading["imported_from"] else "trials"


def _text(one: Listed | Damaged) -> str:
    """What words are looked for in."""
    parts = [id_of(one), *remarks(one)]
    if isinstance(one, Listed):
        parts += [str(one.heading["name"] or ""), str(one.heading["imported_from"] or "")]
        parts += [one.best.test, test_title(one.best.test)] if one.best is not None else []
    return " ".join(parts).lower()


def _begun(one: Listed | Damaged) -> str:
    created_s = None if isinstance(one, Damaged) else one.heading["created_s"]
    match = _BEGUN.match(id_of(one))
    return stamp(created_s) if created_s is not None else match[0] if match else ""


def _best(one: Listed | Damaged) -> float | None:
    return None if isinstance(one, Damaged) or one.best is None else one.best.throughput_bps


def _per_watt(one: Listed | Damaged) -> float | None:
    return None if isinstance(one, Damaged) or one.best is None else one.best.bps_per_w


def _findings(one: Listed | Damaged) -> int | None:
    return None if isinstance(one, Damaged) else one.shown


def _test(one: Listed | Damaged) -> str | None:
    return None if isinstance(one, Damaged) or one.best is None else test_title(one.best.test)


def _done(one: Listed | Damaged) -> int | None:
    return None if isinstance(one, Damaged) else one.heading["trials_done"]


def _name(one: Listed | Damaged) -> str | None:
    return None if isinstance(one, Damaged) else str(one.heading["name"] or "").lower() or None


SORTS: Mapping[str, Callable[[Listed | Damaged], Any]] = {
    "id": id_of,
    "best": _best,
    "test": _test,
    "per-watt": _per_watt,
    "findings": _findings,
    "done": _done,
    "when": _begun,
    "name": _name,
}
"""key of a column → what it is sorted by"""
_LARGEST_FIRST = ("best", "per-watt", "findings", "done", "when")
