# SPDX-License-Identifier: Apache-2.0
"""Whether a result is as it was stored: by its checksums, or, where it has none, by reading all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from linewatt.core.feature import feature_functions
from linewatt.errors import StoreError
from linewatt.store import raw, read, samples, sums
from linewatt.store.each_result import reading_results
from linewatt.store.sums import Problem


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found of a result."""

    id: str
    files: int
    has_checksums: bool
    problems: tuple[Problem, ...]


def verify_result(result: Path) -> Verified:
    """Look at every file of a result."""
    files = sum(path.is_file() for path in result.rglob("*"))
    if sums.has_list(result):
        return Verified(result.name, files, True, tuple(sums.problems(result)))
    unreadable = list(_unreadable(result))
    try:
        listed = read.load_manifest(result).checksums is not None
    except StoreError:
        listed = False  # named by what is unreadable
    if listed:
        unreadable.append(Problem("missing", sums.SUMS_FILE, "was stored and is not there"))
    return Verified(result.name, files, listed, tuple(unreadable))


def _unreadable(result: Path) -> Iterator[Problem]:
    """What of a result cannot be read, each document and each file of samples on its own."""
    readers: list[tuple[Path, Callable[[], object]]] = [
        (result / "manifest.json", partial(read.load_manifest, result))
    ]
    for folder in read.trial_dirs(result):
        readers.append((folder / "trial.json", partial(read.read_trial, folder)))
        parquet = folder / "samples.parquet"
        readers.append((parquet, partial(samples.read_channels, parquet)))
    readers += [(pack, partial(raw.raw_texts, raw.folder_of(pack))) for pack in raw.packs(result)]
    for stored_files in feature_functions("stored_files"):
        readers += stored_files(result)
    with reading_results(result):
        for path, reader in readers:
            try:
                reader()
            except StoreError as error:
                yield Problem("damaged", path.relative_to(result).as_posix(), str(error))
