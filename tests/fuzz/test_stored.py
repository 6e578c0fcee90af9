# SPDX-License-Identifier: Apache-2.0
"""Results and journals that were damaged: commands that read them end with their work or with one line."""

from __future__ import annotations

import atexit
import contextlib
import io
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.fuzz.conftest import fuzz, survived
from tests.fuzz.mutate import CAPTURES, changed

from linewatt.cli import main
from linewatt.engine import restore
from linewatt.errors import HostError
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.journal import Entry, Journal, journal_path

RESULT = CAPTURES / "results" / "method-1"
RAW = ("raw/h2/mpstat.jsonl", "raw/h1/bmc.jsonl", "raw/h1/iperf3-client-0.json", "raw/h1/readback.json")


def check_command(*arguments: str) -> None:
    """A command of linewatt in this process does its work, or ends with one line that says why not."""
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with pytest.MonkeyPatch.context() as patch, streams[0], streams[1]:
        patch.setattr(sys, "argv", ["linewatt", *arguments])
        try:
            main()
            code: object = 0
        except SystemExit as error:
            code = error.code or 0
    lines = [line for line in err.getvalue().splitlines() if line.startswith("linewatt: ")]
    assert code in (0, 1, 2)
    assert len(lines) <= 1
    assert lines or code != 2
    assert "Traceback" not in err.getvalue()


@contextlib.contextmanager
def damaged_file(path: Path, seed: int, count: int) -> Iterator[None]:
    before = path.read_bytes()
    path.write_bytes(changed(before, random.Random(seed), count))  # noqa: S311
    try:
        yield
    finally:
        path.write_bytes(before)


seeds, counts = st.integers(0, 2**48), st.sampled_from((1, 1, 1, 2, 3))


@fuzz(st.sampled_from(RAW), seeds, counts, share=0.2)
def test_damaged_raw_output_is_derived_again_or_named(name: str, seed: int, count: int) -> None:
    file = results() / RESULT.name / "trials" / "00001" / name
    with survived("stored: rederive"), damaged_file(file, seed, count):
        check_command("rederive", RESULT.name, "--results", str(results()))


@cache
def results() -> Path:
    """A directory of results with one in it, whose files are damaged and mended again."""
    root = Path(tempfile.mkdtemp(prefix="linewatt-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    shutil.copytree(RESULT, root / RESULT.name)
    return root


@cache
def journal() -> Path:
    """A journal with two changes that are still to be undone."""
    state = Path(tempfile.mkdtemp(prefix="linewatt-fuzz-"))
    atexit.register(shutil.rmtree, state, ignore_errors=True)
    path = journal_path(state, "20260101-000000-t")
    one = Journal(path, create=True)
    one.begin([HostSpec("h1", "192.0.2.1", "eth0"), HostSpec("h2", "192.0.2.2", "eth0", sudo=True)])
    one.intend([Entry(number, f"h{number}", "mtu", "eth0", "1500", "9000") for number in (1, 2)])
    one.applied(1, "9000")
    one.close()
    return path


async def _unreachable(spec: HostSpec, *_: object) -> Host:
    raise HostError(f"{spec.name}: no SSH connection")


@fuzz(seeds, counts, share=0.5)
def test_a_damaged_journal_is_undone_or_named(seed: int, count: int) -> None:
    path = journal()
    with pytest.MonkeyPatch.context() as patch, survived("stored: restore"):
        patch.setenv("LINEWATT_STATE", str(path.parents[1]))
        patch.setattr(restore, "connect", _unreachable)
        with damaged_file(path, seed, count):
            check_command("restore")
