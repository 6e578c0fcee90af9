# SPDX-License-Identifier: Apache-2.0
"""``/results/ID/save/…``: download a result as one file, as the commands export it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from linewatt.features.serve.file_page import pieces
from linewatt.features.serve.responses import Body, attachment, body_response
from linewatt.features.serve.result_page import of_result
from linewatt.features.serve.result_paths import key_of, refuse_links, result_at
from linewatt.features.serve.site import site_of
from linewatt.report import document_of_result, page_of_result, rows_of_result
from linewatt.report.printing import csv_of, render_markdown
from linewatt.store import Result
from linewatt.store.bundle import BUNDLE_SUFFIX, pack_bundle

router = APIRouter()


def _document(result: Result) -> str:
    return json.dumps(document_of_result(result, trials=True), indent=2, allow_nan=False) + "\n"


FORMS: Mapping[str, tuple[str, str, Callable[[Result], str]]] = {
    "report.html": (".html", "text/html", page_of_result),
    "report.md": (".md", "text/markdown", render_markdown),
    "result.json": (".json", "application/json", _document),
    "cases.csv": ("-cases.csv", "text/csv", lambda result: csv_of(*rows_of_result(result))),
    "trials.csv": ("-trials.csv", "text/csv", lambda result: csv_of(*rows_of_result(result, trials=True))),
}
"""name in the URL → suffix of the file name after the result's id, media type, function that makes it"""


@router.get("/results/{name}/save/bundle")
async def bundle(request: Request, name: str) -> Response:
    """All files of the result in one bundle, as ``linewatt export --bundle`` writes it."""
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    folder = tempfile.TemporaryDirectory(prefix="linewatt-bundle-")
    target = Path(folder.name) / f"{path.name}{BUNDLE_SUFFIX}"
    try:
        size = int((await site.page_pool.once(write_bundle, path, target)).data)
        opened = target.open("rb")
    except BaseException:
        await run_in_threadpool(folder.cleanup)
        raise
    headers = {"content-disposition": attachment(target.name), "content-length": str(size)}
    stream = pieces(opened, size)
    return StreamingResponse(
        stream, headers=headers, media_type="application/zstd", background=BackgroundTask(folder.cleanup)
    )


def write_bundle(path: Path, target: Path) -> Body:
    """Write the bundle; the body holds its size in bytes. Raises StoreError."""
    refuse_links(path)
    return Body(str(pack_bundle(path, target).bytes).encode(), "text/plain")


@router.get("/results/{name}/save/{form}")
async def save(request: Request, name: str, form: str) -> Response:
    """Download the result in one form."""
    if form not in FORMS:
        raise HTTPException(404, f"{form}: must be one of {', '.join((*FORMS, 'bundle'))}")
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    key = await run_in_threadpool(key_of, path)
    body = await site.page_pool.page(("save", form, *key), body_of_form, path, form)
    return body_response(request, body, content_disposition=attachment(f"{path.name}{FORMS[form][0]}"))


def body_of_form(path: Path, form: str) -> Body:
    """The result in one of FORMS. Raises StoreError."""
    _, media, make = FORMS[form]
    return Body(of_result(path, make).encode(), media)
