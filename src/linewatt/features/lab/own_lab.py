# SPDX-License-Identifier: Apache-2.0
"""A lab that a command brings up for itself; it is gone when that ends, whatever ends it but a kill -9."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linewatt.cli import say
from linewatt.features.lab.layout import LabRequest
from linewatt.hosts import OwnLab

if TYPE_CHECKING:
    from linewatt.features.lab.api import Lab


@contextmanager
def own_lab(command: OwnLab, request: LabRequest, what: str) -> Iterator[Lab]:
    """A lab of this process, ``what`` in words; what a ``command`` that was killed left behind goes first."""
    from linewatt.features.lab import api as lab  # which has this function, too

    prefix = f"{command}-"
    for name in lab.names():
        owner = name.removeprefix(prefix)
        if name.startswith(prefix) and owner.isdigit() and not Path("/proc", owner).exists():
            say(f"removing lab {name}, left by a {command} that was killed")
            lab.down(name)
    name = f"{prefix}{os.getpid()}"
    say(f"bringing up lab {name}: {what}")
    with _ended_by_signals() as ending:
        try:
            yield lab.up(replace(request, name=name))
        finally:
            ending.begin()
            if lab.down(name):
                say(f"lab {name} is down, nothing is left of it")


class _Ending:
    """TERM and HUP end a command as Ctrl-C does; once it ends, further ones of the three only say so."""

    def __init__(self) -> None:
        self._begun = False

    def begin(self) -> None:
        self._begun = True

    def heard(self, *_: object) -> None:
        """A signal came. Raises KeyboardInterrupt for the first."""
        if self._begun:
            say("still taking the lab down; give it a moment")
            return
        self._begun = True
        raise KeyboardInterrupt


@contextmanager
def _ended_by_signals() -> Iterator[_Ending]:
    """A HUP that is ignored already (nohup(1)) stays so."""
    ending = _Ending()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, ending.heard)
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
