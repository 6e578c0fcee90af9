# SPDX-License-Identifier: Apache-2.0
"""Storing trials that linewatt did not measure: a result like others, whose manifest says where from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.model import Trial
from linewatt.store.write import new_result, write_trial

RAW_NAME = "table.csv"


def imported_manifest(  # noqa: PLR0913  what a manifest has
    name: str,
    source: str,
    text: str,
    created_s: float,
    trials: Sequence[Trial],
    hosts: Mapping[str, Mapping[str, Any]],
    factors: Mapping[str, Sequence[str]],
    kind: str | None = None,
) -> dict[str, Any]:
    """The manifest of an imported table: ``imported_from`` names it, ``campaign_text`` is its text.

    ``kind`` is that of a table which holds no trials.
    """
    from linewatt import __version__

    return {
        "schema_version": 1,
        "name": name,
        "imported_from": source,
        **({} if kind is None else {"imported_kind": kind}),
        "linewatt_version": __version__,
        "created_s": created_s,
        "campaign_text": text,
        "campaign": {"factors": {factor: list(levels) for factor, levels in factors.items()}},
        "plan": None,
        "seed": None,
        "order": None,
        "trials_planned": len(trials),
        "hosts": {host: dict(facts) for host, facts in hosts.items()},
    }


def write_imported(root: Path, manifest: Mapping[str, Any], trials: Sequence[Trial]) -> Path:
    """Store the whole import, or nothing. Raises StoreError."""
    path = new_result(root, manifest["name"], manifest["created_s"], manifest)
    try:
        for trial in trials:
            write_trial(path, trial, (), {})
    except StoreError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    return path
