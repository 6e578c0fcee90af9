# SPDX-License-Identifier: Apache-2.0
"""Trials made again by a later method: stored beside those that were measured, which stay as they are.

``derived/0001/`` has ``derived.json`` (when, by which version and method), ``trials/<n>.json``, a document
like ``trial.json`` each, and idle windows. Whoever reads a result gets what the last such folder has, and
what is not in it as it was measured. To go back to what was measured, remove ``derived/``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.model import Trial

FOLDER = "derived"


def newest(result: Path) -> Path | None:
    """The folder that counts; ``None`` where nothing was made again."""
    try:
        with os.scandir(result / FOLDER) as entries:
            return result / FOLDER / max(one.name for one in entries if one.name.isdigit())
    except (FileNotFoundError, ValueError):
        return None


def files(result: Path, numbers: Sequence[str]) -> list[str]:
    """For each stored trial, by the name of its directory, the document that counts."""
    folder = newest(result)
    again = {one.name for one in (folder / "trials").iterdir()} if folder is not None else set()
    return [
        f"{folder}/trials/{name}.json" if f"{name}.json" in again else f"{result}/trials/{name}/trial.json"
        for name in numbers
    ]


def document(result: Path, name: str) -> Path:
    """Of another document of a result, the one that counts."""
    folder = newest(result)
    return folder / name if folder is not None and (folder / name).exists() else result / name


def text_of(trial: Trial) -> str:
    """A trial as its document has it."""
    return json.dumps(asdict(trial), allow_nan=False, indent=1)


def write(result: Path, about: Mapping[str, Any], trials: Sequence[Trial], others: Mapping[str, Any]) -> Path:
    """Store what was made again: all of it is there, or nothing. ``others`` are documents by file name.

    Raises StoreError.
    """
    last = newest(result)
    final = result / FOLDER / f"{1 if last is None else int(last.name) + 1:04d}"
    partial = final.with_name(f".{final.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        (partial / "trials").mkdir(parents=True)
        _write(partial / "derived.json", json.dumps(dict(about), indent=1, allow_nan=False) + "\n")
        for name, other in others.items():
            _write(partial / name, json.dumps(other, indent=1, allow_nan=False) + "\n")
        for trial in trials:
            _write(partial / "trials" / f"{trial.number:05d}.json", text_of(trial))
        for directory in (partial / "trials", partial):
            _sync(directory)
        partial.rename(final)
        _sync(final.parent)
        _sync(result)
    except OSError as error:
        raise StoreError(f"{final}: cannot store what was made again: {error.strerror}") from error
    return final


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
