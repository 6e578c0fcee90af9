# SPDX-License-Identifier: Apache-2.0
"""From a name in a URL to a result: only to those that stand in the directory of results."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from fastapi import HTTPException

from linewatt.core.feature import named_result
from linewatt.errors import StoreError
from linewatt.features.serve.site import Site
from linewatt.store import sums
from linewatt.store.read import newest_first
from linewatt.store.remembered import state_of

_LONGEST = 255


def result_at(site: Site, wanted: str) -> Path:
    """The directory of a result by its id, ``last``, or ``baseline:NAME``. Raises HTTPException (404)."""
    root = site.settings.results
    if wanted == "last" and (newest := newest_first(root)):
        return newest[0]
    if (named := named_result(root, wanted)) is not None:
        return named
    if not is_id(wanted):
        raise HTTPException(404, "no result is called so")
    path = root / wanted
    if path.is_symlink() or not path.is_dir():
        raise HTTPException(404, f"{wanted}: no such result")
    if not any((path / name).is_file() for name in ("manifest.json", sums.NAME)):
        raise HTTPException(404, f"{wanted}: is no result")
    return path


def is_id(wanted: str) -> bool:
    """Whether a name can be that of a folder of the directory of results, and not lead out of it."""
    return (
        0 < len(wanted.encode()) <= _LONGEST
        and wanted.isprintable()
        and "/" not in wanted
        and not wanted.startswith(".")
    )


def url_of(path: Path) -> str:
    """Where the page of a result is."""
    return f"/results/{quote(path.name, safe='')}"


def key_of(*paths: Path) -> tuple[object, ...]:
    """What changes whenever a file of one of the results does; of one that just changed never the same."""
    return tuple((path.name, state_of(path) or object()) for path in paths)


def refused_link(path: Path) -> None:
    """Raises StoreError for a result with a link in it, which may lead anywhere."""
    if any(one.is_symlink() for one in (path, path / "manifest.json", path / "trials", path / "soak")):
        raise StoreError(f"{path.name}: has a link in it, and this server follows none")
