# SPDX-License-Identifier: Apache-2.0
"""Files, a table or a bundle stored as a result."""

from __future__ import annotations

import re
import time
from pathlib import Path

from linewatt.campaign.entries.fields import HOST_NAME
from linewatt.cli.output import print_json, put, say
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures_command import Given, import_captures, is_captures
from linewatt.features.tables.imported import Imported
from linewatt.features.tables.kinds import RECOGNISED, Kind, import_any
from linewatt.features.tables.sources import read_bytes
from linewatt.store.bundle.layout import is_bundle
from linewatt.store.bundle.unpack import unpack
from linewatt.store.write import ImportedTrial, imported_manifest, write_imported

SCHEMA_VERSION = 1


def import_path(  # noqa: PLR0913  one parameter an option
    *,
    table: str,
    name: str | None,
    omit: float | None,
    tail: float | None,
    timezone: str | None,
    host: list[str],
    skip: list[str],
    network: str | None,
    sender: str | None,
    receiver: str | None,
    results: Path,
    as_json: bool,
) -> None:
    """Store files measured by hand, a table, or a bundle, as a result."""
    given_options = Given(omit, tail, timezone, host, skip, network, sender, receiver)
    path = Path(table)
    if table != "-" and not path.is_dir() and is_bundle(path):
        _refuse(given_options, "a bundle")
        _import_bundle(path, name, results, as_json=as_json)
        return
    if table != "-" and is_captures(path):
        import_captures(path, _name(name, str(path.resolve())), given_options, results, as_json=as_json)
        return
    _refuse(given_options, "a table")
    _import_table(table, name, results, as_json=as_json)


def _import_table(table: str, name: str | None, results: Path, *, as_json: bool) -> None:
    """A published table, of whichever kind its columns tell. Raises InvalidInput, StoreError."""
    source, data = read_bytes(table)
    called = _name(name, table)
    raw, _ = read_table(data, source, known=RECOGNISED)
    now_s = time.time()
    kind, imported = import_any(raw, source, now_s)
    path = _stored(results, called, source, data, now_s, kind, imported)
    if imported.ignored:
        say(f"not read: {', '.join(imported.ignored)}")
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": path.name,
                "path": str(path),
                "kind": kind.name,
                "trials": len(imported.trials),
                "ignored_columns": list(imported.ignored),
            }
        )
    else:
        stored_words = (
            f"{len(imported.trials)} trials of {len(imported.hosts)} hosts"
            if kind.trials
            else "published, no trials"
        )
        say(f"{len(raw.rows)} rows of {kind.name} stored as {stored_words}")
        put(path.name)


def _import_bundle(bundle: Path, name: str | None, results: Path, *, as_json: bool) -> None:
    """Have the result of a bundle. Raises InvalidInput, StoreError."""
    if name is not None:
        raise InvalidInput(f"--name {name}: the result of a bundle keeps its id")
    unpacked = unpack(bundle, results)
    contents = unpacked.contents
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": contents.id,
                "path": str(unpacked.path),
                "kind": "bundle",
                "files": len(contents.files),
                "bytes": contents.total_bytes,
                "was_there": unpacked.was_there,
            }
        )
        return
    done = (
        "is there already, and is the same"
        if unpacked.was_there
        else f"{len(contents.files)} files, as they were"
    )
    say(f"{contents.id}: {done}")
    put(contents.id)


def _stored(
    results: Path, called: str, source: str, data: bytes, now_s: float, kind: Kind, imported: Imported
) -> Path:
    """The result that a table becomes: its trials, if it has any, and the table itself."""
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    of_kind = None if kind.trials else kind.name
    manifest = imported_manifest(
        called, Path(source).name, text, now_s, imported.trials, imported.hosts, imported.factors, of_kind
    )
    return write_imported(results, manifest, map(ImportedTrial, imported.trials))


def _refuse(given_options: Given, what: str) -> None:
    """Raises InvalidInput for options that are of other things to import."""
    if given_options.named:
        raise InvalidInput(
            f"{', '.join(given_options.named)}: {what} is imported, and these are of files measured by hand"
        )


def _name(chosen_name: str | None, table: str) -> str:
    """The result's name: what is asked for, else made of the file's. Raises InvalidInput."""
    if chosen_name is not None:
        if not re.fullmatch(HOST_NAME, chosen_name, re.ASCII):
            raise InvalidInput(f"--name {chosen_name!r}: use letters, digits, dots, underscores and dashes")
        return chosen_name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(table).stem, flags=re.ASCII).strip("-._")[:63]
    return plain or "imported"
