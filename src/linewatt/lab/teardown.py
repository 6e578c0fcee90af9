# SPDX-License-Identifier: Apache-2.0
"""Taking a lab down: every process inside it, every namespace and link; works on half a lab just the same."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from linewatt.errors import LabError
from linewatt.lab import recipe
from linewatt.lab.state import LabState
from linewatt.lab.system import names_present, run_batch

NETNS = Path("/run/netns")

_TERM_LIMIT_S = 1.0
_KILL_LIMIT_S = 10.0
_ROUNDS = 20


def take_down(state: LabState) -> None:
    """Remove all that ``state`` lists, whether it was made or not. Raises LabError naming what stays."""
    end_processes(state)
    present = names_present()
    lines = [f"netns del {namespace}" for namespace in state.namespaces if namespace in present]
    if any(link in present for link in state.links):
        # One transaction for all links: one by one, each waits for a grace period of the kernel.
        lines.append(f"link del group {state.link_group}")
    run_batch(["ip", "-force", "-batch", "-"], "\n".join(lines) + "\n", what=_what(state), strict=False)
    for copy in state.copies:
        remove_copy(Path(copy), state.request.name)
    left = sorted(names_present() & {*state.namespaces, *state.links})
    if left:
        raise LabError(f"{_what(state)}: still there: {', '.join(left)}; see ip netns list and ip link, then try again")


def remove_copy(path: Path, name: str) -> None:
    """Remove an inventory written for the lab ``name``, unless something else is there by now."""
    with suppress(FileNotFoundError):
        if is_inventory_of(path, name):
            path.unlink()


def is_inventory_of(path: Path, name: str) -> bool:
    """Whether ``path`` is an inventory that the lab ``name`` wrote."""
    with path.open(errors="replace") as file:
        return file.readline() == f"{recipe.INVENTORY_HEADER}{name}\n"


def end_processes(state: LabState) -> None:
    """End every process in the lab's namespaces: SIGTERM, then SIGKILL, until a look finds none."""
    inside = namespace_identities(state.namespaces)
    wanted = signal.SIGTERM
    for _ in range(_ROUNDS):
        handles = open_processes(inside)
        if not handles:
            return
        try:
            _signal_and_wait(handles, wanted)
        finally:
            for handle in handles.values():
                os.close(handle)
        wanted = signal.SIGKILL
    raise LabError(f"{_what(state)}: processes {sorted(handles)} do not end; look at them with ps, then try again")


def _signal_and_wait(handles: dict[int, int], wanted: signal.Signals) -> None:
    for handle in handles.values():
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, wanted)
    deadline = time.monotonic() + (_TERM_LIMIT_S if wanted is signal.SIGTERM else _KILL_LIMIT_S)
    poll = select.poll()
    for handle in handles.values():
        poll.register(handle, select.POLLIN)
    waiting = len(handles)
    while waiting and (left_s := deadline - time.monotonic()) > 0:
        for handle, _ in poll.poll(left_s * 1000):  # a pidfd becomes readable when its process ends
            poll.unregister(handle)
            waiting -= 1


def namespace_identities(namespaces: Sequence[str]) -> set[tuple[int, int]]:
    """Device and inode of each network namespace that exists: what a process's ``ns/net`` is compared with."""
    found = set()
    for namespace in namespaces:
        with suppress(OSError):
            status = (NETNS / namespace).stat()
            found.add((status.st_dev, status.st_ino))
    return found


def open_processes(inside: set[tuple[int, int]]) -> dict[int, int]:
    """Process id → pidfd of all processes in these namespaces, from one walk through /proc.

    ``ip netns pids`` walks it once a namespace. The namespace is read again once the pidfd is open, so
    that a process id used again in between is not mistaken.
    """
    handles = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or not _is_inside(entry, inside):
            continue
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(int(entry))
            if _is_inside(entry, inside):
                handles[int(entry)] = handle
            else:
                os.close(handle)
    return handles


def _is_inside(process: str, inside: set[tuple[int, int]]) -> bool:
    try:
        status = os.stat(f"/proc/{process}/ns/net")
    except OSError:  # ended, or a zombie, or a kernel thread
        return False
    return (status.st_dev, status.st_ino) in inside


def _what(state: LabState) -> str:
    return f"lab {state.request.name}"
