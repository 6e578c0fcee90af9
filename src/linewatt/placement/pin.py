# SPDX-License-Identifier: Apache-2.0
"""Putting load processes on their CPUs."""

from __future__ import annotations


def on_cpus(cpus: str | None) -> list[str]:
    """What binds the command behind it to ``cpus`` (a Linux CPU list); nothing where there are none."""
    return [] if cpus is None else ["taskset", "-c", cpus]
