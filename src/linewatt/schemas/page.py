# SPDX-License-Identifier: Apache-2.0
"""The stored schemas and their document: ``make schemas``, which is ``python -m linewatt.schemas.page docs``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from linewatt.schemas import NAMES, SCHEMAS, schema_of

FOLDER, PAGE = "schemas", "schemas.md"
_HEAD = """\
# Schemas of what programs read

Written by `make schemas` from the declarations in the code; a test fails when the two differ.

`linewatt schema WHAT` prints the JSON Schema (draft 2020-12) of a document. `linewatt schema --list` prints all names.
The files below are the output of this version. Tests check that linewatt's documents are valid.

```sh
linewatt schema show >show.schema.json
linewatt show --json >result.json
check-jsonschema --schemafile show.schema.json result.json
```

| schema | of | | `schema_version` |
| --- | --- | --- | --: |
| [campaign](schemas/campaign.json) | campaign files | For editors ([campaign.md](campaign.md)). | |
"""
_VERSIONS = """
## Versions

Each document has a `schema_version`. The `$id` of its schema ends with the same number: `urn:linewatt:schema:show:1`.

- The number **increases** when a key is removed or renamed, or when its type, unit or meaning changes.
- The number **stays the same** when a key, a metric, an event type or a list value is added. Programs should ignore
  unknown keys.
- A schema is strict and matches only *this* version of linewatt. A document of a newer version may have keys that the
  schema refuses. Take the schema from the linewatt version that wrote the document.
- Every later linewatt with the same number can read the files of a result. Keys added after the first version are
  optional in the schema of `trial.json`. Documents beside the trials may have additional keys.

## How to read them

- Names end with the unit of their value; the schema repeats it as `x-unit`. Units are SI unless the name says otherwise
  (`receiver_system_mbps_per_w`). The name of a mean is followed by `_mean`, its SD by `_sd`, the number of trials by `_n`.
- `null` means a missing figure. The reason is in `reasons` under the name of the figure, or in the `reason` next to it.
- Every declared metric of a case (`analysis/metrics/`) is automatically in the schema of `show`.
"""
_SAMPLES = """
## Columns of samples

`trials/<n>/samples.parquet` has one row per reading. The metadata of each file says what it belongs to:
`linewatt.result`, `linewatt.trial` and `linewatt.schema_version`. `soak/part-*/chunk-*.parquet` has the same columns
without the trial. In older files the column `trial` is missing; this query reads it as NULL:

```sh
duckdb -c "SELECT trial, host, scope, avg(value) FROM read_parquet('results/ID/trials/*/samples.parquet', union_by_name=true) \\
  WHERE unit = 'W' GROUP BY ALL"
duckdb -c "SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('results/ID/trials/00001/samples.parquet')"
```

| column | type | unit | |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The document."""
    from linewatt.store import sample_columns

    rows = [
        f"| [{name}]({FOLDER}/{name}.json) | {schema.of} | {schema.meaning} | {schema.number} |\n"
        for name, schema in SCHEMAS.items()
    ]
    table = [
        f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |\n"
        for column in sample_columns()
    ]
    return "".join([_HEAD, *rows, _VERSIONS, _SAMPLES, *table])


def files() -> dict[str, str]:
    """Name below ``docs`` → text."""
    texts = {
        f"{FOLDER}/{name}.json": json.dumps(schema_of(name), indent=1, ensure_ascii=False) for name in NAMES
    }
    return {PAGE: page(), **{name: f"{text}\n" for name, text in texts.items()}}


def write(docs: Path) -> None:
    """Write all of them; what no longer is one goes."""
    documents = files()
    for old in (docs / FOLDER).glob("*.json"):
        if f"{FOLDER}/{old.name}" not in documents:
            old.unlink()
    (docs / FOLDER).mkdir(exist_ok=True)
    for name, text in documents.items():
        (docs / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
