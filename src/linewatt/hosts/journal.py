# SPDX-License-Identifier: Apache-2.0
"""The undo journal: what was changed on which host, on disk before it is changed.

One file a campaign, JSON lines, below the state directory; it is there exactly as long as something may have
to be undone. The controller that writes it holds a lock on it, so that ``restore`` can tell a campaign that
still runs from one that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from linewatt.errors import ChangeError
from linewatt.hosts.base import HostSpec

_HOSTS = TypeAdapter(list[HostSpec])


def state_dir() -> Path:
    """Where linewatt keeps what must survive it: LINEWATT_STATE, or the XDG state directory."""
    if chosen := os.environ.get("LINEWATT_STATE"):
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "linewatt"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change: the setting before, the one asked for, and (once made) as it was read back."""

    number: int
    host: str
    knob: str
    target: str
    before: str
    wanted: str
    after: str | None = None


class Journal:
    """An open journal; :meth:`close` releases its lock, :meth:`discard` removes it."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        if create:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(path, flags, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._fd)
            raise ChangeError(f"{path.stem}: this campaign is still running") from error
        self._end_last_line()

    def _end_last_line(self) -> None:
        """What a crash cut off stays a line of its own: the next one must not be lost with it."""
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

    def begin(self, hosts: Iterable[HostSpec]) -> None:
        """Record how the hosts are reached, so that they can be restored without the campaign file."""
        self._append([{"event": "hosts", "schema_version": 1, "hosts": [asdict(spec) for spec in hosts]}])
        self.sync()

    def intend(self, entries: Sequence[Entry]) -> None:
        """Write changes that are about to be made; they are on disk when this returns."""
        self._append([{"event": "intend", **asdict(entry)} for entry in entries])
        self.sync()

    def applied(self, number: int, after: str) -> None:
        """A change was made, and reads so since. Outlives this process, and with :meth:`sync` the machine."""
        self._append([{"event": "applied", "number": number, "after": after}])

    def undone(self, number: int) -> None:
        """A change was put back. If this is lost with the machine, it is found to be so when it is undone."""
        self._append([{"event": "undone", "number": number}])

    def sync(self) -> None:
        """Have all that was written on disk: one wait for what became of many changes."""
        os.fsync(self._fd)

    def _append(self, events: Sequence[dict[str, Any]]) -> None:
        """All of it or nothing. Raises ChangeError."""
        data = "".join(json.dumps(event, sort_keys=True) + "\n" for event in events).encode()
        size = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._fd, size)
            raise ChangeError(
                f"{self.path}: the undo journal cannot be written: {error.strerror}; make room there, "
                "then run: linewatt restore"
            ) from error

    def read(self) -> tuple[dict[str, HostSpec], tuple[Entry, ...]]:
        """Hosts, and the changes not yet undone, in the order they were made."""
        return parse(self.path.read_text(encoding="utf-8"))

    def next_number(self) -> int:
        """A number no entry has had: a resumed campaign writes on in the journal that its first part left."""
        return len(self.path.read_text(encoding="utf-8").splitlines())

    def close(self) -> None:
        os.close(self._fd)

    def discard(self) -> None:
        """Nothing is left to undo: remove the file and release the lock."""
        self.path.unlink(missing_ok=True)
        self.close()


def parse(text: str) -> tuple[dict[str, HostSpec], tuple[Entry, ...]]:
    """Read a journal's text. A last line that a crash cut off was never acted upon and is left out."""
    hosts: dict[str, HostSpec] = {}
    entries: dict[int, Entry] = {}
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        kind = event.pop("event")
        if kind == "hosts":
            hosts |= {spec.name: spec for spec in _HOSTS.validate_python(event["hosts"])}
        elif kind == "intend":
            entries[event["number"]] = Entry(**event)
        elif kind == "applied":
            entry = entries[event["number"]]
            entries[entry.number] = Entry(**(asdict(entry) | {"after": event["after"]}))
        elif kind == "undone":
            entries.pop(event["number"], None)
    return hosts, tuple(entries[number] for number in sorted(entries))


def journals(root: Path) -> list[Path]:
    """Journals that are there, oldest first."""
    return sorted((root / "journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)


def journal_path(root: Path, result_id: str) -> Path:
    return root / "journal" / f"{result_id}.jsonl"
