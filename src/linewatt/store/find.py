# SPDX-License-Identifier: Apache-2.0
"""The directory of a result by what people call it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from linewatt.core.feature import named_result
from linewatt.errors import StoreError, UnknownResult
from linewatt.store.each_result import ID_BEGINS, result_dirs
from linewatt.units import did_you_mean, stamp


def find_result(root: Path, reference: str) -> Path:
    """Directory of a result. ``reference`` is its path, its id, the start of only its id, or its campaign's
    name if no other result has it.

    ``last`` is the newest below ``root``; features add names such as ``baseline:NAME``. Raises UnknownResult
    naming what exists when none or several match.
    """
    if (Path(reference) / "manifest.json").is_file():
        return Path(reference)
    if (named := named_result(root, reference)) is not None:
        return named
    if not reference:
        raise UnknownResult(
            "the id of a result is empty; 'linewatt list' shows the ids, 'last' is the newest"
        )
    paths = result_dirs(root)
    if reference == "last" and paths:
        return newest_first(root)[0]
    ids = [path.name for path in paths]
    matching = [name for name in ids if name == reference] or [
        name for name in ids if name.startswith(reference)
    ]
    if len(matching) == 1:
        return root / matching[0]
    if matching:
        raise UnknownResult(f"{reference}: several results match: {', '.join(matching)}; give more of the id")
    names = {path: _campaign_name(path) for path in paths}
    named_paths = [path for path, name in names.items() if name == reference]
    if len(named_paths) == 1:
        return named_paths[0]
    if named_paths:
        named_ids = ", ".join(path.name for path in named_paths)
        raise UnknownResult(f"{reference}: several results have this name: {named_ids}; give the id")
    similar = did_you_mean(Path(reference).name, [*filter(None, names.values()), *ids])
    choices = f"{similar} 'linewatt list' shows all" if similar else _choices(ids)
    raise UnknownResult(f"{reference}: no such result below {root}; {choices}")


class _Campaign(NamedTuple):
    """What the manifest of a result says of it."""

    name: str | None
    created_s: float | None


def _campaign(path: Path) -> _Campaign:
    """Raises StoreError."""
    from linewatt.store.read import load_manifest  # not for a result that is named by its id

    manifest = load_manifest(path)
    return _Campaign(manifest.name, manifest.created_s)


def _campaign_name(path: Path) -> str | None:
    """The name of a result's campaign; ``None`` where its manifest cannot be read."""
    try:
        return _campaign(path).name
    except StoreError:
        return None


def _choices(ids: Sequence[str]) -> str:
    if not ids:
        return "there are none yet"
    newest = ", ".join(ids[-_CHOICES_SHOWN:])
    if len(ids) > _CHOICES_SHOWN:
        return f"the {_CHOICES_SHOWN} newest of {len(ids)}: {newest}"
    return f"there are: {newest}"


_CHOICES_SHOWN = 5


def newest_first(root: Path) -> list[Path]:
    """Directories of results below ``root``, the one that was begun last first."""
    return sorted(result_dirs(root), key=_begun, reverse=True)


def _begun(path: Path) -> str:
    """What orders results by when they were begun: their id; of a folder that was renamed, its manifest."""
    if ID_BEGINS.match(path.name):
        return path.name
    try:
        created_s = _campaign(path).created_s
    except StoreError:
        return ""
    return "" if created_s is None else stamp(created_s)
