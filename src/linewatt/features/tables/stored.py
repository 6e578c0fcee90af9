# SPDX-License-Identifier: Apache-2.0
"""A published table as a stored result: its trials, if it has any, and the table itself."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.cli import read_bytes
from linewatt.delimited import read_table
from linewatt.features.tables.block_text import is_block_text, table_of_blocks
from linewatt.features.tables.declared_parts import read_declared_parts
from linewatt.features.tables.kinds import RECOGNISED, Kind, import_any
from linewatt.store import ImportedTrial, imported_manifest, write_imported


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The result at ``path`` that a table became; ``ignored`` are columns that are not read."""

    path: Path
    kind: Kind
    rows: int
    trials: int
    hosts: int
    ignored: tuple[str, ...]
    components: Mapping[str, int]
    """host → how many components of it are declared"""


def store_table(results: Path, table_name: str, name: str, components: Sequence[str] = ()) -> StoredTable:
    """Store a table under ``name``, of whichever kind its columns tell, or host blocks of text.

    ``components`` are tables of the parts of its hosts, ``FILE`` or ``HOST=FILE``.

    Raises InvalidInput, StoreError.
    """
    source, data = read_bytes(table_name)
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    table = table_of_blocks(text, source) if is_block_text(text) else None
    if table is None:
        table, _ = read_table(data, source, known=RECOGNISED)
    now_s = time.time()
    kind, imported = import_any(table, source, now_s)
    of_kind = None if kind.trials else kind.name
    declared = read_declared_parts(components, source, kind, imported)
    components_from = " and ".join(Path(file).name for file in declared.texts)
    imported_from = f"{Path(source).name} with {components_from}" if components_from else Path(source).name
    manifest = imported_manifest(
        name, imported_from, text, now_s, imported.trials, imported.hosts, imported.factors, of_kind
    )
    if declared.by_host:
        manifest["campaign"]["components"] = declared.as_document
    path = write_imported(results, manifest, map(ImportedTrial, imported.trials), declared.texts or None)
    return StoredTable(
        path,
        kind,
        len(table.rows),
        len(imported.trials),
        len(imported.hosts),
        imported.ignored,
        {host: len(parts) for host, parts in declared.by_host.items()},
    )
