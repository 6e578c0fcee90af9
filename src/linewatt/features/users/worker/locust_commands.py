# SPDX-License-Identifier: Apache-2.0
"""How Locust is started for users on many hosts: argument lists, without any secret. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_MODULE = "linewatt.features.users.worker"
_QUIET = ("--skip-log-setup", "--only-summary")
KEEP_PRIVATE = 'umask 077 && file=$(mktemp) && cat >"$file" && echo "$file"'
"""bash: standard input into a file that only its owner reads, and the file's name"""


def master_command(python: str, python_path: str, users: int, control: str) -> list[str]:
    """The master: on a free port of 127.0.0.1, led by the socket ``control``, without users until told."""
    return [
        *_python(python, python_path),
        *("--master", "--master-bind-host", "127.0.0.1", "--master-bind-port", "0"),
        *("--headless", "--expect-workers", "1", "--users", str(users), "--spawn-rate", str(users)),
        *("--exit-code-on-error", "0", "--users-control", control),
        *_QUIET,
    ]


def worker_command(python: str, python_path: str | None, port: int, name: str, secret: str) -> list[str]:
    """A worker named ``name``; ``secret`` is the file of what proves it to the master, which it removes."""
    return [
        *_python(python, python_path),
        *("--worker", "--master-host", "127.0.0.1", "--master-port", str(port)),
        *("--users-name", name, "--users-secret", secret),
        *_QUIET,
    ]


def _python(python: str, python_path: str | None) -> Sequence[str]:
    path = [] if python_path is None else [f"PYTHONPATH={python_path}"]
    return ["env", *path, python, "-m", _MODULE]
