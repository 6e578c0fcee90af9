# SPDX-License-Identifier: Apache-2.0
"""Stored results: a directory of them, and one of them, read as far as it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt import store
from linewatt.api.samples import Samples
from linewatt.errors import InvalidInput, StoreError
from linewatt.report import FindingNote as Finding

if TYPE_CHECKING:
    from linewatt.api.cases import CaseResult
    from linewatt.model import Trial
    from linewatt.records import Manifest
    from linewatt.report.trials import Digest

__all__ = ["Finding", "Result", "Results", "open_results"]


def open_results(path: str | PathLike[str] = "results") -> Results:
    """The results below a directory. Raises InvalidInput where there is none."""
    root = Path(path)
    if not root.is_dir():
        raise InvalidInput(f"{root}: no such directory; name the one that results are stored in")
    return Results(root)


class Results:
    """The results below a directory, by id; nothing of them is read before it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Results({str(self.path)!r})"

    def __iter__(self) -> Iterator[Result]:
        """Oldest first. One that is damaged is among them, and says so when it is read (StoreError)."""
        return map(Result, store.result_dirs(self.path))

    def __len__(self) -> int:
        return len(store.result_dirs(self.path))

    def __getitem__(self, result_id: str) -> Result:
        """By id, the beginning of one, ``last`` or ``baseline:NAME``.

        Raises StoreError naming what there is where none or several match; InvalidInput for a path.
        """
        if result_id in ("", ".", "..") or "/" in result_id:
            raise InvalidInput(f"{result_id!r}: is not the id of a result; open_results takes a path")
        folder = self.path / result_id
        return Result(
            folder if (folder / "manifest.json").is_file() else store.find_result(self.path, result_id)
        )

    @property
    def last(self) -> Result:
        """The newest. Raises StoreError where there is none."""
        return self["last"]


class Result:
    """One stored result. Reading it raises StoreError that names the damaged file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Result({self.id!r})"

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def name(self) -> str | None:
        """Of its campaign."""
        return self._manifest.name

    @property
    def created(self) -> datetime | None:
        """When it began."""
        began_s = self._manifest.created_s
        return None if began_s is None else datetime.fromtimestamp(began_s, UTC)

    @property
    def imported_from(self) -> str | None:
        """The file whose figures these are; ``None`` where linewatt measured them."""
        return self._manifest.imported_from

    @property
    def caveats(self) -> tuple[str, ...]:
        """What keeps its figures from being those of hardware: hosts of a lab, emulation."""
        from linewatt.report.comparison import lab_words_of

        return tuple(lab_words_of(self._manifest.hosts))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of its hosts."""
        return tuple(self._manifest.hosts)

    @property
    def kind(self) -> str:
        """``trials`` has cases; a ``soak`` is one long load, ``published`` a table that was imported.

        Other packages may add kinds of their own.
        """
        from linewatt.report import result_kind

        kind = result_kind(self._manifest)
        return "trials" if kind is None else kind.name

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left for ``linewatt resume``."""
        return self._result.complete

    def cases(self) -> tuple[CaseResult, ...]:
        """Its cases, each with every metric. Raises InvalidInput for a soak or a published table."""
        from linewatt.api.cases import cases_of

        with store.reading_results(self.path):
            return cases_of(self._digest)

    def trials(self) -> tuple[Trial, ...]:
        """Its trials, failed ones too, as ``trial.json`` has them; with idle watts and corrections beside."""
        return self._result.trials

    def findings(self) -> tuple[Finding, ...]:
        """What makes figures doubtful, a finding a kind, the gravest first; of trials."""
        with store.reading_results(self.path):
            return self._digest.notes

    def samples(self, trials: int | Iterable[int] | None = None) -> Samples:
        """Readings of some trials, by number, or of all; of a soak all. Raises StoreError without any."""
        from linewatt.report import result_kind

        kind = result_kind(self._manifest)
        if kind is not None and trials is None:
            return self._samples(kind.sample_files(self._result))
        numbers = None if trials is None else {trials} if isinstance(trials, int) else set(trials)
        folders = [
            folder for folder in store.trial_dirs(self.path) if numbers is None or int(folder.name) in numbers
        ]
        return self._samples([folder / "samples.parquet" for folder in folders])

    def _samples(self, paths: Iterable[Path]) -> Samples:
        stored_paths = tuple(path for path in paths if path.is_file())
        if not stored_paths:
            raise StoreError(f"{self.id}: no samples of these trials are stored")
        return Samples(stored_paths)

    def document(self, *, trials: bool = False) -> dict[str, Any]:
        """The document of ``show --json``; ``trials``: with every trial."""
        from linewatt.report import document_of_result

        with store.reading_results(self.path):
            return document_of_result(self._result, trials=trials and self.kind == "trials")

    @cached_property
    def _manifest(self) -> Manifest:
        return store.load_manifest(self.path)

    @cached_property
    def _result(self) -> store.Result:
        with store.reading_results(self.path):
            return store.load_result(self.path)

    @cached_property
    def _digest(self) -> Digest:
        from linewatt.report.trials import digest_of

        if self.kind != "trials":
            raise InvalidInput(f"{self.id}: has no cases ({self.kind}); document() has all of it")
        return digest_of(self._result)
