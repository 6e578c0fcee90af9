# SPDX-License-Identifier: Apache-2.0
"""Simulated soaks that differ in what a test says, for the tests of what puts several side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.soak_result import STARTED_S, Shape, write

SHORT = Shape(clients=("c1", "c2"), duration_s=60, users=4)
USERS: dict[str, Any] = {
    "get": {"count": 16, "median_bytes": 16_000_000, "sigma": 0.0},
    "put": {"count": 16, "median_bytes": 16_000_000, "sigma": 0.0},
    "get_share": 0.5,
    "think_s": 0.0,
    "start": "independent",
    "arrival_rate_hz": None,
    "seed": 1,
}
FACTS = {"kernel": {"release": "6.1.0"}, "nic": {"offloads": {"generic-receive-offload": "on"}}}
Edit = Callable[[dict[str, Any]], object]


def soak(day: int = 1, edit: Edit = lambda _: None, root: str = "results", **shape: Any) -> Path:
    """A stored soak of that day; ``edit`` changes its manifest."""
    path, _ = write(Path(root), replace(SHORT, **{"seed": day, **shape}))
    file = path / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["created_s"] = STARTED_S + 86_400 * day
    manifest["campaign"]["networks"] = ["bare"]
    manifest["campaign"]["users"] |= USERS
    for name, host in manifest["hosts"].items():
        manifest["hosts"][name] = host | {"facts": json.loads(json.dumps(FACTS))}
    edit(manifest)
    moved = path.with_name(f"202601{day:02d}-000000-soak")
    manifest["id"] = moved.name
    file.write_text(json.dumps(manifest))
    path.rename(moved)
    return moved


def asked(**values: Any) -> Edit:
    """The same with other values of ``users``."""
    return lambda manifest: manifest["campaign"]["users"].update(values)
