# SPDX-License-Identifier: Apache-2.0
"""Results on a store that speaks S3: what is read of them is copied into the user's cache.

Documents are copied, not what tools wrote, and samples only where they are asked for. What is there as it
was (size and entity tag) is not fetched again; every file is held against the checksums that its result
lists, and a result with one that differs is not there. Who may read is for the library to find out
(``AWS_…`` variables, a machine's role): no key enters here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.errors import InvalidInput, LinewattError, StoreError
from linewatt.foreign import MIB, shortened
from linewatt.store import sums
from linewatt.store.cache import cache_folder
from linewatt.store.each_result import Damaged

SCHEME = "s3:/"
"""how the path begins that Python makes of ``s3://bucket/prefix``"""
FOLDER = "linewatt-remote"
MOST_BYTES = 1 << 30
"""that are fetched in one go: days of samples are for a copy that somebody makes on purpose"""
AT_ONCE = 8
RETRIES = 2
"""of a request; the library gives each of them at most 30 s"""
_STATE = ".objects.json"
_SAMPLES = "samples.parquet"
_RAW = "raw"


@dataclass(frozen=True, slots=True)
class Mirror:
    """``root`` holds the results that could be read; the others are ``damaged``."""

    root: Path
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class _Object:
    name: str
    """``ID/FILE``"""
    size: int
    tag: str | None


def mirrored(results: Path, *, samples: bool = False) -> Mirror:
    """Have what is read of the results of a store in the cache; with ``samples`` these, too.

    Raises InvalidInput where the library is missing or more than MOST_BYTES would be fetched, StoreError
    where the store does not answer.
    """
    url = _url(results)
    store, root = _opened(url), _root(url)
    with _answered(url):
        objects_by_result = _by_result(_listed(store))
    odd = {
        name: stored_object.name
        for name, objects in objects_by_result.items()
        for stored_object in objects
        if not sums.is_name(stored_object.name)
    }
    by_result = {name: objects for name, objects in objects_by_result.items() if name not in odd}
    state = _state(root)
    _forget(root, state, by_result)
    missing = [
        stored_object
        for objects in by_result.values()
        for stored_object in objects
        if _is_read(stored_object.name, samples=samples) and not _is_there(stored_object, root, state)
    ]
    _refuse_too_much(url, missing)
    try:
        with _answered(url):
            _fetch(store, root, missing)
        state |= {stored_object.name: [stored_object.size, stored_object.tag] for stored_object in missing}
        damaged = [*_untrue(root, state, missing, samples=samples)]
    finally:
        _write(root / _STATE, json.dumps(state).encode())
    damaged += [
        Damaged(name, root / name, f"{stored_object!r:.80} is not a name of a file")
        for name, stored_object in odd.items()
    ]
    return Mirror(root, tuple(damaged))


def _url(results: Path) -> str:
    """Raises InvalidInput for one with a user or a key in it, which it does not repeat."""
    bucket_path = str(results)[len(SCHEME) :]
    if "@" in bucket_path.partition("/")[0]:
        raise InvalidInput("--results s3://…: names a user or a key; give them in the environment (AWS_…)")
    return f"s3://{bucket_path}"


def _refuse_too_much(url: str, missing: Iterable[_Object]) -> None:
    """Raise InvalidInput where more than MOST_BYTES would be fetched."""
    size = sum(stored_object.size for stored_object in missing)
    if size > MOST_BYTES:
        raise InvalidInput(
            f"{url}: {size / MIB:,.0f} MiB would be fetched, and at most {MOST_BYTES / MIB:,.0f} MiB are: "
            "copy the results that you need into a directory"
        )


def _opened(url: str) -> Any:
    try:
        from obstore.store import from_url
    except ImportError:
        raise InvalidInput(f"{url}: reading it needs obstore: install linewatt[remote]") from None
    with _answered(url):  # options of its client would take the place of what the environment says
        return from_url(url, retry_config={"max_retries": RETRIES})


@contextmanager
def _answered(url: str) -> Iterator[None]:
    """Around requests to a store: turns any exception of the library into a StoreError of one line."""
    try:
        yield
    except LinewattError:
        raise
    except Exception as error:  # of many kinds, some of Python's own
        reason = shortened(str(error).partition("\n")[0])
        raise StoreError(f"{url}: the store does not give it: {reason}") from error


def _listed(store: Any) -> Iterator[_Object]:
    import obstore

    for chunk in obstore.list(store):
        for entry in chunk:
            yield _Object(str(entry["path"]), int(entry["size"]), entry.get("e_tag"))


def _by_result(objects: Iterable[_Object]) -> dict[str, list[_Object]]:
    """Objects by the id of their result; objects outside results are left out."""
    by_result: dict[str, list[_Object]] = {}
    for stored_object in objects:
        name, _, file_name = stored_object.name.partition("/")
        if file_name and not name.startswith("."):
            by_result.setdefault(name, []).append(stored_object)
    marks = ("manifest.json", sums.SUMS_FILE)
    return {
        name: members
        for name, members in by_result.items()
        if any(stored_object.name == f"{name}/{mark}" for stored_object in members for mark in marks)
    }


def _is_read(name: str, *, samples: bool) -> bool:
    """Whether ``ID/FILE`` is a document, or samples that are asked for."""
    file = name.partition("/")[2]
    if file.startswith("trials/") and file.endswith(f"/{_SAMPLES}"):
        return samples
    return f"/{_RAW}/" not in f"/{file}" and not file.endswith(f"{_RAW}.tar.gz")


def _root(url: str) -> Path:
    folder = cache_folder()
    if folder is None:
        raise InvalidInput(f"{url}: there is no home for a cache; XDG_CACHE_HOME names one")
    root = folder.with_name(FOLDER) / hashlib.sha256(url.encode()).hexdigest()[:32]
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{root}: cannot be made: {error.strerror}") from error
    return root


def _state(root: Path) -> dict[str, list[Any]]:
    """Name → size and entity tag of what was fetched."""
    try:
        state = json.loads((root / _STATE).read_bytes())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _is_there(stored_object: _Object, root: Path, state: Mapping[str, list[Any]]) -> bool:
    return (
        state.get(stored_object.name) == [stored_object.size, stored_object.tag]
        and (root / stored_object.name).is_file()
    )


def _forget(root: Path, state: dict[str, list[Any]], by_result: Mapping[str, Iterable[_Object]]) -> None:
    """Remove copies of objects that the store no longer has."""
    present = {stored_object.name for objects in by_result.values() for stored_object in objects}
    for name in [key for key in state if key not in present]:
        del state[name]
        with suppress(OSError):
            (root / name).unlink()
    for folder in root.iterdir():
        if folder.is_dir() and folder.name not in by_result:
            shutil.rmtree(folder, ignore_errors=True)


def _fetch(store: Any, root: Path, objects: Iterable[_Object]) -> None:
    """Raises what the library does; StoreError."""
    import obstore

    def fetch(stored_object: _Object) -> None:
        data = bytes(obstore.get(store, stored_object.name).bytes())
        _write(root / stored_object.name, data)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(fetch, objects):
            pass


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all; it need not outlive a power cut. Raises StoreError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}") from error


def _untrue(
    root: Path, state: dict[str, list[Any]], fetched: Iterable[_Object], *, samples: bool
) -> Iterator[Damaged]:
    """Results with a file that does not match its checksum; they are removed from the mirror."""
    for name in dict.fromkeys(stored_object.name.partition("/")[0] for stored_object in fetched):
        why = _why_untrue(root / name, samples=samples)
        if why is not None:
            shutil.rmtree(root / name, ignore_errors=True)
            for key in [fetched_name for fetched_name in state if fetched_name.startswith(f"{name}/")]:
                del state[key]
            yield Damaged(name, root / name, why)


def _why_untrue(result: Path, *, samples: bool) -> str | None:
    """Why the fetched files of a result differ from the stored ones; None also without checksums."""
    for problem in sums.problems(result) if sums.has_list(result) else ():
        is_read = _is_read(f"{result.name}/{problem.name}", samples=samples)
        if problem.kind == "damaged" or (problem.kind == "missing" and is_read):
            return f"{problem.name} {problem.why}"
    return None
