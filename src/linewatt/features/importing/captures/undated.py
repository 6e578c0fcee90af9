# SPDX-License-Identifier: Apache-2.0
"""Tests whose files do not say when they ran: paired by their connection, and put one behind the other. Pure.

Where the other end says when, it is that. Else a test is dated by its file's time of change, so that
results have an order; readings of hosts are never placed by that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linewatt.engine.measuring import Seen
from linewatt.features.importing.captures.model import Found
from linewatt.features.importing.captures.pairing import OneTest
from linewatt.loads import BOTH_WAYS, ToldEnd
from linewatt.model import Flag

APART_S = 3.0
"""between tests of which it is not known when they ran: they are no instances of one trial"""


def paired(captures: Sequence[Found]) -> tuple[Found, ...]:
    """Ends of one connection with one key, of the first of them that has none of its own file alone."""
    keys: dict[str, str] = {}
    ends = [end for capture in captures for end in capture.ends if end.connection]
    for end in sorted(ends, key=lambda end: bool(end.rounded)):  # those that have a cookie first
        keys.setdefault(end.connection, end.key)
    return tuple(
        replace(capture, ends=tuple(_keyed(end, keys) for end in capture.ends)) if capture.ends else capture
        for capture in captures
    )


def _keyed(end: ToldEnd, keys: dict[str, str]) -> ToldEnd:
    return replace(end, key=keys[end.connection]) if end.rounded and end.connection in keys else end


def dated(captures: Sequence[Found]) -> tuple[Found, ...]:
    """The same with every end on the line: see above."""
    begun_s_by_key = {
        end.key: end.begun_s for capture in captures for end in capture.ends if end.undated is None
    }
    by_change_time = sorted(
        (capture for capture in captures if capture.ends), key=lambda capture: capture.file.modified_s
    )
    busy_until_s = 0.0
    for capture in by_change_time:
        before: ToldEnd | None = None
        for end in capture.ends:
            if end.undated is not None and end.key not in begun_s_by_key:
                begun_s = max(busy_until_s, capture.file.modified_s - end.own.duration_s)
                if before is not None and _is_way_back(end, before):
                    begun_s = begun_s_by_key[before.key]
                begun_s_by_key[end.key] = begun_s
                busy_until_s = begun_s + end.own.duration_s + APART_S
            before = end
    return tuple(
        replace(
            capture,
            ends=tuple(
                replace(end, begun_s=begun_s_by_key[end.key]) if end.undated else end for end in capture.ends
            ),
        )
        for capture in captures
    )


def _is_way_back(end: ToldEnd, before: ToldEnd) -> bool:
    """Whether one process made both, which therefore ran at once: that to the server stands first."""
    goes_both_ways = all(BOTH_WAYS in told_end.asked.factors for told_end in (end, before))
    return goes_both_ways and end.asked.is_reverse and not before.asked.is_reverse


def why_undated(tests: Iterable[OneTest]) -> str | None:
    """Why it is not known when a trial ran; ``None``: an end of each test says it."""
    return next((end.undated for test in tests if (end := test.line).undated), None)


def doubts(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    """Findings on figures that text rounds, and on tests without a time."""
    ends = [end for test in tests for end in test.ends]
    sentences = tuple(dict.fromkeys(sentence for end in ends for sentence in end.rounded))
    if sentences:
        yield Flag(
            "rounded-figures",
            ", ".join(seen.case.hosts),
            f"{next(end.file for end in ends if end.rounded)}: {'; '.join(sentences)}",
            next(end.finer for end in ends if end.rounded),
        )
    if (reason := why_undated(tests)) is not None:
        yield Flag(
            "time-not-known",
            ", ".join(seen.case.hosts),
            f"{tests[0].line.file}: {reason}; the trial is dated by its file's time of change, and whether "
            "it ran beside another is not known",
            "keep what has a time, or print one (date +%s.%N) on the line before the test",
        )
