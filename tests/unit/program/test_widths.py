# SPDX-License-Identifier: Apache-2.0
"""Whatever a command prints of any kind of result fits terminals of 80, 100 and 120 columns, and pipes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import chain
from pathlib import Path

import pytest
from tests.captured import CAPTURES
from tests.kinds_of_results import (
    PUBLISHED,
    REPOSITORY,
    STORED,
    Stored,
    imported_files,
    lay_out,
    lay_out_imported,
)

from linewatt.cli.entry_point import main
from linewatt.cli.output import wrapped
from linewatt.features.lab.api import LabStatus
from linewatt.features.lab.commands.status_table import table_of_labs
from linewatt.report.printing.screen import MOST_LINES

WIDTHS = (80, 100, 120)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ANY_LENGTH = re.compile(r"(^|\s)(linewatt \S|\S*/\S+|https?://\S+)")
"""what may be longer than a line: a command to copy, a path, a URL"""
ANSWERS = {0, 1, 3, 4}
"""exit codes of commands that have something to print"""

OF_A_RESULT: tuple[tuple[str, ...], ...] = (
    ("show", "ID"),
    ("show", "ID", "--full"),
    ("show", "ID", "--detail"),
    ("show", "ID", "--full", "--trials"),
    ("show", "ID", "--at", "5G"),
    ("analyze", "ID"),
    ("verify", "ID"),
    ("rederive", "ID"),
    ("fit", "energy", "ID"),
    ("advise", "fleet", "--target-gbps", "1000", "--from", "ID"),
    *(
        ("compare", "ID", "--by", what, *full)
        for what in ("test", "network", "instances", "kernel", "users.users", "gro")
        for full in ((), ("--full",))
    ),
)
ALWAYS = {("show", "ID"), ("show", "ID", "--full")}
"""what prints something of every kind"""

SEVERAL: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "history": ("history",),
    "history of watts": ("history", "--metric", "power"),
    "compare": ("compare", "comparison/0", "comparison/1"),
    "compare full": ("compare", "comparison/0", "comparison/1", "--full"),
    "compare soaks": ("compare", "soaks/0,soaks/1,soaks/2,soaks/3", "soaks/4,soaks/5,soaks/6,soaks/7"),
    "compare soaks full": ("compare", "soaks/0,soaks/1,soaks/2,soaks/3", "soaks/4,soaks/5", "--full"),
    "compare hosts": ("compare", "matrix/0:h1", "matrix/0:h2"),
    "baseline set": ("baseline", "set", "main", "vxlan/0"),
    "baseline list": ("baseline", "list"),
    "export": ("export", "campaign/0", "--format", "csv", "-o", "exported.csv"),
    "sql": ("sql", "select * from cases limit 5"),
}
PSU = ("advise", "psu", "--rating-w", "800")
TOPOLOGY = str(CAPTURES / "topology" / "2.9.0-v2-devices" / "topology.xml")
WITHOUT_RESULTS: dict[str, tuple[str, ...]] = {
    **{
        f"plan {path.stem}{trials}": ("plan", str(path), *trials.split())
        for path in sorted((REPOSITORY / "examples").glob("*.yaml"))
        if path.stem != "inventory"
        for trials in ("", " --trials")
    },
    **{f"derive {path.name}": ("derive", str(path)) for path in sorted(PUBLISHED.glob("*.csv"))},
    **{f"derive {path.name}": ("derive", str(path)) for path in (CAPTURES / "derive").glob("[!b]*.csv")},
    "analyze": ("analyze", str(PUBLISHED / "x64_scaling.csv")),
    "fit": ("fit", "energy", str(PUBLISHED / "router_power_8201.csv")),
    "psu": (*PSU, "--load-w", "249", "--count", "2", "--level", "gold", "--price-per-kwh", "0.3"),
    "psu measured": (*PSU, "--in-w", "274", "--out-w", "249", "--tolerance-percent", "2"),
    "place": ("place", TOPOLOGY, "--processes", "4", "--numa-node", "0"),
    "features": ("features",),
    "schema list": ("schema", "--list"),
    "lab status": ("lab", "status"),
}
KINDS = (*STORED, *imported_files())


def called(*words: str) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["linewatt", *words])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return lay_out_imported(lay_out(tmp_path_factory.mktemp("widths")), called)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """What a command prints on a terminal of a width, in lines without colour; none, where it refuses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORCE_COLOR", "1")

    def printed(width: int, *words: str) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        code, out, _ = called(*words)
        return [line.rstrip() for line in COLOUR.sub("", out).splitlines()] if code in ANSWERS else []

    return printed


def too_wide(lines: list[str], width: int) -> list[str]:
    return [line for line in lines if len(line) > width and not ANY_LENGTH.search(line)]


def ids_in(words: tuple[str, ...], laid_out: Stored) -> Iterator[str]:
    """The words with ids in the place of ``kind/number``."""

    def result_id(named: re.Match[str]) -> str:
        return laid_out.ids[named[1]][int(named[2])]

    return (re.sub(r"\b([a-z]+)/(\d)", result_id, word) for word in words)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_of_a_result_is_no_wider_than_the_terminal(
    laid_out: Stored, terminal: Callable[..., list[str]], kind: str, width: int
) -> None:
    if kind not in laid_out.ids:
        pytest.skip(f"{kind}: only beside a clone, in ../shared/published")
    result_id = laid_out.ids[kind][-1]
    for command in OF_A_RESULT:
        words = [result_id if word == "ID" else word for word in command]
        lines = terminal(width, *words, "--results", str(laid_out.root))
        assert lines or command not in ALWAYS
        assert too_wide(lines, width) == [], command
        if command == ("show", "ID"):
            assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SEVERAL)
def test_what_is_printed_of_several_results_is_no_wider_than_the_terminal(
    laid_out: Stored, terminal: Callable[..., list[str]], name: str, width: int
) -> None:
    if name == "baseline list":
        called("baseline", "set", "a-name", laid_out.ids["vxlan"][0], "--results", str(laid_out.root))
    words = list(ids_in(SEVERAL[name], laid_out))
    lines = terminal(width, *words, "--results", str(laid_out.root))
    assert lines
    assert too_wide(lines, width) == []
    if name in ("compare", "compare soaks", "compare hosts"):
        on_screen = sum(-(-len(line) // width) or 1 for line in lines)
        assert on_screen <= MOST_LINES


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", WITHOUT_RESULTS)
def test_what_is_printed_of_files_is_no_wider_than_the_terminal(
    terminal: Callable[..., list[str]], name: str, width: int
) -> None:
    lines = terminal(width, *WITHOUT_RESULTS[name])
    assert lines or name == "lab status" or name.startswith("derive")
    assert too_wide(lines, width) == []


def test_a_pipe_has_100_columns_or_those_that_are_asked_for(
    laid_out: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [("list", "--results", str(laid_out.root)), WITHOUT_RESULTS["plan vxlan"]]
    for columns in (None, 80):
        monkeypatch.delenv("COLUMNS", raising=False)
        if columns is not None:
            monkeypatch.setenv("COLUMNS", str(columns))
        for words in commands:
            lines = called(*words)[1].splitlines()
            assert not too_wide(lines, columns or 100)
            assert max(map(len, lines)) > (columns or 100) - 12, "the room that there is is used"


@pytest.mark.parametrize("command", ["list", "show", "plan"])
def test_a_terminal_is_asked_for_its_width(laid_out: Stored, command: str) -> None:
    words = {
        "list": ("list", "--results", str(laid_out.root)),
        "show": ("show", laid_out.ids["campaign"][0], "--full", "--results", str(laid_out.root)),
        "plan": WITHOUT_RESULTS["plan vxlan"],
    }[command]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    program = [sys.executable, "-m", "linewatt", *words]
    process = subprocess.Popen(program, stdout=theirs, env=environment | {"TERM": "xterm"})
    os.close(theirs)
    read = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    assert process.wait(timeout=60) == 0
    lines = [line.rstrip() for line in COLOUR.sub("", read.decode()).splitlines()]
    assert lines
    assert too_wide(lines, 80) == []


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO once nobody has the other end open
        return b""


def test_a_word_that_is_longer_than_its_column_stays_whole(
    laid_out: Stored, terminal: Callable[..., list[str]]
) -> None:
    lines = terminal(80, "show", laid_out.ids["files netperf"][0], "--results", str(laid_out.root))
    assert "netperf.receive-socket=default" in chain.from_iterable(map(str.split, lines))


def test_a_command_to_copy_is_one_line(laid_out: Stored, terminal: Callable[..., list[str]]) -> None:
    words = list(ids_in(SEVERAL["compare soaks"], laid_out))
    lines = terminal(80, *words, "--results", str(laid_out.root))
    assert f"MORE  linewatt {' '.join(words)} --full" in lines


def test_lines_hang_and_no_figure_is_parted_from_its_unit() -> None:
    assert wrapped("  idle: 2 windows of 5 s", 20) == ["  idle: 2 windows of", "      5 s"]
    assert wrapped("a/path/that/is/longer/than/a/line x", 10) == [
        "a/path/that/is/longer/than/a/line",
        "    x",
    ]


def test_a_plan_names_the_columns_that_a_narrow_terminal_lacks(terminal: Callable[..., list[str]]) -> None:
    narrow, wide = (terminal(width, *WITHOUT_RESULTS["plan two-hosts"]) for width in (80, 120))
    (left_out,) = (line for line in narrow if line.startswith("Not at 80 columns: "))
    names = left_out.removeprefix("Not at 80 columns: ").partition(";")[0].split(" · ")
    head = next(line for line in narrow if line.startswith("case "))
    wide_head = next(line for line in wide if line.startswith("case "))
    assert names
    assert all(name in wide_head and name not in head for name in names)
    assert not any(line.startswith("Not at") for line in wide)


def test_addresses_of_a_lab_give_way_first() -> None:
    heads = table_of_labs([LabStatus("lab", "half-built", None, None, None, None, ())]).heads
    ranks = {head.title: head.rank for head in heads}
    assert ranks["data ipv6"] > ranks["data ipv4"] > ranks["address"] > ranks["sshd"] == 0
