# SPDX-License-Identifier: Apache-2.0
"""A soak on disk: parts, and chunks of samples in them, each there whole or not at all; docs/soak.md.

A part is one run of the controller; after a restart the same soak goes on in the next one. A chunk is there
once its Parquet file is, which is renamed into place last: what else belongs to it is there by then. Its rows
are in order of host, source, channel and time, as :mod:`linewatt.features.soak.scan` needs them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from linewatt import durable, foreign
from linewatt.errors import DamagedFile, StoreError
from linewatt.features.users.worker.tally import Tally
from linewatt.records import SCHEMA_VERSION, Event, PartEnd, UsersTally
from linewatt.records import Part as PartBegin
from linewatt.store import (
    Origin,
    Series,
    list_sums,
    listed_files_gone,
    open_stored,
    parse_stored,
    read_as,
    read_channels,
    read_json,
    sha256_of_data,
    sha256_of_file,
    unstored_text,
    value_of_document,
    warm_up_samples,
    write_samples,
)

FOLDER = "soak"
_PART = re.compile(r"part-(\d{3,})")
_CHUNK = re.compile(r"chunk-(\d{6,})\.parquet")
_USERS = re.compile(r"users-(\d{6,})\.json")
SUMMED = 120
"""so many chunks on end have their users added up in a file of their own, ``users-sum-<last>.json``: reading
a histogram takes milliseconds, and days have thousands of chunks"""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Samples of a while; ``users`` and ``events`` are None where nothing of the kind happened. ``users_sum``
    is of this chunk and those before it, :data:`SUMMED` in all."""

    number: int
    samples: Path
    users: Path | None
    events: Path | None
    users_sum: Path | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One run of a soak, Unix seconds. ``why`` is None where the controller was killed: then ``ended_s`` is
    the time of the last sample, or of the start where there is none."""

    number: int
    path: Path
    started_s: float
    ended_s: float
    why: str | None
    chunks: tuple[Chunk, ...]
    gone: tuple[str, ...] = ()
    """names of files that were stored in it and are not there, as far as it is known"""

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of chunks that were stored and are not there: they count from 1 without a gap.

        Those after the last that is there are only known where the result lists what was stored; a part that
        came to its end has one.
        """
        present = {chunk.number for chunk in self.chunks}
        gone = {int(match[1]) for name in self.gone if (match := _CHUNK.fullmatch(name))}
        last = max(present | gone, default=1 if self.why == "done" else 0)
        return tuple(number for number in range(1, last + 1) if number not in present)


def is_done(result: Path) -> bool:
    """Whether all of the soak was run. Raises StoreError."""
    ends = sorted((result / FOLDER).glob("part-*/ended.json"))
    return bool(ends) and read_as(ends[-1], PartEnd).why == "done"


def chunk_files(result: Path) -> list[Path]:
    """Samples of all parts, in the order of time."""
    return sorted((result / FOLDER).glob("part-*/chunk-*.parquet"))


def stored_files(result: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """Its parts, then each chunk of samples, with what reads it; nothing of a result that is no soak."""
    if (result / FOLDER).is_dir():
        yield result / FOLDER, partial(parts, result)
        for chunk in chunk_files(result):
            yield chunk, partial(read_channels, chunk)


def new_part(result: Path, started_s: float) -> Path:
    """Make the directory of the next part of the soak. Raises StoreError, DiskFull."""
    number = max((number for number, _ in _numbered(result / FOLDER, _PART)), default=0) + 1
    path = result / FOLDER / f"part-{number:03d}"
    begin = PartBegin(schema_version=SCHEMA_VERSION, number=number, started_s=started_s)
    try:
        path.parent.mkdir(exist_ok=True)
        path.mkdir()
        durable.sync_folder(path.parent)
    except OSError as error:
        raise unstored_text(path, "the part", error) from error
    _write_whole(path / "part.json", begin.as_written())
    return path


def write_chunk(
    part: Path,
    number: int,
    series: Sequence[Series],
    users: Mapping[str, Any] | None = None,
    events: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Store a chunk: all of it is on disk when this returns, or nothing of it is there.

    ``users`` is what ``Tally.as_dict`` says of the time since the chunk before, ``events`` have time_s, kind,
    host and text. Raises StoreError; DiskFull when there is no room, and everything stored before stays.
    """
    names = {kind: _file_name(kind, number) for kind in ("users", "events", "chunk")}
    if (part / names["chunk"]).exists():
        raise StoreError(f"{part / names['chunk']}: is there already and results are never overwritten")
    writing = part / f".writing-{number:06d}"
    shutil.rmtree(writing, ignore_errors=True)
    placed: list[Path] = []
    try:
        writing.mkdir()
        if users is not None:
            durable.write_synced(writing / names["users"], _json(users))
        if events:
            durable.write_synced(writing / names["events"], b"".join(map(_json, events)))
        write_samples(writing / names["chunk"], _ordered(series), Origin(_result(part).name))
        written = [name for name in names.values() if (writing / name).exists()]
        digests = {_name(part / name): sha256_of_file(writing / name) for name in written}
        with list_sums(_result(part), digests):
            for name in written:
                (writing / name).rename(part / name)
                placed.append(part / name)
            durable.sync_folder(part)
    except OSError as error:
        for path in placed:
            with suppress(OSError):
                path.unlink()
        raise unstored_text(part, f"chunk {number}", error) from error
    finally:
        shutil.rmtree(writing, ignore_errors=True)
    if users is not None and number % SUMMED == 0:
        _sum_users(part, number)


def end_part(part: Path, ended_s: float, why: str) -> None:
    """Say that the part ended: ``done``, ``interrupted``, ``disk full`` or ``failed: …``.

    Raises StoreError; DiskFull when there is no room even for that.
    """
    _write_whole(part / "ended.json", PartEnd(ended_s=ended_s, why=why).as_written())


def parts(result: Path) -> list[Part]:
    """The parts of a soak in order. Raises StoreError naming the damaged file."""
    gone = [result / name for name in listed_files_gone(result)]
    return [
        _part(path, [file.name for file in gone if file.parent == path])
        for _, path in _numbered(result / FOLDER, _PART)
    ]


def parts_gone(result: Path) -> list[str]:
    """Names of parts that were stored and of which nothing is there."""
    names = dict.fromkeys(
        name.split("/")[1] for name in listed_files_gone(result) if name.startswith(f"{FOLDER}/")
    )
    return [name for name in names if not (result / FOLDER / name).is_dir()]


def events(part: Part, damaged: dict[Path, str]) -> Iterator[Event]:
    """What happened in a part, as it was written; files that cannot be read are put down as ``damaged``."""
    for path in (chunk.events for chunk in part.chunks if chunk.events):
        try:
            yield from [
                value_of_document(path, event, Event) for event in parse_stored(path, foreign.read_each_json)
            ]
        except StoreError as error:
            damaged[path] = _why(path, error)


def _why(path: Path, error: StoreError) -> str:
    """What is wrong with a file, without its name."""
    return error.what if isinstance(error, DamagedFile) else error.without(path)


def users(part: Part, damaged: dict[Path, str]) -> Iterator[tuple[Path, UsersTally]]:
    """What users did, as ``Tally.as_dict`` says it, for one chunk or many at a time; each chunk once.

    Files that cannot be read are put down as ``damaged``.
    """
    summed_chunks = summed(part)
    for chunk in part.chunks:
        path = chunk.users_sum or (None if chunk.number in summed_chunks else chunk.users)
        if path is None:
            continue
        try:
            document = read_as(path, UsersTally)
        except StoreError as error:
            damaged[path] = _why(path, error)
        else:
            yield path, document


def users_gone(part: Part) -> list[str]:
    """Names of files of what users did that were stored and are not there, and that no sum has."""
    summed_chunks = summed(part)
    return [
        name for name in part.gone if (match := _USERS.fullmatch(name)) and int(match[1]) not in summed_chunks
    ]


def summed(part: Part) -> set[int]:
    """Numbers of the chunks whose users are in a sum."""
    sums = [chunk for chunk in part.chunks if chunk.users_sum]
    return {number for chunk in sums for number in range(chunk.number - SUMMED + 1, chunk.number + 1)}


_ENDS = {"users": "json", "events": "jsonl", "chunk": "parquet", "users-sum": "json"}


def _file_name(kind: str, number: int) -> str:
    return f"{kind}-{number:06d}.{_ENDS[kind]}"


def _part(path: Path, gone: Sequence[str]) -> Part:
    begin = read_as(path / "part.json", PartBegin)
    chunks = tuple(_chunk(path, number) for number, _ in _numbered(path, _CHUNK))
    if (path / "ended.json").exists():
        end = read_as(path / "ended.json", PartEnd)
        ended_s, why = end.ended_s, end.why
    else:
        ended_s, why = _last_s(chunks, begin.started_s), None
    return Part(begin.number, path, begin.started_s, ended_s, why, chunks, tuple(gone))


def _chunk(part: Path, number: int) -> Chunk:
    def existing(kind: str) -> Path | None:
        path = part / _file_name(kind, number)
        return path if path.exists() else None

    samples = part / _file_name("chunk", number)
    return Chunk(number, samples, existing("users"), existing("events"), existing("users-sum"))


def _sum_users(part: Path, last: int) -> None:
    total = Tally()
    for number in range(last - SUMMED + 1, last + 1):
        path = part / _file_name("users", number)
        if path.exists():
            total.merge(Tally.from_dict(read_json(path)))
    _write_whole(part / _file_name("users-sum", last), total.as_dict())


def _last_s(chunks: Sequence[Chunk], started_s: float) -> float:
    """Time of the last sample that can be read."""
    import duckdb

    for chunk in reversed(chunks):
        with suppress(duckdb.Error, OSError):
            open_stored(chunk.samples).close()
            last = warm_up_samples().cursor().execute(_LAST, [str(chunk.samples)]).fetchone()
            if last and last[0] is not None:
                return float(last[0])
    return started_s


_LAST = "SELECT max(time_s) FROM read_parquet(?)"


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    """Entries of a folder that match, by the number in their names."""
    if not folder.is_dir():
        return []
    matches = ((pattern.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def _ordered(series: Sequence[Series]) -> list[Series]:
    """Samples in the order that readers need."""
    by_source: dict[tuple[str, str], Series] = {}
    for source_series in series:
        before = by_source.get((source_series.host, source_series.source))
        by_source[source_series.host, source_series.source] = (
            source_series if before is None else _joined(before, source_series)
        )
    return [
        replace(
            source_series,
            samples=sorted(source_series.samples, key=lambda sample: (sample.channel, sample.time_s)),
        )
        for _, source_series in sorted(by_source.items())
    ]


def _joined(first: Series, second: Series) -> Series:
    return replace(
        first,
        channels={**first.channels, **second.channels},
        samples=[*first.samples, *second.samples],
    )


def _write_whole(path: Path, document: Mapping[str, Any]) -> None:
    if path.exists():
        raise StoreError(f"{path}: is there already and results are never overwritten")
    data = _json(document)
    try:
        with list_sums(_result(path.parent), {_name(path): sha256_of_data(data)}):
            durable.write_whole(path, data)
    except OSError as error:
        raise unstored_text(path.parent, path.name, error) from error


def _result(part: Path) -> Path:
    return part.parent.parent


def _name(path: Path) -> str:
    """Of a file in a part, below its result."""
    return f"{FOLDER}/{path.parent.name}/{path.name}"


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode() + b"\n"
