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

`linewatt schema WHAT` prints the JSON Schema (draft 2020-12) of a document, `linewatt schema --list` what there is.
Each file below is what this version prints. Tests hold that what linewatt writes is valid.

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

Each document has its `schema_version`, and each schema an `$id` that ends with it: `urn:linewatt:schema:show:1`.

- It **counts up** when a key is removed or renamed, has another type or unit, or means another thing.
- It **stays** when a key, a metric, a kind of event or a word of a list is added. A program should leave alone what it
  does not know.
- A schema is strict, so that nothing goes undeclared: it is of *this* linewatt, and a document of a newer one may have
  keys that it refuses. Take the schema from the linewatt that wrote the document.
- Files of results are read by every later linewatt with the same number. What has come since the first is not required
  in the schema of `trial.json`. Documents beside the trials may have further keys.

## How to read them

- Names end with the unit of their value; the schema has it as `x-unit` as well. SI, but where the name says otherwise
  (`receiver_system_mbps_per_w`). A mean has `_mean`, `_sd` and `_n` behind its name.
- `null` is a figure that is missing. Why is in `reasons`, by the name of the figure, or in a `reason` beside it.
- Each metric of a case that is declared (`analysis/metrics/`) is in the schema of `show` by itself.
"""
_SAMPLES = """
## Columns of samples

`trials/<n>/samples.parquet` has a row a reading. A file says by itself of what it is: the keys `linewatt.result`,
`linewatt.trial` and `linewatt.schema_version` of its metadata. `soak/part-*/chunk-*.parquet` is the same without the
trial. Files that were written before the trial was in them are read with it as NULL:

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
