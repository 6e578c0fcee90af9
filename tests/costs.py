# SPDX-License-Identifier: Apache-2.0
"""Where the time of a test run goes: CPU and wall seconds per test file and per fixture.

``LINEWATT_TEST_COSTS=DIR make test-all`` notes every test and fixture below DIR, and
``python -m tests.costs DIR`` prints the tables of docs/testing.md. CPU seconds are those of the whole process
tree: each worker runs in its own control group (v1), which also counts daemons. Without a control group, only
the worker and the children that it waited for are counted.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import cpu_weights

DIRECTORY = "LINEWATT_TEST_COSTS"
"""names the directory for notes; nothing is noted without it"""
CPUACCT = Path("/sys/fs/cgroup/cpuacct")
SHOWN = 40
"""rows of each table"""


def cpu_group(root: Path = CPUACCT) -> Path | None:
    """A control group (v1) that counts the CPU time of this process and its later children, or None."""
    group = root / f"linewatt-tests-{os.getpid()}"
    try:
        group.mkdir(exist_ok=True)
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        with suppress(OSError):
            group.rmdir()
        return None
    return group


class Recorder:
    """Notes CPU and wall seconds of each fixture's setup and each test, a JSON line each."""

    def __init__(self, directory: Path, group: Path | None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._group = group
        self._file = (directory / f"{os.getpid()}.jsonl").open("a", encoding="utf-8")
        self._in_fixtures_cpu_s = 0.0
        self._in_tests_cpu_s = 0.0
        self._began_cpu_s = self._cpu_s() - time.process_time()
        self._began_s = time.monotonic()

    def _cpu_s(self) -> float:
        if self._group is not None:
            return int((self._group / "cpuacct.usage").read_text()) / 1e9
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def _note(self, **values: Any) -> None:
        self._file.write(json.dumps(values) + "\n")
        self._file.flush()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """A fixture that asks for others while it is set up does not count theirs."""
        cpu_s, wall_s, inner_s = self._cpu_s(), time.monotonic(), self._in_fixtures_cpu_s
        try:
            return (yield)
        finally:
            spent_s = self._cpu_s() - cpu_s
            own_s = spent_s - (self._in_fixtures_cpu_s - inner_s)
            self._in_fixtures_cpu_s = inner_s + spent_s
            self._note(
                fixture=fixturedef.argname,
                file=fixturedef.baseid or "pytest",
                cpu_s=own_s,
                wall_s=time.monotonic() - wall_s,
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        cpu_s, wall_s = self._cpu_s(), time.monotonic()
        try:
            return (yield)
        finally:
            spent_s = self._cpu_s() - cpu_s
            self._in_tests_cpu_s += spent_s
            self._note(test=item.nodeid, cpu_s=spent_s, wall_s=time.monotonic() - wall_s)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """The rest is imports, collection and what ends with the session; then the control group goes."""
        rest_s = self._cpu_s() - self._began_cpu_s - self._in_tests_cpu_s
        self._note(session=os.getpid(), cpu_s=rest_s, wall_s=time.monotonic() - self._began_s)
        self._file.close()
        cpu_weights.remove_group(self._group)


@dataclass
class Spent:
    """What tests of a file, or setups of a fixture, took together."""

    times: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def add(self, note: dict[str, Any]) -> None:
        self.times += 1
        self.cpu_s += note["cpu_s"]
        self.wall_s += note["wall_s"]


def read_notes(directory: Path) -> list[dict[str, Any]]:
    """All notes of a run; a line that a killed worker left half written is left out."""
    notes = []
    for path in sorted(directory.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                notes.append(json.loads(line))
    return notes


def tables(notes: Iterable[dict[str, Any]], shown: int = SHOWN) -> str:
    """Markdown: the dearest folders, files and fixtures by CPU seconds."""
    folders: dict[str, Spent] = defaultdict(Spent)
    files: dict[str, Spent] = defaultdict(Spent)
    fixtures: dict[str, Spent] = defaultdict(Spent)
    for note in notes:
        if "test" in note:
            file = str(note["test"]).partition("::")[0]
            files[file].add(note)
            folders[str(Path(file).parent)].add(note)
        elif "session" in note:
            folders["start, collection and end of each worker"].add(note)
        else:
            fixtures[f"{note['fixture']} ({note['file']})"].add(note)
    parts = [("folder", "tests", folders), ("file", "tests", files), ("fixture", "setups", fixtures)]
    return "\n\n".join(_table(name, counted, spent, shown) for name, counted, spent in parts)


def _table(name: str, counted: str, spent: dict[str, Spent], shown: int) -> str:
    dearest = sorted(spent, key=lambda key: -spent[key].cpu_s)
    rows = [f"| {name} | {counted} | CPU s | wall s |", "| --- | --: | --: | --: |"]
    for key in dearest[:shown]:
        row = spent[key]
        rows.append(f"| `{key}` | {row.times:,} | {row.cpu_s:.1f} | {row.wall_s:.1f} |")
    if rest := dearest[shown:]:
        times, cpu_s, wall_s = (
            sum(getattr(spent[key], one) for key in rest) for one in ("times", "cpu_s", "wall_s")
        )
        rows.append(f"| {len(rest)} more | {times:,} | {cpu_s:.1f} | {wall_s:.1f} |")
    times, cpu_s, wall_s = (
        sum(getattr(row, one) for row in spent.values()) for one in ("times", "cpu_s", "wall_s")
    )
    rows.append(f"| all | {times:,} | {cpu_s:.1f} | {wall_s:.1f} |")
    return "\n".join(rows)


def record(config: pytest.Config) -> bool:
    """Note costs if :data:`DIRECTORY` is set; return whether it is. With xdist, each worker notes its own."""
    directory = os.environ.get(DIRECTORY)
    if directory and not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(Path(directory), cpu_group()), "linewatt-costs")
    return bool(directory)


if __name__ == "__main__":
    print(tables(read_notes(Path(sys.argv[1]))))  # noqa: T201
