# SPDX-License-Identifier: Apache-2.0
"""One SELECT over stored results: read-only and isolated, with limits on rows, time and memory.

A query can access only the views that it names. They are made in memory; the only readable files are the
sample files of the results. Source: "Securing DuckDB" in DuckDB's documentation.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from linewatt.errors import InvalidInput, LinewattError, StoreError
from linewatt.foreign import shortened
from linewatt.report.data import database
from linewatt.report.data.column import Cell
from linewatt.report.data.samples import FILE, sample_files, view_of
from linewatt.report.data.views import VIEWS, Rows, Source, View
from linewatt.store import Damaged, read_each

T = TypeVar("T")
_AGAIN_S = 0.1
"""between two interrupts: one that comes before the query begins has no effect"""


@dataclass(frozen=True, slots=True)
class Answer:
    """``cut``: there are more rows than the limit. ``left_out``: results that cannot be read.
    ``soaks``: the number of soaks without rows in the queried views."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    left_out: tuple[Damaged, ...] = ()
    soaks: int = 0


def run_query(
    near: Callable[[bool], Path],
    text: str,
    *,
    limit: int,
    timeout_s: float,
    tell: Callable[[int, int], None] | None = None,
) -> Answer:
    """The first ``limit`` rows of a query. ``near`` returns the directory of results. It is called when the
    text is known to be one SELECT, with whether it needs samples. ``tell`` gets the progress: results read
    and results in total.

    Raises InvalidInput for a wrong query or anything but one SELECT, LinewattError for too much time or
    memory, StoreError for samples that cannot be read.
    """
    import duckdb

    named_views = _views_of(text)
    root = near(any(view.make is None for view in named_views))
    results_read = _read_results(root, named_views, tell) if named_views else _NOTHING
    views = named_views or list(VIEWS.values())
    connection = database.opened()
    try:
        query = _one_select(connection, text)
        _make(connection, results_read, views)
        # a SELECT may still write, WITH x AS (INSERT …), and is refused then
        connection.execute("BEGIN TRANSACTION READ ONLY")
        described, rows = _within(timeout_s, connection, lambda: _rows(connection, query, limit + 1))
    except TimeoutError:
        raise LinewattError(
            f"sql: took longer than {timeout_s:g} s; ask for less, or give it more time with --timeout"
        ) from None
    except duckdb.OutOfMemoryException:
        raise LinewattError(
            f"sql: needs more than {database.MEMORY} of memory; ask for fewer results, rows or columns"
        ) from None
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException | duckdb.InvalidInputException) and FILE in str(error):
            raise StoreError(f"sql: damaged samples: {_said(error)}; exclude that result") from None
        raise InvalidInput(f"sql: {_said(error)}") from None
    finally:
        connection.close()
    return Answer(
        _distinct([column[0] for column in described]),
        tuple(str(column[1]) for column in described),
        tuple(rows[:limit]),
        len(rows) > limit,
        results_read.damaged,
        0 if all(view.of_soaks for view in named_views) else results_read.kinds.count("soak"),
    )


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Column names without duplicates: ``a``, ``a_1``."""
    distinct_names: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in itertools.count(1))
        distinct_names[
            next(
                candidate
                for candidate in itertools.chain([name], numbered)
                if candidate not in distinct_names
            )
        ] = None
    return tuple(distinct_names)


def _views_of(text: str) -> list[View]:
    """The views whose rows the query needs. Raises InvalidInput."""
    import duckdb

    connection = database.opened()
    try:
        return _views_named_in(_one_select(connection, text).query)
    except duckdb.Error as error:
        raise InvalidInput(f"sql: {_said(error)}") from None
    finally:
        connection.close()


def _one_select(connection: Any, text: str) -> Any:
    """The statement. Raises InvalidInput for anything but one SELECT."""
    import duckdb

    try:
        text.encode()
    except UnicodeError:
        raise InvalidInput("sql: the query is not valid UTF-8") from None
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise InvalidInput(f"sql: takes one SELECT, not {len(statements) or 'no'} statements")
    kind = statements[0].type
    if kind != duckdb.StatementType.SELECT:
        raise InvalidInput(f"sql: read-only: takes a SELECT, not {kind.name.replace('_', ' ')}")
    return statements[0]


def _views_named_in(query: str) -> list[View]:
    """The views whose names occur in the query. Other views are not created, so that a query cannot mistake
    them for empty ones. If none occurs, as in one that lists tables, all are created, without rows.

    All views may be read by ``query_table`` and ``query``, which compute the name of a table.
    """
    words = set(re.findall(r"[a-z]+", query.lower()))
    named = [view for name, view in VIEWS.items() if name in words]
    return list(VIEWS.values()) if not named and "query" in words else named


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read: the results, their kinds, and the rows of each queried view."""

    paths: tuple[Path, ...]
    kinds: tuple[str, ...]
    rows: Mapping[str, Sequence[Sequence[Cell]]]
    damaged: tuple[Damaged, ...]


_NOTHING = _Read((), (), {view.name: () for view in VIEWS.values()}, ())
"""for a query that asks for no row of a view"""


def _read_results(root: Path, views: Sequence[View], tell: Callable[[int, int], None] | None) -> _Read:
    """Call this before a database is open: it has threads, and helper processes must start without any."""
    results, damaged = read_each(root, lambda path: _read(path, views), tell)
    rows: dict[str, list[Sequence[Cell]]] = {view.name: [] for view in views}
    for _, tables in results:
        for view, (_, rows_of_result) in zip(views, tables, strict=True):
            rows[view.name] += rows_of_result
    kinds = tuple(tables[0][0] for _, tables in results)
    return _Read(tuple(path for path, _ in results), kinds, rows, tuple(damaged))


def _make(connection: Any, results_read: _Read, views: Sequence[View]) -> None:
    """Create these views and make everything else inaccessible."""
    for view in views:
        if view.make is not None:
            database.make_table(connection, view.name, view.columns, results_read.rows[view.name])
    samples = next((view for view in views if view.make is None), None)
    files = [] if samples is None else sample_files(results_read.paths)
    database.close_in(connection, files)
    if samples is not None:
        view_of(connection, samples, files)


def _read(path: Path, views: Sequence[View]) -> tuple[Path, list[tuple[str, Rows]]]:
    """For each view the kind of a result, and its rows; a result that cannot be read has none in any view."""
    source = Source(path)
    return path, [view.kept(source) for view in views]


def _rows(connection: Any, query: Any, limit: int) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """The columns, and the first rows; no more rows are fetched."""
    cursor = connection.execute(query)
    return cursor.description, cursor.fetchmany(limit)


def _within(timeout_s: float, connection: Any, work: Callable[[], T]) -> T:
    """The result of ``work``, which runs in a thread, because a signal would wait until it ends.

    Raises TimeoutError when it takes too long. If the wait ends early, the query is interrupted.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised again in the caller
            done.set_exception(error)

    running = threading.Thread(target=run, daemon=True)
    try:
        running.start()
        return done.result(timeout_s)
    finally:
        while running.is_alive():
            connection.interrupt()
            running.join(_AGAIN_S)


def _said(error: Exception) -> str:
    """DuckDB's error message in one line, without its class and the excerpt of the query."""
    text = re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", str(error).partition("\nLINE ")[0])
    if missing := re.match(r"Table with name (\S+) does not exist", text):
        return f"there is no view {missing[1]}; there are {', '.join(VIEWS)}"
    return shortened(" ".join(text.split()))
