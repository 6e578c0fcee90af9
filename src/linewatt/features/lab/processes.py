# SPDX-License-Identifier: Apache-2.0
"""Processes inside a lab's namespaces: found by namespace, ended by handle, never by name."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from linewatt.errors import LabError

NETNS = Path("/run/netns")

_TERM_LIMIT_S = 1.0
_KILL_LIMIT_S = 10.0
_ROUNDS = 20
_LISTEN = "0A"  # include/net/tcp_states.h

Identity = tuple[int, int]
"""Device and inode of a network namespace."""


def end_all(namespaces: Sequence[str], *, what: str) -> None:
    """End every process in these namespaces: SIGTERM, then SIGKILL, until none is left. Raises LabError.

    Repeats, because processes may fork meanwhile.
    """
    inside = set(_identities(namespaces).values())
    to_send = signal.SIGTERM
    for _ in range(_ROUNDS):
        with ExitStack() as closing:
            handles = [_close_later(closing, handle) for handle in _open_inside(inside)]
            if not handles:
                return
            _signal_and_wait(handles, to_send)
        to_send = signal.SIGKILL
    remaining = sorted(process for process, _ in _inside(inside))
    raise LabError(
        f"{what}: processes {remaining} do not end on SIGKILL; see what holds them with ps, then try again"
    )


def is_inside(process: int, namespace: str) -> bool:
    """Whether ``process`` runs in this namespace; one that has ended and is not reaped yet does not."""
    identity = _identity(NETNS / namespace)
    return identity is not None and _identity(Path(f"/proc/{process}/ns/net")) == identity


def commands(namespaces: Sequence[str]) -> dict[str, list[list[str]]]:
    """Arguments of every process inside each of these namespaces."""
    words_by_namespace: dict[str, list[list[str]]] = {namespace: [] for namespace in namespaces}
    name_of = {identity: namespace for namespace, identity in _identities(namespaces).items()}
    for process, identity in _inside(set(name_of)):
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
            words_by_namespace[name_of[identity]].append(words)
    return words_by_namespace


def any_called(name: str) -> bool:
    """Whether a process of this name runs anywhere on the machine."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if (entry / "comm").read_text().rstrip("\n") == name:
                    return True
    return False


def listens(process: int, port: int) -> bool:
    """Whether anything listens on a TCP port of the network namespace that ``process`` is in.

    Asked of the kernel and not by connecting, because sshd starts a program for every caller. False
    once the process has ended. Source: Documentation/networking/proc_net_tcp.rst.
    """
    try:
        rows = Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]
    except OSError:
        return False
    fields = (row.split() for row in rows)
    return any(local.endswith(f":{port:04X}") and state == _LISTEN for _, local, _, state, *_ in fields)


def _signal_and_wait(handles: Sequence[int], to_send: signal.Signals) -> None:
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, to_send)
    deadline = time.monotonic() + (_TERM_LIMIT_S if to_send is signal.SIGTERM else _KILL_LIMIT_S)
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    waiting = len(handles)
    while waiting and (left_s := deadline - time.monotonic()) > 0:
        for handle, _ in poll.poll(left_s * 1000):  # a pidfd becomes readable when its process ends
            poll.unregister(handle)
            waiting -= 1


def _open_inside(inside: set[Identity]) -> Iterator[int]:
    """A pidfd of every process in these namespaces.

    The namespace is read again once the pidfd is open: a process id used anew in between is not mistaken.
    """
    for process, _ in _inside(inside):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(process)
            if _identity(Path(f"/proc/{process}/ns/net")) in inside:
                yield handle
            else:
                os.close(handle)


def _close_later(stack: ExitStack, handle: int) -> int:
    stack.callback(os.close, handle)
    return handle


def _identities(namespaces: Sequence[str]) -> dict[str, Identity]:
    identities = ((namespace, _identity(NETNS / namespace)) for namespace in namespaces)
    return {namespace: identity for namespace, identity in identities if identity is not None}


def _inside(inside: set[Identity]) -> Iterator[tuple[int, Identity]]:
    """Process ids in these namespaces, from one walk through /proc (``ip netns pids`` is one a namespace)."""
    for entry in Path("/proc").iterdir():
        identity = _identity(entry / "ns/net") if entry.name.isdigit() else None
        if identity is not None and identity in inside:
            yield int(entry.name), identity


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:  # the namespace is gone; the process has ended, is a zombie
        return None
    return status.st_dev, status.st_ino
