# SPDX-License-Identifier: Apache-2.0
"""A vsftpd on a host of the campaign: made, started, kept running, read and removed.

Everything of it is in one folder that the undo journal knows. It runs on a leash; a watcher on the host ends
its sessions with it, for each is a process session of its own and would outlive it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import PurePosixPath

from linewatt.engine.undo import Settings
from linewatt.errors import HostError, LinewattError, ParseError
from linewatt.features.users import vsftpd_ground as ground
from linewatt.features.users.cpus import check_cpus, cpus_wrapper
from linewatt.features.users.folder_knob import CONFIGURATION, KNOB, PREFIX, PRESENT
from linewatt.features.users.server import family_of
from linewatt.features.users.vsftpd_ground import FollowedLog
from linewatt.features.users.worker import content
from linewatt.features.users.worker.base import RemoteFile
from linewatt.features.users.worker.job import Target
from linewatt.features.users.worker.server_vsftpd import (
    GET_FOLDER,
    PUT_FOLDER,
    USER,
    LogTotals,
    VsftpdSettings,
    configuration,
)
from linewatt.hosts import LONGER_THAN_ANY_RUN_S, Completed, Ended, Host, Process
from linewatt.model import Channel, Sample
from linewatt.tuning import Change

START_LIMIT_S = 10.0
STOP_LIMIT_S = 15.0
SETTLE_LIMIT_S = 10.0
REMOVE_LIMIT_S = 300.0
PIECE_BYTES = 384 * 1024
PIECE_LIMIT_S = 30.0
SLOWEST_DISK_BYTES_PER_S = 20e6
"""files are made at least as fast; after that long it is given up"""
BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""before each further start of a server that ended; the last one again and again"""
LIVED_S = 60.0
"""a server that ran as long begins anew with the shortest of them"""
LOG_TOO_LARGE_BYTES = 256 * 1024 * 1024

SOURCE = "server"
LOGGED = tuple(field.name for field in fields(LogTotals) if field.name not in ("unknown", "_begun"))
CHANNELS: dict[str, Channel] = {
    f"{SOURCE}.{name}": Channel(
        f"{SOURCE}.{name}", "B" if name.endswith("_bytes") else "count", "counter", scope="host"
    )
    for name in (*LOGGED, "starts")
}
"""what a server delivers, by name: totals of its log, and how often it was started"""

Say = Callable[[str, str, str], None]
"""kind, host, text of an event"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a server is, and of what it is made."""

    ground: ground.Ground
    folder: str
    log: FollowedLog

    @property
    def conf(self) -> str:
        return f"{self.folder}/{CONFIGURATION}"


class VsftpdServer:
    """Keeps to :class:`~linewatt.features.users.server.Server`."""

    put_folder = PUT_FOLDER

    def __init__(
        self,
        host: Host,
        settings: VsftpdSettings,
        undoable: Settings,
        say: Say,
        cpus: tuple[int, ...] | None = None,
    ) -> None:
        """``undoable``: what is in force of its folder alone. ``cpus``: of its processes, ``None``: any."""
        self._cpus = cpus
        self._host, self._settings, self._undoable, self._say = host, settings, undoable, say
        self._name = host.spec.name
        self._password = secrets.token_urlsafe(18)
        self._place: _Place | None = None
        self._log: FollowedLog | None = None
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._reading = asyncio.Lock()
        self.starts = 0
        """how often it was started, the first time too"""
        self._is_kept = True
        self._told: set[str] = set()

    @cached_property
    def files(self) -> tuple[RemoteFile, ...]:
        crc32s = content.crc32s(self._settings.get_sizes)
        return tuple(
            RemoteFile(f"{GET_FOLDER}/{number:05d}", size, crc32s[size])
            for number, size in enumerate(self._settings.get_sizes)
        )

    def target_for(self, group_address: str) -> Target:
        return Target(group_address, self._settings.port, USER, self._password, family_of(group_address))

    @property
    def logged(self) -> LogTotals:
        """As of the last reading of its log."""
        return LogTotals() if self._log is None else self._log.totals

    def samples(self, time_s: float) -> list[Sample]:
        """A sample a channel, as of the last reading of its log; at ``time_s`` where it was not read yet."""
        read_s = None if self._log is None else self._log.read_s
        at_s, lack = (time_s, "its log was not read yet") if read_s is None else (read_s, None)
        counted = {name: None if lack else getattr(self.logged, name) for name in LOGGED}
        samples = [Sample(at_s, f"{SOURCE}.{name}", value, 0.0, lack) for name, value in counted.items()]
        return [*samples, Sample(at_s, f"{SOURCE}.starts", self.starts, 0.0)]

    @property
    def host(self) -> Host:
        """The connection that it is reached by."""
        return self._host

    def keep_no_longer(self) -> None:
        """Its users have ended: it is not started again where it ends by itself."""
        self._is_kept = False

    def use(self, host: Host) -> None:
        """Go on over a new connection to the same host; a server that ended with the old one is started."""
        self._host = host

    # --- start ---------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises HostError, ChangeError; nothing of it is left then."""
        try:
            place, process = await self._start()
        except BaseException:
            await self.stop()
            raise
        self._tasks = [
            asyncio.create_task(self._keep_running(place, process)),
            asyncio.create_task(self._keep_reading(place.log)),
        ]

    async def _start(self) -> tuple[_Place, Process]:
        settings = self._settings
        words = [settings.folder, str(settings.port)]
        look_result = await self._script(ground.LOOK, *words, what="look at what there is for a vsftpd")
        server_ground = ground.ground(self._name, look_result.stdout, settings.folder, settings.port)
        ground.check_room(self._name, server_ground, sum(settings.get_sizes), settings.put_bytes)
        folder = f"{server_ground.folder.rstrip('/')}/{PREFIX}{secrets.token_hex(6)}"
        self._log = FollowedLog(f"{folder}/server.log")
        self._place = place = _Place(server_ground, folder, self._log)
        await self._undoable.to([self._present(place)], [self._name])
        await self._furnish(place)
        process = await self._launch(place)
        self._say("server-started", self._name, f"vsftpd listens on port {settings.port}")
        return place, process

    async def _furnish(self, place: _Place) -> None:
        """Everything the server needs in its folder, which is empty."""
        sizes = self._settings.get_sizes
        length = min(content.PERIOD_BYTES, max(sizes, default=0))
        await self._bring_content(place, length)
        await self._script(
            ground.FILL,
            place.folder,
            str(length),
            what="make the files that users get",
            stdin="".join(f"{size}\n" for size in sizes) + "\n",
            limit_s=60 + sum(sizes) / SLOWEST_DISK_BYTES_PER_S,
        )
        await self._keep(f"{place.folder}/passwords", self._password + "\n")
        await self._script(ground.TOUCH, f"{place.folder}/server.log", what="make its log")
        text = configuration(self._settings, PurePosixPath(place.folder), place.ground.user)
        await self._keep(place.conf, text)
        await self._read(place.log)  # keeps room for the log before users fill the disk

    async def _bring_content(self, place: _Place, length: int) -> None:
        """The pattern that files are made of, in pieces small enough for heartbeats to pass between them."""
        pattern = (await asyncio.to_thread(content.period))[:length]
        folder, what = place.folder, "bring the content of files to it"
        for at in range(0, max(1, length), PIECE_BYTES):
            text = base64.encodebytes(pattern[at : at + PIECE_BYTES]).decode() + "\n"
            await self._script(ground.PIECE, folder, what=what, stdin=text, limit_s=PIECE_LIMIT_S)
        digest = (await asyncio.to_thread(hashlib.sha256, pattern)).hexdigest()
        await self._script(ground.LAY_OUT, folder, place.ground.user, digest, what=what)

    async def _launch(self, place: _Place) -> Process:
        """Start vsftpd and wait until it listens. Raises HostError."""
        port, conf = str(self._settings.port), place.conf
        argv = ["bash", "-c", ground.SERVE, "linewatt", place.ground.program, conf, ground.WATCH]
        await check_cpus(self._host, self._cpus, "users.server_cpus", root=True)
        wrapper = cpus_wrapper(self._cpus)
        process = self._process = await self._host.start(argv, wrapper=wrapper, root=True)
        await process.ready()
        ending = asyncio.create_task(process.wait(LONGER_THAN_ANY_RUN_S, "vsftpd to end"))
        listening = asyncio.create_task(
            self._script(
                ground.LISTENS,
                port,
                conf,
                f"{START_LIMIT_S:g}",
                what=f"see vsftpd listen on port {port} within {START_LIMIT_S:g} s",
                limit_s=START_LIMIT_S + 3,
            )
        )
        try:
            await asyncio.wait({ending, listening}, return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                raise HostError(f"{self._name}: vsftpd ended as it began, {_why(ending.result())}")
            await listening
        except HostError:
            with suppress(HostError):
                await process.stop(STOP_LIMIT_S)
            raise
        finally:
            ending.cancel()
            listening.cancel()
            await asyncio.gather(ending, listening, return_exceptions=True)
        self.starts += 1
        return process

    # --- while it runs -------------------------------------------------------------------------------------

    async def _keep_running(self, place: _Place, process: Process) -> None:
        """Start it again whenever it ends by itself, as long as it is kept; ended by :meth:`stop`."""
        loop = asyncio.get_running_loop()
        tried = 0
        while True:
            began_s = loop.time()
            try:
                ended = await process.wait(LONGER_THAN_ANY_RUN_S, "vsftpd to end")
                why = _why(ended)
            except HostError as error:
                why = f"or is out of reach: {error}"
            self._say("server-ended", self._name, f"vsftpd ended {why}")
            tried = 0 if loop.time() - began_s > LIVED_S else tried
            while True:
                await asyncio.sleep(BACK_OFF_S[min(tried, len(BACK_OFF_S) - 1)])
                if not self._is_kept:
                    return
                tried += 1
                if (again := await self._started_again(place)) is not None:
                    process = again
                    break

    async def _started_again(self, place: _Place) -> Process | None:
        try:
            conf_test = await self._host.run(["test", "-f", place.conf], root=True)
            if conf_test.status != 0:  # in memory, and the host was started anew
                for changes in ([], [self._present(place)]):
                    await self._undoable.to(changes, [self._name])
                await self._furnish(place)
            process = await self._launch(place)
        except LinewattError as error:
            self._tell_once(f"vsftpd cannot be started again yet: {error}")
            return None
        self._told.clear()
        self._say("server-started", self._name, f"vsftpd was started again, start {self.starts}")
        return process

    async def _keep_reading(self, log: FollowedLog) -> None:
        while True:
            await asyncio.sleep(self._settings.read_every_s)
            try:
                await self._read(log)
            except (HostError, ParseError) as error:
                self._tell_once(f"its log was not read this time: {error}")

    async def _read(self, log: FollowedLog) -> bool:
        """Read on, and say what is to be told of it; whether there is a log."""
        async with self._reading:
            is_there = await log.read(self._host)
        if log.totals.unknown:
            self._tell_once("its log has lines of no known shape, which count for nothing")
        if log.taken_bytes > LOG_TOO_LARGE_BYTES:
            self._tell_once(
                "its log grows, for this file system cannot give back what was read; mind the space"
            )
        return is_there

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say("warning", self._name, text)

    async def settle(self) -> None:
        """Wait until no session is left, at most ``SETTLE_LIMIT_S``, and read the log to its end.

        Raises HostError, also where the log is gone, and ParseError.
        """
        place = self._place
        if place is None:
            return
        words = [place.conf, f"{SETTLE_LIMIT_S:g}"]
        what = "wait for the sessions of users to end"
        done = await self._script(ground.SETTLED, *words, what=what, limit_s=SETTLE_LIMIT_S + 5)
        if done.stdout.strip() != "0":
            text = f"after {SETTLE_LIMIT_S:g} s sessions of users go on; what they move yet is not counted"
            self._tell_once(text)
        if not await self._read(place.log):
            raise HostError(f"{self._name}: {place.log.path} is gone")

    # --- stop ----------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """End it with every session and remove its folder. What fails is told and stays in the journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        process, self._process = self._process, None
        place, self._place = self._place, None
        if process is not None:
            with suppress(HostError):  # its folder is not removed before its processes have ended
                await process.stop(STOP_LIMIT_S)
        if place is None:
            return
        try:
            files = ["rm", "-rf", "--one-file-system", "--", f"{place.folder}/home"]
            await self._host.run(files, timeout_s=REMOVE_LIMIT_S, root=True)
            await self._undoable.to([], [self._name])
        except LinewattError as error:
            self._say("warning", self._name, f"{place.folder} was not removed: {error}")

    def _present(self, place: _Place) -> Change:
        why = "files and settings of the users' server"
        return Change(self._name, KNOB, place.folder, PRESENT, why)

    # --- on the host ---------------------------------------------------------------------------------------

    async def _keep(self, path: str, text: str) -> None:
        await self._script(ground.KEEP, path, what=f"write {path}", stdin=text)

    async def _script(
        self, text: str, *words: str, what: str, stdin: str = "", limit_s: float = START_LIMIT_S
    ) -> Completed:
        """A constant script as root, which reads its input only if it has one: over SSH no other ends.

        Raises HostError naming ``what`` it was to do.
        """
        argv = ["bash", "-c", text, "linewatt", *words]
        done = await self._host.run(argv, stdin=stdin, timeout_s=limit_s, root=True)
        if done.status != 0:
            error_words = "; ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-2:])
            raise HostError(f"{self._name}: cannot {what}: {error_words[:200] or f'status {done.status}'}")
        return done


def _why(ended: Ended) -> str:
    """In vsftpd's own words, where it has any; what the shell around it says are none."""
    complaints = [line.partition("OOPS:")[2].strip() for line in ended.stderr.splitlines() if "OOPS:" in line]
    if complaints:
        return f"and said: {complaints[-1][:200]}"
    status = ended.status
    return f"by signal {status - 128}" if status is not None and status > 128 else f"with status {status}"
