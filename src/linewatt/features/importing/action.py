# SPDX-License-Identifier: Apache-2.0
"""Files, a table or a bundle stored as a result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from linewatt.campaign.entries import fields
from linewatt.cli import print_json, put, say
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures_command import Given, import_captures, is_captures
from linewatt.features.tables.api import store_table
from linewatt.report import plural
from linewatt.store.bundle import is_bundle, unpack_bundle

SCHEMA_VERSION = 1


def import_path(
    table: str,
    name: str | None,
    given_options: Given,
    components: Sequence[str],
    results: Path,
    *,
    as_json: bool,
) -> None:
    """Store files measured by hand, a table or a bundle as a result."""
    path = Path(table)
    if table != "-" and not path.is_dir() and is_bundle(path):
        _refuse(given_options, "a bundle")
        _refuse_components(components, "a bundle")
        _import_bundle(path, name, results, as_json=as_json)
        return
    if table != "-" and is_captures(path):
        _refuse_components(components, "what was measured by hand")
        import_captures(path, _name(name, str(path.resolve())), given_options, results, as_json=as_json)
        return
    _refuse(given_options, "a table")
    _import_table(table, name, components, results, as_json=as_json)


def _import_table(
    table: str, name: str | None, components: Sequence[str], results: Path, *, as_json: bool
) -> None:
    """A published table, of whichever kind its columns tell. Raises InvalidInput, StoreError."""
    stored = store_table(results, table, _name(name, table), components)
    if stored.ignored:
        say(f"not read: {', '.join(stored.ignored)}")
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": stored.path.name,
                "path": str(stored.path),
                "kind": stored.kind.name,
                "trials": stored.trials,
                "ignored_columns": list(stored.ignored),
                "components": dict(stored.components),
            }
        )
    else:
        stored_words = (
            f"{stored.trials} trials of {stored.hosts} hosts"
            if stored.kind.trials
            else "published, no trials"
        )
        parts_words = "".join(
            f", with {plural(count, 'component')} of {host}" for host, count in stored.components.items()
        )
        say(f"{stored.rows} rows of {stored.kind.name} stored as {stored_words}{parts_words}")
        put(stored.path.name)


def _import_bundle(bundle: Path, name: str | None, results: Path, *, as_json: bool) -> None:
    """Have the result of a bundle. Raises InvalidInput, StoreError."""
    if name is not None:
        raise InvalidInput(f"--name {name}: the result of a bundle keeps its id")
    unpacked = unpack_bundle(bundle, results)
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


def _refuse(given_options: Given, what: str) -> None:
    """Raises InvalidInput for options that are of other things to import."""
    if given_options.named:
        raise InvalidInput(
            f"{', '.join(given_options.named)}: {what} is imported, and these are of files measured by hand"
        )


def _refuse_components(components: Sequence[str], what: str) -> None:
    """Raises InvalidInput."""
    if components:
        raise InvalidInput(f"--components: {what} is imported, and components are declared beside a table")


def _name(chosen_name: str | None, table: str) -> str:
    """The result's name: what is asked for, else made of the file's. Raises InvalidInput."""
    if chosen_name is not None:
        if not re.fullmatch(fields.HOST_NAME, chosen_name, re.ASCII):
            raise InvalidInput(f"--name {chosen_name!r}: use letters, digits, dots, underscores and dashes")
        return chosen_name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(table).stem, flags=re.ASCII).strip("-._")[:63]
    return plain or "imported"
