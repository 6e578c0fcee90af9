# SPDX-License-Identifier: Apache-2.0
"""The program as a process: only the command that is asked for is made ready; its end is quick and whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.report_factories import result, scaling_trials, stored

from linewatt.cli import entry_point as cli
from linewatt.core.feature import feature_commands

RESULT = Path(__file__).parents[1].parent / "captures" / "results" / "method-1"
PROGRAM = "from linewatt.cli import program; program()"
SLOW = "sys.settrace(lambda *_: None)"
"""what Python itself must end: a program that somebody looks into; of each call of a function only"""


def run(*arguments: str, before: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.argv[0] = 'linewatt'\n{before}\n{PROGRAM}"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        check=False,
        timeout=60,
        text=True,
        **({"capture_output": True} | options),
    )


@pytest.mark.parametrize("word", cli.CORE_COMMANDS)
def test_each_command_of_the_table_is_made_by_its_module(word: str) -> None:
    assert callable(getattr(import_module(f"linewatt.cli.commands.{word}"), cli.CORE_COMMANDS[word]))


class After(forked.Forked):
    """A command whose process has read another command line before."""

    before = """
import sys
from linewatt.cli.entry_point import main
words, sys.argv = sys.argv, ["linewatt", "schema", "no such"]
try:
    main()
except SystemExit as end:
    assert end.code == 2
sys.argv = words
"""


def test_a_process_that_knows_one_command_knows_the_next_one_too(tmp_path: Path) -> None:
    done = forked.run(["list", "--results", str(tmp_path)], kind=After)
    assert (done.returncode, done.stdout) == (0, forked.run(["list", "--results", str(tmp_path)]).stdout)
    assert "no such schema" in done.stderr


def test_only_the_command_that_is_asked_for_is_imported(tmp_path: Path) -> None:
    tell = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = run("list", "--results", str(tmp_path), before=tell)
    modules = [name for name in done.stderr.split() if name.startswith("linewatt.cli.")]
    needed = (
        "actions",
        "actions.list",
        "commands",
        "commands.list",
        "entry_point",
        "help",
        "options",
        "output",
        "waiting",
    )
    assert sorted(modules) == [f"linewatt.cli.{name}" for name in needed]
    assert "pydantic" in done.stderr.split(), "what the command needs is there"


@pytest.mark.parametrize("arguments", [["--help"], [], ["sho"], ["--version"]])
def test_help_of_the_program_imports_no_command(arguments: list[str]) -> None:
    tell = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    modules = run(*arguments, before=tell).stderr.split()
    assert "linewatt.cli.help" in modules
    assert not [name for name in modules if name.startswith("linewatt.cli.commands.")]
    paths = {command.path.partition(":")[0] for command in feature_commands().values()}
    assert not paths & set(modules)


def test_a_command_after_a_double_dash_runs(tmp_path: Path) -> None:
    done = run("--", "list", "--json", "--results", str(tmp_path))
    assert (done.returncode, json.loads(done.stdout)["results"]) == (0, [])


def test_what_a_run_makes_ready_for_its_answer_is_all_that_the_answer_is_made_with() -> None:
    tell = (
        "import atexit, importlib; from linewatt.cli.answer_imports import answer_modules; "
        "import linewatt.store.read; [importlib.import_module(name) for name in answer_modules()]; "
        "there = set(sys.modules); "
        "atexit.register(lambda: print(*(sys.modules.keys() - there), file=sys.stderr))"
    )
    done = run("show", str(RESULT), before=tell)
    assert done.returncode == 0
    rooms = ("linewatt.report", "linewatt.analysis", "linewatt.store", "rich")
    assert not [name for name in done.stderr.split() if name.startswith(rooms)]


@pytest.mark.parametrize("words", [["show", "2", "--full"], ["compare", "1", "2", "--json"]])
@pytest.mark.parametrize("runs", [4, 25])
def test_tables_of_trials_are_made_without_scipy_and_ruptures(
    tmp_path: Path, words: list[str], runs: int
) -> None:
    ids = {"1": "20260101-000000-x", "2": "20260102-000000-x"}
    for name in ids.values():  # with intervals of few or many runs, and a knee
        stored(tmp_path, result(scaling_trials(trials=runs), id=name))
    tell = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = run(*(ids.get(word, word) for word in words), "--results", str(tmp_path), before=tell)
    modules = {name.split(".")[0] for name in done.stderr.split()}
    assert (done.returncode, modules & {"scipy", "ruptures"}) == (0, set())
    assert "linewatt" in modules


@pytest.mark.parametrize("arguments", [["--help"], ["sho"], [], ["--version", "list"]])
def test_whoever_asks_for_no_command_gets_all_of_them(arguments: list[str]) -> None:
    done = run(*arguments)
    said = done.stdout + done.stderr
    if arguments == ["sho"]:
        assert "Did you mean 'show'" in said
    elif "--version" in arguments:
        assert said.startswith("linewatt ")
    else:
        assert all(f"\n  {word} " in said for word in (*cli.CORE_COMMANDS, *feature_commands()))


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["list"], 0), (["list", "--json"], 0), (["show", "nothing"], 2), (["show", "--wrong"], 2), ([], 2)],
)
def test_the_quick_end_has_the_status_and_all_of_the_output(
    tmp_path: Path, arguments: list[str], status: int
) -> None:
    options = ["--results", str(tmp_path)] if len(arguments) and arguments[-1] != "--wrong" else []
    slow = run(*arguments, *options, before=SLOW)
    quick = run(*arguments, *options)
    assert (quick.returncode, quick.stdout, quick.stderr) == (status, slow.stdout, slow.stderr)


def test_a_long_output_is_whole_at_the_quick_end() -> None:
    done = run("schema")
    assert done.returncode == 0
    assert len(done.stdout) > 65_536, "more than a pipe holds"
    json.loads(done.stdout)


def test_what_is_to_be_done_at_the_end_is_done_once(tmp_path: Path) -> None:
    file = tmp_path / "end"
    later = f"import atexit; atexit.register(lambda: open({str(file)!r}, 'a').write('x'))"
    assert run("--version", before=later).returncode == 0
    assert file.read_text() == "x"


def test_a_thread_that_runs_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "end"
    thread = f"""
import threading
go = threading.Event()
def work():
    go.wait(); open({str(file)!r}, "w").write("x")
threading.Thread(target=work).start()
threading._register_atexit(go.set)
"""
    assert run("--version", before=thread).returncode == 0
    assert file.read_text() == "x"


def test_a_full_disk_and_a_reader_that_is_gone_end_as_before() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = run("schema", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "standard output cannot be written" in done.stderr
    read, write = os.pipe()
    os.close(read)
    ends = [
        run("schema", stdout=write, stderr=subprocess.PIPE, capture_output=False, before=before)
        for before in ("", "sys.setprofile(lambda *_: None)")
    ]
    os.close(write)
    assert (ends[0].returncode, ends[0].stderr) == (ends[1].returncode, ends[1].stderr)
    assert ends[0].stderr == ""


def test_ssh_is_made_ready_without_any_compiler() -> None:
    script = """
import sys
started = []
sys.addaudithook(lambda event, args: started.append(str(args[0])) if event == "subprocess.Popen" else None)
from linewatt.hosts import ssh
print(*started)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"/sbin/ldconfig"}
