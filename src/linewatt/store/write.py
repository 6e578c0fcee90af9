# SPDX-License-Identifier: Apache-2.0
"""Writing results: a file or a trial is there whole, or not at all; what is there is never changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.model import Trial
from linewatt.store.samples import Series, write_samples


def new_result(root: Path, name: str, created_s: float, manifest: Mapping[str, Any]) -> Path:
    """Make ``root/<id>`` with its manifest. Raises StoreError if the directory cannot be written."""
    stamp = datetime.fromtimestamp(created_s, UTC).strftime("%Y%m%d-%H%M%S")
    for attempt in range(100):
        result_id = f"{stamp}-{name}" + (f"-{attempt + 1}" if attempt else "")
        path = root / result_id
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise StoreError(f"{root}: cannot store results here: {error.strerror}") from error
        (path / "trials").mkdir()
        write_json(path / "manifest.json", {**manifest, "id": result_id})
        _sync_dir(root)
        return path
    raise StoreError(f"{root}: too many results called {stamp}-{name}; wait a second")


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON file so that it is there whole or not at all. Raises StoreError if it is there already."""
    if path.exists():
        raise StoreError(f"{path}: is there already and results are never overwritten")
    partial = path.with_name(path.name + ".tmp")
    _write(partial, json.dumps(document, indent=1, allow_nan=False).encode() + b"\n")
    partial.rename(path)
    _sync_dir(path.parent)


def write_idle(path: Path, document: Mapping[str, Any], raw: Mapping[str, str]) -> None:
    """Store an idle window: its document, and what tools wrote meanwhile below ``raw/`` of the result.

    ``raw`` is relative name → text. Raises StoreError.
    """
    folder = path.parent / "raw" / path.stem
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for name, text in raw.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, text.encode())
            _sync_dir(file.parent)
    except OSError as error:
        raise StoreError(f"{folder}: cannot store the idle window: {error.strerror}") from error
    write_json(path, document)


def trial_dir(result: Path, number: int) -> Path:
    return result / "trials" / f"{number:05d}"


def write_trial(result: Path, trial: Trial, series: Sequence[Series], raw: Mapping[str, str]) -> Path:
    """Store a trial: ``trial.json``, ``samples.parquet`` and ``raw/`` (relative name → text).

    Everything is on disk when this returns. Raises StoreError if the trial is stored already.
    """
    final = trial_dir(result, trial.number)
    if final.exists():
        raise StoreError(f"{final}: this trial is stored already")
    partial = final.with_name(f".{final.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for name, text in raw.items():
            path = partial / "raw" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, text.encode())
        partial.mkdir(exist_ok=True)
        _write(partial / "trial.json", json.dumps(asdict(trial), allow_nan=False, indent=1).encode())
        write_samples(partial / "samples.parquet", series)
        for directory, _, _ in os.walk(partial):
            _sync_dir(Path(directory))
        partial.rename(final)
        _sync_dir(final.parent)
    except OSError as error:
        raise StoreError(f"{final}: cannot store the trial: {error.strerror}") from error
    return final


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_dir(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
