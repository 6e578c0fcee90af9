# SPDX-License-Identifier: Apache-2.0
"""Trials made again by a later method: stored beside those that were measured, which stay as they are.

``derived/0001/`` has ``derived.json`` (when, by which version and method), ``trials/<n>.json``, a document
like ``trial.json`` each, and idle windows. Whoever reads a result gets what the last such folder has, and
what is not in it as it was measured. To go back to what was measured, remove ``derived/``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linewatt import durable
from linewatt.model import Trial
from linewatt.store import sums
from linewatt.store.write import json_of, unstored_text
from linewatt.store.write import text_of as text_of

FOLDER = "derived"


def newest_derived(result: Path) -> Path | None:
    """The folder that counts; ``None`` where nothing was made again."""
    try:
        with os.scandir(result / FOLDER) as entries:
            return result / FOLDER / max(entry.name for entry in entries if entry.name.isdigit())
    except (FileNotFoundError, ValueError):
        return None


def derived_files(result: Path, numbers: Sequence[str]) -> list[str]:
    """For each stored trial, by the name of its directory, the document that counts."""
    folder = newest_derived(result)
    again = {file.name for file in (folder / "trials").iterdir()} if folder is not None else set()
    return [
        f"{folder}/trials/{name}.json" if f"{name}.json" in again else f"{result}/trials/{name}/trial.json"
        for name in numbers
    ]


def derived_document_path(result: Path, name: str) -> Path:
    """Of another document of a result, the one that counts."""
    folder = newest_derived(result)
    return folder / name if folder is not None and (folder / name).exists() else result / name


def write_derived(
    result: Path, about: Mapping[str, Any], trials: Sequence[Trial], others: Mapping[str, Any]
) -> Path:
    """Store what was made again: all of it is there, or nothing. ``others`` are documents by file name.

    Raises StoreError; DiskFull.
    """
    last = newest_derived(result)
    final = result / FOLDER / f"{1 if last is None else int(last.name) + 1:04d}"
    documents = {
        "derived.json": json_of(about),
        **{name: json_of(content) for name, content in others.items()},
    }
    documents |= {f"trials/{trial.number:05d}.json": text_of(trial).encode() for trial in trials}
    try:
        with durable.whole_folder(final) as partial:
            (partial / "trials").mkdir()
            for name, data in documents.items():
                durable.write_synced(partial / name, data)
            durable.sync_folder(partial / "trials")
            digests = {name: sums.sha256_of_data(data) for name, data in documents.items()}
            durable.write_synced(partial / sums.SUMS_FILE, sums.lines(digests))
        durable.sync_folder(result)
    except OSError as error:
        raise unstored_text(final, "what was made again", error) from error
    return final
