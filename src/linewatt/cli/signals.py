# SPDX-License-Identifier: Apache-2.0
"""Work on hosts run to its end; Ctrl-C, TERM and HUP have it clean up."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from linewatt.cli.output import say

T = TypeVar("T")


def until_done(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; the first Ctrl-C, TERM or HUP cancels and cleans up, further ones only say so.

    A HUP that is ignored already (nohup(1)) stays so.
    """
    import asyncio
    import signal

    async def guarded() -> T:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            if task.cancelling():
                say("still cleaning up; give it a moment")
            else:
                say("interrupted: stopping the load and undoing every change")
                task.cancel()

        hangs_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hangs_up else [])):
            loop.add_signal_handler(number, interrupt)
        return await task

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)  # what the loop leaves behind is to be killed by TERM
