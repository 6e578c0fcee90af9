# SPDX-License-Identifier: Apache-2.0
"""A result whose figures are not read yet: its id, and its name and time if they are cheap to read."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from linewatt.errors import StoreError
from linewatt.store import load_manifest

MANIFESTS_S = 0.05
"""for which a page reads manifests; the remaining rows have the name and time of their directory"""
_STAMPED = re.compile(r"(?P<stamp>\d{8}-\d{6})(?:-(?P<name>.+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class UnreadResult:
    """``name`` and ``created_s`` are ``None`` until they are known; ``stamp`` is the time as in the id."""

    id: str
    path: Path
    name: str | None = None
    created_s: float | None = None
    stamp: str | None = None


def unread_result(path: Path) -> UnreadResult:
    """A result as the name of its directory describes it; reads no file."""
    match = _STAMPED.fullmatch(path.name)
    created_s = _time_of_stamp(match["stamp"]) if match else None
    if match is None or created_s is None:
        return UnreadResult(path.name, path)
    return UnreadResult(path.name, path, match["name"], created_s, match["stamp"])


def with_manifests(results: Iterable[UnreadResult], limit_s: float = MANIFESTS_S) -> Iterator[UnreadResult]:
    """The results with name and time of their manifests, as many as can be read within ``limit_s``."""
    deadline_s = time.monotonic() + limit_s
    for result in results:
        yield _with_manifest(result) if time.monotonic() < deadline_s else result


def _with_manifest(result: UnreadResult) -> UnreadResult:
    """A damaged manifest, or one behind a link, changes nothing: its row gets the reason when it is read."""
    if result.path.is_symlink():
        return result
    try:
        manifest = load_manifest(result.path)
    except StoreError:
        return result
    created_s = result.created_s if manifest.created_s is None else manifest.created_s
    return replace(result, name=manifest.name or result.name, created_s=created_s)


def _time_of_stamp(stamp: str) -> float | None:
    try:
        return datetime.strptime(stamp, "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
