# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a trial are made of beside the text of its tools, stored as ``raw/run.json``. Pure.

With it and that text :func:`linewatt.engine.measuring.measure.measure` gives the same trial again, to the
byte, or another one once the method is a better one (:mod:`linewatt.engine.rederive`). Whatever is added to
:class:`TrialRun` or :class:`Setup` is kept by itself; a field that an older file lacks has its default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.live.trial_run import InstanceOutput, TrialRun
from linewatt.engine.measuring.cut import Setup
from linewatt.engine.measuring.plain_json import decoded, encoded
from linewatt.engine.measuring.window_power import Meters
from linewatt.errors import ParseError
from linewatt.foreign import STORED, read_json, understood
from linewatt.hosts import Ended, HostSpec
from linewatt.loads import Load
from linewatt.model import Case, Channel

T = TypeVar("T")

NAME = "run.json"
SOCKETS = "ss.txt"
"""what a read-back has of the load's connections, in a file of its own"""
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of a sensor beside its records; ``channels`` are those of a source of power."""

    host: str
    source: str
    channels: Mapping[str, Channel]
    updates_s: Mapping[str, float]
    failure: str | None
    optional: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A trial without the text of its tools, and without what the manifest has of its hosts."""

    run: TrialRun
    setup: Setup
    sources: tuple[Source, ...]
    overhead_s: float
    schema_version: int = SCHEMA_VERSION


def text_of(run: TrialRun, readings: Mapping[str, Sequence[Reading]], setup: Setup, overhead_s: float) -> str:
    """The file's text."""
    bare = tuple(_without_texts(output) for output in run.outputs)
    trial_inputs = Kept(
        replace(run, outputs=bare, readback={}), replace(setup, hosts={}), _sources(readings), overhead_s
    )
    return json.dumps(encoded(trial_inputs), indent=1, allow_nan=False) + "\n"


@dataclass(frozen=True, slots=True)
class KeptIdle:
    """What was known of the sensors of an idle window beside their records, and by then of the meters."""

    sources: tuple[Source, ...]
    meters: Mapping[str, Meters]
    schema_version: int = SCHEMA_VERSION


def idle_text(readings: Mapping[str, Sequence[Reading]], meters: Mapping[str, Meters]) -> str:
    """The same file beside the readings of an idle window."""
    return json.dumps(encoded(KeptIdle(_sources(readings), meters)), indent=1, allow_nan=False) + "\n"


def read_idle(text: str) -> KeptIdle:
    """What :func:`idle_text` wrote. Raises ParseError."""
    return _decoded(KeptIdle, text, NAME)


def _sources(readings: Mapping[str, Sequence[Reading]]) -> tuple[Source, ...]:
    return tuple(
        Source(
            reading.host,
            reading.source,
            reading.channels if reading.optional else {},
            reading.updates_s,
            reading.failure,
            reading.optional,
        )
        for host in readings
        for reading in readings[host]
    )


def _without_texts(output: InstanceOutput) -> InstanceOutput:
    def bare(ended: Ended | None) -> Ended | None:
        return None if ended is None else replace(ended, stdout="", stderr="")

    return replace(output, client=bare(output.client), server=bare(output.server))


def output_files(load: Load, host: str, role: str, instance: int) -> tuple[str, str]:
    """The names below ``raw/`` of what one process wrote, and of what it complained about."""
    name = f"{host}/{load.name}-{role}-{instance}"
    return f"{name}.{load.suffix}", f"{name}.stderr"


def read(text: str, files: Mapping[str, str], hosts: Mapping[str, HostSpec], load: Load) -> Kept:
    """What :func:`text_of` wrote, with the text of the load's processes and the read-backs again.

    ``files`` is the name of each file below ``raw/`` with its text. Raises ParseError.
    """
    trial_inputs = _decoded(Kept, text, NAME)
    case = trial_inputs.run.planned.case
    outputs = tuple(
        _with_text(output, case.pair_of(output.planned.instance), files, load)
        for output in trial_inputs.run.outputs
    )
    run = replace(trial_inputs.run, outputs=outputs, readback=readbacks(files, case.hosts))
    return replace(trial_inputs, run=run, setup=replace(trial_inputs.setup, hosts=hosts))


def _with_text(output: InstanceOutput, case: Case, files: Mapping[str, str], load: Load) -> InstanceOutput:
    """What the processes of an instance wrote, as stored."""

    def full(ended: Ended | None, host: str, role: str) -> Ended | None:
        if ended is None:
            return None
        name, errors = output_files(load, host, role, output.planned.instance)
        return replace(ended, stdout=files.get(name, ""), stderr=files.get(errors, ""))

    return replace(
        output,
        client=full(output.client, case.client, "client"),
        server=full(output.server, case.server, "server"),
    )


def readbacks(files: Mapping[str, str], hosts: Sequence[str]) -> dict[str, ReadBack]:
    """Host → what it showed in the tail of the load, where it was asked. Raises ParseError."""
    return {
        host: replace(
            _decoded(ReadBack, files[name], "readback.json"), sockets=files.get(f"{host}/{SOCKETS}", "")
        )
        for host in hosts
        if (name := f"{host}/readback.json") in files
    }


def _decoded(kind: type[T], text: str, name: str) -> T:
    read = partial(read_json, text, f"{name} cannot be read", STORED)
    value = understood(lambda: decoded(kind, read()), name)
    if not isinstance(value, kind):
        raise ParseError(f"{name} cannot be read: it is not a {kind.__name__}")
    return value
