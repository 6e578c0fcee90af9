# SPDX-License-Identifier: Apache-2.0
"""Results and journals that were damaged: commands that read them end with their work or with one line."""

from __future__ import annotations

import atexit
import gzip
import resource
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.fuzz.commands import check_command
from tests.fuzz.conftest import fuzz, survived
from tests.fuzz.stored_results import (
    CAMPAIGN,
    LEVELS,
    OLD,
    OTHER_SOAK,
    SOAK,
    damage,
    damaged_file,
    files,
    results,
)
from tests.hostile_files import ADDRESS_SPACE_BYTES

from linewatt.engine.live import session
from linewatt.engine.undo import restore
from linewatt.errors import HostError
from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.journal.journal import Entry, Journal, journal_path
from linewatt.store import raw, sums

RAW = ("raw/h2/mpstat.jsonl", "raw/h1/bmc.jsonl", "raw/h1/iperf3-client-0.json", "raw/h1/readback.json")
READERS: dict[str, tuple[tuple[str, ...], ...]] = {
    CAMPAIGN: (("compare", CAMPAIGN, OLD), ("analyze", CAMPAIGN), ("rederive", CAMPAIGN)),
    LEVELS: (("compare", LEVELS, "--by", "gro"), ("analyze", LEVELS), ("show", LEVELS, "--csv", "--effects")),
    SOAK: (("compare", SOAK, OTHER_SOAK), ("compare", OTHER_SOAK, SOAK, "--csv")),
}
"""what is asked of each beside what is asked of all"""
QUERIES = (
    "SELECT *, (SELECT count(*) FROM cases), (SELECT count(*) FROM trials) FROM results",
    "SELECT * FROM ends",
    "SELECT * FROM findings",
    "SELECT count(value) FROM samples",
)


seeds, counts = st.integers(0, 2**48), st.sampled_from((1, 1, 1, 2, 3))


@pytest.fixture(autouse=True, scope="module")
def _bounded_memory() -> Iterator[None]:
    """A command that reads a file without end fails here, before the kernel stops other programs."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    in_use_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use_bytes + ADDRESS_SPACE_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@fuzz(st.sampled_from(RAW), seeds, counts, share=0.2)
def test_damaged_raw_output_is_derived_again_or_named(name: str, seed: int, count: int) -> None:
    file = results() / OLD / "trials" / "00001" / name
    with survived("stored: rederive"), damaged_file(file, seed, count):
        check_command("rederive", OLD, "--results", str(results()))


@fuzz(seeds, counts, share=0.2)
def test_damaged_packed_raw_output_is_named_in_one_line(seed: int, count: int) -> None:
    file = results() / CAMPAIGN / "trials" / "00001" / "raw.tar.gz"
    with survived("stored: packed"), damaged_file(file, seed, count) as is_another:
        said = check_command("rederive", CAMPAIGN, "--results", str(results()))
        assert not is_another or not file.exists() or "raw.tar.gz: " in said, said


@fuzz(st.binary(max_size=3000), st.booleans())
def test_a_packed_file_of_anything_is_read_or_refused(tar: bytes, is_packed: bool) -> None:
    with tempfile.TemporaryDirectory(dir=results().parent) as folder, survived("stored: a pack"):
        pack = Path(folder) / "raw.tar.gz"
        pack.write_bytes(gzip.compress(tar, 1) if is_packed else tar)
        raw.raw_texts(pack.with_name("raw"))


def _commands(name: str) -> tuple[tuple[str, ...], ...]:
    wanted = name.split("/")[0]
    page = str(results() / "page.html")
    every = (
        *(("list",), ("list", "--json"), ("history",), ("history", "--json")),
        *(("show", wanted), ("show", wanted, "--json"), ("report", wanted, "-o", page)),
        ("verify", wanted, "--json"),
        *(("sql", query, "--json") for query in QUERIES),
        *(("export", wanted, "--format", form, "-o", page) for form in ("csv", "parquet", "openmetrics")),
        ("export", wanted, "--format", "iperf3", "--trial", "1", "-o", page),
    )
    return (*every, *READERS.get(wanted, ()))


FILES = st.deferred(lambda: st.sampled_from(files()))
"""results are made when a test asks for one"""


@fuzz(FILES, st.integers(0, 99), seeds, counts, share=0.5)
def test_a_damaged_file_of_a_result_is_named_and_whoever_reads_it_goes_on_or_says_so(
    name: str, which: int, seed: int, count: int
) -> None:
    root, commands = results(), _commands(name)
    with damaged_file(root / name, seed, count) as is_another:
        command = commands[which % len(commands)]
        with survived(f"stored: {command[0]}"):
            said = check_command(*command, "--results", str(root))
        if command[0] == "list":
            wanted = name.split("/")[0]
            assert all(one in said or one == wanted for one in (LEVELS, SOAK)), "a damaged one hides another"
        with survived("stored: verify"):
            said = check_command("verify", name.split("/")[0], "--results", str(root))
            assert not is_another or name.partition("/")[2] in said or name.endswith(sums.SUMS_FILE)


async def _unreachable(spec: HostSpec, *_: object) -> Host:
    raise HostError(f"{spec.name}: no SSH connection")


@fuzz(FILES, seeds, counts, share=0.2)
def test_going_on_with_a_damaged_result_ends_with_its_first_host_or_one_line(
    name: str, seed: int, count: int
) -> None:
    wanted = name.split("/")[0]
    with tempfile.TemporaryDirectory(dir=results().parent) as folder, pytest.MonkeyPatch.context() as patch:
        shutil.copytree(results() / wanted, Path(folder) / wanted)
        patch.setenv("LINEWATT_STATE", f"{folder}/state")
        patch.setattr(session, "connect_to_host", _unreachable)
        patch.setattr("linewatt.engine.live.session.connect_to_host", _unreachable)
        damage(Path(folder) / name, seed, count)
        with survived("stored: resume"):
            check_command("resume", wanted, "--results", folder)


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


@fuzz(seeds, counts, share=0.5)
def test_a_damaged_journal_is_undone_or_named(seed: int, count: int) -> None:
    path = journal()
    with pytest.MonkeyPatch.context() as patch, survived("stored: restore"):
        patch.setenv("LINEWATT_STATE", str(path.parents[1]))
        patch.setattr(restore, "connect_to_host", _unreachable)
        with damaged_file(path, seed, count):
            check_command("restore")
