# SPDX-License-Identifier: Apache-2.0
"""Results on disk: whole or not at all, never changed, and readable again to the last digit."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from tests import forked

from linewatt.errors import StoreError, UnknownResult
from linewatt.model import Case, Channel, CpuShares, EndResult, Flag, InstanceResult, Sample, Trial, Window
from linewatt.store import each_result, find, raw, read, sums, write
from linewatt.store.samples import Origin, Series, sample_columns, write_samples
from linewatt.store.verify import verify_result

CASE = Case("udp-60", "h1", "h2", instances=2, rate_bps=2e6)
END = EndResult(
    "h2",
    "receiver",
    0.5,
    CpuShares((0, 1), 0.1, 0.2, 0.0, 0.2, 0.5, 0.0),
    None,
    0.4,
    None,
    counters={"nic.rx_bytes": 12.5, "softnet.dropped": None},
    reasons={"softnet.dropped": "counter reset: from 9 to 1"},
)
TRIAL = Trial(
    7,
    2,
    CASE,
    CASE.key,
    "done",
    1000.25,
    window=Window(1001.0, 1004.0),
    throughput_bps=1.25e6,
    lost_ratio=1 / 3,
    receiver=END,
    instances=(InstanceResult(0, 5201, "0", None, 1000.5, 1000.6, 1.25e6, 2e6, packets=3, lost_packets=1),),
    flags=(Flag("udp-loss", "h2", "1 of 3 lost", "offer less"),),
    clock={"h1": (0.001, 0.0002)},
)
CHANNEL = Channel("cpu0.idle_ratio", "ratio", "mean", "cpu:0")
SERIES = Series(
    "h2",
    "mpstat",
    {CHANNEL.name: CHANNEL},
    [
        Sample(1001.0, CHANNEL.name, 0.25, 1.0),
        Sample(1002.0, CHANNEL.name, None, 1.0, "stalled"),
        Sample(1003.0, CHANNEL.name, 0.0, 1.0),
    ],
)
MANIFEST = {"schema_version": 1, "name": "t", "trials_planned": 2}


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return write.new_result(tmp_path / "it's; -- 1", "t", 0.0, MANIFEST)


def test_a_trial_is_read_back_as_it_was(result: Path) -> None:
    directory = write.write_trial(result, TRIAL, [SERIES], {"h2/out.json": "{}"})
    assert read.read_trial(directory) == TRIAL
    assert raw.raw_texts(directory / "raw") == {"h2/out.json": "{}"}


def test_a_trial_is_three_files_and_six_waits_for_the_disk(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files, their folder, the list of checksums and the folder of trials; however many tools wrote."""
    synced: list[str] = []
    sync = os.fsync

    def count(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        sync(handle)

    monkeypatch.setattr(os, "fsync", count)
    texts = {f"h{host}/{tool}.jsonl": "{}\n" * 100 for host in (1, 2) for tool in "abcdefgh"}
    directory = write.write_trial(result, TRIAL, [SERIES], texts)
    files = sorted(path.name for path in directory.rglob("*"))
    assert files == ["raw.tar.gz", "samples.parquet", "trial.json"]
    assert sorted(synced) == sorted([*files, f".{directory.name}.tmp", "SHA256SUMS", "trials"])


KILLED = """
import os, pathlib, signal, sys
sys.path.insert(0, os.getcwd())
from tests.unit.store.test_store import SERIES, TRIAL
from linewatt.store import write
left = int(sys.argv[2])
def dying(what):
    def step(*args, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return what(*args, **options)
    return step
os.fsync = dying(os.fsync)
pathlib.Path.rename = dying(pathlib.Path.rename)
write.write_trial(pathlib.Path(sys.argv[1]), TRIAL, [SERIES], {"h2/out.json": "{}"})
sys.exit(0)
"""


class Killed(forked.Forked):
    before = KILLED


@pytest.mark.parametrize("step", range(1, 9))
def test_a_trial_whose_writer_is_killed_is_there_whole_or_not_at_all(result: Path, step: int) -> None:
    """Before each of its waits for the disk, and before it gets its name."""
    done = forked.run([result, str(step)], kind=Killed)
    assert done.returncode == (0 if step == 8 else -signal.SIGKILL), "six waits and a name"
    stored = read.load_result(result).trials
    assert stored in ((), (TRIAL,))
    assert verify_result(result).problems == ()
    if not stored:
        write.write_trial(result, TRIAL, [SERIES], {"h2/out.json": "{}"})
    assert raw.raw_texts(write.trial_dir(result, 7) / "raw") == {"h2/out.json": "{}"}
    assert verify_result(result).problems == ()


def test_what_tools_wrote_is_unpacked_by_tar_as_the_folder_that_it_was(result: Path) -> None:
    texts = {
        "h2/out.json": '{"a": "ä"}\r\n',
        "h1/ss.txt": "",
        "commands.json": "[]\n",
        f"{'h' * 90}/x.y": "\t",
    }
    directory = write.write_trial(result, TRIAL, [SERIES], texts)
    subprocess.run(["tar", "-xzf", "raw.tar.gz"], cwd=directory, check=True)
    unpacked = {path: path.read_bytes() for path in (directory / "raw").rglob("*") if path.is_file()}
    assert {
        path.relative_to(directory / "raw").as_posix(): data.decode() for path, data in unpacked.items()
    } == texts
    assert raw.raw_texts(directory / "raw") == texts
    (directory / "raw.tar.gz").unlink()
    assert raw.raw_texts(directory / "raw") == texts, "as results of before have it"


def test_the_same_texts_are_packed_to_the_same_bytes_in_a_fifth_of_their_size(tmp_path: Path) -> None:
    texts = {
        f"h{host}/netcounters.jsonl": "".join(f'{{"received_s": {1e9 + i}}}\n' for i in range(500))
        for host in (1, 2)
    }
    pack = raw.pack_raw("raw", texts)
    assert pack == raw.pack_raw("raw", dict(reversed(texts.items())))
    assert len(pack) < sum(map(len, texts.values())) / 5
    (tmp_path / "raw.tar.gz").write_bytes(pack)
    assert raw.raw_texts(tmp_path / "raw") == texts


def _tar(**members: tuple[str, bytes]) -> bytes:
    """An archive of members: what kind each is, and its content or where it leads."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, (kind, content) in members.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind.encode(), content.decode() if kind in "12" else ""
            member.size = 0 if kind in "12" else len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


GOOD = raw.pack_raw("raw", {"h1/a.json": "{}" * 50})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (GOOD[:-9], "ends too early"),
        (GOOD + b"x", "goes on after its end"),
        (GOOD[:40] + bytes([GOOD[40] ^ 1]) + GOOD[41:], "damaged"),
        (b"", "ends too early"),
        (b"PK\3\4 no such file", "damaged"),
        (gzip.compress(b"\1" * 2000), "damaged"),
        (_tar(**{"raw/../../etc/x": ("0", b"x"), "/etc/passwd": ("0", b"x")}), "'/etc/passwd'|'etc/passwd'"),
        (_tar(**{"raw/h1/link": ("2", b"/etc/passwd")}), "raw/h1/link"),
        (_tar(**{"raw/h1/link": ("1", b"raw/h1/link")}), "raw/h1/link"),
        (_tar(**{"raw/a": ("0", b"\xff")}), "damaged: 'utf-8'"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_damaged_or_foreign_pack_is_named_in_one_line(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "raw.tar.gz").write_bytes(data)
    with pytest.raises(StoreError, match=why) as error:
        raw.raw_texts(tmp_path / "raw")
    assert str(error.value).startswith(f"{tmp_path / 'raw.tar.gz'}: ")
    assert "\n" not in str(error.value)


def test_a_pack_that_grows_beyond_what_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert raw.MOST_BYTES == 1 << 30
    monkeypatch.setattr(raw, "MOST_BYTES", 1 << 20)
    (tmp_path / "raw.tar.gz").write_bytes(gzip.compress(bytes(raw.MOST_BYTES + 1), 1))
    with pytest.raises(StoreError, match="holds more than 1 MiB"):
        raw.raw_texts(tmp_path / "raw")


def test_a_pack_that_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "raw.tar.gz")
    with pytest.raises(StoreError, match="is not a regular file"):
        raw.raw_texts(tmp_path / "raw")


def test_of_a_long_list_of_checksums_only_its_end_is_read_to_add_to_it(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (result / sums.SUMS_FILE).open("ab") as file:
        file.write(f"{'0' * 64}  trials/00001/trial.json\n".encode() * 1000 + b"cut of")
    pieces: list[int] = []
    end = sums._end_of_lines

    def look(data: bytes) -> int:
        pieces.append(len(data))
        return end(data)

    monkeypatch.setattr(sums, "_end_of_lines", look)
    write.write_trial(result, TRIAL, [SERIES], {})
    assert sum(pieces) <= 8 << 10
    listed = (result / sums.SUMS_FILE).read_text().splitlines()
    assert len(listed) == 1001 + 3
    assert "cut of" not in (result / sums.SUMS_FILE).read_text()


def test_a_failed_trial_holds_its_reason_and_no_number(result: Path) -> None:
    failed = Trial(1, 1, CASE, CASE.key, "failed", 5.0, reason="h2: connection refused")
    stored = read.read_trial(write.write_trial(result, failed, [], {}))
    assert stored.throughput_bps is None
    assert stored.reason == "h2: connection refused"


def test_a_missing_sample_is_null_and_a_zero_stays_zero(result: Path) -> None:
    directory = write.write_trial(result, TRIAL, [SERIES], {})
    rows = (
        duckdb.read_parquet(str(directory / "samples.parquet")).select("value", "reason", "unit").fetchall()
    )
    assert rows == [(0.25, None, "ratio"), (None, "stalled", "ratio"), (0.0, None, "ratio")]


def test_a_file_of_samples_says_by_itself_of_which_result_and_trial_it_is(result: Path) -> None:
    path = str(write.write_trial(result, TRIAL, [SERIES], {}) / "samples.parquet")
    rows = duckdb.execute("SELECT key, value FROM parquet_kv_metadata(?)", [path]).fetchall()
    said = {key.decode(): value.decode() for key, value in rows if key.startswith(b"linewatt.")}
    assert said == {
        "linewatt.schema_version": "1",
        "linewatt.result": result.name,
        "linewatt.trial": str(TRIAL.number),
    }
    found = duckdb.read_parquet(path)
    assert found.select("trial").distinct().fetchall() == [(TRIAL.number,)]
    assert [(one.name, one.type) for one in sample_columns()] == [
        *zip(found.columns, map(str, found.types), strict=True)
    ]


def test_files_are_read_together_where_none_of_the_first_ones_readings_is_missing(tmp_path: Path) -> None:

    channel = Channel("n", "count", "counter", "host")
    for name, reason in (("1", None), ("2", "timed out")):
        samples = [Sample(1.0, "n", None if reason else 5.0, 0.0, reason)]
        write_samples(
            tmp_path / f"{name}.parquet", [Series("h1", "s", {"n": channel}, samples)], Origin("r", 1)
        )
    rows = duckdb.execute(
        "SELECT value, reason FROM read_parquet(?)", [str(tmp_path / "*.parquet")]
    ).fetchall()
    assert rows == [(5.0, None), (None, "timed out")]


def test_a_stored_trial_is_never_overwritten(result: Path) -> None:
    write.write_trial(result, TRIAL, [SERIES], {})
    with pytest.raises(StoreError, match="stored already"):
        write.write_trial(result, replace(TRIAL, throughput_bps=9e9), [], {})
    assert read.read_trial(write.trial_dir(result, 7)).throughput_bps == 1.25e6
    with pytest.raises(StoreError, match="never overwritten"):
        write.write_json(result / "manifest.json", {})


def test_a_trial_that_a_crash_left_half_written_does_not_count_and_can_be_written_again(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def power_cut(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(write, "write_samples", power_cut)
        with pytest.raises(KeyboardInterrupt):
            write.write_trial(result, TRIAL, [SERIES], {"h2/out.json": "{}"})
    assert read.trial_dirs(result) == []
    assert read.load_result(result).trials == ()
    write.write_trial(result, TRIAL, [SERIES], {})
    assert read.load_result(result).trials == (TRIAL,)


def test_nan_never_gets_into_a_result(result: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write.write_trial(result, replace(TRIAL, throughput_bps=float("nan")), [], {})
    assert read.trial_dirs(result) == []


def test_two_results_of_one_second_get_different_ids(tmp_path: Path) -> None:
    paths = [write.new_result(tmp_path, "t", 0.0, MANIFEST) for _ in range(3)]
    assert [path.name for path in paths] == [
        "19700101-000000-t",
        "19700101-000000-t-2",
        "19700101-000000-t-3",
    ]
    assert json.loads((paths[1] / "manifest.json").read_text())["id"] == paths[1].name


def test_results_are_found_by_id_prefix_and_last(tmp_path: Path) -> None:
    first = write.new_result(tmp_path, "a", 0.0, MANIFEST)
    second = write.new_result(tmp_path, "b", 86_400.0, MANIFEST)
    assert find.find_result(tmp_path, first.name) == first
    assert find.find_result(tmp_path, "19700102") == second
    assert find.find_result(tmp_path, "last") == second
    assert [one.id for one in each_result.read_each(tmp_path, read.load_result)[0]] == [
        first.name,
        second.name,
    ]
    with pytest.raises(StoreError, match="several results match"):
        find.find_result(tmp_path, "1970")
    with pytest.raises(StoreError, match="no such result"):
        find.find_result(tmp_path, "nothing")
    with pytest.raises(StoreError, match="none yet"):
        find.find_result(tmp_path / "empty", "last")


@pytest.mark.parametrize(
    ("wrong", "similar"),
    [
        ("two-host", "did you mean two-hosts? 'linewatt list' shows all"),
        ("19700101-000001-two-hosts", "did you mean 19700101-000000-two-hosts?"),
        ("elsewhere/19700101-00000-two-hosts", "did you mean 19700101-000000-two-hosts?"),
        ("something", "there are: 19700101-000000-two-hosts"),
    ],
)
def test_a_misspelt_result_has_a_similar_name_or_all_there_are(
    tmp_path: Path, wrong: str, similar: str
) -> None:
    write.new_result(tmp_path, "two-hosts", 0.0, MANIFEST | {"name": "two-hosts"})
    with pytest.raises(UnknownResult) as caught:
        find.find_result(tmp_path, wrong)
    assert f"{wrong}: no such result below {tmp_path}; {similar}" in str(caught.value)


def test_a_result_is_found_by_a_name_that_only_it_has(tmp_path: Path) -> None:
    named = {
        name: write.new_result(tmp_path, name, 86_400.0 * day, MANIFEST | {"name": name})
        for day, name in enumerate(("mtu", "mtu1500"))
    }
    assert find.find_result(tmp_path, "mtu") == named["mtu"]
    again = write.new_result(tmp_path, "mtu", 864_000.0, MANIFEST | {"name": "mtu"})
    both = f"mtu: several results have this name: {named['mtu'].name}, {again.name}; give the id"
    with pytest.raises(StoreError, match=f"^{both}$"):
        find.find_result(tmp_path, "mtu")


def test_a_bad_id_lists_the_newest_and_how_many_there_are(tmp_path: Path) -> None:
    ids = [write.new_result(tmp_path, "a", 86_400.0 * day, MANIFEST).name for day in range(7)]
    with pytest.raises(StoreError, match=f"; the 5 newest of 7: {', '.join(ids[2:])}$"):
        find.find_result(tmp_path, "nothing")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("NaN", "NaN, which is not a number"),
        ("-Infinity", "-Infinity, which is not a number"),
        ("1e999", "Input should be a finite number"),
    ],
)
@pytest.mark.parametrize("key", ["lost_ratio", "start_s", "nic.rx_bytes"])
def test_what_is_no_number_is_refused_wherever_a_trial_has_numbers(
    result: Path, key: str, number: str, why: str
) -> None:
    path = write.write_trial(result, TRIAL, [], {}) / "trial.json"
    changed, count = re.subn(rf'"{key}":-?[0-9.]+', f'"{key}":{number}', path.read_text())
    assert count
    path.write_text(changed)
    with pytest.raises(StoreError, match=rf"00007/trial\.json: damaged: .*{why}"):
        read.read_trial(path.parent)


def test_a_damaged_file_is_named(result: Path) -> None:
    directory = write.write_trial(result, TRIAL, [], {})
    (directory / "trial.json").write_text('{"number": 7}')
    with pytest.raises(StoreError, match=r"00007/trial\.json: damaged"):
        read.load_result(result)
    (result / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=r"manifest\.json: damaged"):
        read.load_result(result)


def test_a_directory_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreError, match="results cannot be stored: Not a directory"):
        write.new_result(blocked / "results", "t", 0.0, MANIFEST)


def test_a_case_key_names_what_is_measured_and_not_where() -> None:
    elsewhere = replace(CASE, sender="other", receiver="host")
    assert elsewhere.key == CASE.key
    assert replace(CASE, instances=4).key != CASE.key
    assert CASE.key == "884b4f36b48a"  # stable over the years
