# SPDX-License-Identifier: Apache-2.0
"""`make test` and `make test-all` run what docs/testing.md says, and computing tests give way to labs."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis.internal.charmap import charmap_file, intervals_from_codec
from scripts import planted, quick
from tests import amounts, costs, cpu_weights, pools
from tests.__main__ import COMPUTING, GUESTS, LABS, Beside, commands, make_memory_folder, run_tier
from tests.conftest import provide_utf8_characters

ROOT = Path(__file__).parents[3]


def files_of(run: list[str]) -> set[Path]:
    """Test files that a pytest run collects."""
    paths = [ROOT / word for word in run if word.startswith("tests/")]
    left_out = {ROOT / word.removeprefix("--ignore=") for word in run if word.startswith("--ignore=")}
    files = {file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])}
    assert left_out <= files
    return files - left_out


@pytest.mark.parametrize("everything", [False, True])
def test_every_test_file_is_in_one_pool(everything: bool) -> None:
    runs = commands(everything=everything, cpus=2)
    pool_files = [files_of(runs[name]) for name in ("computing 1", "computing 2", "guests", "labs")]
    every = {path for path in (ROOT / "tests").rglob("test_*.py") if "captures" not in path.parts}
    assert set.union(*pool_files) == every
    assert sum(map(len, pool_files)) == len(every)


def test_only_make_test_all_runs_full_tests_and_those_that_run_alone() -> None:
    one, every = commands(everything=False, cpus=2), commands(everything=True, cpus=2)
    beside = ["guests", "labs", "computing 1", "computing 2", "failed labs"]
    assert list(one) == beside
    assert list(every) == ["alone", *beside]
    for run in one.values():
        assert run[run.index("-m") + 1] == "not measures and not full and not thorough"
    for name in one:
        assert every[name][every[name].index("-m") + 1] == "not measures and not thorough"
    assert every["alone"][1] == "measures and not thorough"


@pytest.mark.parametrize(
    ("labs", "again", "guests", "exit_code"),
    [(0, 0, 3, 3), (1, 0, 0, 0), (1, 1, 0, 1), (1, 5, 0, 5), (1, 0, 3, 3), (2, 0, 0, 2)],
)
@pytest.mark.parametrize("everything", [False, True])
def test_guests_run_after_labs_what_computes_beside_both_and_failed_labs_once_more_alone(
    monkeypatch: pytest.MonkeyPatch, everything: bool, labs: int, again: int, guests: int, exit_code: int
) -> None:
    order: list[str] = []

    def name_of(arguments: Sequence[str]) -> str:
        runs = commands(everything=everything, cpus=os.cpu_count() or 1)
        return next(name for name, run in runs.items() if run == arguments)

    class Begun:
        def __init__(self, arguments: Sequence[str], group: Path | None) -> None:
            order.append(f"{name_of(arguments)} beside")
            self.process = SimpleNamespace(wait=self.wait)

        def wait(self) -> int:
            order.append("computed")
            return 0

        def end(self) -> None:
            """Nothing runs."""

    def run(arguments: Sequence[str], group: Path | None = None) -> int:
        order.append(name_of(arguments))
        return {"labs": labs, "failed labs": again, "guests": guests}.get(order[-1], 0)

    monkeypatch.setattr("tests.__main__.Beside", Begun)
    monkeypatch.setattr("tests.__main__._run", run)
    monkeypatch.delenv(amounts.EVERYTHING, raising=False)
    assert run_tier(everything=everything) == exit_code
    cpus = os.cpu_count() or 1
    computing = [f"computing {at + 1} beside" for at in range(cpus)]
    ended = ["computed"] * cpus
    once_more = ["failed labs"] if labs == 1 else []
    assert order == [*(["alone"] if everything else []), *computing, "labs", "guests", *ended, *once_more]
    assert amounts.inputs(100) == (100 if everything else 34)
    assert [amounts.inputs(few) for few in (24, 9, 3)] == ([24, 9, 3] if everything else [8, 8, 3])


def test_quick_and_planted_run_tests_of_make_test() -> None:
    tier = commands(everything=False, cpus=2)["labs"]
    assert tier[tier.index("-m") + 1] == planted.TIER == quick.TIER


def test_make_targets_run_their_tier() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipes = dict(re.findall(r"^(test|test-all):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    assert "$(python) -m tests $(ARGS)\n" in recipes["test"]
    assert "$(python) -m tests --all\n" in recipes["test-all"]


def test_files_that_begin_first_and_files_that_talk_exist() -> None:
    names = {
        path.stem for folder in (*COMPUTING, *GUESTS, *LABS) for path in (ROOT / folder).rglob("test_*.py")
    }
    assert {*pools.LONGEST, *pools.APART, *pools.TALKING} - names == {pools.BROWSER}


def test_a_pool_runs_in_its_control_group(tmp_path: Path) -> None:
    group = tmp_path / "group"
    group.mkdir()
    words = cpu_weights.inside(group, ["sh", "-c", "echo $$; echo $0", 'it\'s "$1"'])
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    pid, argument = done.stdout.splitlines()
    assert (group / "cgroup.procs").read_text() == f"{pid}\n"
    assert argument == 'it\'s "$1"'
    assert cpu_weights.inside(None, ["true"]) == ["true"]


@pytest.mark.parametrize(("file", "values"), [("cpu.shares", ["4096", "10"]), ("cpu.weight", ["400", "1"])])
def test_weights_are_written_in_the_units_of_the_kernel(tmp_path: Path, file: str, values: list[str]) -> None:
    """The kernel makes the files of a directory itself; here they are made by being written."""
    v1, v2 = tmp_path / "v1", tmp_path / "v2"
    (v1 if file == "cpu.shares" else v2).mkdir()
    if file == "cpu.weight":
        (v2 / "cgroup.subtree_control").touch()
    tests = cpu_weights.make_root(v1, v2)
    assert tests is not None
    if file == "cpu.weight":
        assert (v2 / "cgroup.subtree_control").read_text() == "+cpu"
        (tests / "cgroup.subtree_control").touch()
    computing = cpu_weights.make_group(tests / "computing", cpu_weights.WEIGHTS["computing"])
    assert computing is not None
    assert [(group / file).read_text() for group in (tests, computing)] == values
    for group in (tests, computing):
        share = (group / "cpu.rt_runtime_us").read_text()
        assert share == "100000", "raise_session needs a real-time share"


def test_without_control_groups_there_is_none(tmp_path: Path) -> None:
    assert cpu_weights.make_root(tmp_path / "v1", tmp_path / "v2") is None


def test_temporary_files_are_in_memory_only_where_that_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_bytes = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr("tests.__main__.ROOM_BYTES", free_bytes // 2)
    folder = make_memory_folder(tmp_path)
    assert folder is not None
    assert folder.parent == tmp_path
    monkeypatch.setattr("tests.__main__.ROOM_BYTES", 2 * free_bytes)
    assert make_memory_folder(tmp_path) is None
    assert make_memory_folder(tmp_path / "missing") is None


def test_temporary_files_of_a_run_beside_go_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr("tests.__main__.make_memory_folder", lambda: folder)
    monkeypatch.setattr("tests.__main__.PYTEST", ["sh", "-c", 'echo "$TMPDIR" | tee "$TMPDIR/file"'])
    monkeypatch.setenv(costs.DIRECTORY, str(tmp_path))
    beside = Beside([], None)
    beside.process.wait()
    assert (folder / "file").read_text() == f"{folder}\n"
    beside.end()
    assert not folder.exists()
    assert f"{folder}\n" in capsys.readouterr().out


def test_the_characters_of_utf8_are_those_that_hypothesis_finds(tmp_path: Path) -> None:
    file = tmp_path / "unicode" / "codec.json.gz"
    provide_utf8_characters(file)
    encodable, not_the_same_again = json.loads(gzip.decompress(file.read_bytes()))
    assert not_the_same_again == []
    (first, before_surrogates), (after_surrogates, last) = encodable
    assert (first, last) == (0, sys.maxunicode)
    for code in (first, before_surrogates, after_surrogates, last):
        assert chr(code).encode().decode() == chr(code)
    for code in range(before_surrogates + 1, after_surrogates):
        with pytest.raises(UnicodeEncodeError):
            chr(code).encode()


def test_hypothesis_reads_the_characters_from_the_file_that_is_provided() -> None:
    assert charmap_file("codec-v2-utf-8").exists()
    encodable, not_the_same_again = intervals_from_codec.__wrapped__("utf-8")
    assert encodable.intervals == ((0, 0xD7FF), (0xE000, sys.maxunicode))
    assert not_the_same_again.intervals == ()


def test_other_arguments_go_to_pytest() -> None:
    argv = [sys.executable, "-m", "tests", "--collect-only", "-q", "tests/unit/program/test_units.py"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests/unit/program/test_units.py" in done.stdout
    assert "tests/lab" not in done.stdout
