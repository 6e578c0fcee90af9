# SPDX-License-Identifier: Apache-2.0
"""Results of a kind of one's own, each of which is one run, compared by the core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from linewatt.analysis.comparison.compare import Comparison, Finding, compare_sides, exit_finding
from linewatt.analysis.comparison.rows import Options
from linewatt.analysis.comparison.side import Obstacle, Quantity, Side, Task
from linewatt.analysis.comparison.single_runs import match_tasks
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.unit import Unit, significant_digits
from linewatt.declare import NUMBER, TEXT, Keys
from linewatt.errors import InvalidInput
from linewatt.model import Flag
from linewatt.records import Campaign
from linewatt.report.comparison.document import comparison_csv_rows, comparison_document
from linewatt.report.comparison.first_screen import first_screen_of_comparison
from linewatt.report.comparison.remarks import heading
from linewatt.report.comparison.tables import tables

MINUTES = Unit("min", lambda seconds: seconds / 60, significant_digits(3))
TIME = Response("copy_s", "Copy", "slower", "faster", False, group="latency", units=(MINUTES,))
LOST = Response("lost_count", "Lost files", "more", "fewer", False, False, "loss", units=(MINUTES,))


@dataclass(frozen=True)
class Backup:
    files: int
    hosts: tuple[str, ...] = ("h1",)
    test: str = "backup"

    @property
    def key(self) -> str:
        return f"files-{self.files}"

    @property
    def title(self) -> str:
        return f"backup of {self.files} files"

    @property
    def hosts_under_test(self) -> tuple[str, ...]:
        return self.hosts

    def pairs_with(self, other: Task) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.hosts, other.hosts, strict=True))

    def document(self) -> dict[str, Any]:
        return {"files": self.files}


class Backups:
    name = "backup"
    description = "a backup, one long copy"
    codes: tuple[str, ...] = ("files",)
    responses: tuple[Response, ...] = (LOST, TIME)
    followed: Mapping[str, Response] = {}

    def task_of(self, campaign: Campaign) -> Backup:
        return Backup(1)

    def obstacles(self, sides: tuple[Side, Side]) -> list[Obstacle]:
        counts = [side.single_runs[0].task.key for side in sides]
        return [] if counts[0] == counts[1] else [Obstacle("files", f"files: {' and '.join(counts)}")]

    def asked_otherwise(self, sides: tuple[Side, Side]) -> Iterator[tuple[str, str, str]]:
        yield "campaign.backup.compressor", "gzip", "zstd"

    def run_keys(self) -> Keys:
        return {"tape": TEXT}

    def task_keys(self) -> Keys:
        return {"files": NUMBER}


BACKUPS = Backups()


@dataclass(frozen=True)
class BackupRun:
    task: Backup
    quantities: Mapping[str, Quantity]
    flags: tuple[Flag, ...] = (Flag("process-moved", "h1", "seen on CPU 5", "pin it"),)
    kind: Backups = BACKUPS
    headline: str = "a backup, whole"

    def remarks(self, result: str) -> Iterator[str]:
        yield f"{result} was made at night"

    def document(self) -> dict[str, Any]:
        return {"tape": "A7"}


def side(name: str, times_s: Sequence[float], files: int = 9) -> Side:
    """A run each of so many seconds."""
    first, *others = (
        Side(
            name,
            f"{name}{number}",
            Campaign(written={}),
            {},
            {},
            single_run=BackupRun(Backup(files), {"copy_s": Quantity(time_s), "lost_count": Quantity(0.0)}),
        )
        for number, time_s in enumerate(times_s, start=1)
    )
    return Side(name, first.id, first.campaign, {}, {}, single_run=first.single_run, repeats=tuple(others))


def compared(base: Side, other: Side, options: Options | None = None) -> Comparison:
    options = options or Options()
    return compare_sides(base, other, match_tasks(base, other, options.allowed), options)


FAST, SLOW = (600.0, 606.0, 594.0, 603.0), (1200.0, 1212.0, 1188.0, 1206.0)


def test_runs_of_any_kind_have_verdicts_on_what_they_measure() -> None:
    found = compared(side("A", FAST), side("B", SLOW))
    assert [(row.response.name, row.outcome) for row in found.rows] == [
        ("lost_count", "same"),
        ("copy_s", "worse"),
    ]
    assert exit_finding(found, ("more-latency",)).exit_code == 3
    (table,) = tables(found)
    assert (table.name, table.title) == ("backups", "backup of 9 files")
    assert [line.case for line in table.lines] == ["Lost files, min", "Copy, min"]
    assert heading(found)[0].endswith(", a backup, whole [files-9]")
    assert "A, A2: A2 was made at night" in found.pairs[0].remarks
    assert [one.code for one in found.pairs[0].base_flags] == ["process-moved"]


def test_a_single_pair_has_no_verdict_and_is_told_what_to_do() -> None:
    found = compared(side("A", FAST[:1]), side("B", SLOW[:1]))
    assert {row.outcome for row in found.rows} == {"undecided"}
    assert (
        first_screen_of_comparison(found, Finding(0, ""))
        .caveats[-1]
        .startswith("One backup is one trial: name several")
    )


def test_documents_have_the_keys_of_the_kind() -> None:
    found = compared(side("A", FAST), side("B", SLOW))
    document = comparison_document(found, Finding(0, ""))
    assert [run["tape"] for run in document["base"]["backups"]] == ["A7"] * 4
    row = document["comparisons"][-1]
    assert (row["test"], row["files"], row["case_key"]) == ("backup", 9, "files-9")
    assert document["differences"][0]["fact"] == "campaign.backup.compressor"
    assert [row["factors"] for row in comparison_csv_rows(found)] == [None, None]


def test_what_the_kind_says_bars_a_verdict_and_may_be_allowed() -> None:
    other = side("B", SLOW, files=10)
    found = compared(side("A", FAST), other)
    assert {row.outcome for row in found.rows} == {"refused"}
    allowed = compared(side("A", FAST), other, Options(allowed=("files",)))
    assert allowed.rows[-1].outcome == "worse"
    assert "differs, and was allowed: files: files-9 and files-10 [files]" in allowed.pairs[0].remarks


def test_runs_of_one_side_are_alike() -> None:
    base = side("A", FAST[:1])
    mixed = Side("A", "A1", base.campaign, {}, {}, single_run=base.single_run, repeats=(side("A", FAST, 10),))
    with pytest.raises(InvalidInput, match=r"A1 and A1 are not runs of the same: files: .*\(--allow files\)"):
        match_tasks(mixed, side("B", SLOW), ())
