# SPDX-License-Identifier: Apache-2.0
"""What a soak's chunks say over days, in the memory of one batch of them.

Series of one *track* (say, all bytes that clients received) are added up in *cells*, slices of time of one
length. DuckDB reduces each series to its first, last, least and greatest reading in every cell, which is a
hundredth of the rows and needs no sort; steps from cell to cell are taken from these:

- an unchanged reading of a counter is not stored, so an increase belongs to the last reading interval before
  the reading that shows it;
- a decrease is a wrap or a reset as in :mod:`linewatt.sensors.counters`; a reset's step counts nothing and is
  told of. One inside a cell shows, because the least reading is then not the first or the greatest not the
  last: such cells are read again, row by row;
- a silence of a source that is longer than three of its intervals is a gap: what was counted meanwhile is in
  totals and in no rate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from linewatt.errors import StoreError
from linewatt.features.soak.series_steps import SPARSE, Cells, Counted, Gap, SeriesInfo, Steps, pulses
from linewatt.features.soak.storage import Part
from linewatt.store import open_stored

MEMORY = "700MB"
BATCH_BYTES = 24 << 20
"""compressed; about four million rows"""
MOST_CELLS = 10_000
"""of 48 hours: 20 s each; with twice as many, reading takes a third longer"""
_SPAN_CHUNKS = 10
_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class Scan:
    """The whole soak: cell ``n`` is from ``start_s`` + n × ``cell_s`` on, Unix seconds; ``slowest_s`` is how
    often the source is read that is read least often.

    ``totals`` has (part number, series number) → what the series counted in the part.
    """

    start_s: float
    cell_s: float
    cells: int
    slowest_s: float
    tracks: dict[str, Cells]
    totals: dict[tuple[int, int], Counted]
    gaps: list[Gap]


@dataclass(frozen=True, slots=True)
class MissingChunks:
    """Chunks ``first`` to ``last`` of a part that are not there, and the time that no chunk has, Unix s.

    ``last`` is None where it is the end of the part, and how many chunks that was is not known. ``is_edge``:
    the part's first or last chunk is among them.
    """

    part: int
    first: int
    last: int | None
    start_s: float
    end_s: float
    is_edge: bool = False

    @property
    def numbers(self) -> str:
        """``chunk 4``, ``chunks 4 to 6``."""
        if self.last is None:
            return f"from chunk {self.first} to the end"
        is_single = self.first == self.last
        return f"chunk {self.first}" if is_single else f"chunks {self.first} to {self.last}"

    def is_of(self, numbers: Collection[int]) -> bool:
        """Whether all of these chunks are among some numbers."""
        return self.last is not None and all(number in numbers for number in range(self.first, self.last + 1))

    def holds(self, gap: Gap, slack_s: float) -> bool:
        """Whether a silence is that of these chunks."""
        return self.start_s - slack_s <= gap.start_s and gap.end_s <= self.end_s + slack_s


@cache
def _database() -> Any:
    """One database for the process: creating it takes longer than reading a short soak. It keeps no data."""
    import duckdb

    database = duckdb.connect(":memory:", config={"memory_limit": MEMORY})
    database.execute("SET threads = least(4, current_setting('threads'))")
    return database


class Chunks:
    """The chunks of a soak. ``damaged`` has those that cannot be read, and why; the others are read."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._database = _database().cursor()
        self.parts = tuple(parts)
        self.damaged: dict[Path, str] = {}
        for part in parts:
            for chunk in part.chunks:
                why = _not_whole(chunk.samples)
                if why:
                    self.damaged[chunk.samples] = why

    def __enter__(self) -> Chunks:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def files(self, part: Part) -> list[Path]:
        """Chunks of a part that can be read, in order."""
        return [chunk.samples for chunk in part.chunks if chunk.samples not in self.damaged]

    def series(self) -> list[SeriesInfo]:
        """Every series of the soak, in order of host, source and channel."""
        by_series: dict[tuple[str, str, str], SeriesInfo] = {}
        for part in self.parts:
            for batch in _batches(self.files(part)):
                for row in self._rows(_SERIES, batch):
                    info = SeriesInfo(0, *row)
                    key = (info.host, info.source, info.channel)
                    by_series[key] = _together(by_series[key], info) if key in by_series else info
        ordered = sorted(by_series.items())
        return [replace(info, number=number) for number, (_, info) in enumerate(ordered)]

    def scan(self, series: Sequence[SeriesInfo], tracks: Mapping[int, str], interval_s: float) -> Scan:
        """Add up the ``tracks`` (series number → name of its track) in cells of at least ``interval_s``.

        Raises StoreError when nothing of the soak can be read at all.
        """
        beats = pulses(series)
        chosen = [info for info in series if info.number in tracks or info.number in beats]
        start_s = min(part.started_s for part in self.parts)
        usual_s = self._usual_s()
        steady = ((info.host, info.source) for info in chosen if info.source not in SPARSE)
        slowest_s = max((usual_s.get(source, 0.0) for source in steady), default=0.0)
        span_s = max(part.ended_s for part in self.parts) - start_s
        cell_s = interval_s * max(1, -(-max(slowest_s * 0.99, span_s / MOST_CELLS) // interval_s))
        cells = int(span_s // cell_s) + 2
        steps = Steps((cells, start_s, cell_s), chosen, tracks, beats, usual_s)
        self._database.register("wanted", _numbered(chosen))
        select = _select(sorted({info.channel for info in chosen}))
        values = {"start": start_s, "cell": cell_s}
        for part in self.parts:
            steps.begin(part, self._holes(part), has_start=self._has_start(part))
            for batch in _batches(self.files(part)):
                table = self._read(select, batch, values, lambda done: done.fetchnumpy(), {})
                steps.add(table, partial(self._again, batch, values))
            steps.end(part)
        read_every_s = max(usual_s.values(), default=cell_s)
        return Scan(start_s, cell_s, cells, read_every_s, steps.tracks, steps.totals, steps.gaps)

    def missing(self, interval_s: float) -> list[MissingChunks]:
        """Chunks that were stored and are not there.

        At its end a part has every sensor speak once more, so that a last reading older than ``interval_s``
        before that is not the last.
        """
        return [run for part in self.parts for run in self._missing_of(part, interval_s)]

    def _missing_of(self, part: Part, interval_s: float) -> Iterator[MissingChunks]:
        samples_by_number = {chunk.number: chunk.samples for chunk in part.chunks}
        number = max(samples_by_number, default=0)
        for first, last, start_s, end_s in self._runs(part, part.missing):
            yield MissingChunks(part.number, first, last, start_s, end_s, first == 1 or last > number)
        is_end_known = number == max([number, *part.missing])
        if number and is_end_known and samples_by_number[number] not in self.damaged and part.why == "done":
            last_s = self._ends_s(samples_by_number[number], (part.started_s, part.ended_s))[1]
            if part.ended_s - last_s > interval_s:
                yield MissingChunks(part.number, number + 1, None, last_s, part.ended_s, is_edge=True)

    def _holes(self, part: Part) -> list[tuple[float, float]]:
        """Time of which chunks are missing or damaged."""
        cut = [chunk.number for chunk in part.chunks if chunk.samples in self.damaged]
        return [(start_s, end_s) for *_, start_s, end_s in self._runs(part, sorted([*part.missing, *cut]))]

    def _runs(self, part: Part, gone: Sequence[int]) -> Iterator[tuple[int, int, float, float]]:
        """First and last number of chunks on end, and the time between the readings around them."""
        samples_by_number = {chunk.number: chunk.samples for chunk in part.chunks}
        for first in (number for number in gone if number - 1 not in gone):
            last = next(number for number in range(first, first + len(gone)) if number + 1 not in gone)
            start_s = self._ends_s(samples_by_number.get(first - 1), (part.started_s, part.started_s))[1]
            end_s = self._ends_s(samples_by_number.get(last + 1), (part.ended_s, part.ended_s))[0]
            yield first, last, start_s, end_s

    def _ends_s(self, path: Path | None, otherwise: tuple[float, float]) -> tuple[float, float]:
        """Times of the first and the last reading in a chunk."""
        for first_s, last_s in self._rows(_SPAN_OF, [path] if path else []):
            if first_s is not None:
                return float(first_s), float(last_s)
        return otherwise

    def _has_start(self, part: Part) -> bool:
        first = next((chunk for chunk in part.chunks if chunk.samples not in self.damaged), None)
        return first is not None and first.number == 1

    def _usual_s(self) -> dict[tuple[str, str], float]:
        """How often a source is read, from the densest of its series in a few chunks without a gap."""
        interval_s: dict[tuple[str, str], float] = {}
        for part in self.parts:
            files = self._unbroken(part)
            middle = max(0, len(files) // 2 - _SPAN_CHUNKS // 2)
            for host, source, usual_s in self._rows(_USUAL, files[middle : middle + _SPAN_CHUNKS]):
                interval_s[host, source] = min(usual_s, interval_s.get((host, source), usual_s))
        return interval_s

    def _unbroken(self, part: Part) -> list[Path]:
        """The longest run of chunks of which none is missing or damaged."""
        runs: list[list[Path]] = [[]]
        after = 0
        for chunk in part.chunks:
            if chunk.samples in self.damaged:
                continue
            if chunk.number != after:
                runs.append([])
            runs[-1].append(chunk.samples)
            after = chunk.number + 1
        return max(runs, key=len)

    def _again(
        self, batch: Sequence[Path], values: Mapping[str, float], numbers: Sequence[int], cells: Sequence[int]
    ) -> dict[tuple[int, int], list[tuple[float, float]]]:
        """Every reading of some series in some cells."""
        import numpy as np

        asked_cells = {"number": np.asarray(numbers, np.int64), "cell": np.asarray(cells, np.int64)}
        self._database.register("asked", asked_cells)
        readings: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for number, cell, time_s, value in self._rows(_AGAIN, batch, values):
            readings.setdefault((number, cell), []).append((time_s, value))
        return readings

    def _rows(
        self, query: str, files: Sequence[Path], values: Mapping[str, float] | None = None
    ) -> list[tuple[Any, ...]]:
        fetched: list[tuple[Any, ...]] = self._read(query, files, values, lambda done: done.fetchall(), [])
        return fetched

    def _read(
        self,
        query: str,
        files: Sequence[Path],
        values: Mapping[str, float] | None,
        take: Callable[[Any], Any],
        nothing: Any,
    ) -> Any:
        """The query's result from all readable files; the others are recorded as damaged."""
        import duckdb

        readable = [path for path in files if path not in self.damaged]
        if not readable:
            return nothing
        parameters = {"files": [str(path) for path in readable], **(values or {})}
        try:
            return take(self._database.execute(query, parameters))
        except duckdb.Error as error:
            before = len(self.damaged)
            for path in readable:
                self._try(path)
            if len(self.damaged) == before:
                raise StoreError(
                    f"{readable[0].parent}: samples cannot be read: {str(error).splitlines()[0]}"
                ) from error
            return self._read(query, files, values, take, nothing)

    def _try(self, path: Path) -> None:
        import duckdb

        try:
            self._database.execute(_WHOLE, {"files": [str(path)]}).fetchall()
        except duckdb.Error as error:
            self.damaged[path] = str(error).splitlines()[0]


def _together(before: SeriesInfo, after: SeriesInfo) -> SeriesInfo:
    """One series in what was read before and after."""
    rows, missing = before.rows + after.rows, before.missing + after.missing
    return replace(after, rows=rows, missing=missing, reason=before.reason or after.reason)


def _numbered(chosen: Sequence[SeriesInfo]) -> dict[str, Any]:
    import numpy as np

    words = ("host", "source", "channel")
    columns = {name: np.array([getattr(info, name) for info in chosen], dtype=object) for name in words}
    return {"number": np.array([info.number for info in chosen], np.int64), **columns}


def _not_whole(path: Path) -> str | None:
    """What shows at once that a Parquet file is cut off; ``None`` where nothing does."""
    try:
        with open_stored(path) as file:
            head = file.read(4)
            size = file.seek(0, 2)
            file.seek(max(0, size - 4))
            tail = file.read(4)
    except OSError as error:
        return error.strerror or str(error)
    return None if size > 12 and head == tail == _MAGIC else f"no whole Parquet file ({size} bytes)"


def _batches(files: Sequence[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    size = 0
    for path in files:
        batch.append(path)
        size += path.stat().st_size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _select(channels: Sequence[str]) -> str:
    """First, last, least and greatest reading of each series by cells, and the mean of a level."""
    names = ", ".join("'" + name.replace("'", "''") + "'" for name in channels) or "''"
    return f"""
    SELECT number, cells.* EXCLUDE (host, source, channel) FROM (
        SELECT host, source, channel, {_CELL} AS cell,
            min(time_s) AS first_s, max(time_s) AS last_s,
            arg_min(value, time_s) AS first, arg_max(value, time_s) AS last,
            min(value) AS least, max(value) AS greatest,
            sum(value * {_SPAN}) AS weighted, sum({_SPAN}) AS seconds
        FROM read_parquet($files) WHERE value IS NOT NULL AND channel IN ({names}) GROUP BY ALL
    ) AS cells JOIN wanted USING (host, source, channel) ORDER BY number, cell
    """  # noqa: S608 - names of channels in quotes, the rest from here


_CELL = "CAST(greatest(0, ceil((time_s - $start) / $cell) - 1) AS BIGINT)"
"""a reading at the edge of two cells says what was counted in the first"""
_SPAN = "if(span_s > 0, span_s, 1.0)"
"""readings without a span all count alike"""
_SPAN_OF = "SELECT min(time_s), max(time_s) FROM read_parquet($files)"
_SERIES = """
SELECT host, source, channel, any_value(unit), any_value(kind), any_value(scope), any_value(provenance),
    count(*), count(reason), max(reason)
FROM read_parquet($files) GROUP BY host, source, channel
"""
_USUAL = """
SELECT host, source, min(usual_s) FROM (
    SELECT host, source, (max(time_s) - min(time_s)) / (count(*) - 1) AS usual_s
    FROM read_parquet($files) GROUP BY host, source, channel HAVING count(*) > 1
) WHERE usual_s > 0 GROUP BY ALL
"""
_AGAIN = f"""
SELECT number, cell, time_s, value FROM (
    SELECT number, {_CELL} AS cell, time_s, value
    FROM read_parquet($files) JOIN wanted USING (host, source, channel) WHERE value IS NOT NULL
) SEMI JOIN asked USING (number, cell) ORDER BY number, time_s
"""  # noqa: S608 - text from here only
_WHOLE = "SELECT bit_xor(hash(COLUMNS(*))) FROM read_parquet($files)"
"""reads every value; a count would only read what the file says of itself"""
