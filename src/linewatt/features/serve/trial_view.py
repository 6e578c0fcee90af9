# SPDX-License-Identifier: Apache-2.0
"""Template values of the page of one trial."""

from __future__ import annotations

from typing import Any

from linewatt.errors import StoreError
from linewatt.features.serve import listed_files as listed
from linewatt.features.serve.listed_files import Entry
from linewatt.report.trials import digest_of, trial_sections
from linewatt.store import Result, trial_dirs
from linewatt.units import format_seconds, format_time_utc


def trial_values(result: Result) -> dict[str, Any]:
    """Template values of a result that was loaded with one trial only."""
    view, (trial,) = digest_of(result), result.trials
    numbers = [int(folder.name) for folder in trial_dirs(result.path) if folder.name.isdecimal()]
    at = numbers.index(trial.number)
    return {
        "trial": trial,
        "view": view,
        "result": result,
        "name": result.manifest.name or result.id,
        "describe": view.describe(trial.case),
        "started": format_time_utc(trial.started_s),
        "window": format_seconds(trial.window.seconds if trial.window else None),
        "lab": any(host.lab for host in view.hosts.values()),
        "sections": trial_sections(view),
        "files": _stored_files(result, f"trials/{trial.number:05d}"),
        "before": numbers[at - 1] if at else None,
        "after": numbers[at + 1] if at + 1 < len(numbers) else None,
        "elsewhere": None,
    }


def _stored_files(result: Result, folder: str) -> list[Entry]:
    """Stored files of the trial, packed texts last; empty without a list of files."""
    try:
        entries = listed.entries(result.path, folder)
        packs = [entry.name for entry in entries if entry.is_pack]
        return [*entries, *(text for pack in packs for text in listed.entries(result.path, pack))]
    except StoreError:
        return []
