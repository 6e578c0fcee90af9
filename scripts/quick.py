# SPDX-License-Identifier: Apache-2.0
"""Checks a change in less than a minute: format, style, import layers, types, and the nearest tests.

    python -m scripts.quick [--since COMMIT]

Run it in the top directory; ``make quick`` does. The change is all files that differ from COMMIT (default:
HEAD), with untracked files. Without any, it is the last commit.

The import graph of src and tests tells which unit tests a changed module affects. They run in the order of
their distance to the change, until the time is used up. The last line says how many ran and how many did not.
``make test`` runs more tests, ``make test-all`` all of them.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest
from scripts.front_doors import Doors, read_doors

LAST_START_S = 40.0
"""seconds after the start of the script; later, no test starts"""
TESTS_END_S = 48.0
"""tests that still run are interrupted; xdist gives its workers up to 10 s to end"""
CHECKS_END_S = 55.0
"""a check that still runs is stopped; mypy without its cache takes longer than that"""

Importers = dict[str, set[str]]
"""module → modules that import it; a changed data file is a key, too: path → modules that name it"""
PACKAGES = ("linewatt", "tests", "scripts", "bench")
RUN_HERE = ("tests.unit.", "tests.fuzz.")
"""test modules that need nothing but Python; all others need a lab, guests or a browser"""
TIER = "not measures and not full and not thorough"
"""the tests of `make test`"""
MOST_FILES = 40
"""test files of a run; each worker collects all of them first, which takes 0.1 s a file"""
IMPORTED_BY_NAME = {
    "linewatt.cli.entry_point": "linewatt.cli.commands.",
    "linewatt.core.feature": "linewatt.features.",
    "linewatt.features.users.prepare_parcel": "linewatt.features.users.worker.",
    "linewatt.sensors.registry": "linewatt.sensors.",
    "linewatt.tuning.registry": "linewatt.tuning.",
}
"""module → prefix of modules that it uses by name: with import_module, or packed for other hosts"""
TYPED = ("src/", "tests/", "bench/", "scripts/", "examples/", "docs/conf.py")
CAPTURES = PurePosixPath("tests/captures")
PROGRAMS = Path(sys.executable).parent


def type_check(files: Collection[str]) -> list[str]:
    """The command that checks the types of some files."""
    return [str(PROGRAMS / "mypy"), *files]


# --- The change ---------------------------------------------------------------------------------------


def git(*words: str) -> list[str]:
    """What git lists; the command must end each item with a null byte."""
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"quick: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.split("\0")[:-1]


def changed_files(since: str | None) -> tuple[list[str], str]:
    """Paths of changed files, and the commit that they are compared with."""
    differ = ("diff", "--name-only", "--no-renames", "--relative", "-z")
    untracked = git("ls-files", "--others", "--exclude-standard", "-z")
    against = since or "HEAD"
    files = git(*differ, against, "--") + untracked
    if not files and since is None:
        against = "HEAD~1"
        files = git(*differ, against, "--")
    return sorted(files), against


def leave_repository_of_hook() -> None:
    """Unset GIT_DIR and others: a git hook has them, and tests make repositories of their own."""
    done = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )
    for name in done.stdout.split():
        os.environ.pop(name, None)


# --- The tests that a change affects ------------------------------------------------------------------


def module_of(path: str) -> str | None:
    """``linewatt.units`` for ``src/linewatt/units.py``; None for a file that is no module of ours."""
    if not path.endswith((".py", ".pyi")) or CAPTURES in PurePosixPath(path).parents:
        return None
    parts = re.sub(r"(/__init__)?\.pyi?$", "", path.removeprefix("src/")).split("/")
    return ".".join(parts) if parts[0] in PACKAGES else None


def path_of(test: str) -> str:
    return test.replace(".", "/") + ".py"


def import_graph(root: Path) -> Importers:
    """Which modules import each module, also through front doors. Raises SyntaxError."""
    import grimp

    places = {name: root / "src" / name if name == "linewatt" else root / name for name in PACKAGES}
    packages = [name for name, place in places.items() if place.is_dir()]
    try:
        graph = grimp.build_graph(*packages, cache_dir=str(root / ".grimp_cache"))
    except grimp.exceptions.SourceSyntaxError as error:
        raise SyntaxError(str(error)) from error
    importers = {module: set(graph.find_modules_that_directly_import(module)) for module in graph.modules}
    add_front_doors(importers, read_sources(root), read_doors(root / "src"))
    return importers


def add_front_doors(importers: Importers, sources: Mapping[str, str], doors: Doors) -> None:
    """Whoever imports a name from a front door imports the module that has it."""
    imports = re.compile(r"^ *from (linewatt[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
    for importer, text in sources.items():
        for package, names in imports.findall(text):
            for name in re.findall(r"\w+", names) if package in doors else ():
                if module := doors[package].get(name):
                    importers.setdefault(module, set()).add(importer)


def read_sources(root: Path) -> dict[str, str]:
    """The text of each module in src and tests."""
    paths = [*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py")]
    named = ((module_of(path.relative_to(root).as_posix()), path) for path in sorted(paths))
    return {module: path.read_text(encoding="utf-8") for module, path in named if module}


def add_imports_by_name(importers: Importers) -> None:
    for importer, prefix in IMPORTED_BY_NAME.items():
        for module, by in importers.items():
            if module.startswith(prefix) and module != importer:
                by.add(importer)


def add_fixtures(importers: Importers, sources: Mapping[str, str]) -> None:
    """pytest imports conftest.py for all tests beside and below it; count the tests that use its fixtures.

    All of them, if the file has hooks. A fixture is used where a parameter has its name and a type.
    """
    for conftest in [module for module in sources if module.endswith(".conftest")]:
        has_hooks = "def pytest_" in sources[conftest]
        fixtures = re.findall(r"^@pytest\.fixture.*\n(?:async )?def (\w+)", sources[conftest], re.MULTILINE)
        parameter = re.compile(rf"[(,\s](?:{'|'.join(fixtures)}): ") if fixtures else re.compile(r"(?!)")
        below = conftest.removesuffix("conftest")
        for module, text in sources.items():
            if module.startswith(below) and module != conftest and (has_hooks or parameter.search(text)):
                importers.setdefault(conftest, set()).add(module)


def add_data_file(path: str, importers: Importers, sources: Mapping[str, str]) -> None:
    """Modules with a string that names a data file; those that name only a folder above it are farther away.

    Of a capture only folders count, because all captures of a kind have the same file names. Only tests read
    data files that are not in src.
    """
    reads = {
        name: text for name, text in sources.items() if path.startswith("src/") or name.startswith("tests.")
    }
    file = PurePosixPath(path)
    for place in (file, *file.parents[:-1]):
        importers[str(place)] = {str(place.parent)}
        is_package = module_of(f"{place}/__init__.py") in sources
        if (
            not is_package
            and str(place) not in ("src", "tests")
            and (place != file or CAPTURES not in file.parents)
        ):
            named = re.compile(rf"""["'/]{re.escape(place.name)}["'/\s]""")
            importers[str(place)] |= {module for module, text in reads.items() if named.search(text)}
    if file.suffix == ".md":
        importers[path] |= {module for module in sources if ".test_docs_" in module}


def add_deleted(module: str, importers: Importers, sources: Mapping[str, str]) -> None:
    """Whatever still refers to a deleted module, and its package."""
    package, _, name = module.rpartition(".")
    imports = re.compile(rf"\b{re.escape(module)}\b|\bfrom {re.escape(package)} import .*\b{name}\b")
    importers[module] = {other for other, text in sources.items() if imports.search(text)} | {package}


def distances(changed: Iterable[str], importers: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Of each module that the change affects: over how many imports."""
    found = dict.fromkeys(changed, 0)
    waiting = deque(found)
    while waiting:
        module = waiting.popleft()
        for importer in importers.get(module, ()):
            if importer not in found:
                found[importer] = found[module] + 1
                waiting.append(importer)
    return found


@dataclass(frozen=True)
class Affected:
    """Test files that a change affects, the nearest first."""

    here: list[str]
    elsewhere: list[str]
    """they need a lab, guests or a browser"""


def affected(
    changed: Collection[str], importers: Importers, sources: Mapping[str, str], longest: Collection[str] = ()
) -> Affected:
    """The tests of changed files. Adds to ``importers`` what import statements do not show.

    Test files that are named like a changed file come first. Of equal distance, the ``longest`` come last.
    """
    add_imports_by_name(importers)
    add_fixtures(importers, sources)
    starts = {path: module_of(path) or path for path in changed}
    for path, start in starts.items():
        if start == path:
            add_data_file(path, importers, sources)
        elif start not in importers:
            add_deleted(start, importers, sources)
        elif path.endswith("/__init__.py"):  # an import of a module runs the packages above it
            importers[start] |= {module for module in sources if module.startswith(f"{start}.")}
    words = {word for path, start in starts.items() for word in words_of(path, is_module=start != path)}
    distance = distances(starts.values(), importers)

    def order(test: str) -> tuple[bool, bool, int, bool, str]:
        name = test.rpartition(".")[2]
        like = any(f"_{word}_" in f"{name}_" for word in words)
        return distance[test] > 0, not like, distance[test], name in longest, test

    tests = sorted((module for module in distance if is_test(module) and module in sources), key=order)
    here = [path_of(test) for test in tests if test.startswith(RUN_HERE)]
    return Affected(here, [path_of(test) for test in tests if not test.startswith(RUN_HERE)])


def words_of(path: str, *, is_module: bool) -> set[str]:
    """The names in a path that a test of it may have in its own name."""
    parts = PurePosixPath(path.removesuffix("/__init__.py")).parts
    if CAPTURES in PurePosixPath(path).parents:
        return {parts[2]}
    return {PurePosixPath(part).stem for part in (parts[-1:] if is_module else parts)}


def is_test(module: str) -> bool:
    return module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")


# --- Running ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """A check that has ended."""

    command: str
    seconds: float
    code: int | None
    """exit code; None: it was stopped before it ended"""
    output: str = ""

    @property
    def line(self) -> str:
        word = {0: "ok", None: "not finished"}.get(self.code, "FAILED")
        return f"{word}: {self.command} ({self.seconds:.0f} s)"


def checks(changed: Collection[str], root: Path) -> list[list[str]]:
    """Commands for a change, without its tests."""
    typed = [path for path in changed if path.startswith(TYPED) and path.endswith((".py", ".pyi"))]
    typed = [path for path in typed if CAPTURES not in PurePosixPath(path).parents and (root / path).exists()]
    return [
        [str(PROGRAMS / "ruff"), "format", "--check", "--quiet", "."],
        [str(PROGRAMS / "ruff"), "check", "--quiet", "."],
        [str(PROGRAMS / "lint-imports"), "--no-cache", "--no-logo"],
        *([type_check(typed)] if typed else []),
    ]


def run_check(command: list[str], end_s: float) -> Done:
    """Run a command until it ends, or until ``end_s`` of the monotonic clock."""
    began_s = time.monotonic()
    shown = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=max(0.0, end_s - began_s),
        )
    except subprocess.TimeoutExpired:
        return Done(shown, time.monotonic() - began_s, None)
    return Done(shown, time.monotonic() - began_s, done.returncode, done.stdout)


@dataclass
class Progress:
    """A plug-in of pytest's main process: which test files ran to their end, and what failed."""

    left: dict[str, set[str]] = field(default_factory=dict)
    """file → its tests that have not ended"""
    collected: bool = False
    failed: bool = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self.collected:  # each worker collects the same
            self.collected = True
            for test in ids:
                self.left.setdefault(test.partition("::")[0], set()).add(test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.failed |= report.failed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.left[nodeid.partition("::")[0]].discard(nodeid)

    def unfinished(self, files: Collection[str]) -> int:
        return sum(bool(self.left.get(file)) for file in files) if self.collected else len(files)


@dataclass(frozen=True)
class Ran:
    """A run of tests that has ended, or that was stopped."""

    files: int
    unfinished: int
    status: int
    """exit code of pytest; it is 2 if pytest was interrupted"""
    failed: bool
    used_up: bool = False
    """whether it took so long that no test may start any more"""

    @property
    def code(self) -> int:
        """Exit code: no failure in what ran until the time was used up is a success."""
        if self.status == pytest.ExitCode.NO_TESTS_COLLECTED:
            return 0
        if self.status == pytest.ExitCode.INTERRUPTED and self.used_up:
            return int(self.failed)
        return self.status


def run_tests(files: list[str], start_s: float, end_s: float) -> Ran:
    """Run test files in their order. After ``start_s`` seconds no test starts; after ``end_s`` none runs."""
    if not files or start_s <= 0:
        return Ran(len(files), len(files), 0, failed=False, used_up=bool(files))
    progress, began_s = Progress(), time.monotonic()
    workers = min(len(os.sched_getaffinity(0)), len(files))
    arguments = ["-q", "--no-header", "--tb=short", "--disable-warnings", "-rfE", "-m", TIER]
    arguments += ["-n", str(workers), "--dist", "loadscope", "--no-loadscope-reorder"]
    arguments += [f"--session-timeout={start_s:.3f}", *files[:MOST_FILES]]
    print("tests, the nearest first:", *files[:3], *(["…"] if files[3:] else []), flush=True)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, end_s)
    try:
        status = int(pytest.main(arguments, plugins=[progress]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    unfinished = progress.unfinished(files[:MOST_FILES]) + len(files[MOST_FILES:])
    used_up = time.monotonic() - began_s >= start_s
    return Ran(len(files), unfinished, status, progress.failed, used_up)


def summary(tests: Ran, elsewhere: int) -> str:
    """Which tests ran, and which did not."""
    if not tests.files + elsewhere:
        return "No test depends on the change, by its imports and names. `make test` runs more tests."
    ran = f"Ran {tests.files - tests.unfinished} of {tests.files} unit test files that the change affects"
    if tests.unfinished:
        ran += ", the nearest first"
    if tests.unfinished and tests.used_up:
        ran += f", and stopped after {LAST_START_S:.0f} s"
    sentences = [ran]
    if tests.unfinished:
        sentences.append(f"{tests.unfinished} did not run to their end")
    if elsewhere:
        sentences.append(f"{elsewhere} more need a lab, guests or a browser and did not run")
    sentences.append("Tests marked `measures` or `full` did not run")
    sentences.append("`make test` runs more, `make test-all` runs all tests")
    return ". ".join(sentences) + "."


def verdict(done: Collection[Done], tests: Ran) -> str:
    """FAILED, or ok; ok only if all checks and all tests ran that quick may run."""
    if first_failure(done, tests):
        return "FAILED"
    complete = all(check.code == 0 for check in done) and not tests.unfinished
    return "ok" if complete else "no failure in the part that ran"


def first_failure(done: Iterable[Done], tests: Ran) -> int:
    """The exit code of the first check that failed, else that of the tests."""
    return next((check.code for check in done if check.code), tests.code)


def report(done: Iterable[Done]) -> None:
    for check in done:
        print(check.line)
        if check.code:
            print(check.output.rstrip())
        elif check.code is None:
            print("It needs more time; `make lint` checks all files without a time limit.")


def main(since: str | None) -> int:
    began_s = time.monotonic()
    root = Path.cwd()
    sys.path[:0] = [str(root), str(root / "src")]
    changed, against = changed_files(since)
    leave_repository_of_hook()
    print(f"quick: {len(changed)} changed files since {against}", flush=True)
    if not changed:
        return 0
    with ThreadPoolExecutor() as pool:
        running: list[Future[Done]] = [
            pool.submit(run_check, command, began_s + CHECKS_END_S) for command in checks(changed, root)
        ]
        tests, elsewhere, why = Ran(0, 0, 0, failed=False), 0, ""
        try:
            from tests.pools import LONGEST

            chosen = affected(changed, import_graph(root), read_sources(root), LONGEST)
        except SyntaxError as error:
            tests, why = Ran(0, 0, 1, failed=True), f"No test ran, because imports cannot be read: {error}"
        else:
            elsewhere = len(chosen.elsewhere)
            passed_s = time.monotonic() - began_s
            tests = run_tests(chosen.here, LAST_START_S - passed_s, TESTS_END_S - passed_s)
        done = [one.result() for one in running]
    report(done)
    print(why or summary(tests, elsewhere))
    code = first_failure(done, tests)
    print(f"quick: {verdict(done, tests)}, {time.monotonic() - began_s:.0f} s")
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", metavar="COMMIT", help="compare with this commit, not with HEAD")
    sys.exit(main(parser.parse_args().since))
