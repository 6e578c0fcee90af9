# SPDX-License-Identifier: Apache-2.0
"""``/results/ID/files``: stored files of a result; ``…/file/NAME``: one file, as text or to be saved.

No file is rendered as a page: tools on hosts may write any content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from linewatt.features.serve import listed_files as listed
from linewatt.features.serve.listed_files import Entry
from linewatt.features.serve.responses import attachment
from linewatt.features.serve.result_paths import result_at, url_of
from linewatt.features.serve.site import site_of
from linewatt.store import SUMS_FILE as SUMS

router = APIRouter()
MOST_LISTED = 1000
"""entries per page; of more trials, a folder can still be requested by its number"""
_PIECE = 64 << 10
_TEXTS = (".json", ".txt", ".yaml", ".yml", ".csv", ".md", ".log", ".jsonl", SUMS)
_SANDBOX = {"content-security-policy": "default-src 'none'; sandbox", "cache-control": "private, no-cache"}


@router.get("/results/{name}/files")
def show_files(request: Request, name: str, under: str = "") -> Response:
    """List a folder or a packed file of the result."""
    site = site_of(request)
    path = result_at(site, name)
    folder = under.strip("/")
    entries = listed.entries(path, folder)
    return site.page(
        request,
        "files.html.j2",
        url=url_of(path),
        id=path.name,
        folder=folder,
        above=_parent_folders(folder),
        entries=entries[:MOST_LISTED],
        left=max(0, len(entries) - MOST_LISTED),
        files_url=lambda folder_name: f"{url_of(path)}/files?under={quote(folder_name, safe='')}",
        file_url=lambda file_name: f"{url_of(path)}/file/{quote(file_name)}",
    )


def _parent_folders(folder: str) -> list[Entry]:
    """The folder and its parents, outermost first."""
    parts = folder.split("/") if folder else []
    return [Entry("/".join(parts[: at + 1]), is_folder=True) for at in range(len(parts))]


@router.get("/results/{name}/file/{file:path}")
def show_file(request: Request, name: str, file: str, save: bool = False) -> Response:
    """A file of the result, or a text in a packed file; only files listed in its checksums."""
    path = result_at(site_of(request), name)
    inside = listed.text(path, file)
    title = file.rpartition("/")[2]
    if inside is not None:
        return Response(inside, headers=_headers(title, save=save), media_type="text/plain")
    opened, size = listed.opened(path, file)
    is_text = title.endswith(_TEXTS)
    headers = _headers(title, save=save or not is_text) | {"content-length": str(size)}
    media = "text/plain" if is_text else "application/octet-stream"
    return StreamingResponse(pieces(opened, size), headers=headers, media_type=media)


def _headers(title: str, *, save: bool) -> dict[str, str]:
    return {**_SANDBOX, **({"content-disposition": attachment(title)} if save else {})}


def pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The first ``size`` bytes of a file in pieces, even if it grows meanwhile."""
    with file:
        remaining_bytes = size
        while remaining_bytes > 0 and (piece := file.read(min(_PIECE, remaining_bytes))):
            remaining_bytes -= len(piece)
            yield piece
