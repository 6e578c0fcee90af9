# SPDX-License-Identifier: Apache-2.0
"""What commands keep of results for the next time: quick, and never in place of what is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL

from linewatt.report import list_line
from linewatt.store import cache, read, write
from linewatt.store.cache import state_of_result

Look = Callable[[], list[str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three results of a while ago, and a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", -1.0)
    for day in range(3):
        path = write.new_result(tmp_path / "results", "t", 86_400.0 * day, MANIFEST)
        write.write_trial(path, TRIAL, [SERIES], {"h2/out.json": "{}"})
    return tmp_path / "results"


@pytest.fixture
def loaded(root: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Look:
    """List the results; which of them were read for it."""
    load, seen = read.load_result, list[str]()

    def count(path: Path) -> read.Result:
        seen.append(path.name)
        return load(path)

    monkeypatch.setattr(list_line, "load_result", count)

    def look() -> list[str]:
        seen.clear()
        code, out, _ = run("list", "--json", "--results", str(root))
        assert code == 0
        with_cache = json.loads(out)
        with monkeypatch.context() as patch:
            patch.setattr(cache, "cache_folder", lambda: None)
            again, seen[:] = list(seen), []
            assert json.loads(run("list", "--json", "--results", str(root))[1]) == with_cache
            assert len(seen) >= len(again)
        return again

    return look


def test_results_that_are_as_they_were_are_not_read_again(root: Path, loaded: Look) -> None:
    every = [path.name for path in sorted(root.iterdir())]
    assert loaded() == every
    assert loaded() == []


def _edit(result: Path) -> None:
    file = result / "trials/00007/trial.json"
    file.write_text(file.read_text().replace('"udp-loss"', '"udp-lost"'))


def _edit_in_its_size_and_time(result: Path) -> None:
    file = result / "trials/00007/trial.json"
    seen = file.stat()
    file.write_text(file.read_text().replace('"done"', '"dine"'))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _take_away(result: Path) -> None:
    shutil.rmtree(result / "trials/00007")


def _add(result: Path) -> None:
    write.write_trial(result, replace(TRIAL, number=8), [SERIES], {})


def _idle(result: Path) -> None:
    document = {"schema_version": 1, "window": {"start_s": 1.0, "end_s": 2.0}, "hosts": {}}
    write.write_idle(result / "idle.json", document, {})


def _derive(result: Path) -> None:
    folder = result / "derived/0001/trials"
    folder.mkdir(parents=True)
    shutil.copy(result / "trials/00007/trial.json", folder / "00007.json")


def _rename(result: Path) -> None:
    text = (result / "manifest.json").read_text()
    (result / "manifest.json").write_text(text.replace('"name": "t"', '"name": "u"'))


def _copy(result: Path) -> None:
    shutil.copytree(result, result.with_name("copy"))
    shutil.rmtree(result)
    result.with_name("copy").rename(result)


@pytest.mark.parametrize(
    "change",
    [_edit, _edit_in_its_size_and_time, _take_away, _add, _idle, _derive, _rename, _copy],
    ids=lambda one: one.__name__.strip("_"),
)
def test_a_result_that_is_another_now_is_read_again_and_alone(
    root: Path, loaded: Look, change: Callable[[Path], None]
) -> None:
    loaded()
    result = sorted(root.iterdir())[1]
    change(result)
    assert loaded() == [result.name]
    said = loaded()
    assert said in ([], [result.name]), "one that cannot be read is tried each time"


def _files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / cache.FOLDER).iterdir())


@pytest.mark.parametrize(
    "damage", [lambda _: b"", lambda _: b"\0", lambda data: data[:-9], lambda data: data + b"}"]
)
def test_what_is_damaged_is_made_again(
    tmp_path: Path, root: Path, loaded: Look, damage: Callable[[bytes], bytes]
) -> None:
    every = loaded()
    for file in _files(tmp_path):
        file.write_bytes(damage(file.read_bytes()))
    assert loaded() == every
    assert loaded() == []


def test_a_value_that_is_damaged_is_not_believed(tmp_path: Path, root: Path, loaded: Look) -> None:
    every = loaded()
    for file in _files(tmp_path):
        changed = file.read_bytes().replace(b'"findings":', b'"findings":1')
        assert changed != file.read_bytes()
        file.write_bytes(changed)
    assert loaded() == every


def test_what_was_kept_long_ago_is_removed(tmp_path: Path, root: Path, loaded: Look) -> None:
    loaded()
    old = _files(tmp_path)[0].with_name("0")
    old.write_text("{}")
    os.utime(old, (0, 0))
    cache._forget_old.cache_clear()
    _rename(next(root.iterdir()))
    loaded()
    assert not old.exists()
    assert len(_files(tmp_path)) == 3


def test_what_another_program_kept_is_made_again(loaded: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    every = loaded()
    monkeypatch.setattr(cache, "_program", lambda: "newer")
    assert loaded() == every


def test_what_others_may_have_written_is_not_believed(tmp_path: Path, root: Path, loaded: Look) -> None:
    every = loaded()
    folder = tmp_path / "cache" / cache.FOLDER
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    assert loaded() == every
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(_files(tmp_path)[0], 1, 1)
        assert len(loaded()) == 1


def test_nothing_is_written_beside_results_and_a_cache_that_cannot_be_written_is_none(
    tmp_path: Path, root: Path, loaded: Look
) -> None:
    before = sorted(root.rglob("*"))
    (tmp_path / "cache").write_text("no folder")
    assert len(loaded()) == len(loaded()) == 3
    assert sorted(root.rglob("*")) == before


def test_a_file_that_changed_just_now_may_change_again_unseen(
    root: Path, loaded: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_S", 3600.0)
    assert len(loaded()) == len(loaded()) == 3
    assert state_of_result(next(root.iterdir())) is None
    monkeypatch.setattr(cache, "SETTLED_S", 2.0)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert state_of_result(next(root.iterdir())) is not None


def test_of_a_large_result_what_its_run_made_is_kept_unless_times_are_whole_seconds(
    root: Path, loaded: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_S", 3600.0)
    monkeypatch.setattr(cache, "LARGE_SETTLED_S", -1.0)
    assert len(loaded()) == len(loaded()) == 3
    monkeypatch.setattr(cache, "LARGE", 5)
    assert len(loaded()) == 3
    assert loaded() == []
    _edit(next(root.iterdir()))
    assert len(loaded()) == 1
    look = cache._status_changed_ns
    monkeypatch.setattr(cache, "_status_changed_ns", lambda seen: look(seen) // 10**9 * 10**9)
    assert state_of_result(next(root.iterdir())) is None


def test_no_link_is_followed(root: Path, loaded: Look) -> None:
    loaded()
    result = next(root.iterdir())
    (result / "elsewhere").symlink_to("/")
    assert state_of_result(result) is None
    assert loaded() == [result.name]


def test_results_and_what_is_made_of_them_are_kept_apart(tmp_path: Path, root: Path) -> None:
    other = shutil.copytree(root, tmp_path / "other")
    first, same = (sorted(place.iterdir())[0] for place in (root, other))
    for place, kind, made in ((first, "list", 1), (same, "list", 2), (first, "cases", 3)):
        assert cache.cached_of_result(place, kind, int, partial(int, made)) == made
    for place, kind, made in ((first, "list", 1), (same, "list", 2), (first, "cases", 3)):
        assert cache.cached_of_result(place, kind, int, lambda: 0) == made


UNNEEDED = {
    "list": ("linewatt.store.read", "linewatt.records", "linewatt.analysis.cases", "linewatt.report.kinds"),
    "show": ("linewatt.store.read", "linewatt.records", "linewatt.analysis", "linewatt.campaign.campaign"),
    "history": ("linewatt.features.soak.result_kind", "linewatt.features.tables.result_kind"),
}
"""command → modules that no answer of it needs which is made of what is kept of results of trials"""


@pytest.mark.parametrize("command", UNNEEDED)
def test_what_is_kept_is_shown_without_importing_what_makes_it(root: Path, run: Run, command: str) -> None:
    words = [command, *([next(root.iterdir()).name] if command == "show" else []), "--results", str(root)]
    first = run(*words)
    script = (
        "import sys; from linewatt.store import cache; from linewatt.cli import entry_point; "
        f"cache.SETTLED_S = -1.0; sys.argv = ['linewatt', *{words!r}]\n"
        "try: entry_point.main()\n"
        "finally: print(*(sys.modules.keys()), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == first[:2]
    assert set(ended.stderr.splitlines()[-1].split()).isdisjoint(UNNEEDED[command])
    assert f"linewatt.cli.actions.{command}" in ended.stderr or command == "history"
