# SPDX-License-Identifier: Apache-2.0
"""Map names in URLs to result folders, only inside the results directory, and back."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from fastapi import HTTPException

from linewatt.core.feature import named_result
from linewatt.errors import StoreError
from linewatt.features.serve.site import Site
from linewatt.store import SUMS_FILE, newest_first, state_of_result

_LONGEST = 255


def result_at(site: Site, reference: str) -> Path:
    """The directory of a result by its id, ``last``, or ``baseline:NAME``. Raises HTTPException (404)."""
    root = site.settings.results
    if reference == "last" and (newest := newest_first(root)):
        return newest[0]
    if (baseline := named_result(root, reference)) is not None:
        return baseline
    if not is_id(reference):
        raise HTTPException(404, "no result is called so")
    path = root / reference
    if path.is_symlink() or not path.is_dir():
        raise HTTPException(404, f"{reference}: no such result")
    if not any((path / name).is_file() for name in ("manifest.json", SUMS_FILE)):
        raise HTTPException(404, f"{reference}: is not a result")
    return path


def is_id(name: str) -> bool:
    """Whether a name can be a folder of the results directory and cannot lead out of it."""
    return (
        0 < len(name.encode()) <= _LONGEST
        and name.isprintable()
        and "/" not in name
        and not name.startswith(".")
    )


def url_of(path: Path) -> str:
    """The URL of a result."""
    return f"/results/{quote(path.name, safe='')}"


def key_of(*paths: Path) -> tuple[object, ...]:
    """A cache key that changes with the files of the results; unique while files have just changed."""
    return tuple((path.name, state_of_result(path) or object()) for path in paths)


def refuse_links(path: Path) -> None:
    """Raises StoreError for a result that contains a symbolic link, which may lead anywhere."""
    if any(part.is_symlink() for part in (path, path / "manifest.json", path / "trials", path / "soak")):
        raise StoreError(f"{path.name}: has a link in it, and this server follows none")
