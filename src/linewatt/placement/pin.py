# SPDX-License-Identifier: Apache-2.0
"""Putting load processes on their CPUs."""

from __future__ import annotations


def bind_to_cpus(cpus: str | None, node: int | None = None) -> list[str]:
    """What binds the command behind it to ``cpus`` (a Linux CPU list) and its memory to a NUMA node.

    Memory is preferred there, not bound: a node that is full slows a load down, and ends none. Nothing
    where there are no CPUs.
    """
    if cpus is None:
        return []
    memory = [] if node is None else ["numactl", f"--preferred={node}"]
    return [*memory, "taskset", "-c", cpus]
