# SPDX-License-Identifier: Apache-2.0
"""Help, man page and completion: made of the commands themselves, whole, and alike everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.report_factories import demo_trials, result, stored
from tests.unit.conftest import Run

import linewatt
from linewatt.cli import entry_point as cli
from linewatt.cli.help import GROUPS, records, summary
from linewatt.cli.manual import ENVIRONMENT, PAGE, PLACES, pages
from linewatt.core.feature import feature_commands

VALUE = re.compile(r"(--?[a-z-]+)(?:, (--[a-z-]+))?(?: (.+))?")
PROGRAM = typer.main.get_command(cli.whole())


def commands(group: Any = PROGRAM, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that has none below it, by the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


EVERY = dict(commands())


def words(text: str) -> str:
    return " ".join(text.split())


def test_commands_stand_by_what_they_are_for_with_their_whole_description(run: Run) -> None:
    _, out, _ = run("--help")
    assert max(map(len, out.splitlines())) <= 80
    assert "..." not in out.partition("Options:")[2]
    at = [out.index(f"\n{title}:\n") for title in GROUPS]
    assert at == sorted(at)
    for title, names in GROUPS.items():
        section = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        of_features = sorted(word for word, command in feature_commands().items() if command.group == title)
        assert [line.split()[0] for line in section.splitlines()] == [*names, *of_features], "one line each"
        for name in (*names, *of_features):
            assert summary(PROGRAM.commands[name]) in section  # type: ignore[attr-defined]
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(cli.CORE_COMMANDS)


def test_the_list_of_commands_has_the_first_paragraph_of_each_description() -> None:
    commands = PROGRAM.commands  # type: ignore[attr-defined]
    assert {word: text for word, (_, text) in cli._summaries().items()} == {
        word: summary(command) for word, command in commands.items()
    }


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_nothing_of_a_command_is_cut_at_80_columns(path: tuple[str, ...], run: Run) -> None:
    _, out, _ = run(*path, "--help")
    assert max(map(len, out.splitlines())) <= 80
    said = words(out).replace("- ", "-")
    command = EVERY[path]
    for paragraph in command.help.split("\n\n"):
        assert words(paragraph).replace("- ", "-") in said
    context = command.context_class(command, info_name="x")
    for rows in records(command, context).values():
        for written, meaning in rows:
            assert written in out
            assert words(meaning).replace("- ", "-") in said


@pytest.mark.parametrize("group", ["lab", "advise"])
def test_commands_of_a_group_are_whole_too(group: str, run: Run) -> None:
    _, out, _ = run(group, "--help")
    for path, command in EVERY.items():
        if path[0] == group:
            assert summary(command) in words(out)


def test_a_value_has_one_name_and_the_same_wherever_it_is_asked_for() -> None:
    named: dict[str, set[str]] = {}
    for path, command in EVERY.items():
        context = command.context_class(command, info_name="x")
        for title, rows in records(command, context).items():
            for written, _ in rows:
                if title == "Arguments":
                    assert re.fullmatch(r"[A-Z|]+(?: \[[A-Z]+\])?", written), (path, written)
                elif " / " not in written:
                    found = VALUE.fullmatch(written)
                    assert found is not None, (path, written)
                    value = found[3] or ""
                    assert re.fullmatch(r"[A-Z]*", value), (path, written)
                    if path[0] != "lab":  # --hosts of a lab is how many, --name that of the lab
                        named.setdefault(found[2] or found[1], set()).add(value)
    assert {option: values for option, values in named.items() if len(values) > 1} == {}
    assert named["--results"] == {"DIR"}
    assert named["--hosts"] == {"INVENTORY"}
    assert named["--output"] == {"FILE"}


def test_the_man_page_has_every_command_and_option_and_no_stray_request() -> None:
    page = pages()[PAGE]
    for line in page.splitlines():
        assert not line.startswith((".", "'")) or re.match(r"\.(TH|SH|SS|PP|TP|B|I|BR)\b", line), line
    plain = page.replace(r"\-", "-").replace(r"\(dq", '"').replace(r"\&", "")
    for path, command in EVERY.items():
        assert f'.SS "linewatt {" ".join(path)} ' in plain
        assert words(summary(command)) in words(plain)
        context = command.context_class(command, info_name="x")
        for rows in records(command, context).values():
            for written, meaning in rows:
                assert rf"\fB{written}\fR" in plain
                assert words(meaning) in words(plain)


def test_the_man_page_has_every_variable_that_linewatt_reads() -> None:
    source = "\n".join(path.read_text() for path in Path(linewatt.__file__).parent.rglob("*.py"))
    read = re.findall(r"""(?:environ\.get\(|environ\[|envvar=)"(LINEWATT_[A-Z_]+)\"""", source)
    assert len(set(read)) > 2
    assert set(read) == {name for name in ENVIRONMENT if name.startswith("LINEWATT_")}


@pytest.mark.skipif(
    shutil.which("man") is None or shutil.which("groff") is None, reason="no man or groff here"
)
def test_man_shows_the_page_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "linewatt.1").write_text(pages()[PAGE], encoding="utf-8")
    given = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""}
    done = subprocess.run(
        ["man", "--warnings", "-l", "linewatt.1"],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert "linewatt show [OPTIONS] ID" in done.stdout


def written_below(prefix: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "linewatt.cli.manual", "--prefix", prefix]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_what_man_and_shells_look_for_is_written_below_a_prefix(tmp_path: Path) -> None:
    done = written_below(str(tmp_path / "new"))
    assert done.returncode == 0
    made = sorted(str(tmp_path / "new" / name) for name in (PAGE, *PLACES.values()))
    assert sorted(done.stdout.split()) == made
    assert (tmp_path / "new" / PLACES["zsh"]).read_text().startswith("#compdef linewatt")
    refused = written_below("/proc/x")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)


COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_linewatt_completion linewatt
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (("comp",), ["compare"]),
        (("res",), ["restore", "resume"]),
        (("show", "2026"), ["20260101-000000-x64-scaling"]),
        (("show", "--ful"), ["--full"]),
        (("lab", "st"), ["status"]),
        (("compare", "--by", "ke"), ["kernel"]),
        (("export", "--format", "p"), ["parquet"]),
        (("report", "--format", "m"), ["md"]),
    ],
)
def test_bash_completes_commands_options_and_results(
    tmp_path: Path, line: tuple[str, ...], offered: list[str]
) -> None:
    stored(tmp_path / "results", result(demo_trials()))
    script = tmp_path / "completion"
    script.write_text(pages()[PLACES["bash"]])
    program = tmp_path / "linewatt"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m linewatt \"$@\"\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", str(script), "linewatt", *line],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "LINEWATT_RESULTS": "results"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert sorted(done.stdout.split()) == offered


def test_only_the_command_on_the_line_is_made_ready_for_a_completion() -> None:
    tell = (
        "import sys; from linewatt.cli.entry_point import main\ntry: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    given = {"_LINEWATT_COMPLETE": "complete_bash", "COMP_WORDS": "linewatt show --ful", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", tell],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == ["--full"]
    assert "linewatt.cli.commands.show" in done.stderr.split()
    assert "linewatt.cli.commands.run" not in done.stderr.split()


def test_ctrl_c_ends_a_command_with_a_word_and_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typer takes the interrupt before the program sees it, and says nothing."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linewatt.cli.actions.list.read_each", interrupted)
    monkeypatch.setattr("linewatt.cli.output.results_near", lambda path, **_: path)
    monkeypatch.setattr("sys.argv", ["linewatt", "list", "--results", "."])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "linewatt: interrupted\n"
