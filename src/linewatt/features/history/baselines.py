# SPDX-License-Identifier: Apache-2.0
"""Names of results that others are held against: ``baselines/<name>.json`` beside the results, a file a name.

A name is written whole or not at all, so that of two writers at once the later one counts, and neither takes
away another's name. It stands for the id of a result: where that was deleted, that is said, and nothing else
is taken for it.
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
from linewatt.errors import InvalidInput, ParseError, StoreError
from linewatt.store.write import json_of, unstored
from linewatt.units import when

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
    """A name, and the result that it stands for since then."""

    name: str
    id: str
    set_s: float
    is_there: bool
    """whether that result is still stored"""


def checked(name: str) -> str:
    """A name that a baseline can have. Raises InvalidInput."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{name!r}: a baseline's name has letters, digits, dots, underscores and dashes")
    return name


def get(root: Path, name: str) -> Baseline | None:
    """What a name stands for; ``None`` where nothing is called so. Raises StoreError for a damaged file."""
    path = _path(root, name)
    try:
        text = path.read_text(encoding="utf-8")
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


def find(root: Path, wanted: str) -> Path:
    """Directory of the result that ``baseline:NAME`` stands for. Raises StoreError where there is none."""
    name = checked(wanted.removeprefix(PREFIX))
    found = get(root, name)
    if found is None:
        there = ", ".join(each(root)) or "there are none yet"
        raise StoreError(
            f"{wanted}: no baseline below {root} is called so ({there}); 'linewatt baseline set' names one"
        )
    if not found.is_there:
        raise StoreError(
            f"{wanted}: is {found.id} since {when(found.set_s)}, and that result is not below {root} any "
            "more; "
            f"'linewatt baseline set {name} ID' names another"
        )
    return root / found.id


def each(root: Path) -> Iterator[str]:
    """The names that there are."""
    paths = sorted((root / FOLDER).glob(f"*{_SUFFIX}"))
    yield from (
        path.name.removesuffix(_SUFFIX) for path in paths if _NAME.fullmatch(path.name.removesuffix(_SUFFIX))
    )


def put(root: Path, name: str, result: Path, now_s: float) -> Baseline:
    """Have a name stand for a result; it is on disk then. Raises InvalidInput, StoreError; DiskFull."""
    path = _path(root, name)
    if result.resolve().parent != root.resolve():
        raise InvalidInput(
            f"{result}: is not below {root}: a baseline names a result beside it; see --results"
        )
    found = Baseline(name, result.resolve().name, now_s, is_there=True)
    try:
        durable.make_folder(path.parent)
        durable.write_whole(path, json_of({"schema_version": SCHEMA_VERSION, "id": found.id, "set_s": now_s}))
    except OSError as error:
        raise unstored(path, "the baseline", error) from error
    return found


def remove(root: Path, name: str) -> None:
    """Take a name away; the result stays. Raises StoreError where there is none."""
    path = _path(root, name)
    try:
        path.unlink()
        durable.sync_folder(path.parent)
    except FileNotFoundError:
        raise StoreError(f"{name}: no baseline below {root} is called so") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be removed: {error.strerror}") from error


def _path(root: Path, name: str) -> Path:
    return root / FOLDER / f"{checked(name)}{_SUFFIX}"
