# SPDX-License-Identifier: Apache-2.0
"""What signals do to a command that works on hosts, and its exit code when hosts are left changed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from linewatt.cli.execution import _Heard
from linewatt.engine import events
from linewatt.engine.background_imports import Beside
from linewatt.engine.campaign import CampaignRun
from linewatt.errors import InvalidInput

HUNG_UP = """
import asyncio, os, signal
from linewatt.cli.signals import until_done

async def work():
    os.kill(os.getpid(), signal.SIGHUP)
    await asyncio.sleep(0.2)
    return "went on"

print(until_done(work()))
"""


@pytest.mark.parametrize(("start", "said"), [(signal.SIG_IGN, "went on"), (signal.SIG_DFL, "")])
def test_a_hang_up_that_is_ignored_stays_so(start: signal.Handlers, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HUNG_UP],
        preexec_fn=lambda: signal.signal(signal.SIGHUP, start),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == said
    assert ("interrupted: " in done.stderr) == (said == "")


async def _ends() -> str:
    return "done"


async def _interrupted() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(60)
    return "never"


async def _refused() -> str:
    raise InvalidInput("h1: no such thing")


@pytest.mark.parametrize("work", [_interrupted, _refused])
def test_hosts_that_are_left_changed_are_exit_code_1_however_it_ended(work: Callable[[], object]) -> None:
    heard = _Heard(lambda _: None)

    async def leaves() -> object:
        try:
            return await work()  # type: ignore[misc]
        finally:
            heard(events.LeftChanged(("h1: cannot put back mtu eth0: no",)))

    with pytest.raises(typer.Exit) as caught:
        heard.until_done(leaves())
    assert caught.value.exit_code == 1


UNREAD = """
import asyncio, sys
import typer
from linewatt.cli.execution import _Heard
from linewatt.cli.progress import JsonProgress
from linewatt.engine import events

async def work():
    heard(events.Started("id", "results/id", 3, 1, 90.0))
    try:
        await asyncio.Event().wait()
    finally:
        heard(events.Phase("put back 2 settings"))

heard = _Heard(JsonProgress())
try:
    heard.until_done(work())
except typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


@pytest.mark.parametrize("unread", ["stdout", "both"])
def test_a_run_whose_events_nobody_reads_stops_says_so_and_is_exit_code_1(unread: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", UNREAD],
            stdout=closed,
            stderr=subprocess.PIPE if unread == "stdout" else closed,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    if unread == "stdout":
        first, *_, undone, last = done.stderr.splitlines()
        assert first == "nobody reads the output any more: stopping the load and undoing every change"
        assert undone == "put back 2 settings"
        assert last == (
            "linewatt: stopped, because the reader of its output is gone; 1 of 3 trials kept; continue with: "
            "linewatt resume id"
        )


def test_hosts_that_were_put_back_leave_the_end_as_it_was() -> None:
    heard = _Heard(lambda _: None)
    assert heard.until_done(_ends()) == "done"
    assert not heard.left_changed
    with pytest.raises(InvalidInput):
        heard.until_done(_refused())


def test_what_is_there_before_the_first_load_is_not_looked_at_for_garbage_while_one_runs() -> None:
    async def measured() -> None:
        async with run._measuring():
            frozen.append(gc.get_freeze_count())

    frozen = [gc.get_freeze_count()]
    run = object.__new__(CampaignRun)
    run._session = cast("Any", SimpleNamespace(beside=Beside()))
    try:
        asyncio.run(measured())
    finally:
        gc.unfreeze()
    assert frozen[0] < frozen[1]
