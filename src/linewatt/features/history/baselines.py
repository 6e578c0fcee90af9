# SPDX-License-Identifier: Apache-2.0
"""Baselines: names of results to compare other results with, one file each (``baselines/<name>.json``).

Files are written atomically: of two concurrent writers the later one wins, and neither removes the name of
the other. A baseline stores the id of a result. If that result was deleted, linewatt reports it and uses no
other result instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from linewatt import durable, foreign
from linewatt.document import Part
from linewatt.errors import InvalidInput, ParseError, StoreError, UnknownResult
from linewatt.store import json_of, stored_bytes, unstored_text
from linewatt.units import did_you_mean, format_time_utc

FOLDER = "baselines"
PREFIX = "baseline:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_SUFFIX = ".json"
SCHEMA_VERSION = 1


class _Stored(Part):
    schema_version: int
    id: str
    set_s: Annotated[float, Field(ge=0, le=1e11)]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A name, the id of its result, and when the name was set."""

    name: str
    id: str
    set_s: float
    is_there: bool
    """whether that result is still stored"""


def checked_name(name: str) -> str:
    """Return the name if a baseline can have it. Raises InvalidInput."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r}: a baseline's name has letters, digits, dots, underscores and dashes")
    return name


def get(root: Path, name: str) -> Baseline | None:
    """The baseline of a name; ``None`` if there is none. Raises StoreError for a damaged file."""
    path = _path(root, name)
    try:
        text = stored_bytes(path).decode()
        stored = _Stored.model_validate(foreign.read_json(text, "damaged", foreign.STORED))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ParseError, ValidationError, ValueError) as error:
        raise StoreError(f"{path}: damaged; 'linewatt baseline set {name} ID' writes it anew") from error
    if stored.schema_version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema_version {stored.schema_version}, this linewatt reads {SCHEMA_VERSION}"
        )
    is_there = (
        not stored.id.startswith(".")
        and "/" not in stored.id
        and (root / stored.id / "manifest.json").is_file()
    )
    return Baseline(name, stored.id, stored.set_s, is_there)


def find(root: Path, reference: str) -> Path:
    """Directory of the result that ``baseline:NAME`` names. Raises UnknownResult if there is none."""
    name = checked_name(reference.removeprefix(PREFIX))
    baseline = get(root, name)
    if baseline is None:
        existing = list(names(root))
        choices = did_you_mean(name, existing) or f"but: {', '.join(existing) or 'none'};"
        raise UnknownResult(
            f"{reference}: there is no such baseline below {root}, {choices} "
            f"'linewatt baseline set {name} ID' makes it"
        )
    if not baseline.is_there:
        raise UnknownResult(
            f"{reference}: is {baseline.id} since {format_time_utc(baseline.set_s)}, "
            f"and that result is not below {root} any more; "
            f"'linewatt baseline set {name} ID' names another"
        )
    return root / baseline.id


def names(root: Path) -> Iterator[str]:
    """Names of all baselines, sorted."""
    paths = sorted((root / FOLDER).glob(f"*{_SUFFIX}"))
    yield from (
        path.name.removesuffix(_SUFFIX) for path in paths if _NAME.fullmatch(path.name.removesuffix(_SUFFIX))
    )


def put(root: Path, name: str, result: Path, now_s: float) -> Baseline:
    """Name a result; the file is on disk afterwards. Raises InvalidInput, StoreError, DiskFull."""
    path = _path(root, name)
    if result.resolve().parent != root.resolve():
        raise InvalidInput(
            f"{result}: is not below {root}: a baseline names a result beside it; see --results"
        )
    baseline = Baseline(name, result.resolve().name, now_s, is_there=True)
    try:
        durable.make_folder(path.parent)
        durable.write_whole(
            path, json_of({"schema_version": SCHEMA_VERSION, "id": baseline.id, "set_s": now_s})
        )
    except OSError as error:
        raise unstored_text(path, "the baseline", error) from error
    return baseline


def remove(root: Path, name: str) -> None:
    """Remove a name; the result stays. Raises UnknownResult for an unknown name."""
    path = _path(root, name)
    try:
        path.unlink()
        durable.sync_folder(path.parent)
    except FileNotFoundError:
        raise UnknownResult(f"{name}: there is no such baseline below {root}") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be removed: {error.strerror}") from error


def _path(root: Path, name: str) -> Path:
    return root / FOLDER / f"{checked_name(name)}{_SUFFIX}"
