# SPDX-License-Identifier: Apache-2.0
"""Reading stored results."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NewType, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from linewatt import foreign
from linewatt.core.feature import result_kind_of
from linewatt.errors import DamagedFile, ParseError, StoreError
from linewatt.hosts import goes_with_its_command
from linewatt.model import Counters, Trial
from linewatt.power_source_keys import SourceValues, correct_trial, values_of
from linewatt.records import (
    SCHEMA_VERSION,
    Connection,
    Connections,
    Document,
    Idle,
    Manifest,
    Meter,
    Meters,
    Repeats,
    Searches,
)
from linewatt.store import derived
from linewatt.store.idle import with_idle
from linewatt.store.meters import known_meters, with_meters
from linewatt.store.stored_file import stored_bytes

T = TypeVar("T")
D = TypeVar("D", bound=Document)


_StoredTrial = NewType("_StoredTrial", Trial)


@cache
def _trial_shape() -> TypeAdapter[Trial]:
    """Made when the first trial is read: a list of what is remembered reads none.

    All numbers in a trial are finite: pydantic takes that for a type that is no dataclass, and hands it on.
    """
    return TypeAdapter(_StoredTrial, config=ConfigDict(allow_inf_nan=False))


def warm_up_reading() -> None:
    """Make what trials are read with, in good time."""
    _trial_shape()


@dataclass(frozen=True, slots=True)
class Result:
    """A stored campaign run. ``idle`` are all idle windows in the order of time, ``meters`` what was known of
    each meter at the end; ``repeats`` says why each case stopped where cases stop by themselves
    (``engine/repeats.py``), None until all have."""

    id: str
    path: Path
    manifest: Manifest
    trials: tuple[Trial, ...]
    idle: tuple[Idle, ...] = ()
    meters: tuple[Meter, ...] = ()
    repeats: Repeats | None = None
    searches: Searches | None = None
    """why each search ended; None until all have"""
    connections: Mapping[str, Connection] = field(default_factory=dict)
    """hosts whose limits were not those of any host"""

    @property
    def idle_before(self) -> Idle | None:
        """The first setting's idle window before its trials."""
        return self.idle[0] if self.idle else None

    @property
    def idle_after(self) -> Idle | None:
        """The first setting's last idle window after its trials; ``None`` until it was taken."""
        windows = [window for window in self.idle if window.after and window.setting == self.idle[0].setting]
        return windows[-1] if windows else None

    @property
    def imported_from(self) -> str | None:
        """The file whose figures these are; ``None`` where linewatt measured them."""
        return self.manifest.imported_from

    @property
    def imported_table(self) -> str | None:
        """The table whose figures these are; ``None`` where they were computed of what tools wrote."""
        return None if self.manifest.imported_files else self.manifest.imported_from

    @property
    def imported_kind(self) -> str | None:
        """What kind of published table it is that holds no trials; ``None`` for every other result."""
        return self.manifest.imported_kind

    @property
    def is_soak(self) -> bool:
        """Whether it is one long load in place of trials (the feature ``soak``)."""
        return self.manifest.asked.soak is not None

    @property
    def created_s(self) -> float | None:
        """When it began, Unix seconds."""
        return self.manifest.created_s

    @property
    def complete(self) -> bool:
        """Whether nothing is left for ``linewatt resume``. Raises StoreError."""
        if kind := result_kind_of(self.manifest):
            return bool(kind.is_complete(self))
        return len(self.trials) == self.trials_planned

    @property
    def is_passing(self) -> bool:
        """Whether its hosts went with the command that ran it, so that nothing can continue it."""
        return any(goes_with_its_command(host.lab) for host in self.manifest.hosts.values())

    @property
    def trials_planned(self) -> int:
        """Trials the campaign asks for; those not counted that cases and searches did not need."""
        left_out = (ends.trials_left_out for ends in (self.repeats, self.searches) if ends is not None)
        return self.manifest.trials_planned - sum(left_out)


def load_result(path: Path, only: Collection[int] | None = None) -> Result:
    """Read a result directory; ``only``: of its trials those of these numbers.

    Raises StoreError naming the damaged file.
    """
    manifest = load_manifest(path)
    folders = [folder.name for folder in trial_dirs(path)]
    files = derived.derived_files(path, [name for name in folders if only is None or _number(name) in only])
    idle, learned = idle_windows(path), read_meters(path)
    trials = with_idle([_read_trial(file) for file in files], idle)
    feature_values = _feature_values(path, manifest)
    repeats, searches = path / "repeats.json", path / "searches.json"
    return Result(
        path.name,
        path,
        manifest,
        tuple(correct_trial(trial, feature_values) for trial in with_meters(trials, known_meters(learned))),
        idle,
        learned,
        read_as(repeats, Repeats) if repeats.exists() else None,
        read_as(searches, Searches) if searches.exists() else None,
        connections(path),
    )


def _feature_values(path: Path, manifest: Manifest) -> dict[tuple[str, str], SourceValues]:
    """(host, source) → what features have of their keys of it. Raises StoreError."""
    try:
        return {
            (host, source): values_of(settings)
            for host, sources in manifest.asked.power.items()
            for source, settings in sources.items()
        }
    except ValidationError as error:
        raise damaged(path / "manifest.json", error) from error


def _number(folder: str) -> int | None:
    return int(folder) if folder.isdecimal() else None


def load_manifest(path: Path) -> Manifest:
    """A result's manifest. Raises StoreError naming the damaged file."""
    return read_as(path / "manifest.json", Manifest)


def idle_windows(path: Path) -> tuple[Idle, ...]:
    """The idle windows of a result in the order of time: those before a setting's trials, and after them."""
    windows = [
        window.model_copy(update={"after": after})
        for name, after in (("idle", False), ("idle-end", True))
        for window in read_numbered(path, name, Idle)
    ]
    return tuple(sorted(windows, key=lambda idle: idle.window.start_s))


def read_numbered(path: Path, name: str, shape: type[D]) -> Iterator[D]:
    """What is stored in ``name.json``, ``name-2.json`` and so on, as far as there are any."""
    for file in itertools.takewhile(Path.exists, numbered_files(path, name)):
        yield read_as(derived.derived_document_path(path, file.name), shape)


def read_meters(path: Path) -> tuple[Meter, ...]:
    """What was known of each meter when the result's last part ended; empty where there is none."""
    parts = list(read_numbered(path, "meters", Meters))
    return tuple(parts[-1].meters) if parts else ()


def connections(path: Path) -> dict[str, Connection]:
    """The last connection of each host with limits of its own; empty without such hosts."""
    by_host: dict[str, Connection] = {}
    for part in read_numbered(path, "connections", Connections):
        by_host |= part.hosts
    return by_host


def numbered_files(path: Path, name: str) -> Iterator[Path]:
    """Where documents of one kind are stored one after the other: ``name.json``, ``name-2.json`` and so on.

    So are idle windows before (``idle``) and after (``idle-end``) trials, and what each part of a campaign
    learned of meters (``meters``) and of connections (``connections``).
    """
    yield path / f"{name}.json"
    yield from (path / f"{name}-{number}.json" for number in itertools.count(2))


def trial_dirs(path: Path) -> list[Path]:
    """Stored trials in order of their number; one that a crash left half-written is not among them.

    Raises StoreError if this user may not read them: without them, a result would seem to be empty.
    """
    folder = path / "trials"
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if "0" <= entry.name[0] <= "9" and entry.is_dir())
    except PermissionError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror}") from error
    except OSError:
        return []
    return [folder / name for name in names]


def read_trial(directory: Path) -> Trial:
    """Read one ``trial.json`` as it was measured. Raises StoreError."""
    return _read_trial(str(directory / "trial.json"))


def _read_trial(path: str) -> Trial:
    trial = _read(path, _trial_of)
    for end in trial.ends:
        object.__setattr__(end, "counters", Counters(end.counters))  # nobody has seen the trial yet
    if trial.schema_version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema_version {trial.schema_version!r}, this linewatt reads {SCHEMA_VERSION}"
        )
    return trial


def read_document(path: str, kind: TypeAdapter[T]) -> T:
    """A document beside trials as a value. Raises StoreError."""
    return _read(path, lambda data: _document_of(data, kind))


def _read(path: str, parse: Callable[[bytes], T]) -> T:
    """What is made of a file. Raises StoreError.

    A path is a text here: with tens of thousands a ``Path`` takes longer than reading.
    """
    try:
        return parse(stored_bytes(path))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise damaged(path, error) from error


def _trial_of(data: bytes) -> Trial:
    """Raises ValueError: also for NaN and the like, which its shape refuses without a search."""
    try:
        return _trial_shape().validate_json(data)
    except ValidationError:
        _refuse_constants(data)  # in words of their own
        raise


def _document_of(data: bytes, kind: TypeAdapter[T]) -> T:
    """Raises ValueError: also for NaN and the like, which no document has."""
    _refuse_constants(data)
    return kind.validate_json(data)


def _refuse_constants(data: bytes) -> None:
    """Raises ValueError where a document has NaN or the like."""
    if b"NaN" in data or b"Infinity" in data:
        try:
            foreign.read_json(data.decode(), "it", foreign.STORED)
        except ParseError as error:
            raise ValueError(str(error)) from error


def damaged(path: Path | str, error: ValueError) -> StoreError:
    """What is wrong with a document: the first thing, and where in it that is."""
    if not isinstance(error, ValidationError):
        return DamagedFile(str(error), where=path)
    first = error.errors(include_url=False, include_context=False)[0]
    where = "".join(f"{key}." for key in first["loc"])[:-1]
    return DamagedFile(f"{where}{': ' if where else ''}{first['msg']}", where=path)


def read_as(path: Path, shape: type[D]) -> D:
    """Read a document of a result. Raises StoreError."""
    return value_of_document(path, read_json(path), shape)


def value_of_document(path: Path, document: object, shape: type[D]) -> D:
    """A document that was read from a file as a value of its kind.

    Raises StoreError for one that is of another version, or has a value that cannot be.
    """
    if not isinstance(document, Mapping):
        raise DamagedFile("not a JSON object", where=path)
    version = document.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise StoreError(f"schema_version {version!r:.40}, this linewatt reads {SCHEMA_VERSION}", where=path)
    try:
        return shape.model_validate(document)
    except ValidationError as error:
        raise damaged(path, error) from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises StoreError."""
    document = parse_stored(path, foreign.read_json)
    if not isinstance(document, dict):
        raise DamagedFile("not a JSON object", where=path)
    return document


def parse_stored(path: Path, parse: Callable[[str, str, foreign.Limits], T]) -> T:
    """What a parser of JSON makes of a file's text. Raises StoreError."""
    try:
        return parse(stored_bytes(path).decode(), str(path), foreign.STORED)
    except OSError as error:
        raise StoreError(str(error.strerror), where=path) from error
    except ParseError as error:
        raise DamagedFile(error.problem, where=path) from error
    except ValueError as error:
        raise StoreError(str(error), where=path) from error
