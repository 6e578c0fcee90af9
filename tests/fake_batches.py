# SPDX-License-Identifier: Apache-2.0
"""How a host that is made up in a test answers a batch of commands: as the script would on a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from linewatt.engine.undo import host_lock as lock
from linewatt.engine.undo.strays import strays_command
from linewatt.foreign import NUL
from linewatt.hosts import batch
from linewatt.hosts.base import Completed

_HEAD = batch.script([])[:4]
_LOCK = 2
"""words about the lock of writers, which hosts that are made up do not have"""


def is_batch(argv: Sequence[str]) -> bool:
    return list(argv[: len(_HEAD)]) == _HEAD


def asks_for_processes(argv: Sequence[str]) -> bool:
    """Whether it is asked what changes the host now, or outlived a run: nothing on one that is made up."""
    return len(argv) > 2 and argv[2] in (lock.WRITERS, strays_command()[2])


async def answered(argv: Sequence[str], run: Callable[[list[str], str], Awaitable[Completed]]) -> Completed:
    """``run`` is what the host does with one command and its input."""
    words = list(argv[len(_HEAD) + _LOCK :])
    stdout = stderr = ""
    while words:
        count, stdin = int(words[0]), words[1]
        done = await run(words[2 : 2 + count], stdin)
        stdout += f"{done.stdout}{NUL}{done.status}{NUL}"
        stderr += f"{done.stderr}{NUL}"
        words = words[2 + count :]
    return Completed(tuple(argv), 0, stdout, stderr)
