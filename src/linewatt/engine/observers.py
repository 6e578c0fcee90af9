# SPDX-License-Identifier: Apache-2.0
"""Whoever watches a run: features' observers hear its events, and never disturb it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol

from linewatt.core.feature import installed_features
from linewatt.core.third_party import load
from linewatt.engine import events
from linewatt.engine.live.current_readings import CpuNow

CpuOf = Callable[[Iterable[events.Placed]], Sequence[CpuNow]]
"""what CPUs of running ends do now"""


class RunObserver(Protocol):
    """What a feature's ``run_observer`` makes, called with where messages go and a :data:`CpuOf`."""

    soak_ends: tuple[events.Placed, ...]
    """hosts of a load that is no trial, once it runs"""

    def hear(self, event: events.Event) -> None:
        """An event of the run; must return at once."""

    def during(self, result: Path, state: Path, *, resumable: bool) -> AbstractAsyncContextManager[None]:
        """Around the part of the run that has a result.

        ``resumable``: it can be continued if it is cut off.
        """


class Observers:
    """Passes events on to ``show``, then to each observer. One that raises hears no more of the run."""

    def __init__(self, show: events.OnEvent, cpu_of: CpuOf) -> None:
        self._show = show
        self._observers: dict[str, RunObserver] = {
            item.feature.name: load(item.feature.run_observer, f"feature {item.feature.name!r}")(show, cpu_of)
            for item in installed_features()
            if item.feature.run_observer
        }

    def tell(self, event: events.Event) -> None:
        """Tell everybody of an event."""
        self._show(event)
        for name, observer in tuple(self._observers.items()):
            try:
                observer.hear(event)
            except Exception as error:  # noqa: BLE001 - a watcher's fault is not the run's
                self._drop(name, error)

    def _drop(self, name: str, error: Exception) -> None:
        self._observers.pop(name, None)
        reason = f"{type(error).__name__}: {error}"
        self._show(events.Phase(f"feature {name!r} hears no more of this run: {reason}"))

    def soak_runs(self, ends: tuple[events.Placed, ...]) -> None:
        """A load that is no trial runs on these ends from now on."""
        for observer in self._observers.values():
            observer.soak_ends = ends

    @asynccontextmanager
    async def during(self, result: Path, state: Path, *, resumable: bool) -> AsyncIterator[None]:
        """Around the part of the run that has a result."""
        async with AsyncExitStack() as stack:
            for name, observer in tuple(self._observers.items()):
                context = observer.during(result, state, resumable=resumable)
                try:
                    await context.__aenter__()
                except Exception as error:  # noqa: BLE001 - a watcher's fault is not the run's
                    self._drop(name, error)
                else:
                    stack.push_async_exit(partial(self._leave, name, context))
            yield

    async def _leave(
        self,
        name: str,
        context: AbstractAsyncContextManager[None],
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let an observer end, whatever ended the run; its own fault is shown, and ends nothing."""
        try:
            await context.__aexit__(kind, error, trace)
        except Exception as fault:  # noqa: BLE001 - a watcher's fault is not the run's
            if fault is not error:
                self._drop(name, fault)
