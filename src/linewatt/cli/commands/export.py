# SPDX-License-Identifier: Apache-2.0
"""``linewatt export``: a result as one file that another machine reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Json, Results, Wanted
from linewatt.cli.output import print_json, put, say
from linewatt.errors import InvalidInput

SCHEMA_VERSION = 1


def export(
    wanted: Wanted = "last",
    bundle: Annotated[
        bool, typer.Option("--bundle", help="All of the result: every file, raw output too, with checksums.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; default ID.tar.zst."),
    ] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Write a stored result as one file for another machine.

    A bundle is a tar archive in zstd, with a checksum of each file; 'linewatt import' reads it and finds
    whatever is damaged. A result that is not as it was stored is not exported.
    """
    if not bundle:
        raise InvalidInput("export: say as what: --bundle is all of the result in one file")
    from linewatt.cli.commands.show import checked_target
    from linewatt.foreign import one_line
    from linewatt.store.bundle.layout import SUFFIX
    from linewatt.store.bundle.pack import pack
    from linewatt.store.read import find

    path = find(results, wanted)
    target = checked_target(output or Path(f"{path.resolve().name}{SUFFIX}"))
    packed = pack(path, target)
    if packed.left_out:
        say(one_line(f"left out, because linewatt did not store it: {', '.join(packed.left_out)}"))
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": packed.contents.id,
                "path": str(target),
                "sha256": packed.sha256,
                "packed_bytes": packed.bytes,
                "bytes": packed.contents.total_bytes,
                "files": len(packed.contents.files),
                "left_out": list(packed.left_out),
            }
        )
        return
    say(f"{packed.contents.id}: {len(packed.contents.files)} files; 'linewatt import' reads the bundle")
    put(str(target))
