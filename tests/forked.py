# SPDX-License-Identifier: Apache-2.0
"""Commands of linewatt as processes of their own, without half a second of Python's start and imports each.

A server has imported what commands import, and forks for each of them: one for all workers of a run, else one
for a process. What only a process that was started anew shows is its arguments and environment below
``/proc``, what it imports and when, and its locale: a test of those starts one itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests import cpu_weights

OFFERED = "LINEWATT_TESTS_COMMANDS"
"""names the socket of a server that a process above this one has started for all"""
LIBRARIES = (
    *("asyncssh", "duckdb", "numpy", "rich.console", "rich.table", "ruamel.yaml", "scipy.stats"),
    *("typer._adapters", "typer._click.decorators"),
)
"""what commands import when they are about to need it"""

SERVER = f"""
import atexit, gc, json, os, select, socket, sys, threading, traceback
from contextlib import suppress
from importlib import import_module

from pkgutil import walk_packages

import linewatt
import pydantic
from linewatt.cli import entry_point as cli

for name in (*{LIBRARIES}, *(module.name for module in walk_packages(linewatt.__path__, "linewatt."))):
    if not name.startswith("linewatt.features.users.worker."):  # Locust changes what it is imported into
        import_module(name)

def subclasses(model):
    for one in model.__subclasses__():
        yield one
        yield from subclasses(one)

for model in (*subclasses(pydantic.BaseModel),):
    if model.__module__.startswith("linewatt."):
        model.model_rebuild()  # each command that reads a file would build them anew

from linewatt.store import read
read.warm_up_reading()

def run(asked):
    # what Python does with a program, but for taking itself apart at the end
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False, buffering=1 if os.isatty(1) else -1)
    sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    os.setpriority(os.PRIO_PROCESS, 0, asked["nice"])
    sys.argv = ["linewatt", *asked["words"]]
    try:
        exec(asked["before"], {{}})
        cli.program()
    except SystemExit as end:
        status = end.code or 0
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        status = status or 120
    os._exit(status)

def begin(asked, files, others):
    *streams, tells = files
    child = os.fork()
    if not child:
        for file in (tells, *others):
            os.close(file)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        run(asked)
    for stream in streams:
        os.close(stream)
    os.write(tells, f"{{child}}\\n".encode())
    return os.pidfd_open(child), (child, tells)

gc.freeze()
comes, owner = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
asking, commands = [], {{}}
while True:
    for ready in select.select([owner, comes, *asking, *commands], [], [])[0]:
        if ready == owner:  # nobody writes: it has ended
            os._exit(0)
        if ready is comes:
            asking.append(comes.accept()[0])
            continue
        if ready in asking:
            try:
                asked, files, _, _ = socket.recv_fds(ready, 1 << 20, 4)
            except ConnectionResetError:
                asked = b""
            if not asked:
                asking.remove(ready)
                ready.close()
                continue
            sockets = (one.fileno() for one in (comes, *asking))
            others = [owner, *sockets, *commands, *(tells for _, tells in commands.values())]
            watched, command = begin(json.loads(asked), files, others)
            commands[watched] = command
            continue
        child, tells = commands.pop(ready)
        _, status = os.waitpid(child, 0)
        with suppress(BrokenPipeError):  # nobody wants to know any more
            os.write(tells, f"{{os.waitstatus_to_exitcode(status)}}\\n".encode())
        os.close(tells)
        os.close(ready)
"""


@cache
def offer(group: Path | None = None) -> Path:
    """Start a server, which ends with this process, in a control group; its socket, which only this user can
    reach."""
    place = Path(tempfile.mkdtemp(prefix="linewatt-commands-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    comes = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    owner, ours = os.pipe()
    with comes:
        comes.bind(str(place / "socket"))
        comes.listen(100)
        subprocess.Popen(
            cpu_weights.inside(group, [sys.executable, "-c", SERVER, str(comes.fileno()), str(owner)]),
            pass_fds=[comes.fileno(), owner],
            stdin=subprocess.DEVNULL,
        )
    os.close(owner)
    atexit.register(os.close, ours)
    return place / "socket"


@cache
def _server() -> tuple[socket.socket, threading.Lock]:
    """A connection of this process to a server."""
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.connect(os.environ.get(OFFERED) or str(offer()))
    atexit.register(ours.close)
    return ours, threading.Lock()


class Forked(subprocess.Popen[Any]):
    """A running command of linewatt as ``Popen`` has it; its ``args`` are words without the program."""

    before = ""
    """Python that its process runs first"""

    def _execute_child(self, args: Sequence[str | Path], *more: Any) -> None:
        """What ``Popen`` starts a process with, from Python 3.11 to 3.13."""
        cwd, env = more[4:6]
        read, write = more[9:15:2], more[10:15:2]
        its = (read[0], *write[1:])
        ours = (write[0], *read[1:])
        self._told, tells = os.pipe()
        asked = {
            "words": [str(word) for word in args],
            "cwd": str(cwd or Path.cwd()),
            "env": {**(os.environ if env is None else env)},
            "before": self.before,
            "nice": os.getpriority(os.PRIO_PROCESS, 0),  # that of its server is of when it was started
        }
        streams = [number if stream == -1 else stream for number, stream in enumerate(its)]
        server, one_at_a_time = _server()
        with one_at_a_time:
            socket.send_fds(server, [json.dumps(asked).encode()], [*streams, tells])
        for file in (tells, *(stream for stream, end in zip(its, ours, strict=True) if end != -1)):
            os.close(file)
        if hasattr(self, "_devnull"):
            os.close(self._devnull)
        self._closed_child_pipe_fds = True
        self._said = b""
        self.pid = int(self._line())

    def _line(self) -> bytes:
        """The next line that the server says of the command: its number, then its status."""
        while b"\n" not in self._said:
            read = os.read(self._told, 100)
            assert read, "the server of commands was killed"
            self._said += read
        line, _, self._said = self._said.partition(b"\n")
        return line

    def poll(self) -> int | None:
        return self._ended(0)

    def _ended(self, limit_s: float | None) -> int | None:
        if self.returncode is None and (
            b"\n" in self._said or select.select([self._told], [], [], limit_s)[0]
        ):
            self.returncode = int(self._line())
            os.close(self._told)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status

    def __del__(self, *_: Any) -> None: ...


def run(
    words: Sequence[str | Path],
    *,
    input: str | bytes | None = None,
    text: bool = True,
    timeout: float = 300,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    kind: type[Forked] = Forked,
) -> subprocess.CompletedProcess[Any]:
    """A command of linewatt to its end, with what it wrote, as ``subprocess.run`` has it."""
    stdin = None if input is None else subprocess.PIPE
    pipe = subprocess.PIPE
    with kind(words, stdin=stdin, stdout=pipe, stderr=pipe, text=text, env=env, cwd=cwd) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
