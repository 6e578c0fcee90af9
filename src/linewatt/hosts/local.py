# SPDX-License-Identifier: Apache-2.0
"""This machine as a host (``address: local``): the same leash, on a pipe instead of a channel."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import Callable, Sequence
from contextlib import suppress

from linewatt.errors import HostError, WaitTimeout
from linewatt.hosts.base import HostSpec, Line
from linewatt.hosts.clock import Offset
from linewatt.hosts.limits import Pace
from linewatt.hosts.process import MARGIN_S, LeashedHost, LeashedProcess, ignore_broken_pipe, within_limit

KEPT = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}
"""variables that commands on this machine inherit, and LC_*"""


class _LocalPipes:
    def __init__(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin is not None  # noqa: S101
        assert child.stdout is not None  # noqa: S101
        assert child.stderr is not None  # noqa: S101
        self._child, self._stdin = child, child.stdin
        self._stdout, self._stderr = child.stdout, child.stderr

    async def read_stdout(self) -> bytes:
        return await self._stdout.read(65536)

    async def read_stderr(self) -> bytes:
        return await self._stderr.read(65536)

    def write(self, data: bytes) -> None:
        with ignore_broken_pipe():
            self._stdin.write(data)

    def write_eof(self) -> None:
        with ignore_broken_pipe():
            self._stdin.close()

    async def status(self) -> int | None:
        status = await self._child.wait()
        return status if status >= 0 else 128 - status

    def why_ended(self) -> str:
        return "it ended"

    @property
    def ended(self) -> bool:
        return self._child.returncode is not None

    async def close(self) -> None:
        """Talk to it no more, so that its leash ends it, and let go of its streams, whoever else has them."""
        self.write_eof()
        with suppress(WaitTimeout):
            await within_limit(self._child.wait(), MARGIN_S, "its end")
        self._child._transport.close()  # type: ignore[attr-defined]  # asyncio gives it no public name


class LocalHost(LeashedHost):
    """The controller's own machine."""

    lost: str | None = None

    def __init__(self, spec: HostSpec, pace: Pace | None = None) -> None:
        super().__init__(spec, pace)
        self._begun: list[_LocalPipes] = []

    @property
    def clock(self) -> Offset:
        return Offset(0.0, 0.0)

    async def _begin(
        self, words: Sequence[str], argv: Sequence[str], on_line: Callable[[Line], None] | None
    ) -> LeashedProcess:
        pipes = _LocalPipes(await self._spawn(words))
        self._begun = [*(process_pipes for process_pipes in self._begun if not process_pipes.ended), pipes]
        return LeashedProcess(self.spec.name, argv, pipes, on_line, self.pace)

    async def _spawn(self, argv: Sequence[str]) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, env=_environment()
            )
        except OSError as error:
            raise HostError(f"cannot start {argv[0]}: {error}", where=self.spec.name) from error

    async def forward(self, port: int) -> int:
        return port

    async def close(self) -> None:
        """End what still runs: a stream that is open when its event loop closes is told on stderr."""
        await asyncio.gather(*(process_pipes.close() for process_pipes in self._begun))
        self._begun = []


def _environment() -> dict[str, str]:
    """What a login over SSH would have: linewatt's own environment may hold passwords of power sources."""
    return {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("LC_")}
