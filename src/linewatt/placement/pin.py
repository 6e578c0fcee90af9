# SPDX-License-Identifier: Apache-2.0
"""Putting load processes on their CPUs."""

from __future__ import annotations

from collections.abc import Sequence


def pinned(argv: Sequence[str], cpus: str | None) -> list[str]:
    """``argv`` bound to ``cpus`` (a Linux CPU list) by taskset; unchanged where there are none."""
    return list(argv) if cpus is None else ["taskset", "-c", cpus, *argv]
