# SPDX-License-Identifier: Apache-2.0
"""Reading stored results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.model import Trial


@dataclass(frozen=True, slots=True)
class Result:
    """A stored campaign run.

    ``manifest`` has: ``schema_version``, ``id``, ``name``, ``linewatt_version``, ``created_s``,
    ``campaign_text``, ``seed``, ``order``, ``trials_planned``, ``hosts`` (host name → facts, a mapping of
    section → {fact: value or null}), and ``idle`` (host name → idle-window readings).
    """

    id: str
    path: Path
    manifest: dict[str, Any]
    trials: tuple[Trial, ...]

    @property
    def complete(self) -> bool:
        return len(self.trials) == self.manifest["trials_planned"]


def find(root: Path, wanted: str) -> Path:
    """Directory of the result whose id is, or uniquely starts with, ``wanted``; ``last`` is the newest.

    Raises StoreError naming what exists when none or several match.
    """
    raise NotImplementedError


def load(path: Path) -> Result:
    """Read a result directory. Raises StoreError naming the damaged file."""
    raise NotImplementedError


def list_results(root: Path) -> list[Result]:
    """All results below ``root``, oldest first; an empty list when there are none."""
    raise NotImplementedError
