# SPDX-License-Identifier: Apache-2.0
"""How a host that is made up in a test answers a batch of commands: as the script would on a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from linewatt.foreign import NUL
from linewatt.hosts import batch
from linewatt.hosts.base import Completed

_HEAD = batch.script([])


def is_batch(argv: Sequence[str]) -> bool:
    return list(argv[: len(_HEAD)]) == _HEAD


async def answered(argv: Sequence[str], run: Callable[[list[str], str], Awaitable[Completed]]) -> Completed:
    """``run`` is what the host does with one command and its input."""
    words = list(argv[len(_HEAD) :])
    stdout = stderr = ""
    while words:
        count, stdin = int(words[0]), words[1]
        done = await run(words[2 : 2 + count], stdin)
        stdout += f"{done.stdout}{NUL}{done.status}{NUL}"
        stderr += f"{done.stderr}{NUL}"
        words = words[2 + count :]
    return Completed(tuple(argv), 0, stdout, stderr)
