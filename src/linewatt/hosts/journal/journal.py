# SPDX-License-Identifier: Apache-2.0
"""The undo journal: what was changed on which host, on disk before it is changed.

One file a campaign, JSON lines, below the state directory; it is there exactly as long as something may have
to be undone. The controller that writes it holds a lock on it, so that ``restore`` can tell a campaign that
still runs from one that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from stat import S_ISREG
from typing import Any

from linewatt.durable import make_folder, sync_folder
from linewatt.errors import ChangeError, JournalError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.journal.lines import VERSION, Content, cut_off, encoded, parse
from linewatt.hosts.journal.lines import Entry as Entry

_OPENED_MEANWHILE = 10
"""so often another may remove the journal between its opening and its lock"""


def state_dir() -> Path:
    """Where linewatt keeps what must survive it: LINEWATT_STATE, or the XDG state directory."""
    if chosen := os.environ.get("LINEWATT_STATE"):
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "linewatt"


class Journal:
    """An open journal; :meth:`close` releases its lock, :meth:`discard` removes it.

    A new one is there under its name once :meth:`begin` has its hosts on disk. Raises ChangeError: its
    campaign still runs; JournalError: it cannot be opened; FileNotFoundError where none is to be created.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self._hosts: dict[str, HostSpec] = {}
        self._new: Path | None = None
        try:
            if create:
                make_folder(path.parent, 0o700)
            self._fd = self._open(create)
        except FileNotFoundError:
            if create:
                raise JournalError(f"{path}: the undo journal is removed again and again") from None
            raise
        except OSError as error:
            advice = "make room there, or set LINEWATT_STATE to another directory" if create else "repair it"
            raise _unopened(path, error, advice) from error
        if self._new is None:
            self._hosts |= self.content().hosts
        data = self._file_bytes()
        complete_lines = data[: len(data) - cut_off(data)]
        self._lines = len(complete_lines.removesuffix(b"\n").split(b"\n")) if complete_lines else 0
        self._ended = False

    def _open(self, create: bool) -> int:
        """The file, locked and still there under its name. Raises OSError, ChangeError, JournalError."""
        for _ in range(_OPENED_MEANWHILE):
            try:
                handle = _locked(self.path)
            except FileNotFoundError:
                if not create:
                    raise
                self._new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
                self._new.unlink(missing_ok=True)
                return _locked(self._new, os.O_CREAT | os.O_EXCL)
            if _is_at(handle, self.path):
                return handle
            os.close(handle)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))

    def begin(self, hosts: Iterable[HostSpec]) -> None:
        """Record how the hosts are reached, so that they can be restored without the campaign file.

        Raises JournalError, ChangeError: then nothing of a new journal is there, and it is closed.
        """
        specs = list(hosts)
        event = {"event": "hosts", "schema_version": VERSION, "hosts": [spec.as_document() for spec in specs]}
        try:
            self._append([event], synced=True)
            if self._new is not None:
                self._show()
        except BaseException:
            self._abandon()
            raise
        self._hosts |= {spec.name: spec for spec in specs}

    def _show(self) -> None:
        """Give a new journal its name, which nobody else may have taken meanwhile."""
        new, self._new = self._new, None
        if new is None:
            return
        try:
            os.link(new, self.path)
            new.unlink()
            sync_folder(self.path.parent)
        except FileExistsError as error:
            new.unlink(missing_ok=True)
            raise ChangeError(f"{self.path.stem}: this campaign is still running") from error
        except OSError as error:
            new.unlink(missing_ok=True)
            raise self._unwritten(error) from error

    def intend(self, entries: Sequence[Entry]) -> None:
        """Write changes that are about to be made; they are on disk when this returns.

        Raises JournalError: nothing may be changed.
        """
        self._append([self._intended(entry) for entry in entries], synced=True)
        if not _is_at(self._fd, self.path):
            raise JournalError(
                f"{self.path}: the undo journal was removed while its campaign runs, so no more is changed; "
                "leave the state directory alone until a campaign has ended"
            )

    def _intended(self, entry: Entry) -> dict[str, Any]:
        spec = self._hosts.get(entry.host)
        place = {} if spec is None else {"address": spec.address, "port": spec.port}
        return {"event": "intend", **asdict(entry), **place}

    def applied(self, number: int, after: str) -> None:
        """A change was made, and reads so since. Outlives this process, and with :meth:`sync` the machine."""
        self._append([{"event": "applied", "number": number, "after": after}])

    def undone(self, number: int) -> None:
        """A change was put back. If this is lost with the machine, it is found to be so when it is undone."""
        self._append([{"event": "undone", "number": number}])

    def sync(self) -> None:
        """Have all that was written on disk: one wait for what became of many changes."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise self._unwritten(error) from error

    def _append(self, events: Sequence[dict[str, Any]], *, synced: bool = False) -> None:
        """All of it or nothing. Raises JournalError."""
        first = self._lines + 1
        data = b"".join(encoded(event, first + i) for i, event in enumerate(events))
        try:
            self._end_last_line()
            size = os.fstat(self._fd).st_size
            try:
                if os.write(self._fd, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if synced:
                    os.fsync(self._fd)
            except OSError:
                os.ftruncate(self._fd, size)
                raise
        except OSError as error:
            raise self._unwritten(error) from error
        self._lines += len(events)

    def _end_last_line(self) -> None:
        """Once: take away what a crash cut off, so that the next line is not lost with it."""
        if self._ended:
            return
        data = self._file_bytes()
        size = len(data) - cut_off(data)
        if size < len(data):
            os.ftruncate(self._fd, size)
        elif data and not data.endswith(b"\n"):
            os.write(self._fd, b"\n")
        self._ended = True

    def _unwritten(self, error: OSError) -> JournalError:
        return JournalError(
            f"{self.path}: the undo journal cannot be written: {error.strerror}; make room there, "
            "then run: linewatt restore"
        )

    def content(self) -> Content:
        """All that the journal says, and what of it is damaged."""
        return Content({}, ()) if self._new is not None else parse(self._file_bytes())

    def read(self) -> tuple[dict[str, HostSpec], tuple[Entry, ...]]:
        """Hosts, and the changes not yet undone, in the order they were made. Raises JournalError."""
        content = self.content()
        if content.damage:
            raise JournalError(damage_text(self.path, content))
        return content.hosts, content.entries

    def _file_bytes(self) -> bytes:
        """The file through its descriptor: it is the one that is written, whatever its name is now."""
        return os.pread(self._fd, os.fstat(self._fd).st_size, 0)

    def next_number(self) -> int:
        """A number no entry has had: a resumed campaign writes on in the journal that its first part left."""
        return self._lines

    def close(self) -> None:
        os.close(self._fd)

    def _abandon(self) -> None:
        if self._new is not None:
            with suppress(OSError):
                self._new.unlink()
        self.close()

    def discard(self) -> None:
        """Nothing is left to undo: remove the file, and release the lock once it is gone."""
        try:
            if _is_at(self._fd, self.path):
                self.path.unlink(missing_ok=True)
                sync_folder(self.path.parent)
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be removed: {error.strerror}") from error
        finally:
            self._abandon()


def _locked(path: Path, flags: int = 0) -> int:
    """Raises OSError, JournalError; ChangeError: its campaign still runs, or is being restored."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | flags, 0o600)
    try:
        if not S_ISREG(os.fstat(handle).st_mode):
            raise _no_regular_file(path)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise ChangeError(
            f"{path.stem}: this campaign is still running or being restored; wait for its end"
        ) from error
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_at(handle: int, path: Path) -> bool:
    """Whether that name is still that of the open file."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def damage_text(path: Path, content: Content) -> str:
    """What is wrong with a damaged journal, and what to do about it."""
    more = len(content.damage) - 1
    others = f" (and {more} more)" if more else ""
    names = ", ".join(sorted(content.hosts)) or "its hosts"
    return (
        f"{path}: damaged: {content.damage[0]}{others}; see to {names} by hand, its lines say what was "
        f"changed, then: linewatt restore --forget {path.stem}"
    )


def read_journal(path: Path) -> Content:
    """What a journal says, without its lock. Raises JournalError, FileNotFoundError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if S_ISREG(os.fstat(handle).st_mode):
                return parse(os.pread(handle, os.fstat(handle).st_size, 0))
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unopened(path, error) from error
    raise _no_regular_file(path)


def _no_regular_file(path: Path) -> JournalError:
    return JournalError(f"{path}: is not an undo journal but another kind of file; move it away")


def _unopened(path: Path, error: OSError, advice: str = "repair it or move it away") -> JournalError:
    """A journal, or the folder of journals, that this user cannot open, with what to do about it."""
    if error.errno in (errno.ELOOP, errno.EISDIR):
        return _no_regular_file(path)
    if isinstance(error, PermissionError):
        advice = f"run as {_owner(path)}, its owner"
    return JournalError(f"{path}: the undo journal cannot be opened: {error.strerror}; {advice}")


def _owner(path: Path) -> str:
    """The owner of a path; if it is hidden, of the nearest folder above it that is not."""
    for visible in (path, *path.parents):
        with suppress(OSError):
            uid = visible.lstat().st_uid
            try:
                return pwd.getpwuid(uid).pw_name
            except KeyError:
                return f"user {uid}"
    return "the user"


def journals(root: Path) -> list[Path]:
    """Journals that are there, oldest first. Raises JournalError: their folder cannot be read."""
    folder = root / "journal"
    by_age: list[tuple[float, Path]] = []
    try:
        for path in folder.iterdir():
            if path.suffix == ".jsonl":
                with suppress(FileNotFoundError):  # it ended meanwhile
                    by_age.append((path.lstat().st_mtime, path))
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not folder.is_symlink():
            return []
        raise _unopened(folder, error) from error
    return [path for _, path in sorted(by_age)]


def journal_path(root: Path, result_id: str) -> Path:
    return root / "journal" / f"{result_id}.jsonl"
