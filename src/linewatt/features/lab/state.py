# SPDX-License-Identifier: Apache-2.0
"""What labs exist on this machine, written down before they are made, so that a crash leaves nothing unknown.

``<root>/<name>/state.json`` lists a lab's namespaces and links; it is on disk (fsync) before the first of
them is made. The directory itself is the lab's lock (``flock``), the root directory that of the numbers.
A lock is inherited by the tools that build, so a killed ``up`` holds it until the last of them has ended.
Who holds a lab may take the numbers' lock, never the other way round.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from linewatt import durable
from linewatt.errors import LabError, ParseError
from linewatt.features.lab.layout import INDEXES, Cores, LabRequest, Layout, is_name, lay_out
from linewatt.features.lab.processes import any_called
from linewatt.foreign import STORED, one_line, read_json

ROOT = Path("/run/linewatt/lab")
"""All labs of a machine share it: the numbers that keep their addresses apart are given out here."""

PRIVILEGE_SEPARATION = Path("/run/sshd")
"""sshd does not start without it; a machine that runs no sshd of its own may have none."""

_STATE = "state.json"
_OLD = "it was built by a linewatt that knew no BMCs; build it again"
_MADE_MARK = "made-privilege-separation"
_LOCK_LIMIT_S = 60.0
_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class LabState:
    """One lab as written down. ``ready`` is false from before it is built until it answers.

    ``copies`` are inventories written elsewhere at the user's wish. ``no_bmc`` says why there are no BMCs.
    """

    request: LabRequest
    index: int
    cores: Cores
    namespaces: tuple[str, ...]
    links: tuple[str, ...]
    link_group: int
    copies: tuple[str, ...] = ()
    ready: bool = False
    no_bmc: str | None = None
    schema_version: int = 1

    @classmethod
    def of(cls, request: LabRequest, index: int, cores: Cores, no_bmc: str | None = None) -> LabState:
        layout = lay_out(request, index, cores)
        names, links = layout.namespaces, layout.links
        return cls(request, index, cores, names, links, layout.link_group, no_bmc=no_bmc)

    def as_ready(self) -> LabState:
        return replace(self, ready=True)

    def with_copy(self, copy: Path) -> LabState:
        """With one more inventory copy to remove at the end."""
        text = str(copy)
        return self if text in self.copies else replace(self, copies=(*self.copies, text))

    @property
    def layout(self) -> Layout:
        return lay_out(self.request, self.index, self.cores)


class Registry:
    """The state directory: who is there, who has which number, who is at work on what."""

    def __init__(self, root: Path = ROOT, privilege_separation: Path = PRIVILEGE_SEPARATION) -> None:
        self.root = root
        self.privilege_separation = privilege_separation

    def directory(self, name: str) -> Path:
        return self.root / name

    def names(self) -> list[str]:
        if not self.root.is_dir():
            return []
        return sorted(entry.name for entry in self.root.iterdir() if entry.is_dir() and is_name(entry.name))

    def read(self, name: str) -> LabState | None:
        """The state of a lab; ``None`` when there is none (then nothing was made). Raises LabError."""
        from pydantic import TypeAdapter

        path = self.directory(name) / _STATE
        try:
            document = read_json(path.read_text(), "it", STORED)
            return TypeAdapter(LabState).validate_python({"no_bmc": _OLD, **document})
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise LabError(f"{path}: not readable for you; run it as root or with sudo") from error
        except (ValueError, KeyError, TypeError, ParseError) as error:
            why = one_line(str(error).partition("\n")[0])
            raise LabError(
                f"{path}: not a lab state of this linewatt ({why}); take it down"
                " with the one that made it, or delete its namespaces by hand (ip netns), then it"
            ) from error

    def write(self, state: LabState) -> None:
        """Atomic and on disk when it returns."""
        data = json.dumps(asdict(state), indent=1).encode()
        durable.write_whole(self.directory(state.request.name) / _STATE, data)

    @contextmanager
    def lock(self, name: str) -> Iterator[int | None]:
        """Hold the lab ``name``; gives the lock's descriptor, ``None`` where there is no such lab."""
        handle = _lock_directory(self.directory(name), f"lab {name}: another process to build or remove it")
        try:
            yield handle
        finally:
            if handle is not None:
                os.close(handle)

    @contextmanager
    def claim(self, name: str) -> Iterator[int]:
        """Hold the lab ``name``, making its directory where there is none; gives the lock's descriptor."""
        handle = None
        while handle is None:  # a removal may come between the two
            with self._numbers():
                self.directory(name).mkdir(mode=0o755, exist_ok=True)
            handle = _lock_directory(
                self.directory(name), f"lab {name}: another process to build or remove it"
            )
        try:
            yield handle
        finally:
            os.close(handle)

    def allocate(
        self,
        request: LabRequest,
        cores: Cores,
        usable: Callable[[int], bool],
        no_bmc: str | None = None,
    ) -> LabState:
        """Take the first number that is ``usable`` and no lab's; write the state. Hold the lab first."""
        with self._numbers():
            taken = self._taken()
            for index in INDEXES:
                if index not in taken and usable(index):
                    state = LabState.of(request, index, cores, no_bmc)
                    self.write(state)
                    return state
        raise LabError(
            f"lab {request.name}: no free number of {INDEXES[0]} to {INDEXES[-1]}; take labs down (see"
            " linewatt lab status), or free 198.18.0.0/15 where this machine routes it elsewhere (ip route)"
        )

    def clear(self, name: str) -> None:
        """Remove a lab's files but its state, which must be readable as long as anything is left."""
        for entry in self.directory(name).iterdir():
            if entry.name != _STATE:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def forget(self, name: str) -> None:
        """Remove a lab whose parts are gone, and the root with the last one. Hold the lab first."""
        self.clear(name)
        with self._numbers():
            (self.directory(name) / _STATE).unlink(missing_ok=True)
            self.directory(name).rmdir()
            if not self.names():
                self._close()

    def ensure_privilege_separation(self) -> None:
        """Make sshd's directory where there is none; noted first, removed with the last lab."""
        with self._numbers():
            if not self.privilege_separation.is_dir():
                (self.root / _MADE_MARK).touch()
                self.privilege_separation.mkdir(mode=0o755, exist_ok=True)

    def _close(self) -> None:
        mark = self.root / _MADE_MARK
        if mark.exists():
            # An sshd started since then needs it for every caller.
            if not any_called("sshd"):
                with suppress(OSError):
                    self.privilege_separation.rmdir()
            mark.unlink()
        with suppress(OSError):  # somebody put something there
            self.root.rmdir()
            if self.root == ROOT:
                self.root.parent.rmdir()

    def _taken(self) -> set[int]:
        return {index for name in self.names() if (index := self._index(name)) is not None}

    def _index(self, name: str) -> int | None:
        """The number of a lab, also of one that another version of linewatt made otherwise."""
        try:
            index = read_json((self.directory(name) / _STATE).read_text(), "it", STORED)["index"]
        except (OSError, LookupError, TypeError, ParseError):
            return None  # whoever uses the number in fact is seen by its links and subnets
        return index if isinstance(index, int) else None

    @contextmanager
    def _numbers(self) -> Iterator[None]:
        handle = None
        while handle is None:  # the last lab's end removes the root: make it again
            self.root.mkdir(mode=0o755, parents=True, exist_ok=True)
            handle = _lock_directory(self.root, f"{self.root}: another process to give out a lab number")
        try:
            yield
        finally:
            os.close(handle)


def _lock_directory(path: Path, awaited: str) -> int | None:
    """An exclusive lock on a directory that still is at ``path``; ``None`` where it is not there."""
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            _flock(handle, deadline, awaited)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _flock(handle: int, deadline: float, awaited: str) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            if time.monotonic() > deadline:
                raise LabError(
                    f"{awaited}: waited {_LOCK_LIMIT_S:.0f} s; try again when it is done"
                ) from error
            time.sleep(_POLL_S)
        else:
            return
