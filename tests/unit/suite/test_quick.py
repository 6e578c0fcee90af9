# SPDX-License-Identifier: Apache-2.0
"""``make quick`` runs the tests of a change, the nearest first, and says how many it did not run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from scripts import quick
from scripts.quick import Affected, Done, Progress, Ran

ROOT = Path(__file__).parents[3]
SOURCES = {
    "linewatt.units": "",
    "linewatt.cli.entry_point": "",
    "linewatt.cli.commands.show": "",
    "linewatt.report": "",
    "linewatt.report.table": 'PAGE = "table.html.j2"',
    "linewatt.sensors.mpstat": "",
    "linewatt.sensors.registry": "",
    "tests.pages": "",
    "tests.unit.conftest": "@pytest.fixture\ndef run(tmp_path: Path) -> Run:\n    return main\n",
    "tests.unit.test_units": "",
    "tests.unit.test_table": "",
    "tests.unit.test_apart": "",
    "tests.unit.test_show": "def test_it(run: Run) -> None:",
    "tests.unit.test_screens": "",
    "tests.unit.test_widths": "",
    "tests.unit.test_mpstat": 'CAPTURES / "mpstat"',
    "tests.unit.test_sensors": 'for kind in (ROOT / "captures").iterdir():',
    "tests.unit.test_docs_pages": "",
    "tests.unit.test_plugins": '(ROOT / "docs" / "sensors.md").read_text()',
    "tests.fuzz.test_sensors": "",
    "tests.lab.test_campaign": "",
}
"""a small repository: module → text"""
IMPORTS = {
    "linewatt.report.table": ["linewatt.units"],
    "linewatt.cli.commands.show": ["linewatt.report.table"],
    "tests.pages": ["linewatt.report.table"],
    "tests.unit.conftest": ["linewatt.cli.entry_point"],
    "tests.unit.test_units": ["linewatt.units"],
    "tests.unit.test_table": ["linewatt.report.table"],
    "tests.unit.test_screens": ["tests.pages"],
    "tests.unit.test_widths": ["tests.pages"],
    "tests.unit.test_mpstat": ["linewatt.sensors.mpstat"],
    "tests.unit.test_sensors": ["linewatt.sensors.registry"],
    "tests.fuzz.test_sensors": ["linewatt.sensors.registry"],
    "tests.lab.test_campaign": ["linewatt.cli.entry_point"],
}


def chosen(*changed: str, longest: Collection[str] = ()) -> Affected:
    importers: quick.Importers = {module: set() for module in SOURCES}
    for importer, imported in IMPORTS.items():
        for module in imported:
            importers[module].add(importer)
    return quick.affected(changed, importers, SOURCES, longest)


def names(files: Collection[str]) -> list[str]:
    return [Path(file).stem.removeprefix("test_") for file in files]


# --- Choosing -----------------------------------------------------------------------------------------


def test_tests_of_a_module_run_in_the_order_of_their_distance() -> None:
    found = chosen("src/linewatt/units.py")
    assert found.here[0] == "tests/unit/test_units.py"
    assert names(found.here) == ["units", "table", "screens", "widths", "show"]
    assert found.elsewhere == ["tests/lab/test_campaign.py"]


def test_tests_that_import_a_changed_helper_run_and_others_do_not() -> None:
    assert names(chosen("tests/pages.py").here) == ["screens", "widths"]


def test_a_changed_test_file_comes_first() -> None:
    found = chosen("src/linewatt/units.py", "tests/unit/test_show.py")
    assert names(found.here) == ["show", "units", "table", "screens", "widths"]


def test_a_test_file_with_the_name_of_the_module_comes_before_nearer_ones() -> None:
    assert names(chosen("src/linewatt/report/table.py").here) == ["table", "screens", "widths", "show"]
    assert names(chosen("src/linewatt/cli/commands/show.py").here) == ["show"]
    assert names(chosen("src/linewatt/sensors/registry.py").here) == ["sensors", "sensors"]


def test_a_long_file_comes_last_of_its_distance() -> None:
    assert names(chosen("tests/pages.py", longest={"test_screens"}).here) == ["widths", "screens"]


def test_a_test_that_uses_a_fixture_depends_on_what_conftest_imports() -> None:
    assert names(chosen("src/linewatt/cli/entry_point.py").here) == ["show"]
    assert names(chosen("tests/unit/conftest.py").here) == ["show"]


def test_hooks_of_a_conftest_affect_all_tests_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "tests.fuzz.conftest", "def pytest_configure() -> None:")
    assert chosen("tests/fuzz/conftest.py").here == ["tests/fuzz/test_sensors.py"]


def test_a_package_affects_the_tests_of_its_modules() -> None:
    assert names(chosen("src/linewatt/report/__init__.py").here) == ["table", "screens", "widths", "show"]


def test_a_plugin_affects_the_tests_of_its_registry() -> None:
    assert chosen("src/linewatt/sensors/mpstat.py").here == [
        "tests/unit/test_mpstat.py",
        "tests/fuzz/test_sensors.py",
        "tests/unit/test_sensors.py",
    ]


def test_a_document_affects_tests_of_documents_and_those_that_name_it() -> None:
    assert set(names(chosen("docs/sensors.md").here)) == {"docs_pages", "plugins"}
    assert names(chosen("README.md").here) == ["docs_pages"]


def test_a_capture_affects_tests_that_name_its_kind_then_those_that_read_every_kind() -> None:
    assert names(chosen("tests/captures/mpstat/12.5-idle/output").here) == ["mpstat", "sensors"]
    assert names(chosen("tests/captures/new/1.0-tcp/expected.json").here) == ["sensors"]


def test_a_script_among_captures_is_data() -> None:
    assert quick.module_of("tests/captures/perf/6.1/made.py") is None
    assert quick.module_of("tests/unit/test_units.py") == "tests.unit.test_units"


def test_a_template_affects_tests_of_the_module_that_names_it() -> None:
    found = chosen("src/linewatt/report/templates/table.html.j2")
    assert names(found.here) == ["table", "screens", "widths", "show"]


def test_a_deleted_module_affects_what_still_refers_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "tests.unit.test_apart", "from linewatt.report import column, table")
    assert "apart" in names(chosen("src/linewatt/report/column.py").here)
    assert "apart" not in names(chosen("src/linewatt/report/row.py").here)


def test_nothing_depends_on_a_file_that_no_test_names() -> None:
    assert chosen("LICENSE") == Affected([], [])


def test_every_module_has_a_test_that_it_affects() -> None:
    """A module that nothing imports needs an entry in IMPORTED_BY_NAME."""
    pytest.importorskip("grimp", reason="grimp is not installed: make lint installs it")
    program = "from scripts import quick; from pathlib import Path; import json; \
root = Path.cwd(); graph = quick.import_graph(root); sources = quick.read_sources(root); \
quick.affected([], graph, sources); \
print(json.dumps([m for m in sources if not any(map(quick.is_test, quick.distances([m], graph)))]))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    alone = re.findall(r'"(linewatt\.[\w.]+)"', done.stdout)
    modules = [
        module for module in alone if not (ROOT / "src" / module.replace(".", "/") / "__init__.py").exists()
    ]
    assert modules == ["linewatt.__main__"]


# --- The change ---------------------------------------------------------------------------------------

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
AUTHOR = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]


def commit(message: str) -> None:
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", *AUTHOR, "commit", "-qm", message, "--no-verify"], check=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits; the second adds ``second`` and changes nothing else."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "PYTEST_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "-b", "main"], check=True)
    (tmp_path / "first").write_text("1")
    commit("first")
    (tmp_path / "second").write_text("2")
    commit("second")
    return tmp_path


@needs_git
def test_the_last_commit_is_the_change_where_nothing_is_changed(repository: Path) -> None:
    assert quick.changed_files(None) == (["second"], "HEAD~1")


@needs_git
def test_changed_deleted_and_untracked_files_are_the_change(repository: Path) -> None:
    (repository / ".gitignore").write_text("ignored\n")
    (repository / "ignored").write_text("")
    (repository / "päge.md").write_text("")
    (repository / "first").write_text("changed")
    (repository / "second").unlink()
    assert quick.changed_files(None) == ([".gitignore", "first", "päge.md", "second"], "HEAD")


@needs_git
def test_since_compares_with_another_commit(repository: Path) -> None:
    (repository / "first").write_text("changed")
    assert quick.changed_files("HEAD~1") == (["first", "second"], "HEAD~1")
    with pytest.raises(SystemExit, match=r"quick: git diff .*nowhere"):
        quick.changed_files("nowhere")


def test_types_are_checked_of_changed_files_that_exist_and_are_ours(tmp_path: Path) -> None:
    for name in ("src/linewatt/units.py", "tests/captures/perf/made.py", "docs/page.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    changed = ["src/linewatt/units.py", "src/linewatt/gone.py", "tests/captures/perf/made.py", "docs/page.md"]
    assert quick.checks(changed, tmp_path)[-1] == quick.type_check(["src/linewatt/units.py"])
    assert len(quick.checks(["docs/page.md"], tmp_path)) == len(quick.checks(changed, tmp_path)) - 1


# --- What is said -------------------------------------------------------------------------------------

OK = Done("ruff check", 1.0, 0)
BROKEN = Done("mypy", 1.0, 2, "error: no such name")
STOPPED = Done("mypy", 55.0, None)
ALL_RAN = Ran(files=4, unfinished=0, status=0, failed=False)
OUT_OF_TIME = Ran(files=63, unfinished=49, status=2, failed=False, used_up=True)


def test_the_summary_says_what_did_not_run_when_the_time_was_used_up() -> None:
    assert quick.summary(OUT_OF_TIME, elsewhere=7).split(". ") == [
        "Ran 14 of 63 unit test files that the change affects, the nearest first, and stopped after 40 s",
        "49 did not run to their end",
        "7 more need a lab, guests or a browser and did not run",
        "Tests marked `measures` or `full` did not run",
        "`make test` runs more, `make test-all` runs all tests.",
    ]


def test_the_summary_says_how_many_of_many_files_did_not_run() -> None:
    assert quick.summary(Ran(files=218, unfinished=158, status=0, failed=False), elsewhere=0).split(". ")[
        :3
    ] == [
        "Ran 60 of 218 unit test files that the change affects, the nearest first",
        "158 did not run to their end",
        "Tests marked `measures` or `full` did not run",
    ]


def test_the_summary_never_claims_that_all_tests_ran() -> None:
    words = quick.summary(ALL_RAN, elsewhere=0)
    assert words.startswith("Ran 4 of 4 unit test files that the change affects. Tests marked ")
    assert words.endswith("`make test-all` runs all tests.")
    assert quick.summary(Ran(0, 0, 0, failed=False), elsewhere=0).startswith("No test depends on the change")


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (ALL_RAN, 0),
        (OUT_OF_TIME, 0),
        (Ran(files=63, unfinished=49, status=2, failed=True, used_up=True), 1),
        (Ran(files=4, unfinished=0, status=1, failed=True), 1),
        (Ran(files=4, unfinished=3, status=2, failed=False), 2),
        (Ran(files=1, unfinished=0, status=5, failed=False), 0),
        (Ran(files=1, unfinished=1, status=3, failed=False, used_up=True), 3),
    ],
    ids=["ok", "out-of-time", "failed-in-time", "failed", "interrupted", "none-in-the-tier", "pytest-broke"],
)
def test_the_exit_code_is_that_of_the_tests(tests: Ran, code: int) -> None:
    assert quick.first_failure([OK], tests) == code


def test_a_failed_check_decides_and_an_unfinished_one_is_not_ok() -> None:
    assert quick.first_failure([OK, BROKEN], ALL_RAN) == 2
    assert quick.verdict([OK, BROKEN], ALL_RAN) == "FAILED"
    assert quick.verdict([OK], ALL_RAN) == "ok"
    assert quick.verdict([OK, STOPPED], ALL_RAN) == "no failure in the part that ran"
    assert quick.verdict([OK], OUT_OF_TIME) == "no failure in the part that ran"


def test_the_report_has_the_output_of_a_failed_check_only(capsys: pytest.CaptureFixture[str]) -> None:
    quick.report([Done("ruff check", 1.0, 0, "All checks passed!"), BROKEN, STOPPED])
    assert capsys.readouterr().out.splitlines() == [
        "ok: ruff check (1 s)",
        "FAILED: mypy (1 s)",
        "error: no such name",
        "not finished: mypy (55 s)",
        "It needs more time; `make lint` checks all files without a time limit.",
    ]


def test_a_check_has_its_exit_code_and_output_and_is_stopped_at_its_limit() -> None:
    program = "import sys; print('wrong'); sys.exit(3)"
    done = quick.run_check([sys.executable, "-c", program], time.monotonic() + 60)
    assert (done.code, done.output) == (3, "wrong\n")
    endless = quick.run_check([sys.executable, "-c", "input()"], time.monotonic() - 1)
    assert endless.code is None


def test_a_file_is_unfinished_until_its_last_test_has_ended() -> None:
    progress = Progress()
    assert progress.unfinished(["a.py", "b.py"]) == 2
    for _ in range(2):  # both workers collect the same
        progress.pytest_xdist_node_collection_finished(["a.py::test_1", "a.py::test_2"])
    assert progress.unfinished(["a.py", "b.py"]) == 1
    progress.pytest_runtest_logfinish("a.py::test_1")
    assert progress.unfinished(["a.py", "b.py"]) == 1
    progress.pytest_runtest_logfinish("a.py::test_2")
    assert progress.unfinished(["a.py", "b.py"]) == 0


def test_no_test_starts_when_the_time_is_used_up() -> None:
    assert quick.run_tests(["a.py"], start_s=0, end_s=8) == Ran(1, 1, 0, failed=False, used_up=True)
    assert quick.run_tests([], start_s=0, end_s=8) == Ran(0, 0, 0, failed=False)


# --- Real runs in a small repository ------------------------------------------------------------------


def run_quick(call: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Calls a function of scripts/quick.py in the current directory, with limits that no machine reaches."""
    limits = "; ".join(f"quick.{name} = 900" for name in ("LAST_START_S", "TESTS_END_S", "CHECKS_END_S"))
    return subprocess.run(
        [sys.executable, "-c", f"import sys; from scripts import quick; {limits}; sys.exit(quick.{call})"],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_git
def test_a_run_stops_when_its_time_is_used_up_and_knows_what_failed(repository: Path) -> None:
    """Each worker stops after its first test: a millisecond is used up before that ends."""
    for name in ("test_a.py", "test_b.py"):
        (repository / name).write_text("def test_1():\n    assert False\n\n\ndef test_2():\n    pass\n")
    done = run_quick("run_tests(['test_a.py', 'test_b.py'], start_s=0.001, end_s=900)")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.strip() == str(Ran(2, 2, 2, failed=True, used_up=True))


PYPROJECT = """
[tool.pytest.ini_options]
addopts = "--import-mode=importlib"

[tool.importlinter]
root_package = "linewatt"

[[tool.importlinter.contracts]]
name = "layers"
type = "layers"
layers = ["linewatt.cli", "linewatt.units"]
"""
TEST_OF_PAGE = '''"""What the page says, outside of a repository of a git hook."""

import os
from pathlib import Path


def test_page():
    assert "GIT_INDEX_FILE" not in os.environ
    assert Path("docs/page.md").read_text() == "right"
'''


@needs_git
def test_a_broken_test_of_a_changed_document_makes_quick_fail(repository: Path) -> None:
    pytest.importorskip("grimp", reason="grimp is not installed: make lint installs it")
    files = {
        "pyproject.toml": PYPROJECT,
        "src/linewatt/__init__.py": "",
        "src/linewatt/cli.py": "import linewatt.units\n\nprint(linewatt.units)\n",
        "src/linewatt/units.py": "",
        "tests/pools.py": "LONGEST = ()\n",
        "tests/unit/test_docs_page.py": TEST_OF_PAGE,
        "tests/unit/test_other.py": "def test_other():\n    raise AssertionError\n",
        "docs/page.md": "right",
    }
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    commit("third")
    index = str(repository / ".git" / "index")

    (repository / "docs" / "new.md").write_text("untracked")
    done = run_quick("main(None)", GIT_INDEX_FILE=index)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "quick: 1 changed files since HEAD" in done.stdout
    assert "Ran 1 of 1 unit test files that the change affects. Tests marked" in done.stdout
    assert "quick: ok, " in done.stdout

    (repository / "docs" / "page.md").write_text("wrong")
    done = run_quick("main(None)", GIT_INDEX_FILE=index)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED tests/unit/test_docs_page.py::test_page" in done.stdout
    assert "quick: FAILED, " in done.stdout
