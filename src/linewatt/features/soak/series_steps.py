# SPDX-License-Identifier: Apache-2.0
"""Steps of series from cell to cell, added up batch by batch: arrays in, arrays kept. No I/O."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linewatt.features.soak.storage import Part
from linewatt.loads import SOAKING_LOADS
from linewatt.model import ChannelKind, Provenance
from linewatt.sensors import MAX_GAP_INTERVALS, SOFTNET_BITS, WRAP_PART

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

FROM_ZERO = ("users", "server", *SOAKING_LOADS)
"""sources whose totals begin at 0 with each part"""
SPARSE = ("server", *SOAKING_LOADS, "qdisc")
"""sources that may have nothing new to say for long: their silence is no gap"""

_PARTIAL = 0.1
"""of a cell: one that lacks more of its time to a gap has no rate"""
_NO_TRACK = ""
_NARROW = ("softnet.", "qdisc.")
"""channels of 32 bits"""
Again = Callable[[Sequence[int], Sequence[int]], Mapping[tuple[int, int], Sequence[tuple[float, float]]]]
"""(series, cells) → time and value of the readings of each (series, cell), in order of time"""


@dataclass(frozen=True, slots=True)
class SeriesInfo:
    """One channel of one source on one host over the whole soak: how many rows it has, how many of them have
    a reason in place of a reading, and one of these reasons."""

    number: int
    host: str
    source: str
    channel: str
    unit: str
    kind: ChannelKind
    scope: str
    provenance: Provenance
    rows: int
    missing: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """No reading of a source for longer than three of its intervals, Unix seconds."""

    host: str
    source: str
    start_s: float
    end_s: float


@dataclass(slots=True)
class Counted:
    """One series in one part, with the times of its first and last reading, Unix seconds.

    A counter has its ``increase`` in its unit, and how often it was reset: each cost what was counted in one
    step. A level, or a counter in J, has ``weighted`` / ``seconds`` as its mean over the time with readings,
    of which a step that went back is none: a counter of energy may wrap at a range that is not stored.
    ``least`` and ``greatest`` are of its readings.
    """

    first_s: float
    last_s: float
    increase: float = 0.0
    resets: int = 0
    weighted: float = 0.0
    seconds: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf


@dataclass(slots=True)
class Cells:
    """A track by cells, each an array with a value a cell.

    ``whole`` has counts where the reading is that shows them; ``spread`` the same by the time they took,
    without what was counted in a gap. Of levels (and counters in J) ``spread`` is Σ value × s and ``seconds``
    its Σ s. ``covered`` says how many of the track's sources (host and source) have readings there,
    ``expected`` how many have some there or later in the part: a client that never came back has none.
    """

    whole: Array
    spread: Array
    seconds: Array
    covered: Array
    expected: Array
    series: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """A row for each series and cell: places in the arrays of series, cells, readings by name, and the time
    since the reading before (NaN: there is none), what was counted since, and what within the cell, and the
    seconds of steps, gaps aside, that went back."""

    at: Array
    cell: Array
    readings: Mapping[str, Array]
    step_s: Array
    crossing: Array
    inside: Array
    hidden_s: Array


class Steps:
    """Adds up batches of cells, in order of time, part by part."""

    def __init__(
        self,
        grid: tuple[int, float, float],
        series: Sequence[SeriesInfo],
        tracks: Mapping[int, str],
        beats: Collection[int],
        usual_s: Mapping[tuple[str, str], float],
    ) -> None:
        import numpy as np

        self._np = np
        self._count, self._start_s, self._cell_s = grid
        self._series = {info.number: info for info in series}
        self._places = np.array([info.number for info in series], np.int64)
        self._usual_s = np.array([usual_s.get((info.host, info.source), grid[2]) for info in series])
        self._silence_s = MAX_GAP_INTERVALS * self._usual_s
        self._wraps = np.array([_wraps_at(info) for info in series])
        self._is_counter = np.array([info.kind == "counter" for info in series], bool)
        self._is_energy = np.array([info.kind == "counter" and info.unit == "J" for info in series], bool)
        self._has_span = np.array([info.kind == "mean" for info in series], bool)
        self._from_zero = np.array([info.source in FROM_ZERO for info in series], bool)
        self._names = list(dict.fromkeys([*tracks.values(), _NO_TRACK]))
        of_series = [tracks.get(info.number, _NO_TRACK) for info in series]
        self._track = np.array([self._names.index(name) for name in of_series], np.int64)
        sources = list(dict.fromkeys((info.host, info.source) for info in series))
        self._sources = sources
        self._source = np.array([sources.index((info.host, info.source)) for info in series], np.int64)
        self._pulse = np.array([info.number in beats for info in series], bool)
        self._is_sparse = np.array([info.source in SPARSE for info in series], bool)
        shape = (len(self._names), self._count)
        self._whole, self._spread, self._seconds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._covered = np.zeros((len(sources), self._count), np.int8)
        self._expected = np.zeros((len(sources), self._count), np.int8)
        self.totals: dict[tuple[int, int], Counted] = {}
        self.gaps: list[Gap] = []

    def begin(self, part: Part, holes: Sequence[tuple[float, float]] = (), *, has_start: bool = True) -> None:
        """Begin the next part; no series has a reading yet. ``holes`` are the times of missing chunks.

        Without ``has_start`` the first chunk is missing. The time before the first readings is then unknown,
        by which the other counters count, too.
        """
        np, count = self._np, len(self._places)
        self._part, self._holes, self._is_whole = part, holes, has_start
        self._first_s, self._last_s = np.full(count, np.nan), np.full(count, np.nan)
        self._last = np.full(count, np.nan)
        self._increase, self._resets = np.zeros(count), np.zeros(count, np.int64)
        self._weighted, self._time_s = np.zeros(count), np.zeros(count)
        self._least, self._greatest = np.full(count, np.inf), np.full(count, -np.inf)
        self._seen = np.zeros(count, bool)

    def add(self, table: Mapping[str, Any], again: Again) -> None:
        """A batch: columns of :data:`_COLUMNS` in order of ``number`` (of the series) and ``cell``."""
        if not table or not len(table["number"]):
            return
        np = self._np
        at = np.searchsorted(self._places, np.asarray(table["number"]))
        cell = np.minimum(np.asarray(table["cell"]), self._count - 1)
        readings = {name: np.asarray(table[name], float) for name in _COLUMNS}
        step_s, before = self._before(at, readings)
        crossing, inside, resets, hidden_s = self._counted(at, cell, readings, (step_s, before), again)
        batch = _Batch(at, cell, readings, step_s, crossing, inside, hidden_s)
        self._seen[at] = True
        np.fmin.at(self._first_s, at, readings["first_s"])
        np.fmin.at(self._least, at, readings["least"])
        np.fmax.at(self._greatest, at, readings["greatest"])
        np.add.at(self._resets, at, np.where(self._is_counter[at], resets, 0))
        self._put_counts(batch, self._find_gaps(batch))
        self._put_levels(batch)
        ends = np.append(np.flatnonzero(np.diff(at)), len(at) - 1)
        self._last_s[at[ends]], self._last[at[ends]] = readings["last_s"][ends], readings["last"][ends]

    def end(self, part: Part) -> None:
        """The part is over: keep what each of its series counted."""
        for place in self._np.flatnonzero(self._seen):
            self.totals[part.number, int(self._places[place])] = Counted(
                float(self._first_s[place]),
                float(self._last_s[place]),
                float(self._increase[place]),
                int(self._resets[place]),
                float(self._weighted[place]),
                float(self._time_s[place]),
                float(self._least[place]),
                float(self._greatest[place]),
            )
        self._cover(part)

    @property
    def tracks(self) -> dict[str, Cells]:
        """Each track by cells."""
        cells = {}
        for number, name in enumerate(self._names[:-1]):
            of_track = self._track == number
            sources = sorted(set(self._source[of_track].tolist()))
            cells[name] = Cells(
                self._whole[number],
                self._spread[number],
                self._seconds[number],
                self._covered[sources].sum(axis=0),
                self._expected[sources].sum(axis=0),
                int(of_track.sum()),
            )
        return cells

    def _before(self, at: Array, columns: Mapping[str, Array]) -> tuple[Array, Array]:
        """Time since the reading before each cell's first one, and that reading; NaN where there is none.

        Totals that begin at 0 with the part were 0 when it started.
        """
        np = self._np
        same = np.concatenate([[False], at[1:] == at[:-1]])
        last_s, last = np.roll(columns["last_s"], 1), np.roll(columns["last"], 1)
        last_s, last = np.where(same, last_s, self._last_s[at]), np.where(same, last, self._last[at])
        zero = np.isnan(last) & self._from_zero[at] & self._is_whole
        last_s, last = np.where(zero, self._part.started_s, last_s), np.where(zero, 0.0, last)
        return np.maximum(columns["first_s"] - last_s, 0.0), last

    def _find_gaps(self, batch: _Batch) -> list[Gap]:
        """Silences of sources, from the series of each that speaks most."""
        np, first_s = self._np, batch.readings["first_s"]
        silent = batch.step_s > self._silence_s[batch.at]
        for start_s, end_s in self._holes:
            silent |= (first_s > start_s) & (first_s - batch.step_s < end_s)
        long = self._pulse[batch.at] & ~self._is_sparse[batch.at] & silent
        gaps = []
        for row in np.flatnonzero(long):
            host, source = self._sources[self._source[batch.at[row]]]
            end_s = float(first_s[row])
            gaps.append(Gap(host, source, end_s - float(batch.step_s[row]), end_s))
        self.gaps += gaps
        return gaps

    def _counted(
        self,
        at: Array,
        cell: Array,
        columns: Mapping[str, Array],
        since: tuple[Array, Array],
        again: Again,
    ) -> tuple[Array, Array, Array, Array]:
        """What counters counted up to a cell's first reading, and from there to its last; resets, and the
        seconds of their steps. ``since`` has the time since the reading before, and that reading."""
        np, wraps = self._np, self._wraps[at]
        step_s, before = since
        crossing, reset = _increase(np, before, columns["first"], wraps)
        inside = columns["last"] - columns["first"]
        resets = reset.astype(np.int64)
        hidden_s = np.where(reset & (step_s <= self._silence_s[at]), step_s, 0.0)
        counts = self._is_counter[at]
        odd = (columns["least"] < columns["first"]) | (columns["greatest"] > columns["last"])
        rows = np.flatnonzero(odd & counts)
        if len(rows):
            readings = again(self._places[at[rows]].tolist(), cell[rows].tolist())
            for row in rows:
                times_s, values = np.array(readings[int(self._places[at[row]]), int(cell[row])]).T
                wrap = np.full(len(values) - 1, wraps[row])
                steps, was_reset = _increase(np, values[:-1], values[1:], wrap)
                inside[row], resets[row] = steps.sum(), resets[row] + was_reset.sum()
                hidden_s[row] += np.diff(times_s)[was_reset].sum()
        return crossing, inside, resets, hidden_s

    def _put_counts(self, batch: _Batch, gaps: Sequence[Gap]) -> None:
        np, is_counter = self._np, self._is_counter[batch.at]
        at, cell = batch.at[is_counter], batch.cell[is_counter]
        crossing, inside, step_s = (
            batch.crossing[is_counter],
            batch.inside[is_counter],
            batch.step_s[is_counter],
        )
        first_s, track = batch.readings["first_s"][is_counter], self._track[at]
        np.add.at(self._increase, at, crossing + inside)
        np.add.at(self._whole, (track, cell), crossing + inside)
        took_s = np.where(step_s > self._silence_s[at], self._usual_s[at], step_s)
        took_s = np.clip(np.nan_to_num(took_s), 1e-9, self._cell_s)
        earlier = np.clip((self._start_s + cell * self._cell_s - (first_s - took_s)) / took_s, 0.0, 1.0)
        crossing_in_rates = np.where(self._in_gap(at, first_s, step_s, gaps), 0.0, crossing)
        spread = ~self._is_energy[at]
        np.add.at(self._spread, (track, cell), (inside + crossing_in_rates * (1 - earlier)) * spread)
        np.add.at(self._spread, (track, np.maximum(cell - 1, 0)), crossing_in_rates * earlier * spread)

    def _in_gap(self, at: Array, first_s: Array, step_s: Array, gaps: Sequence[Gap]) -> Array:
        inside: Array = self._np.zeros(len(at), bool)
        source = self._source[at]
        for gap in gaps:
            of_source = source == self._sources.index((gap.host, gap.source))
            inside |= of_source & (first_s >= gap.end_s) & (first_s - step_s <= gap.start_s)
        return inside

    def _put_levels(self, batch: _Batch) -> None:
        """Σ value × s: readings without a span stand for the usual interval each; energy is as counted."""
        np = self._np
        is_level = self._is_energy[batch.at] | ~self._is_counter[batch.at]
        at, cell, energy = batch.at[is_level], batch.cell[is_level], self._is_energy[batch.at[is_level]]
        readings = {name: column[is_level] for name, column in batch.readings.items()}
        near = batch.step_s[is_level] <= self._silence_s[at]
        counted = batch.inside[is_level] + np.where(near, batch.crossing[is_level], 0.0)
        lasted_s = readings["last_s"] - readings["first_s"] + np.where(near, batch.step_s[is_level], 0.0)
        lasted_s -= batch.hidden_s[is_level]
        each_s = np.where(self._has_span[at], 1.0, self._usual_s[at])
        weighted = np.where(energy, counted, readings["weighted"] * each_s)
        seconds = np.where(energy, lasted_s, readings["seconds"] * each_s)
        np.add.at(self._weighted, at, weighted)
        np.add.at(self._time_s, at, seconds)
        np.add.at(self._spread, (self._track[at], cell), weighted)
        np.add.at(self._seconds, (self._track[at], cell), seconds)

    def _cover(self, part: Part) -> None:
        """Mark the cells in which each source has readings: until its last one, without gaps."""
        np, numbers = self._np, {source_key: number for number, source_key in enumerate(self._sources)}
        for place in np.flatnonzero(self._seen & self._pulse):
            last_s, source = float(self._last_s[place]), self._source[place]
            if self._is_sparse[place]:
                last_s = part.ended_s
            elif part.ended_s - last_s > self._silence_s[place]:
                host, name = self._sources[source]
                self.gaps.append(Gap(host, name, last_s, part.ended_s))
            first, end = self._cell(part.started_s), self._cell(last_s - 1e-6) + 1
            self._covered[source, first:end] = 1
            self._expected[source, first:end] = 1
            if not self._is_whole:
                self._uncover(source, part.started_s, float(self._first_s[place]))
        for gap in self.gaps:
            if gap.start_s >= part.started_s:
                self._uncover(numbers[gap.host, gap.source], gap.start_s, gap.end_s)
        for start_s, end_s in self._holes:
            self._uncover(slice(None), start_s, end_s)

    def _uncover(self, source: int | slice, start_s: float, end_s: float) -> None:
        """Nothing was read from then to then: cells that lack more than a little of their time have none."""
        lacks_s = _PARTIAL * self._cell_s
        first, end = self._cell(start_s + lacks_s), self._cell(end_s - lacks_s - 1e-6) + 1
        self._covered[source, first:end] = 0

    def _cell(self, time_s: float) -> int:
        return min(self._count - 1, max(0, int((time_s - self._start_s) // self._cell_s)))


_COLUMNS = ("first_s", "last_s", "first", "last", "least", "greatest", "weighted", "seconds")


def _increase(np: Any, before: Array, after: Array, wraps: Array) -> tuple[Array, Array]:
    """The increase from one reading to the next, 0 where it cannot be told, and whether it was a reset."""
    step = after - before
    wrapped = step + wraps
    is_wrap = (step < 0) & (wrapped >= 0) & (wrapped < wraps / WRAP_PART)
    is_reset = (step < 0) & ~is_wrap
    return np.where(is_wrap, wrapped, np.where(step >= 0, step, 0.0)), is_reset


def _wraps_at(info: SeriesInfo) -> float:
    """The value at which a counter wraps; infinity if it does not. Stored samples lack it."""
    return 2.0**SOFTNET_BITS if info.channel.startswith(_NARROW) else float("inf")


def pulses(series: Sequence[SeriesInfo]) -> frozenset[int]:
    """The series whose silence is its source's: one that is always stored, else the one with most rows.

    A host's sensor talks over the network, so some counter of netcounters moves with each of its records.
    """
    best: dict[tuple[str, str], SeriesInfo] = {}
    for info in series:
        fullest = best.get((info.host, info.source))
        if fullest is None or _fullness(info) > _fullness(fullest):
            best[info.host, info.source] = info
    return frozenset(info.number for info in best.values())


def _fullness(info: SeriesInfo) -> tuple[bool, int]:
    return info.kind != "counter", info.rows - info.missing
