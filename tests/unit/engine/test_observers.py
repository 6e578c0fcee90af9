# SPDX-License-Identifier: Apache-2.0
"""Observers of a run: each hears its events, is entered and left with it, and cannot disturb it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import ClassVar

import pytest

from linewatt.core import feature as feature_module
from linewatt.core.feature import Feature, InstalledFeature
from linewatt.core.third_party import load
from linewatt.engine import events
from linewatt.engine.observers import CpuOf, Observers

PHASE = events.Phase("idle window")
WARNED = events.Warned("a host is late")


class Notes:
    """An observer that writes down what happens."""

    made: ClassVar[list[Notes]] = []

    def __init__(self, show: events.OnEvent, cpu_of: CpuOf) -> None:
        self.soak_ends: tuple[events.Placed, ...] = ()
        self.notes: list[object] = []
        self.made.append(self)

    def hear(self, event: events.Event) -> None:
        self.notes.append(event)

    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        self.notes.append(("begun", result, state, resumable))
        try:
            yield
        finally:
            self.notes.append("ended")


class Absent(Notes):
    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        raise OSError("no socket")
        yield


class Late(Notes):
    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        try:
            yield
        finally:
            raise OSError("disk full")


class Broken(Notes):
    def hear(self, event: events.Event) -> None:
        super().hear(event)
        raise ZeroDivisionError("division by zero")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Notes]]:
    """Observers of two features, of which the first is broken."""
    installed = tuple(
        InstalledFeature(Feature(name=name, summary="", run_observer=f"{__name__}:{observer}"), "x", "1")
        for name, observer in (("broken", "Broken"), ("notes", "Notes"), ("silent", ""))
        if observer
    )
    monkeypatch.setattr("linewatt.engine.observers.installed_features", lambda: installed)
    Notes.made.clear()
    yield Notes.made
    Notes.made.clear()


def test_each_observer_hears_all_events_and_one_that_raises_hears_no_more(made: list[Notes]) -> None:
    shown: list[events.Event] = []
    observers = Observers(shown.append, lambda ends: [])
    broken, notes = made
    observers.tell(PHASE)
    observers.tell(WARNED)
    assert (broken.notes, notes.notes) == ([PHASE], [PHASE, WARNED])
    message = "feature 'broken' hears no more of this run: ZeroDivisionError: division by zero"
    assert shown == [PHASE, events.Phase(message), WARNED]


def test_observers_are_entered_and_left_with_the_run_and_told_of_a_soak(made: list[Notes]) -> None:
    observers = Observers(lambda event: None, lambda ends: [])
    notes = made[1]
    ends = (events.Placed("h1", "sender", (0,), ()),)

    async def run() -> None:
        async with observers.during(Path("result"), Path("state"), resumable=False):
            observers.soak_runs(ends)
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(run())
    assert notes.notes == [("begun", Path("result"), Path("state"), False), "ended"]
    assert notes.soak_ends == ends


def test_a_run_begins_without_an_observer_that_cannot(
    made: list[Notes], monkeypatch: pytest.MonkeyPatch
) -> None:
    feature = Feature(name="absent", summary="", run_observer=f"{__name__}:Absent")
    installed = (InstalledFeature(feature, "x", "1"),)
    monkeypatch.setattr("linewatt.engine.observers.installed_features", lambda: installed)
    shown: list[events.Event] = []
    observers = Observers(shown.append, lambda ends: [])

    async def run() -> None:
        async with observers.during(Path("result"), Path("state"), resumable=False):
            observers.tell(PHASE)

    asyncio.run(run())
    assert shown == [events.Phase("feature 'absent' hears no more of this run: OSError: no socket"), PHASE]
    assert made[-1].notes == []


@pytest.mark.parametrize("fault", [None, ValueError("of the run")])
def test_an_observer_that_fails_at_its_end_is_shown_and_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, fault: ValueError | None
) -> None:
    feature = Feature(name="late", summary="", run_observer=f"{__name__}:Late")
    installed = (InstalledFeature(feature, "x", "1"),)
    monkeypatch.setattr("linewatt.engine.observers.installed_features", lambda: installed)
    shown: list[events.Event] = []
    observers = Observers(shown.append, lambda ends: [])

    async def run() -> None:
        async with observers.during(Path("result"), Path("state"), resumable=False):
            if fault is not None:
                raise fault

    with nullcontext() if fault is None else pytest.raises(ValueError, match="of the run"):
        asyncio.run(run())
    assert shown == [events.Phase("feature 'late' hears no more of this run: OSError: disk full")]


def test_serve_offers_each_run_to_watchers() -> None:
    (path,) = [
        item.feature.run_observer
        for item in feature_module.installed_features()
        if item.feature.run_observer and item.distribution == "linewatt"
    ]
    observer = load(path, "observer")(lambda event: None, lambda ends: [])
    assert type(observer).__name__ == "Broadcast"
