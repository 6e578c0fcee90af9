# SPDX-License-Identifier: Apache-2.0
"""Both ways at once, by one process or by two: a trial for each way, and what of their figures is of both.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linewatt.engine.measuring import Seen
from linewatt.features.importing.captures.pairing import OneTest, OtherWay, are_opposite, shared_s
from linewatt.loads import BOTH_WAYS, ToldEnd
from linewatt.model import Flag


def with_other_ways(tests: Sequence[OneTest]) -> tuple[OneTest, ...]:
    """Tests in the order of time, those marked that ran beside a test of the opposite way for most of it."""
    other_ways: dict[int, OtherWay] = {}
    running: list[int] = []
    for number, test in enumerate(tests):
        running = [earlier for earlier in running if tests[earlier].end_s > test.start_s]
        for earlier in running:
            if are_opposite(test, tests[earlier]):
                seconds = shared_s(test, tests[earlier])
                other_ways.setdefault(number, OtherWay(tests[earlier].files, seconds))
                other_ways.setdefault(earlier, OtherWay(test.files, seconds))
        running.append(number)
    return tuple(
        _marked(test, other_ways[number]) if number in other_ways else test
        for number, test in enumerate(tests)
    )


def _marked(test: OneTest, other_way: OtherWay) -> OneTest:
    return replace(test, client=_both_ways(test.client), server=_both_ways(test.server), other_way=other_way)


def _both_ways(end: ToldEnd | None) -> ToldEnd | None:
    if end is None:
        return None
    return replace(end, asked=replace(end.asked, factors=(BOTH_WAYS, *end.asked.factors)))


def doubts(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    """That CPU and watts of a trial contain those of the other way."""
    test = tests[0]
    if BOTH_WAYS not in test.asked.factors:
        return
    way = f"sent from {seen.case.receiver} to {seen.case.sender} at the same time"
    if test.other_way is None:
        evidence = f"the same process {way}"
    else:
        files = ", ".join(test.other_way.files)
        evidence = (
            f"the test in {files} {way}, for {test.other_way.shared_s:.1f} s of {test.duration_s:.1f} s"
        )
    yield Flag(
        "other-way-at-once",
        ", ".join(seen.case.hosts),
        f"{test.files[0]}: {evidence}, which is a trial of its own",
        "measure each way alone for what it costs",
    )
