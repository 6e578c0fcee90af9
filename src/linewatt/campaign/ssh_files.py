# SPDX-License-Identifier: Apache-2.0
"""The files of this machine that a campaign names for SSH: where they are, and whether they can be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from linewatt.campaign.checks import Finding
from linewatt.campaign.schema import HostEntry

_RIGHT = {
    "key_file": "name a private key of this machine, or leave it out for SSH's own",
    "known_hosts": "name a known hosts file, or leave it out for ~/.ssh/known_hosts",
}


def resolve(base: Path, text: str) -> Path:
    """A path of the file: ``~`` is the user's home, and relative means relative to the file."""
    return base / os.path.expanduser(text)  # noqa: PTH111  Path.expanduser raises for an unknown user


def check_ssh_files(hosts: Mapping[str, HostEntry], base: Path) -> Iterator[Finding]:
    """Key and known hosts files that are of no use, each once; opens them. Hosts without SSH need none."""
    seen: set[Path] = set()
    for name, host in hosts.items():
        for key, text in (("key_file", host.key_file), ("known_hosts", host.known_hosts)):
            if text is None or host.address == "local":
                continue
            path = resolve(base, text).absolute()
            if path in seen:
                continue
            seen.add(path)
            if wrong := _unreadable(path):
                yield ("hosts", name, key), f"{path} {wrong}; {_RIGHT[key]}"
            elif key == "key_file" and (wrong := _no_key(path)):
                yield ("hosts", name, key), f"{path} {wrong}"


def _unreadable(path: Path) -> str | None:
    """Why a file cannot be read, or ``None``; a named pipe does not keep it waiting."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return "does not exist"
    except PermissionError:
        return "cannot be read by this user (a lab's keys are root's)"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    try:
        kind = os.fstat(opened).st_mode
        return None if stat.S_ISREG(kind) else "is a directory" if stat.S_ISDIR(kind) else "is no file"
    finally:
        os.close(opened)


def _no_key(path: Path) -> str | None:
    """Why a file is of no use as a private key, and what to do."""
    from linewatt.hosts.login import key_problem  # slow to import, and needed only where hosts are reached

    return key_problem(path)
