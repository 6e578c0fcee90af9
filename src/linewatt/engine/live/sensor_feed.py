# SPDX-License-Identifier: Apache-2.0
"""A sensor as a feed: a process on its host, from start to stop of the campaign."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from linewatt.engine.live.feed import LiveFeed
from linewatt.errors import HostError, WaitTimeout
from linewatt.foreign import last_line
from linewatt.hosts import LONGER_THAN_ANY_RUN_S, Host, Process, now_s
from linewatt.sensors import Sensor

MOST_BYTES_A_S = 512 << 10
"""of a stream, all of which is stored: ten readings a second of 1024 CPUs"""
QUIET_S = 5.0
QUIET_POWER_S = 30.0
"""a BMC that is asked on its host may take 20 s to answer"""
QUIET_INTERVALS = 5
"""A sensor that says nothing for so many, and for so many seconds, hangs."""


class SensorFeed(LiveFeed):
    """The records of a sensor's process."""

    def __init__(
        self,
        host: str,
        sensor: Sensor,
        cfg: Any,
        source: str | None = None,
        *,
        essential: bool = True,
        interface: str | None = None,
    ) -> None:
        """``interface`` stands in place of the data interface."""
        super().__init__(host, sensor, cfg, source, essential=essential)
        self._sensor = sensor
        self._interface = interface
        self._process: Process | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def start(self, host: Host) -> None:
        """Start (or start again) the sensor's process, if it does not run. Raises HostError, WaitTimeout."""
        if self._process is not None and self._host is host and self.failure is None:
            return
        await self.stop()  # one that hangs, too
        self.failure = "did not start"
        self._lines.clear()
        self._characters = 0
        self._said = self._opening = self.refused = None
        self._host = host
        words = [f"{name}={value}" for name, value in self._sensor.environment().items()]
        spec = host.spec if self._interface is None else replace(host.spec, data=self._interface)
        argv = ["env", *words, *self._sensor.command(self._cfg, spec)]
        root = getattr(self._sensor, "needs_root", False)
        self._process = await host.start(argv, on_line=self.take, root=root)
        self._process.bound(MOST_BYTES_A_S)
        await self._process.ready()
        self.failure = None
        self.started_s = self._since_s = self._heard_s = now_s()
        self._watcher = asyncio.create_task(self._watch(self._process))

    async def _watch(self, process: Process) -> None:
        """A sensor that ends by itself delivers nothing more, and nobody should wait for it."""
        try:
            ended = await process.wait(LONGER_THAN_ANY_RUN_S, f"{self.source} to end")
        except (HostError, WaitTimeout) as error:
            self.failure = str(error)
        else:
            last_words = last_line(ended.stderr, "")
            self.failure = f"ended with status {ended.status}{': ' + last_words if last_words else ''}"
        self.arrived()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def notice_silence(self) -> None:
        """One that runs and has long said nothing has failed as one that ended."""
        if self.failure is not None or self._process is None:
            return
        quiet_s = now_s() - self._heard_s
        limit_s = max(QUIET_S if self.essential else QUIET_POWER_S, QUIET_INTERVALS * self.interval_s)
        if quiet_s > limit_s + self.late_s:
            self.failure = f"has been silent for {quiet_s:.0f} s"
            self.arrived()

    async def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
        if self._process is not None:
            try:
                await self._process.stop()
            except (HostError, WaitTimeout):
                return
            finally:
                self._process = None
