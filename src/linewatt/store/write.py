# SPDX-License-Identifier: Apache-2.0
"""Writing results: a file or a trial is there whole, or not at all; what is there is never changed."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linewatt import __version__, durable
from linewatt.errors import DiskFull, StoreError
from linewatt.json_document import document_of
from linewatt.model import Trial
from linewatt.records import SCHEMA_VERSION
from linewatt.store import raw, sums
from linewatt.store.samples import FULL, Origin, Series, write_samples
from linewatt.units import stamp

RAW_FOLDER = "raw"
"""of a trial: the folder of what tools wrote, as it is packed"""


def new_result(root: Path, name: str, created_s: float, manifest: Mapping[str, Any]) -> Path:
    """Make ``root/<id>`` with its manifest, or nothing. Raises StoreError; DiskFull."""
    begun = stamp(created_s)
    try:
        durable.make_folder(root)
        for attempt in range(100):
            path = root / (f"{begun}-{name}" + (f"-{attempt + 1}" if attempt else ""))
            if not path.exists() and _begin(path, {**manifest, "id": path.name, "checksums": sums.SUMS_FILE}):
                return path
    except OSError as error:
        raise unstored_text(root, "results", error) from error
    raise StoreError(f"{root}: too many results called {begun}-{name}; wait a second")


def _begin(path: Path, manifest: Mapping[str, Any]) -> bool:
    """Make a result whole or not at all; whether nobody else took its name. Raises OSError."""
    data = json_of(manifest)
    try:
        with durable.whole_folder(path, shared=True) as partial:
            (partial / "trials").mkdir()
            durable.write_synced(partial / "manifest.json", data)
            durable.write_synced(
                partial / sums.SUMS_FILE, sums.lines({"manifest.json": sums.sha256_of_data(data)})
            )
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document of a result so that it is there whole or not at all.

    Raises StoreError if it is there already; DiskFull.
    """
    _refuse_unwritable(path)
    try:
        _write(path, document, {})
    except OSError as error:
        raise unstored_text(path.parent, path.name, error) from error


def write_idle(path: Path, document: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """Store an idle window: its document, and what tools wrote meanwhile below ``raw/`` of the result.

    ``texts`` are by relative name. Raises StoreError; DiskFull.
    """
    result = path.parent
    _refuse_unwritable(path)
    pack = raw.raw_pack_of(result / "raw" / path.stem)
    data = raw.pack_raw(path.stem, texts)
    try:
        durable.make_folder(pack.parent)
        durable.write_whole(pack, data)
        _write(path, document, {f"raw/{pack.name}": sums.sha256_of_data(data)})
    except BaseException as error:
        with suppress(OSError):
            pack.unlink(missing_ok=True)
            pack.parent.rmdir()  # of the first window
        if isinstance(error, OSError):
            raise unstored_text(pack, "the idle window", error) from error
        raise


def trial_dir(result: Path, number: int) -> Path:
    return result / "trials" / f"{number:05d}"


def write_trial(result: Path, trial: Trial, series: Sequence[Series], texts: Mapping[str, str]) -> Path:
    """Store a trial: ``trial.json``, ``samples.parquet`` and what tools wrote (relative name → text) packed.

    Everything is on disk when this returns. Raises StoreError if the trial is stored already, or nothing of
    it can be; DiskFull.
    """
    final = trial_dir(result, trial.number)
    if final.exists():
        raise StoreError(f"{final}: this trial is stored already")
    _refuse_removed(result)
    files = {
        "trial.json": text_of(trial).encode(),
        raw.raw_pack_of(final / RAW_FOLDER).name: raw.pack_raw(RAW_FOLDER, texts),
    }
    try:
        with ExitStack() as naming, durable.whole_folder(final) as partial:
            write_samples(partial / "samples.parquet", series, Origin(result.name, trial.number))
            digests = {"samples.parquet": sums.sha256_of_file(partial / "samples.parquet")}
            for name, data in files.items():
                durable.write_synced(partial / name, data)
                digests[name] = sums.sha256_of_data(data)
            listed = {f"trials/{final.name}/{name}": digest for name, digest in digests.items()}
            naming.enter_context(sums.list_sums(result, listed))  # until the folder has its name
    except OSError as error:
        raise unstored_text(final, "the trial", error) from error
    return final


def imported_manifest(  # noqa: PLR0913  what a manifest has
    name: str,
    source: str,
    text: str,
    created_s: float,
    trials: Sequence[Trial],
    hosts: Mapping[str, Mapping[str, Any]],
    factors: Mapping[str, Sequence[str]],
    kind: str | None = None,
) -> dict[str, Any]:
    """The manifest of an imported table: ``imported_from`` names it, ``campaign_text`` is its text.

    ``kind`` is that of a table which holds no trials.
    """

    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "imported_from": source,
        **({} if kind is None else {"imported_kind": kind}),
        "linewatt_version": __version__,
        "created_s": created_s,
        "campaign_text": text,
        "campaign": {"factors": {factor: list(levels) for factor, levels in factors.items()}},
        "plan": None,
        "seed": None,
        "order": None,
        "trials_planned": len(trials),
        "hosts": {host: dict(facts) for host, facts in hosts.items()},
    }


@dataclass(frozen=True, slots=True)
class ImportedTrial:
    """A trial of files that people measured by hand: its samples, and the text of what belongs to it."""

    trial: Trial
    series: Sequence[Series] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def write_imported(
    root: Path,
    manifest: Mapping[str, Any],
    trials: Iterable[ImportedTrial],
    originals: Mapping[str, str] | None = None,
    named_s: float | None = None,
) -> Path:
    """Store the whole import, or nothing. ``originals``: files as they were imported, kept packed in
    ``raw/``.

    ``named_s`` is what its id is made of where that is not when it began. Raises StoreError.
    """
    path = new_result(root, manifest["name"], named_s or manifest["created_s"], manifest)
    try:
        for imported in trials:
            write_trial(path, imported.trial, imported.series, imported.texts)
        if originals is not None:
            _write_originals(path, originals)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return path


ORIGINALS_FOLDER = "imported"
"""the name below ``raw/`` of the files as they were imported"""


def _write_originals(result: Path, texts: Mapping[str, str]) -> None:
    """Raises StoreError; DiskFull."""
    pack = raw.raw_pack_of(result / RAW_FOLDER / ORIGINALS_FOLDER)
    data = raw.pack_raw(ORIGINALS_FOLDER, texts)
    try:
        durable.make_folder(pack.parent)
        with sums.list_sums(result, {f"{RAW_FOLDER}/{pack.name}": sums.sha256_of_data(data)}):
            durable.write_whole(pack, data)
    except OSError as error:
        raise unstored_text(pack, "the imported files", error) from error


def text_of(trial: Trial) -> str:
    """A trial as its document has it: a line for each of its figures and ends."""
    lines = (f"{json.dumps(name)}:{_line(value)}" for name, value in document_of(trial).items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


_line = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def unstored_text(where: Path, what: str, error: OSError) -> StoreError:
    """Why something cannot be stored, in one line."""
    if error.errno in FULL:
        return DiskFull(
            f"{where}: {what} cannot be stored: the disk is full; what was stored before is whole: make "
            "room, then resume it, or run it again where nothing was stored yet"
        )
    return StoreError(f"{where}: {what} cannot be stored: {error.strerror or error}")


def remove_if_empty(result: Path) -> bool:
    """Remove a result in which nothing was measured: no trial, and no chunk of a soak."""
    if any((result / "trials").glob("[0-9]*")) or any((result / "soak").glob("part-*/chunk-*.parquet")):
        return False
    shutil.rmtree(result, ignore_errors=True)
    return True


def _write(path: Path, document: Mapping[str, Any], others: Mapping[str, str]) -> None:
    """A document of a result, listed with other files that belong to it. Raises OSError."""
    data = json_of(document)
    with sums.list_sums(path.parent, {**others, path.name: sums.sha256_of_data(data)}):
        durable.write_whole(path, data)


def _refuse_unwritable(path: Path) -> None:
    """Raise StoreError for a document that is there already, or whose result is not."""
    if path.exists():
        raise StoreError(f"{path}: is there already and results are never overwritten")
    _refuse_removed(path.parent)


def _refuse_removed(result: Path) -> None:
    """Raise StoreError for a result that was taken away meanwhile: it must not come back in part."""
    if not result.is_dir():
        raise StoreError(
            f"{result}: was removed or moved while its campaign runs; what is measured now cannot be stored"
        )


def json_of(document: Mapping[str, Any]) -> bytes:
    """A document as its file has it."""
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"
