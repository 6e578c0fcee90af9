# SPDX-License-Identifier: Apache-2.0
"""The users' environment on clients: looked for before a run, made and taken away by ``linewatt prepare``.

Like a package that was installed it stays until it is asked to go, so it is in no undo journal. A run only
looks. Two that prepare one home (two hosts that are one machine, a home on NFS, two controllers) wait for
each other, and the second finds what the first made.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from linewatt.errors import HostError, HostLacks, InvalidInput, ParseError
from linewatt.features.users import prepare_scripts as scripts
from linewatt.features.users.prepare_parcel import (
    LEAST_PYTHON,
    REQUIREMENTS,
    Wheelhouse,
    code,
    code_digest,
    packed,
    pins_digest,
    pip_problem,
    requirements_path,
)
from linewatt.features.users.prepare_scripts import Found, Python, bash_command
from linewatt.foreign import contained, last_line
from linewatt.hosts import Ended, Host, HostSpec, Process, connect_to_host

AT_ONCE = 8
"""hosts that are prepared at once, and channels that are opened"""
LOOK_LIMIT_S = 20.0
BUILD_LIMIT_S = 900.0
LOCK_LIMIT_S = 900
SEND_LIMIT_S = 60.0
PIECE_BYTES = 384 * 1024
"""of what is sent: 512 KiB as text, so that heartbeats behind it come in time on a line of 10 Mbit/s"""

Outcome = Literal["there", "installed", "removed", "nothing", "failed"]


@dataclass(frozen=True, slots=True)
class Environment:
    """A client's Python for users, and what must be its ``PYTHONPATH`` (``None``: nothing)."""

    python: str
    python_path: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of one host; ``size_bytes`` is what is, or was, on its disk."""

    host: str
    outcome: Outcome
    took_s: float
    environment: Environment | None = None
    removed: tuple[str, ...] = ()
    size_bytes: int | None = None
    problem: str | None = None


async def environment(host: Host) -> Environment:
    """The prepared environment of a client, by one short command. Raises HostError where there is none."""
    client_state = await _look(host)
    if client_state.whole is None:
        raise HostLacks(host.spec.name, "no users' environment of this linewatt", _PREPARE, verb="run: ")
    return _environment(*client_state.whole)


async def given(host: Host, python: str) -> Environment:
    """The environment of the user's own, with our code beside it where it has another or none.

    Raises HostError: not there, too old, without Locust or hdrhistogram, or our code was not sent yet.
    """
    env = await _given(host, python)
    if env is not None:
        return env
    client_state = await _look(host)
    if client_state.code is None:
        raise HostLacks(host.spec.name, f"{python} has no linewatt of this version", _PREPARE, verb="run: ")
    return Environment(python, client_state.code)


_PREPARE = "linewatt prepare FILE"


async def _look(host: Host) -> Found:
    command = bash_command(scripts.LOOK, pins_digest(), code_digest())
    done = await host.run(command, timeout_s=LOOK_LIMIT_S)
    return scripts.found(host.spec.name, done)


def _environment(env: str, code_folder: str) -> Environment:
    return Environment(f"{env}/venv/bin/python", code_folder)


async def _given(host: Host, python: str) -> Environment | None:
    """``None`` where only our code is missing."""
    name = host.spec.name
    command = ["env", "-u", "PYTHONPATH", python, "-c", scripts.GIVEN, *sorted(code())]
    done = await host.run(command, timeout_s=LOOK_LIMIT_S)
    if done.status:
        raise HostLacks(name, f"{python} cannot be used: {last_line(done.stderr)}", "correct users.python")
    with contained(f"what {python} says", where=name):
        version, *more_lines = done.stdout.splitlines()
        is_old = tuple(map(int, version.split())) < LEAST_PYTHON
        packages = more_lines[0] if more_lines or not is_old else ""
    if is_old:
        what = f"{python} is {'.'.join(version.split())}"
        raise HostLacks(name, what, f"users need Python {_LEAST} or newer")
    lacking = {"locust": "locust", "hdrh": "hdrhistogram"}
    if missing := [lacking.get(package, package) for package in packages.split()]:
        raise HostLacks(
            name,
            f"{python} has no {' and no '.join(missing)}",
            f"install linewatt[users] there, or take users.python out and run: {_PREPARE}",
        )
    return Environment(python, None) if more_lines[1:] == [code_digest()] else None


_LEAST = ".".join(map(str, LEAST_PYTHON))


async def prepare(
    specs: Sequence[HostSpec], python: str | None, wheelhouse: Wheelhouse | None
) -> list[Prepared]:
    """Make what the hosts lack, on several at once; one that fails leaves the others.

    ``python`` is the user's own environment, which needs our code at most. ``wheelhouse``: packages come from
    there, in place of the package index that the client's own pip is set to.
    """
    parcels = Parcels(wheelhouse)

    async def one(host: Host) -> Prepared:
        return await (_ours(host, parcels) if python is None else _code_beside(host, python, parcels))

    return await _each(specs, one)


async def remove(specs: Sequence[HostSpec]) -> list[Prepared]:
    """Take away everything that ``prepare`` ever made for these hosts' login users, of any version."""
    return await _each(specs, _remove)


async def _each(specs: Sequence[HostSpec], act: Callable[[Host], Awaitable[Prepared]]) -> list[Prepared]:
    few, openings = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)

    async def one(spec: HostSpec) -> Prepared:
        async with few:
            began_s = time.monotonic()
            try:
                host = await connect_to_host(spec, openings)
                try:
                    return await act(host)
                finally:
                    await host.close()
            except (HostError, InvalidInput, ParseError) as error:
                took_s, problem = time.monotonic() - began_s, error.without(spec.name)
                return Prepared(spec.name, "failed", took_s, problem=problem)

    return await asyncio.gather(*map(one, specs))


class Parcels:
    """What is sent, packed once for all hosts of a kind."""

    def __init__(self, wheelhouse: Wheelhouse | None) -> None:
        self.wheelhouse = wheelhouse
        self._kinds: dict[tuple[str, str], list[str]] = {}

    def code(self) -> list[str]:
        return self._kinds.get(("", "")) or self._keep(("", ""), packed(code().items()))

    def env(self, python: str, machine: str) -> list[str]:
        """Pins and wheels, in pieces of text. Raises InvalidInput for wheels that are missing."""
        if (python, machine) in self._kinds:
            return self._kinds[python, machine]
        files = [(REQUIREMENTS, requirements_path().read_bytes())]
        if self.wheelhouse is not None:
            files += self.wheelhouse.files(python, machine)
        return self._keep((python, machine), packed(files))

    def _keep(self, kind: tuple[str, str], archive: bytes) -> list[str]:
        starts = range(0, len(archive), PIECE_BYTES)
        self._kinds[kind] = [base64.b64encode(archive[at : at + PIECE_BYTES]).decode() for at in starts]
        return self._kinds[kind]


async def _ours(host: Host, parcels: Parcels) -> Prepared:
    began_s = time.monotonic()
    client_state = await _look(host)
    outcome: Outcome = "there"
    if client_state.whole is None:
        client_state, outcome = await _installed(host, client_state, parcels)
    if client_state.whole is None:
        raise HostError("the users' environment is not there although it was made; run it again")
    size_bytes = await _size(host, client_state.whole)
    return Prepared(
        host.spec.name,
        outcome,
        time.monotonic() - began_s,
        _environment(*client_state.whole),
        size_bytes=size_bytes,
    )


async def _installed(host: Host, client_state: Found, parcels: Parcels) -> tuple[Found, Outcome]:
    """Make what is missing, unless somebody else just did. Raises HostError, InvalidInput."""
    env, python, pieces_by_folder = client_state.env, "", {}
    if env is None:
        command = bash_command(scripts.FIND_PYTHONS, *scripts.PYTHONS)
        chosen = choose(scripts.found_pythons(await host.run(command, timeout_s=LOOK_LIMIT_S)))
        python = chosen.path
        env = f"{client_state.base}/users-env-{pins_digest()}-{chosen.tag}-{client_state.machine}"
        pieces_by_folder[env] = parcels.env(chosen.tag, client_state.machine)
    folder = f"{client_state.base}/users-code-{code_digest()}"
    if client_state.code is None:
        pieces_by_folder[folder] = parcels.code()
    sources = ["--no-index", "--find-links", "wheels"] if parcels.wheelhouse else []
    return await _built(
        host, client_state.base, scripts.build(folder, env, python, sources), pieces_by_folder
    )


def choose(pythons: Sequence[Python]) -> Python:
    """The first that can make an environment. Raises HostError saying what there is instead."""
    new = [python for python in pythons if python.version >= LEAST_PYTHON]
    for python in new:
        if python.makes_venvs:
            return python
    if new:
        name = f"python{new[0].version[0]}.{new[0].version[1]}"
        raise HostError(
            f"{new[0].path} has no ensurepip, which venv needs; install {name}-venv (Debian, Ubuntu)"
        )
    available = (
        ", ".join(f"{python.path} {python.version[0]}.{python.version[1]}" for python in pythons) or "none"
    )
    raise HostError(f"users need Python {_LEAST} or newer, there is {available}; install one")


async def _built(
    host: Host, base: str, command: Sequence[str], pieces_by_folder: Mapping[str, Sequence[str]]
) -> tuple[Found, Outcome]:
    async with _alone(host, base, command) as process:
        now = await _look(host)
        lacking = {
            folder: pieces for folder, pieces in pieces_by_folder.items() if folder not in (now.env, now.code)
        }
        if not lacking:
            return now, "there"
        await _send(host, lacking)
        process.release()
        ended = await process.wait(BUILD_LIMIT_S, "its users' environment to be made")
        if ended.status:
            raise HostError(build_problem(ended))
    return await _look(host), "installed"


@asynccontextmanager
async def _alone(host: Host, base: str, command: Sequence[str]) -> AsyncIterator[Process]:
    """The command, held, under the lock of ``base``; it ends with this. Raises HostError, WaitTimeout."""
    process = await host.start(command, wrapper=scripts.locked(base, LOCK_LIMIT_S), held=True)
    try:
        await process.ready(LOCK_LIMIT_S + 5.0)
        if process.pid is None:
            ended = await process.wait(5.0, f"{base} to be locked")
            raise HostError(f"{base} cannot be locked: {last_line(ended.stderr)}")
        yield process
    finally:
        if host.lost is None:
            await process.stop()


async def _send(host: Host, pieces_by_folder: Mapping[str, Sequence[str]]) -> None:
    await _write(host, bash_command(scripts.CLEAR, *pieces_by_folder), "")
    for folder, pieces in pieces_by_folder.items():
        for piece in pieces:
            await _write(host, bash_command(scripts.APPEND, f"{folder}/sent.tar"), piece)


async def _write(host: Host, argv: Sequence[str], stdin: str) -> None:
    done = await host.run(argv, stdin=stdin, timeout_s=SEND_LIMIT_S)
    if done.status:
        raise HostError(f"cannot write there: {last_line(done.stderr)}")


_STAGES = {
    "unpack": "what was sent cannot be unpacked",
    "venv": "no environment can be made",
    "import": "what was installed does not work",
}


def build_problem(ended: Ended) -> str:
    """Why an environment could not be made: what, and what to do."""
    stage = (ended.stdout.split() or ["unpack"])[-1]
    if stage != "pip":
        return f"{_STAGES.get(stage, stage)}: {last_line(ended.stderr)}"
    return pip_problem(ended.stderr)


async def _size(host: Host, folders: Sequence[str]) -> int | None:
    done = await host.run(bash_command(scripts.SIZE, *folders), timeout_s=LOOK_LIMIT_S)
    word = (done.stdout.split() or [""])[0]
    return int(word) * 1024 if word.isdecimal() else None


async def _code_beside(host: Host, python: str, parcels: Parcels) -> Prepared:
    """Our code for an environment of the user's own, where that has another or none."""
    began_s = time.monotonic()
    outcome: Outcome = "there"
    env = await _given(host, python)
    if env is None:
        client_state = await _look(host)
        folder = f"{client_state.base}/users-code-{code_digest()}"
        if client_state.code is None:
            command = scripts.build(folder, "", python)
            client_state, outcome = await _built(host, client_state.base, command, {folder: parcels.code()})
        env = Environment(python, folder)
    return Prepared(host.spec.name, outcome, time.monotonic() - began_s, env)


async def _remove(host: Host) -> Prepared:
    began_s = time.monotonic()
    client_state = await _look(host)
    folder_test = await host.run(["test", "-d", client_state.base], timeout_s=LOOK_LIMIT_S)
    removed: list[tuple[int, str]] = []
    if folder_test.status == 0:
        command = bash_command(scripts.REMOVE, client_state.base)
        async with _alone(host, client_state.base, command) as process:
            process.release()
            ended = await process.wait(BUILD_LIMIT_S, "its users' environment to be removed")
        if ended.status:
            raise HostError(f"not everything could be removed: {last_line(ended.stderr)}")
        rows = (line.partition(" ") for line in ended.stdout.splitlines())
        with contained("what was removed"):
            removed = [(int(kib) * 1024, folder) for kib, _, folder in rows]
    return Prepared(
        host.spec.name,
        "removed" if removed else "nothing",
        time.monotonic() - began_s,
        removed=tuple(folder for _, folder in removed),
        size_bytes=sum(size for size, _ in removed) if removed else None,
    )
