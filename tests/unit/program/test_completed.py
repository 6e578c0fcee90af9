# SPDX-License-Identifier: Apache-2.0
"""What must not be left half done: nothing that comes after it runs beside it."""

from __future__ import annotations

import asyncio

import pytest

from linewatt.hosts.process import finish_before_cancel


def test_a_result_and_an_error_come_through() -> None:
    async def fails() -> None:
        raise ValueError("no")

    assert asyncio.run(finish_before_cancel(asyncio.sleep(0, "done"))) == "done"
    with pytest.raises(ValueError, match="no"):
        asyncio.run(finish_before_cancel(fails()))


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancellation_waits_until_it_is_over(times: int) -> None:
    said: list[str] = []

    async def undo(go_on: asyncio.Event) -> None:
        said.append("undoing")
        await go_on.wait()
        said.append("undone")

    async def run(go_on: asyncio.Event) -> None:
        try:
            said.append("ran")
        finally:
            await finish_before_cancel(undo(go_on))
            said.append("never: it was cancelled")

    async def interrupted() -> None:
        go_on = asyncio.Event()
        task = asyncio.create_task(run(go_on))
        for _ in range(times):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        said.append("closed")

    asyncio.run(interrupted())
    assert said == ["ran", "undoing", "undone", "closed"]


def test_an_error_of_what_was_completed_stays_on_record_behind_the_cancellation() -> None:
    async def fails(go_on: asyncio.Event) -> None:
        await go_on.wait()
        raise ValueError("could not be put back")

    async def interrupted() -> None:
        go_on = asyncio.Event()
        task = asyncio.create_task(finish_before_cancel(fails(go_on)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await task

    with pytest.raises(asyncio.CancelledError) as caught:
        asyncio.run(interrupted())
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_limit_around_it_is_told_once_it_is_over() -> None:
    over: list[bool] = []

    async def slow() -> None:
        await asyncio.sleep(0.05)
        over.append(True)

    async def limited() -> None:
        async with asyncio.timeout(0.01):
            await finish_before_cancel(slow())

    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    assert over == [True]
