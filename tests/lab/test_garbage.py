# SPDX-License-Identifier: Apache-2.0
"""Four hosts, of which one answers garbage to everything: others are measured, all are put back or named.

On h4 programs are covered by one that writes noise in place of their answer, as long as a file is there. The
hosts are compared by a reader that shares nothing with linewatt.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.faults import hosts
from tests.faults.ground import FACTORS, SETTINGS, Ground
from tests.lab.test_campaign import Bench, until
from tests.packed import outputs

from linewatt.features.lab.system import search_path

pytestmark = pytest.mark.lab

TOOLS = (
    *("iperf3", "mpstat", "ip", "tc", "ethtool", "cat", "sysctl", "ss", "taskset", "env", "head", "grep"),
    *("flock", "stat", "sleep", "date", "lscpu", "uname", "ping", "tee", "python3"),
)
SHELLS = ("bash", "sh")
BYTES = 4096
FLOOD = 17 << 20
"""more than any short command may write"""
NOISE = (
    b"\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b1;1H\xed\xa0\x80\xff\xfe\0\r",
    b"1e308\n-1e308 nan inf\n" * 20,
    b'{"intervals": [{"sum": {"bytes": 1e308}}], "error": NaN, "end": "\\ud800"}\n',
    b'{"a":[' * 20_000,
    b"\0000\0held\nlinewatt-leash: pid -1\nlinewatt-leash: end nan 0\nlinewatt-fact: cpus\n",
    b"\n\n\0\0" * 200,
    b"99999999999999999999 " * 500 + b"\n",
    b"x" * (5 << 20),
)
ACTED_UPON = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

COVER = """#!{own}/sh
[ -e {switch} ] || exec {own}/{tool} "$@"
{own}/cat {noise}/$(( $$ % {count} ))
{own}/cat {noise}/$(( ($$ + 1) % {count} )) >&2
exit $(( $$ % 2 ))
"""


class Liar:
    """h4, on which programs answer as they should until :meth:`lie`."""

    def __init__(
        self, bench: Bench, tools: tuple[str, ...], back: ExitStack, noise: bytes | None = None
    ) -> None:
        self._switch = bench.tmp / "lies"
        own, texts, covers = (bench.tmp / name for name in ("own", "noise", "covers"))
        for folder in (own, texts, covers):
            folder.mkdir()
        wrong = [noise] if noise else [*NOISE, *(os.urandom(BYTES) for _ in range(4))]
        for number, text in enumerate(wrong):
            (texts / str(number)).write_bytes(text)
        words = {"own": own, "switch": self._switch, "noise": texts, "count": len(wrong)}
        for tool in dict.fromkeys((*tools, "sh", "cat")):
            if where := shutil.which(tool, path=search_path()):
                shutil.copy(where, own / tool)
        for tool in tools:
            if not (where := shutil.which(tool, path=search_path())):
                continue
            cover = covers / tool
            cover.write_text(COVER.format(tool=tool, **words))
            cover.chmod(0o755)
            bench.mount(4, cover, str(Path(where).resolve()), back)

    def lie(self) -> None:
        self._switch.touch()

    def be_true(self) -> None:
        self._switch.unlink()


@pytest.fixture
def bench(make_lab: Callable[..., Any], tmp_path: Path) -> Bench:
    return Bench(make_lab(hosts=4, bmc=False), tmp_path)


@pytest.fixture
def back() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def campaign(bench: Bench, **keys: object) -> Path:
    window = {"seconds": 0.4, "omit": 0.2, "tail": 0.2}
    pairs = ["h1 -> h2", "h3 -> h4"]
    document = {"pairs": pairs, "window": window, "settings": SETTINGS, "factors": FACTORS, **keys}
    return bench.campaign(**document)


def assert_plain(*texts: str) -> None:
    for text in texts:
        assert "Traceback" not in text, text
        assert ACTED_UPON.search(text) is None, ascii(text)


def assert_true(bench: Bench) -> None:
    """No trial is said to be done whose receiver did not count what came, as it wrote itself."""
    for trial in bench.trials():
        directory = bench.result / "trials" / f"{trial['number']:05d}"
        written = outputs(directory, trial["case"]["receiver"])
        assert hosts.false_results(trial, written, ()) == []


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param(TOOLS, id="tools", marks=pytest.mark.full),
        pytest.param((*TOOLS, *SHELLS), id="shells too"),
    ],
)
def test_a_host_that_answers_garbage_is_refused_before_any_is_changed(
    bench: Bench, back: ExitStack, tools: tuple[str, ...]
) -> None:
    ground = Ground(bench.lab, bench.tmp)
    before = ground.settled()
    Liar(bench, tools, back).lie()
    done = bench.run("run", campaign(bench), status=1)
    assert_plain(done.stderr, done.stdout)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("linewatt: h4: ")
    assert "in use by" not in last
    assert hosts.changed(before, ground.settled()) == []
    assert not list(bench.results.glob("*"))
    bench.until_nothing_runs()
    assert "nothing to restore" in bench.restore()


@pytest.mark.full
@pytest.mark.parametrize(
    ("tools", "together", "noise"),
    [
        pytest.param(TOOLS, False, None, id="tools, pairs in turn"),
        pytest.param((*TOOLS, *SHELLS), True, None, id="shells too, pairs together"),
        pytest.param(("ethtool",), True, bytes(FLOOD), id="more than is read"),
    ],
)
def test_a_host_that_begins_to_answer_garbage_keeps_no_other_from_being_measured_and_put_back(
    bench: Bench, back: ExitStack, tools: tuple[str, ...], together: bool, noise: bytes | None
) -> None:
    ground = Ground(bench.lab, bench.tmp)
    before = ground.settled()
    liar = Liar(bench, tools, back, noise)
    out, err = bench.tmp / "out", bench.tmp / "err"
    with out.open("w") as to_out, err.open("w") as to_err:
        words = bench.words("run", campaign(bench, trials=1 + together, concurrent_pairs=together))
        process = forked.Forked(words, env=bench.environment, stdout=to_out, stderr=to_err)
        until(lambda: bool(list(bench.results.glob("*/trials/*/trial.json"))), 60, "a trial")
        liar.lie()
        assert process.wait(90) == 1, err.read_text()
    said = err.read_text()
    assert_plain(said, out.read_text())
    left = hosts.changed(before, ground.settled())
    assert [line for line in left if not line.startswith(ground.namespaces[3])] == []
    *problems, advice = said.partition(" trials done, ")[2].splitlines()[1:]
    assert problems
    assert all(line.startswith(("h4: ", "warning: h4: ")) for line in problems), problems
    assert "linewatt restore" in advice
    assert_true(bench)
    done = [trial for trial in bench.trials() if trial["status"] == "done"]
    assert sum(trial["case"]["sender"] == "h1" for trial in done) == 2 * (1 + together)
    for asked in (
        ["show", "last"],
        ["list"],
        ["verify", "last"],
        ["report", "last", "-o", bench.tmp / "report.html"],
    ):
        shown = bench.run(*asked)
        assert_plain(shown.stderr, shown.stdout)
    bench.until_nothing_runs()
    liar.be_true()
    assert "put back" in bench.restore()
    assert hosts.changed(before, ground.settled()) == []
