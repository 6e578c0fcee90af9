# SPDX-License-Identifier: Apache-2.0
"""A result goes to another machine as one file: whole, or not at all, whoever wrote the file."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.fuzz.stored_results import CAMPAIGN, LEVELS, OLD, OTHER_SOAK, SOAK, results
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL

from linewatt.errors import InvalidInput
from linewatt.features.importing import action as import_
from linewatt.store import sums, write
from linewatt.store.bundle import layout, unpack
from linewatt.store.bundle.frames import Frame

HERE = Path("here")
THERE = Path("there")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A small result with a trial."""
    path = write.new_result(tmp_path / HERE, "t", 0.0, MANIFEST)
    write.write_trial(path, TRIAL, [SERIES], {"h2/out.json": "{}"})
    return path


@pytest.fixture
def bundle(result: Path, run: Run) -> Path:
    code, out, _ = run("export", result.name, "--bundle", "-o", "b.tar.zst", "--results", str(HERE))
    assert (code, out) == (0, "b.tar.zst\n")
    return Path("b.tar.zst").resolve()


def taken(run: Run, bundle: Path) -> tuple[int, str]:
    """``import`` on the other machine: exit code and message, and that nothing is left of a refused one."""
    code, _, err = run("import", str(bundle), "--results", str(THERE))
    if code:
        assert not THERE.exists() or not list(THERE.iterdir()), "nothing was imported"
        assert "Traceback" not in err
        assert err.count("\n") == 1
    return code, err


def refusal(bundle: Path) -> str:
    """Why a bundle is refused; nothing of it is there then."""
    with pytest.raises(InvalidInput) as refused:
        unpack.unpack_bundle(bundle, THERE)
    assert not THERE.exists() or not list(THERE.iterdir()), "nothing was imported"
    return str(refused.value)


def contents_of(data: bytes) -> tuple[dict[str, Any], int]:
    """``bundle.json``, and where the frame that holds it ends."""
    unpacking = zstandard.ZstdDecompressor().decompressobj()
    text = unpacking.decompress(data)
    found: dict[str, Any] = json.loads(text[layout.BLOCK :].rstrip(b"\0"))
    return found, len(data) - len(unpacking.unused_data)


def frames_of(data: bytes) -> dict[str, slice]:
    """Where the frame of each file is."""
    contents, at = contents_of(data)
    found = {layout.LIST: slice(0, at)}
    for one in contents["files"]:
        found[one["name"]] = slice(at, at := at + one["packed_bytes"])
    return found


@dataclass
class Made:
    """A bundle that fits together and that linewatt would not write."""

    id: str = "20260101-000000-t"
    frames: list[tuple[str, bytes]] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, file: str, data: bytes, member: bytes | None = None, **entry: Any) -> Made:
        """A file; ``member`` is what is packed for it, where that is not what linewatt packs."""
        self.frames.append((file, data))
        self.entries[file] = {"data": data, "member": member, **entry}
        return self

    def at(self, path: Path) -> Path:
        files, packed = [], []
        for name, data in self.frames:
            given = dict(self.entries[name])
            given.pop("data")
            member = given.pop("member")
            if member is None:
                member = layout.header(f"{self.id}/{name}", len(data)) + data + layout.padding(len(data))
            frame = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(
                member + (layout.END if name == self.frames[-1][0] else b"")
            )
            packed.append(frame)
            digests = {"sha256": hashlib.sha256(data).hexdigest()}
            digests |= {"packed_sha256": hashlib.sha256(frame).hexdigest()}
            files.append({"name": name, "bytes": len(data), "packed_bytes": len(frame), **digests, **given})
        listed = {"schema_version": 1, "kind": layout.KIND, "id": self.id, "linewatt_version": "1"}
        text = json.dumps({**listed, "files": files, **self.changes}).encode()
        first = layout.header(layout.LIST, len(text)) + text + layout.padding(len(text))
        first = zstandard.ZstdCompressor(write_checksum=True).compress(first)
        path.write_bytes(first + b"".join(packed) + layout.seal(first))
        return path


def made(**changes: Any) -> Made:
    """A bundle of a result without trials, which is imported as it is."""
    manifest = json.dumps({**MANIFEST, "id": "20260101-000000-t"}).encode()
    return Made(changes=changes).add("manifest.json", manifest)


@pytest.mark.parametrize("name", [CAMPAIGN, LEVELS, SOAK, OTHER_SOAK, OLD])
def test_a_result_of_any_kind_is_read_on_another_machine_as_here(
    name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    first = tmp_path / "first-machine" / "measurements"
    first.mkdir(parents=True)
    shutil.copytree(results() / name, first / name)
    assert run("export", name, "--bundle", "--results", str(first))[0] == 0
    commands = [("show", name, "--full"), ("show", name, "--json"), ("verify", name)]
    commands += [("report", name, "--format", "md", "-o", "r.md"), ("rederive", name)]
    here = [run(*one, "--results", str(first)) for one in commands]
    report = Path("r.md").read_text()
    digests = {path: sums.sha256_of_file(first / name / path) for path in sums.files(first / name)}
    shutil.rmtree(first)
    code, out, err = run("import", f"{name}.tar.zst", "--results", str(THERE))
    assert (code, out) == (0, f"{name}\n"), err
    assert {path: sums.sha256_of_file(THERE / name / path) for path in sums.files(THERE / name)} == digests
    there = [run(*one, "--results", str(THERE)) for one in commands]
    said = json.dumps([*there, Path("r.md").read_text()])
    assert "first-machine" not in said
    assert [one[0] for one in there] == [one[0] for one in here]
    assert json.dumps(there).replace(str(THERE), "") == json.dumps(here).replace(str(first), "")
    assert Path("r.md").read_text() == report


def test_an_imported_result_is_compared_with_one_that_was_measured_here(run: Run, tmp_path: Path) -> None:
    (tmp_path / HERE).mkdir()
    for name in (SOAK, OTHER_SOAK):
        shutil.copytree(results() / name, HERE / name)
    expected = run("compare", SOAK, OTHER_SOAK, "--results", str(HERE), "--full")
    assert run("export", SOAK, "--bundle", "-o", "b.tar.zst", "--results", str(HERE))[0] == 0
    shutil.rmtree(HERE / SOAK)
    assert run("import", "b.tar.zst", "--results", str(HERE))[0] == 0
    assert run("compare", SOAK, OTHER_SOAK, "--results", str(HERE), "--full") == expected


def test_the_same_result_makes_the_same_bundle_without_a_path_of_its_machine(
    bundle: Path, result: Path, run: Run
) -> None:
    os.utime(result / "manifest.json", (1, 1))
    code, out, _ = run("export", str(result), "--bundle", "-o", "c.tar.zst", "--json")
    said = json.loads(out)
    assert (code, said["id"], said["files"]) == (0, result.name, 5)
    assert Path("c.tar.zst").read_bytes() == bundle.read_bytes()
    assert said["sha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    unpacked = zstandard.ZstdDecompressor().stream_reader(bundle.read_bytes(), read_across_frames=True).read()
    assert os.fsencode(HERE) + b"/" not in unpacked


@pytest.mark.skipif(shutil.which("zstd") is None, reason="no zstd here to unpack it by hand")
def test_tar_unpacks_a_bundle(bundle: Path, result: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.tar"
    subprocess.run(["zstd", "-q", "-d", str(bundle), "-o", str(plain)], check=True)
    (tmp_path / "by-hand").mkdir()
    subprocess.run(["tar", "-xf", str(plain), "-C", str(tmp_path / "by-hand")], check=True)
    assert sums.sha256_of_file(tmp_path / "by-hand" / result.name / sums.SUMS_FILE) == sums.sha256_of_file(
        result / sums.SUMS_FILE
    )


def test_a_flipped_bit_anywhere_is_named_with_the_file_that_it_is_in(bundle: Path) -> None:
    data = bundle.read_bytes()
    places = frames_of(data)
    draw = random.Random(7)  # noqa: S311 - places, no secrets
    for name, place in places.items():
        length = place.stop - place.start
        for at in {*range(min(10, length)), length - 1, *(draw.randrange(length) for _ in range(4))}:
            for bit in range(8) if at < 5 else (draw.randrange(8),):
                flipped = bytearray(data)
                flipped[place.start + at] ^= 1 << bit
                bundle.write_bytes(flipped)
                assert f"b.tar.zst: {name}: " in (said := refusal(bundle)), (name, at, bit, said)
    for at in range(len(data) - layout.SEAL_BYTES, len(data)):
        bundle.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert layout.LIST in refusal(bundle)


def test_a_bundle_that_is_cut_off_says_in_which_file(bundle: Path, run: Run) -> None:
    data = bundle.read_bytes()
    for name, place in frames_of(data).items():
        for at in (place.start + 1, (place.start + place.stop) // 2, place.stop - 1):
            bundle.write_bytes(data[:at])
            assert f"b.tar.zst: {name}: " in (said := refusal(bundle)), (name, at, said)
            assert "cut off" in said or name == layout.LIST
    bundle.write_bytes(data[:-1])
    assert "its end: is cut off" in taken(run, bundle)[1]
    bundle.write_bytes(b"")
    assert taken(run, bundle)[0] == 2


def test_a_file_that_is_missing_or_was_added_is_named(bundle: Path, run: Run) -> None:
    data = bundle.read_bytes()
    for name, place in list(frames_of(data).items())[1:]:
        bundle.write_bytes(data[: place.start] + data[place.stop :])
        code, err = taken(run, bundle)
        assert (code, f"b.tar.zst: {name}: is missing" in err) == (2, True), err
    contents, _ = contents_of(data)
    other = layout.header(f"{contents['id']}/notes.txt", 4) + b"mine" + layout.padding(4)
    added = zstandard.ZstdCompressor().compress(other)
    for at in [place.stop for place in frames_of(data).values()]:
        bundle.write_bytes(data[:at] + added + data[at:])
        code, err = taken(run, bundle)
        assert (code, "notes.txt: is in the bundle and is not listed" in err) == (2, True), err


def test_what_the_result_itself_lists_counts_too(run: Run, tmp_path: Path) -> None:
    manifest = json.dumps({**MANIFEST, "id": "x"}).encode()
    listed = sums.lines({"manifest.json": sums.sha256_of_data(manifest), "gone.json": "0" * 64})
    bundle = Made().add("manifest.json", manifest).add(sums.SUMS_FILE, listed).at(tmp_path / "b.tar.zst")
    assert "gone.json: was stored and is not there" in taken(run, bundle)[1]
    own = sums.lines({"manifest.json": sums.sha256_of_data(manifest)})
    more = Made().add("manifest.json", manifest).add(sums.SUMS_FILE, own).add("more.txt", b"")
    assert "more.txt: was not stored by linewatt" in taken(run, more.at(bundle))[1]
    other = Made().add("manifest.json", manifest + b" ").add(sums.SUMS_FILE, own)
    assert "manifest.json: has another checksum" in taken(run, other.at(bundle))[1]
    assert "manifest.json: " in taken(run, Made().add("notes.txt", b"x").at(bundle))[1]
    assert taken(run, made().at(bundle))[0] == 0, "and what is as it should be is imported"


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/x",
        "a/../../x",
        "a//b",
        "",
        ".",
        ".hidden",
        "a/.x.tmp",
        "a\0b",
        "a\nb",
        "\ud800",
        "a" * 300,
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, run: Run, tmp_path: Path) -> None:
    bundle = made().add("x.txt", b"x", name=name).at(tmp_path / "b.tar.zst")
    assert taken(run, bundle)[0] == 2
    bundle = made(id=name).at(tmp_path / "b.tar.zst")
    assert taken(run, bundle)[0] == 2


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (tarfile.SYMTYPE, "is a symbolic link, not a regular file"),
        (tarfile.LNKTYPE, "is a hard link"),
        (tarfile.CHRTYPE, "is a device"),
        (tarfile.BLKTYPE, "is a device"),
        (tarfile.FIFOTYPE, "is a named pipe"),
        (tarfile.DIRTYPE, "is a folder"),
        (tarfile.GNUTYPE_SPARSE, "notes.txt: is "),
    ],
)
def test_what_is_no_regular_file_is_refused(kind: bytes, said: str, run: Run, tmp_path: Path) -> None:
    member = tarfile.TarInfo("20260101-000000-t/notes.txt")
    member.type, member.linkname = kind, "/etc/passwd"
    bundle = made().add("notes.txt", b"", member.tobuf()).at(tmp_path / "b.tar.zst")
    code, err = taken(run, bundle)
    assert (code, said in err) == (2, True), err


def test_a_member_of_another_name_is_refused(run: Run, tmp_path: Path) -> None:
    member = layout.header("../../notes.txt", 1) + b"x" + layout.padding(1)
    bundle = made().add("notes.txt", b"x", member).at(tmp_path / "b.tar.zst")
    assert "notes.txt: is called '../../notes.txt' in the archive" in taken(run, bundle)[1]


def test_what_unpacks_to_more_than_it_says_or_than_a_result_has_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, zeros = tmp_path / "b.tar.zst", bytes(8 << 20)
    assert "as no file of a result does" in taken(run, made().add("x", zeros).at(path))[1]
    member = layout.header("20260101-000000-t/x", 4) + zeros
    read: list[int] = []
    original = Frame.unpacked

    def counted(frame: Frame) -> Any:
        stream = original(frame)
        take: Callable[[int], bytes] = stream.read

        def reading(size: int) -> bytes:
            read.append(size)
            return take(size)

        monkeypatch.setattr(stream, "read", reading)
        return stream

    monkeypatch.setattr(Frame, "unpacked", counted)
    bomb = made().add("x", bytes(4), member).at(path)
    assert "x: holds more than is listed" in taken(run, bomb)[1]
    assert max(one for one in read if one < layout.MOST_OF_LIST) < 20_000, (
        "not more than was listed is unpacked"
    )
    monkeypatch.setattr(Frame, "unpacked", original)
    shorter = layout.header("20260101-000000-t/x", 5000) + b"a"
    assert (
        "x: holds less than is listed" in taken(run, made().add("x", b"a", shorter, bytes=5000).at(path))[1]
    )
    assert taken(run, made().add("x", b"a", bytes=1 << 41).at(path))[0] == 2
    monkeypatch.setattr(layout, "MOST_OF_LIST", 4096)
    assert "bundle.json: is longer than 4096 bytes" in taken(run, made(more="x" * 9000).at(path))[1]


def test_there_must_be_room_for_what_is_unpacked(
    bundle: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    code, err = taken(run, bundle)
    assert (code, "the disk has room for 0 MiB" in err) == (1, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema_version": 2}, "schema_version 2, this linewatt reads 1"),
        ({"kind": "other"}, "kind"),
        ({"files": []}, "files"),
        ({"files": [{"name": "manifest.json"}]}, "files.0"),
        ({"extra": 1}, "extra"),
        ({"id": "last/x"}, "id"),
    ],
)
def test_a_list_that_linewatt_does_not_write_is_refused(
    changes: dict[str, Any], said: str, run: Run, tmp_path: Path
) -> None:
    code, err = taken(run, made(**changes).at(tmp_path / "b.tar.zst"))
    assert (code, "bundle.json: " in err, said in err) == (2, True, True), err


def test_a_name_twice_or_of_a_file_and_a_folder_is_refused(run: Run, tmp_path: Path) -> None:
    twice = made().add("x", b"a").add("y", b"b", name="x").at(tmp_path / "b.tar.zst")
    assert "x is there twice" in taken(run, twice)[1]
    both = made().add("x", b"a").add("x/y", b"b").at(tmp_path / "b.tar.zst")
    assert "is a file and a folder" in taken(run, both)[1]


@pytest.mark.parametrize("data", [b"", b"PK\3\4", layout.MAGIC, layout.MAGIC + bytes(60), b"\0" * 2000])
def test_what_is_no_bundle_is_said_to_be_none(data: bytes, run: Run, tmp_path: Path) -> None:
    (tmp_path / "b.tar.zst").write_bytes(data)
    code, err = taken(run, tmp_path / "b.tar.zst")
    assert (code, "b.tar.zst: bundle.json: " in err) == (2, True)


def test_an_archive_of_somebody_else_is_said_to_be_none(run: Run, tmp_path: Path) -> None:
    plain = layout.header("results/x", 1) + b"x" + layout.padding(1) + layout.END
    (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(plain))
    assert "not a linewatt bundle: it begins with 'results/x'" in taken(run, tmp_path / "x")[1]
    assert taken(run, tmp_path / "none.tar.zst")[0] == 2
    os.mkfifo(tmp_path / "pipe.tar.zst")
    assert "is not a regular file" in taken(run, tmp_path / "pipe.tar.zst")[1]


def test_an_id_that_is_there_is_the_same_or_refused(bundle: Path, result: Path, run: Run) -> None:
    assert taken(run, bundle)[0] == 0
    code, out, err = run("import", str(bundle), "--results", str(THERE))
    assert (code, out) == (0, f"{result.name}\n")
    assert "is there already, and is the same" in err
    assert json.loads(run("import", str(bundle), "--results", str(THERE), "--json")[1])["was_there"] is True
    trial = THERE / result.name / "trials/00007/trial.json"
    trial.write_bytes(trial.read_bytes() + b" ")
    for what, said in (
        ("", "trials/00007/trial.json is another"),
        ("notes.txt", "notes.txt is only in that"),
    ):
        if what:
            shutil.copy(result / "trials/00007/trial.json", trial)
            (THERE / result.name / what).write_text("mine")
        before = {path: path.read_bytes() for path in THERE.rglob("*") if path.is_file()}
        code, out, err = run("import", str(bundle), "--results", str(THERE))
        assert (code, out, said in err) == (1, "", True), err
        assert {path: path.read_bytes() for path in THERE.rglob("*") if path.is_file()} == before


def test_two_imports_at_once_leave_one_result(
    bundle: Path, result: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = unpack._refuse_untrue

    def while_another_does(packed: Any, folder: Path) -> None:
        original(packed, folder)
        monkeypatch.setattr(unpack, "_refuse_untrue", original)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        unpack.unpack_bundle(bundle, THERE)

    monkeypatch.setattr(unpack, "_refuse_untrue", while_another_does)
    assert run("import", str(bundle), "--results", str(THERE))[0] == 0
    assert [one.name for one in THERE.iterdir()] == [result.name]


def test_a_result_that_is_not_as_it_was_stored_is_not_exported(result: Path, run: Run) -> None:
    (result / "notes.txt").write_text("mine")
    code, _, err = run("export", str(result), "--bundle", "-o", "b.tar.zst")
    assert (code, "left out, because linewatt did not store it: notes.txt" in err) == (0, True)
    assert taken(run, Path("b.tar.zst"))[0] == 0
    (result / "trials/00007/trial.json").write_text("{}")
    code, _, err = run("export", str(result), "--bundle", "-o", "c.tar.zst")
    assert (code, "trials/00007/trial.json has another checksum" in err) == (1, True)
    assert not Path("c.tar.zst").exists()


def test_a_result_that_is_being_written_is_not_exported(result: Path, run: Run) -> None:
    with (result / sums.SUMS_FILE).open("ab") as file:
        file.write(sums.lines({"trials/00008/trial.json": "0" * 64}))
    (result / "trials/.00008.tmp").mkdir()
    (result / "trials/.00008.tmp/trial.json").write_text("{}")
    code, _, err = run("export", str(result), "--bundle", "-o", "c.tar.zst")
    assert (code, "trials/00008/trial.json is being written" in err) == (1, True)
    assert [one.name for one in Path().iterdir() if "c.tar.zst" in one.name] == []


def test_wrong_use_is_one_line(result: Path, bundle: Path, run: Run) -> None:
    for words in (
        ("export", str(result)),
        ("export", str(result), "--bundle", "-o", "none/x.tar.zst"),
        ("import", str(bundle), "--name", "x"),
    ):
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1), err
    assert import_.SCHEMA_VERSION == 1
