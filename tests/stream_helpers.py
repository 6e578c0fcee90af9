# SPDX-License-Identifier: Apache-2.0
"""Running the bash scripts of sensors that stream from the kernel's files, over trees of such files."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@contextmanager
def streaming(argv: list[str], *, anybody: bool = False) -> Iterator[Iterator[str]]:
    """The lines of the running process; ``anybody``: not as root, also when the tests are."""
    who: dict[str, Any] = (
        {"user": NOBODY, "group": NOBODY, "extra_groups": []} if anybody and os.geteuid() == 0 else {}
    )
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **who
    ) as process:
        assert process.stdout is not None
        yield iter(process.stdout)
        process.terminate()


def records(argv: list[str], count: int, *, anybody: bool = False) -> list[str]:
    """The first records of the streaming process, which is then terminated."""
    with streaming(argv, anybody=anybody) as lines:
        return [line for _, line in zip(range(count), lines, strict=False)]


def used_s(argv: list[str], count: int) -> float:
    """CPU time of the streaming process until so many records are out."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    records(argv, count)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


@contextmanager
def open_tree() -> Iterator[Path]:
    """A folder that anybody may look into, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


def replace(path: Path, text: str) -> None:
    """New contents at once, as the kernel's files change: nobody sees half of them."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.rename(path)
