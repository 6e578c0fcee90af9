# SPDX-License-Identifier: Apache-2.0
"""A result may come from anybody: no file in it makes a command wait, and none fills the memory."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.captured import CAPTURES
from tests.hostile_files import ADDRESS_SPACE_BYTES, FAULTS, LIMIT_S, limited, put_huge
from tests.soak_result import Shape
from tests.soak_result import write as write_soak
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL
from tests.unit.store.test_verify import IDLE

from linewatt.store import SUMS_FILE, open_stored, stored_bytes, write
from linewatt.store.stored_file import MAX_DOCUMENT_BYTES


def _trials(folder: Path) -> Path:
    path = write.new_result(folder, "t", 0.0, MANIFEST)
    write.write_trial(path, TRIAL, [SERIES], {"h2/out.json": "{}"})
    write.write_idle(path / "idle.json", IDLE, {"h1/mpstat.jsonl": "{}"})
    return path


def _soak(folder: Path) -> Path:
    return write_soak(folder, Shape(clients=("c1",), duration_s=60, users=2))[0]


def _before_checksums(folder: Path) -> Path:
    return Path(shutil.copytree(CAPTURES / "results" / "method-1", folder / "20260101-000000-old"))


KINDS: dict[str, Callable[[Path], Path]] = {
    "trials": _trials,
    "soak": _soak,
    "before checksums": _before_checksums,
}


def _kinds_of_files(folder: Path) -> dict[str, Path]:
    """Name without numbers → the first such file."""
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file():
            files.setdefault(re.sub(r"\d+", "N", name), Path(name))
    return files


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_of_a_result_makes_a_command_wait(kind: str, run: Run, tmp_path: Path) -> None:
    made = KINDS[kind](tmp_path / "made")
    files = _kinds_of_files(made)
    assert len(files) >= 5
    for name in files.values():
        for fault, put in FAULTS.items():
            root = tmp_path / f"{fault}-{name.as_posix().replace('/', '-')}"
            shutil.copytree(made, root / made.name)
            path = root / made.name / name
            path.unlink()
            put(path)
            for words in (("list",), ("show", made.name), ("verify", made.name)):
                with limited(f"{' '.join(words)} with {name} as {fault}"):
                    code, out, err = run(*words, "--results", str(root))
                assert code in (0, 1, 2), (name, fault, words, err)
                assert "Traceback" not in err
            if (root / made.name / SUMS_FILE).exists():
                assert code == 1, (name, fault, out, err)  # verify names it
            shutil.rmtree(root)


@pytest.mark.parametrize("fault", FAULTS)
def test_samples_that_are_no_file_are_named(fault: str, run: Run, tmp_path: Path) -> None:
    made = _trials(tmp_path / "results")
    samples = next(made.rglob("samples.parquet"))
    samples.unlink()
    FAULTS[fault](samples)
    for words in (("report", str(made), "-o", "report.html"), ("sql", "select count(*) from samples")):
        with limited(" ".join(words)):
            code, _, err = run(*words, "--results", str(made.parent))
        assert code in (0, 1, 2), err
        assert "Traceback" not in err


def test_a_huge_manifest_is_refused_within_little_memory(tmp_path: Path) -> None:
    folder = tmp_path / "20260101-000000-huge"
    folder.mkdir()
    put_huge(folder / "manifest.json")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))

    for words in (("list", "--results", str(tmp_path)), ("show", str(folder))):
        done = subprocess.run(
            [sys.executable, "-m", "linewatt", *words],
            preexec_fn=limit,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert "MemoryError" not in done.stderr
        assert f"is larger than {MAX_DOCUMENT_BYTES >> 20} MiB" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("pipe", "is not a regular file"),
        ("endless", "is a link"),
        ("folder", "is not a regular file"),
    ],
)
@pytest.mark.parametrize("read", [open_stored, stored_bytes])
def test_a_stored_file_is_a_regular_one(
    read: Callable[[Path], object], fault: str, why: str, tmp_path: Path
) -> None:
    FAULTS[fault](tmp_path / "file")
    with limited(fault), pytest.raises(OSError, match=why):
        read(tmp_path / "file")


def test_a_stored_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2000)
    assert stored_bytes(tmp_path / "file", 2000) == b"x" * 2000
    with pytest.raises(OSError, match="is larger than"):
        stored_bytes(tmp_path / "file", 1999)
