# SPDX-License-Identifier: Apache-2.0
"""A lab that a command brings up for itself, and that is gone when it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linewatt.cli.output import say

if TYPE_CHECKING:
    from linewatt.lab import Lab, LabRequest


@contextmanager
def own_lab(command: str, request: LabRequest, what: str) -> Iterator[Lab]:
    """A lab of this process, ``what`` in words; what a ``command`` that was killed left behind goes first."""
    from linewatt import lab

    prefix = f"{command}-"
    for name in lab.names():
        owner = name.removeprefix(prefix)
        if name.startswith(prefix) and owner.isdigit() and not Path("/proc", owner).exists():
            say(f"removing lab {name}, left by a {command} that was killed")
            lab.down(name)
    name = f"{prefix}{os.getpid()}"
    say(f"bringing up lab {name}: {what}")
    try:
        yield lab.up(replace(request, name=name))
    finally:
        if lab.down(name):
            say(f"lab {name} is down, nothing is left of it")
