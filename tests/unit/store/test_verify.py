# SPDX-License-Identifier: Apache-2.0
"""Results that were damaged since they were stored: named, and never in the way of the others."""

from __future__ import annotations

import copy
import errno
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.soak_result import Shape
from tests.soak_result import write as write_soak
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL

from linewatt import durable
from linewatt.cli.entry_point import OWN_FAULT
from linewatt.errors import DiskFull, StoreError
from linewatt.features.soak import storage as soak
from linewatt.store import read, sums, write
from linewatt.store.each_result import reading_results
from linewatt.store.verify import verify_result

OLD = Path(__file__).parents[1].parent / "captures" / "results" / "method-1"
IDLE = {"schema_version": 1, "window": {"start_s": 1.0, "end_s": 2.0}, "hosts": {}}


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A result with a trial, an idle window and a chunk of samples."""
    path = write.new_result(tmp_path / "results", "t", 0.0, MANIFEST)
    write.write_trial(path, TRIAL, [SERIES], {"h2/out.json": "{}"})
    write.write_idle(path / "idle.json", IDLE, {"h1/mpstat.jsonl": "{}"})
    return path


def found(path: Path) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in verify_result(path).problems]


def test_a_result_is_as_it_was_stored(result: Path, run: Run) -> None:
    assert found(result) == []
    code, out, err = run("verify", str(result))
    assert (code, out) == (0, "")
    assert "nothing damaged, missing or foreign" in err
    checked = subprocess.run(
        ["sha256sum", "--check", "--quiet", sums.SUMS_FILE], cwd=result, capture_output=True, check=False
    )
    assert checked.returncode == 0, "any tool that reads such lists can do it"


def test_every_file_that_is_damaged_missing_or_foreign_is_named(result: Path, run: Run) -> None:
    trial = result / "trials/00007"
    (trial / "trial.json").write_bytes(
        (trial / "trial.json").read_bytes().replace(b"1250000.0", b"1350000.0")
    )
    (trial / "samples.parquet").unlink()
    (trial / "notes.txt").write_text("mine")
    code, out, _ = run("verify", str(result))
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "foreign  trials/00007/notes.txt",
        "missing  trials/00007/samples.parquet",
        "damaged  trials/00007/trial.json",
    ]
    document = json.loads(run("verify", str(result), "--json")[1])
    assert [one["kind"] for one in document["problems"]] == ["foreign", "missing", "damaged"]


def test_of_many_problems_20_are_listed_and_json_has_all(result: Path, run: Run) -> None:
    for number in range(45):
        (result / f"notes-{number:02d}.txt").write_text("mine")
    code, out, err = run("verify", str(result))
    *problems, last = out.splitlines()
    assert code == 1
    assert [line.split(":")[0] for line in problems] == [f"foreign  notes-{n:02d}.txt" for n in range(20)]
    assert last == f"and 25 more: linewatt verify {result.name} --json"
    assert "45 foreign" in err
    assert len(json.loads(run("verify", str(result), "--json")[1])["problems"]) == 45


def test_each_byte_of_each_file_counts(result: Path) -> None:
    for path in sorted(one for one in result.rglob("*") if one.is_file() and one.name != sums.SUMS_FILE):
        data = path.read_bytes()
        at = random.Random(path.name).randrange(len(data))  # noqa: S311 - a place, no secret
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert found(result) == [("damaged", path.relative_to(result).as_posix())]
        path.write_bytes(data)


def test_a_list_of_checksums_that_is_gone_or_damaged_is_named(result: Path) -> None:
    lines = (result / sums.SUMS_FILE).read_text()
    (result / sums.SUMS_FILE).write_text("x" + lines)
    assert found(result) == [("damaged", sums.SUMS_FILE)]
    (result / sums.SUMS_FILE).write_text(f"{'0' * 64}  ../../outside\n")
    assert found(result) == [("damaged", sums.SUMS_FILE)]
    (result / sums.SUMS_FILE).unlink()
    assert found(result) == [("missing", sums.SUMS_FILE)]


@pytest.mark.parametrize(
    "name",
    ["a" * 70_000, "a" * 252, "a/" * 2500 + "b", "**", "a**/b", "../x", "/etc/x", "a//b"],
    ids=lambda one: f"{one[:9]} {len(one)}",
)
def test_a_name_that_no_file_can_have_is_named_and_nothing_else(result: Path, run: Run, name: str) -> None:
    with (result / sums.SUMS_FILE).open("a") as file:
        file.write(f"{'0' * 64}  {name}\n")
    code, out, _ = run("verify")
    assert code == 1
    assert sums.SUMS_FILE in out or f"missing  {name}" in out


def test_a_trial_that_was_deleted_and_run_again_is_as_it_was_stored_last(result: Path) -> None:
    shutil.rmtree(result / "trials/00007")
    assert {name for kind, name in found(result) if kind == "missing"} == {
        "trials/00007/raw.tar.gz",
        "trials/00007/samples.parquet",
        "trials/00007/trial.json",
    }
    write.write_trial(result, replace(TRIAL, throughput_bps=5e6), [SERIES], {"h2/out.json": "[]"})
    assert found(result) == []


@pytest.mark.parametrize("killed", ["listed", "cut off"])
def test_what_a_crash_left_half_written_is_no_damage(
    result: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Killed once the checksums are on disk, and in the middle of writing them."""
    trial = replace(TRIAL, number=8)
    remove = shutil.rmtree

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", die)
        patch.setattr(os, "ftruncate", lambda *_: None)
        patch.setattr(
            shutil, "rmtree", lambda path, **kw: None if "00008" in str(path) else remove(path, **kw)
        )
        with pytest.raises(KeyboardInterrupt):
            write.write_trial(result, trial, [SERIES], {})
    digests = sums.lines({"trials/00008/trial.json": "0" * 64, "trials/00008/samples.parquet": "0" * 64})
    with (result / sums.SUMS_FILE).open("ab") as file:
        file.write(digests if killed == "listed" else digests[:-30])
    if killed == "listed":
        assert (result / "trials/.00008.tmp/trial.json").exists()
        assert found(result) == []
    write.write_trial(result, trial, [SERIES], {})
    assert found(result) == []


def test_a_soak_is_verified_too(tmp_path: Path) -> None:
    path = write.new_result(tmp_path, "s", 0.0, MANIFEST)
    part = soak.new_part(path, 1000.0)
    for number in (1, 2):
        soak.write_chunk(part, number, [SERIES], {"users": {}, "times": {}, "said": []}, [{"time_s": 1.0}])
    soak.end_part(part, 1010.0, "done")
    assert found(path) == []
    (part / "chunk-000001.parquet").unlink()
    data = (part / "events-000002.jsonl").read_bytes()
    (part / "events-000002.jsonl").write_bytes(data[:-3])
    assert found(path) == [
        ("missing", "soak/part-001/chunk-000001.parquet"),
        ("damaged", "soak/part-001/events-000002.jsonl"),
    ]


def test_a_result_stored_before_there_were_checksums_is_read_instead(tmp_path: Path, run: Run) -> None:
    path = Path(shutil.copytree(OLD, tmp_path / "results" / "20261122-031105-demo"))
    code, _, err = run("verify", str(path))
    assert code == 0
    assert "was stored without checksums" in err
    (path / "trials/00002/trial.json").write_text('{"number": 2')
    assert found(path) == [("damaged", "trials/00002/trial.json")]
    write.write_json(path / "meters.json", {"schema_version": 1, "meters": []})
    assert not (path / sums.SUMS_FILE).exists(), "a list of some files would make all others foreign"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "linewatt-test", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Have no room left there."""
    with (disk / "full").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return disk / "full"


def test_a_full_disk_is_one_line_and_leaves_no_part_of_a_result(small_disk: Path) -> None:
    path = write.new_result(small_disk, "t", 0.0, MANIFEST)
    write.write_trial(path, TRIAL, [SERIES], {})
    full = fill(small_disk)
    before = sorted(one for one in small_disk.rglob("*") if one != full)
    big = {"h2/out.json": "x" * 100_000}
    for attempt in (
        lambda: write.new_result(small_disk, "u", 1.0, {**MANIFEST, "campaign_text": "x" * 9000}),
        lambda: write.write_trial(path, replace(TRIAL, number=8), [SERIES], {}),
        lambda: write.write_trial(path, replace(TRIAL, number=8), [SERIES], big),
        lambda: write.write_idle(path / "idle.json", IDLE, big),
        lambda: write.write_json(path / "labels-1.json", {"x": "y" * 9000}),
    ):
        with pytest.raises(DiskFull, match="the disk is full") as raised:
            attempt()
        assert "\n" not in str(raised.value)
        assert sorted(one for one in small_disk.rglob("*") if one != full) == before
    full.unlink()
    assert found(path) == []
    write.write_trial(path, replace(TRIAL, number=8), [SERIES], big)
    assert found(path) == []


def test_a_disk_that_fails_while_samples_are_written_is_one_line(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(durable, "sync_folder", fails)
    with pytest.raises(StoreError, match="the trial cannot be stored: Input/output error"):
        write.write_trial(result, replace(TRIAL, number=8), [SERIES], {})
    assert not list((result / "trials").glob(".*"))


def test_a_result_that_was_removed_does_not_come_back_in_part(result: Path) -> None:
    shutil.rmtree(result)
    for attempt in (
        lambda: write.write_trial(result, replace(TRIAL, number=8), [SERIES], {"h2/out.json": "{}"}),
        lambda: write.write_idle(result / "idle-2.json", IDLE, {"h1/x": "y"}),
        lambda: write.write_json(result / "repeats.json", {}),
    ):
        with pytest.raises(StoreError, match="was removed or moved while its campaign runs"):
            attempt()
    assert not result.exists()


def test_a_result_without_anything_measured_can_be_told_from_others(result: Path, tmp_path: Path) -> None:
    assert not write.remove_if_empty(result)
    empty = write.new_result(tmp_path / "results", "e", 9.0, MANIFEST)
    write.write_idle(empty / "idle.json", IDLE, {"h1/mpstat.jsonl": "{}"})
    assert write.remove_if_empty(empty)
    assert not empty.exists()
    long = write.new_result(tmp_path / "results", "s", 9.0, MANIFEST)
    part = soak.new_part(long, 1000.0)
    soak.write_chunk(part, 1, [SERIES])
    assert not write.remove_if_empty(long)


def test_one_damaged_result_does_not_hide_the_others(tmp_path: Path, run: Run) -> None:
    root = Path("results")
    for name in ("20260101-000000-a", "20260102-000000-b", "20260103-000000-c"):
        shutil.copytree(OLD, root / name)
    (root / "20260102-000000-b" / "manifest.json").write_text('{"schema_version": 1, "hosts": [')
    code, out, _ = run("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:5]] == [
        "20260101-000000-a",
        "20260102-000000-b",
        "20260103-000000-c",
    ]
    assert "damaged" in out.splitlines()[3]
    assert "20260102-000000-b: results/20260102-000000-b/manifest.json: damaged" in out
    rows = json.loads(run("list", "--json")[1])["results"]
    assert [row["damaged"] is None for row in rows] == [True, False, True]
    code, out, _ = run("history")
    assert code == 0
    assert "20260101-000000-a" in out
    assert "Damaged, in no course: 1 result" in out
    assert json.loads(run("history", "--json")[1])["damaged"][0]["id"] == "20260102-000000-b"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("soak/part-001/ended.json", '{"ended_s": 1e300, "why": "done"}'),
        ("soak/part-001/part.json", '{"number": 1, "started_s": "x"}'),
        ("manifest.json", '{"schema_version": 1, "trials_planned": 0, "campaign": {"soak": {"x": 1}}}'),
    ],
)
def test_a_damaged_soak_hides_no_other_result(tmp_path: Path, run: Run, name: str, text: str) -> None:
    write_soak(Path("results"), Shape(duration_s=60, clients=("c1",), users=1))
    (path,) = Path("results").iterdir()
    shutil.copytree(OLD, Path("results") / "20260101-000000-a")
    (path / name).write_text(text)
    for command in (["list"], ["list", "--json"], ["history"], ["history", "--json"]):
        code, out, err = run(*command)
        assert (code, err) == (0, ""), command
        assert ("20260101-000000-a" if command[0] == "list" else "h2") in out, command
        assert path.name in out
    for command in (["show", path.name], ["report", path.name, "-o", "x.html"], ["resume", path.name]):
        code, _, err = run(*command)
        assert code == 1
        assert len(err.splitlines()) == 1
        assert path.name in err or command[0] == "resume", command


def _breaks(*_: object) -> None:
    raise IndexError("list index out of range")


@pytest.fixture
def wrong_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Code of linewatt's own that is wrong: in what shows a result, and in what lists it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for module in ("report.trials.digest", "cli.actions.show_all", "features.tables.analyze_action"):
        monkeypatch.setattr(f"linewatt.{module}.digest_of", _breaks)
    monkeypatch.setattr("linewatt.report.list_line.listed", _breaks)


@pytest.mark.usefixtures("wrong_report")
@pytest.mark.parametrize("command", [("show", "last"), ("list",), ("list", "--json"), ("analyze", "last")])
@pytest.mark.parametrize("added", [(), ("notes.txt",)])
def test_an_error_of_linewatt_itself_is_no_word_on_a_result_that_is_as_it_was_stored(
    result: Path, run: Run, added: tuple[str, ...], command: tuple[str, ...]
) -> None:
    """A file that was put beside what is stored is none that was read."""
    for name in added:
        (result / name).write_text("mine")
    code, _, err = run(*command)
    assert code == OWN_FAULT
    assert err.startswith("linewatt: internal error: IndexError: list index out of range; ")


@pytest.mark.usefixtures("wrong_report")
def test_an_error_of_linewatt_itself_calls_no_file_damaged_where_nothing_tells(run: Run) -> None:
    """A result that was stored before there were checksums."""
    shutil.copytree(OLD, Path("results") / "20260101-000000-a")
    said = (
        "results/20260101-000000-a: what is made of the result failed: IndexError: list index out of range; "
        "without SHA256SUMS nothing tells whether its files or linewatt are wrong"
    )
    assert run("show", "last") == (1, "", f"linewatt: {said}\n")
    code, out, _ = run("list")
    assert code == 0
    assert "damaged" not in out
    assert "not shown" in out
    assert json.loads(run("list", "--json")[1])["results"] == [{"id": "20260101-000000-a", "damaged": said}]


@pytest.mark.usefixtures("wrong_report")
def test_a_file_that_is_not_as_it_was_stored_is_named_beside_the_error(result: Path, run: Run) -> None:
    file = result / "trials/00007/trial.json"
    file.write_bytes(file.read_bytes().replace(b"1250000.0", b"1350000.0"))
    assert run("show", "last") == (
        1,
        "",
        f"linewatt: results/{result.name}/trials/00007/trial.json: has another checksum than when it was "
        "stored; what is made of the result failed: IndexError: list index out of range\n",
    )


VALUES: list[Any] = [None, [], {}, "x", -1, 1.5, True, 10**40, [None], {"x": None}, "NaN"]
BROKE: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "manifest.json": [(("campaign",), [None]), (("created_s",), 10**40), (("schema_version",), None)],
}
"""values that ended list, show and history once"""


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


def with_value(document: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a place, or without it."""
    made = copy.deepcopy(document)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    if value == "gone":
        inner.pop(at[-1])
    else:
        inner[at[-1]] = value
    return made


@pytest.mark.parametrize("name", ["manifest.json", "idle.json", "trials/00001/trial.json"])
def test_a_stored_value_of_any_kind_is_a_result_or_one_line(tmp_path: Path, run: Run, name: str) -> None:
    root = Path("results")
    shutil.copytree(OLD, root / "20260101-000000-a")
    path = Path(shutil.copytree(OLD, root / "20260102-000000-b"))
    document = json.loads((path / name).read_text())
    chosen = random.Random(name)  # noqa: S311 - values, no secret
    every = [at for at in places(document) if at and at[0] != "campaign_text"]
    drawn = [(at, chosen.choice([*VALUES, "gone"])) for at in chosen.sample(every, 25)]
    for at, value in [*BROKE.get(name, []), *drawn]:
        changed = with_value(document, at, value)
        (path / name).write_text(json.dumps(changed).replace('"NaN"', "NaN"))
        for command in (["list"], ["show", "20260102"], ["history"]):
            code, out, err = run(*command)
            assert code in (0, 1), (at, value, command)
            assert command[0] != "list" or "20260101-000000-a" in out
            assert code == 0 or len(err.splitlines()) == 1, (at, value, err)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("manifest.json", "manifest"), ("idle.json", "idle"), ("trials/00001/trial.json", "trial")],
)
def test_a_document_of_another_version_is_left_to_that_version(tmp_path: Path, name: str, shape: str) -> None:
    path = Path(shutil.copytree(OLD, tmp_path / "20260102-000000-b"))
    document = json.loads((path / name).read_text())
    (path / name).write_text(json.dumps({**document, "schema_version": 2}))
    with pytest.raises(StoreError, match=r"schema_version 2, this linewatt reads 1"):
        read.load_result(path)


@pytest.fixture
def of_another_user(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands may not read the folder of trials; root may read everything, so the system call refuses."""
    scandir = os.scandir

    def refusing(folder: Any = ".") -> Any:
        if os.fspath(folder) == str(result / "trials"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)


@pytest.mark.usefixtures("of_another_user")
@pytest.mark.parametrize("command", [("show",), ("report", "-o", "r.html"), ("export", "--format", "csv")])
def test_trials_that_this_user_may_not_read_are_not_taken_for_none(
    command: tuple[str, ...], result: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(command[0], result.name, *command[1:], "--results", str(result.parent))
    assert (code, out) == (1, "")
    assert f"{result / 'trials'}: cannot be read: Permission denied" in err
    assert not Path("r.html").exists()


def test_a_result_that_this_user_may_not_enter_is_named_in_the_list(
    result: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = result.with_name("20260102-000000-closed")
    closed.mkdir()
    result.with_name("lost+found").mkdir()
    refused, access = {closed.name, "lost+found"}, os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name not in refused and access(path, mode)
    )
    code, out, err = run("list", "--results", str(result.parent))
    assert code in (0, 1)
    assert f"{closed.name}: " in out + err
    assert result.name in out
    assert "lost+found" not in out + err


def test_a_file_that_this_user_may_not_read_is_named_and_no_doubt_of_linewatt(result: Path) -> None:
    file = result / "manifest.json"
    refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
    (result / sums.SUMS_FILE).unlink()
    message = rf"^{file}: cannot be read: Permission denied$"
    with pytest.raises(StoreError, match=message), reading_results(result):
        raise refusal
    with pytest.raises(PermissionError), reading_results(result.parent / "other"):
        raise refusal


def test_a_result_that_this_user_may_not_enter_has_no_list_of_checksums(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "stat", refuse)
    assert not sums.has_list(result)
