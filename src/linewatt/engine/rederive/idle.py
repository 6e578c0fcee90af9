# SPDX-License-Identifier: Apache-2.0
"""Idle windows made again from their readings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.engine.measuring import kept
from linewatt.engine.measuring.idle import Look, host_values
from linewatt.engine.rederive.differences import Change, changes
from linewatt.engine.rederive.raw import readings_of
from linewatt.errors import LinewattError, ParseError
from linewatt.foreign import contained
from linewatt.model import Window
from linewatt.store import derived, raw
from linewatt.store.read import idle_files, read_json


@dataclass(frozen=True, slots=True)
class IdleAgain:
    """One idle window by the name of its file: what today's method makes of it, and what differs.

    ``after`` is None where it cannot be made again, ``problem`` says why.
    """

    name: str
    after: Mapping[str, Any] | None
    problem: str | None = None
    same: bool = False
    changes: tuple[Change, ...] = ()


def idle_again(result: Path, campaign: Campaign) -> Iterator[IdleAgain]:
    """Every idle window of a result. Raises StoreError."""
    for kind in ("idle", "idle-end"):
        for file in takewhile(Path.exists, idle_files(result, kind)):
            before = read_json(derived.document(result, file.name))
            try:
                with contained(file.name):
                    after = _made(before, result / "raw" / file.stem, campaign)
            except LinewattError as error:
                yield IdleAgain(file.name, None, str(error))
            else:
                differences = tuple(changes(0, before, after))
                yield IdleAgain(file.name, after, None, after == before, differences)


def _made(before: Mapping[str, Any], folder: Path, campaign: Campaign) -> dict[str, Any]:
    """The document of a window from its readings. Raises ParseError."""
    files = raw.texts(folder)
    if kept.NAME not in files:
        raise ParseError("what was known of its sensors was not stored then; it stays as it is")
    known = kept.read_idle(files[kept.NAME])
    readings = readings_of(known.sources, files, campaign, {})
    window = Window(before["window"]["start_s"], before["window"]["end_s"])
    hosts = {
        name: host_values(
            campaign.hosts[name], readings[name], window, _look(values), known.meters.get(name, {})
        )
        for name, values in before["hosts"].items()
    }
    again: dict[str, Any] = json.loads(json.dumps({**before, "hosts": hosts}))
    return again


def _look(values: Mapping[str, Any]) -> Look | None:
    look = values.get("look")
    return None if look is None else Look(Window(look["start_s"], look["end_s"]), look["needed_s"])
