# SPDX-License-Identifier: Apache-2.0
"""A trial that is being stored when the campaign is stopped."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report_factories import trial

from linewatt.engine import events
from linewatt.engine.rounds import RoundRunner
from linewatt.model import Case, Trial

CASE = Case("tcp", "h1", "h2")


def test_a_stop_breaks_off_no_write_and_is_told_of_it() -> None:
    said: list[events.Event] = []
    learned: list[Trial] = []
    begun, may_end = threading.Event(), threading.Event()

    def write(*_: Any) -> Trial:
        begun.set()
        assert may_end.wait(20), "the test to let the write end"
        return trial(2, CASE, 9e9, 0.5)

    async def readings(*_: Any) -> dict[str, Any]:
        return {}

    with ThreadPoolExecutor(1) as writers:
        runner = SimpleNamespace(
            _session=SimpleNamespace(feeds={"h1": [], "h2": []}),
            _stage=SimpleNamespace(meters=None),
            _readings=readings,
            _writers=writers,
            _write=write,
            _levels=SimpleNamespace(learn=learned.append),
            _say=said.append,
            _total=2,
        )
        run = SimpleNamespace(planned=SimpleNamespace(case=CASE))

        async def stopped() -> None:
            storing = asyncio.create_task(RoundRunner._store_one(runner, run, 0.0))  # type: ignore[arg-type]
            assert await asyncio.to_thread(begun.wait, 20), "the write to begin"
            storing.cancel()
            await asyncio.sleep(0)
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await storing

        asyncio.run(stopped())
    assert [type(event) for event in said] == [events.TrialStored]
    assert [one.number for one in learned] == [2]
