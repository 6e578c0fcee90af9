# SPDX-License-Identifier: Apache-2.0
"""Results on a store that speaks S3 (moto's server): copied once, checked, and no key is told."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import obstore
import pytest
from moto.server import ThreadedMotoServer
from tests.soak_pairs import soak
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL

from linewatt.store import remote, sums, write

KEY = "a-key-that-nobody-may-read"
URL = "s3://lab/night ly"
Put = Callable[[Path], None]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a store on this machine."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket, and what a user's environment says of it."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
        "AWS_ALLOW_HTTP": "true",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    made = boto3.resource("s3").create_bucket(Bucket="lab")
    yield made
    made.objects.all().delete()
    made.delete()


@pytest.fixture
def put(bucket: Any) -> Put:
    """Copies a folder of results into the bucket."""

    def copy(root: Path) -> None:
        for path in root.rglob("*"):
            if path.is_file():
                bucket.upload_file(str(path), f"night ly/{path.relative_to(root).as_posix()}")

    return copy


@pytest.fixture
def results(tmp_path: Path, put: Put) -> Path:
    """Two results of two trials each, as they are here and on the store."""
    root = tmp_path / "there"
    for day in (1, 2):
        path = write.new_result(root, "t", 86_400.0 * day, MANIFEST)
        for number in (1, 2):
            write.write_trial(path, replace(TRIAL, number=number), [SERIES], {"h2/out.json": "{}"})
    put(root)
    return root


FIRST, SECOND = "19700102-000000-t", "19700103-000000-t"
SOAK = "20260106-000000-soak"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of objects that were fetched."""
    get, names = obstore.get, list[str]()

    def noted(store: Any, name: str, **options: Any) -> Any:
        names.append(name)
        return get(store, name, **options)

    monkeypatch.setattr(obstore, "get", noted)
    return names


def test_list_show_and_sql_say_of_a_store_what_they_say_of_a_directory(
    results: Path, put: Put, run: Run
) -> None:
    made = soak(6, root=str(results))
    (
        made / sums.SUMS_FILE
    ).unlink()  # its manifest was changed: as of a result of before there were checksums
    put(results)
    for command in (
        ("list", "--json"),
        ("show", FIRST, "--json"),
        ("show", SOAK, "--json"),
        ("sql", "SELECT result, number, throughput_bps FROM trials ORDER BY ALL", "--csv"),
        ("sql", "SELECT result, trial, value, reason FROM samples ORDER BY ALL", "--csv"),
    ):
        here, there = run(*command, "--results", str(results)), run(*command, "--results", URL)
        assert (here[0], here[2]) == (there[0], there[2])
        assert here[1] == there[1] != ""


def test_only_what_is_read_is_fetched_and_only_once(results: Path, run: Run, fetched: list[str]) -> None:
    count = ("sql", "SELECT count(*) AS n FROM trials", "--csv", "--results", URL)
    assert run(*count)[1] == "n\n4\n"
    names = {name.partition("/")[2] for name in fetched}
    assert names == {"manifest.json", sums.SUMS_FILE, "trials/00001/trial.json", "trials/00002/trial.json"}
    fetched.clear()
    assert run(*count)[1] == "n\n4\n"
    assert fetched == []
    assert run("sql", "SELECT count(*) AS n FROM samples", "--csv", "--results", URL)[1] == "n\n12\n"
    assert {name.rpartition("/")[2] for name in fetched} == {"samples.parquet"}


def test_what_comes_later_is_fetched_and_what_goes_is_gone(
    results: Path, put: Put, bucket: Any, run: Run
) -> None:
    ids = ("sql", "SELECT result, count(*) AS n FROM trials GROUP BY 1 ORDER BY 1", "--csv", "--results", URL)
    assert run(*ids)[1] == f"result,n\n{FIRST},2\n{SECOND},2\n"
    write.write_trial(results / SECOND, replace(TRIAL, number=3), [SERIES], {"h2/out.json": "{}"})
    put(results)
    bucket.objects.filter(Prefix=f"night ly/{FIRST}/").delete()
    assert run(*ids)[1] == f"result,n\n{SECOND},3\n"


def test_a_result_whose_file_is_not_as_it_was_stored_is_left_out_and_named(
    results: Path, bucket: Any, run: Run
) -> None:
    document = json.loads((results / FIRST / "trials" / "00002" / "trial.json").read_text())
    changed = json.dumps(document | {"throughput_bps": 9e9}).encode()
    bucket.put_object(Key=f"night ly/{FIRST}/trials/00002/trial.json", Body=changed)
    code, out, err = run("list", "--json", "--results", URL)
    assert (code, [one["id"] for one in json.loads(out)["results"]]) == (0, [SECOND])
    assert err == (
        f"left out: {FIRST}: trials/00002/trial.json has another checksum than when it was stored\n"
    )


def test_a_result_of_which_a_trial_is_missing_has_not_fewer_trials_but_is_left_out(
    results: Path, bucket: Any, run: Run
) -> None:
    bucket.objects.filter(Prefix=f"night ly/{FIRST}/trials/00002/trial.json").delete()
    _, out, err = run("sql", "SELECT DISTINCT result FROM trials", "--csv", "--results", URL)
    assert out == f"result\n{SECOND}\n"
    assert f"left out: {FIRST}: trials/00002/trial.json was stored and is not there" in err


def test_names_that_lead_out_of_the_copy_are_refused(
    results: Path, bucket: Any, run: Run, tmp_path: Path
) -> None:
    bucket.put_object(Key=f"night ly/{FIRST}/{'x' * 300}", Body=b"x")
    _, out, err = run("list", "--json", "--results", URL)
    assert [one["id"] for one in json.loads(out)["results"]] == [SECOND]
    assert "is not a name of a file" in err


def test_more_than_a_gibibyte_is_not_fetched(
    results: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 1000)
    code, out, err = run("list", "--results", URL)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "copy the results that you need into a directory" in err


def test_a_wrong_query_fetches_nothing(results: Path, run: Run, fetched: list[str]) -> None:
    assert run("sql", "DROP TABLE results", "--results", URL)[0] == 2
    assert fetched == []


@pytest.mark.parametrize("url", ["s3://no-such-bucket/x", "s3://lab/x"])
def test_a_store_that_gives_nothing_is_told_in_a_line_without_any_key(
    url: str, bucket: Any, run: Run
) -> None:
    code, out, err = run("list", "--results", url)
    if url == "s3://lab/x":
        assert (code, out) == (0, "")
        assert err.startswith("no results below s3:/")
    else:
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert err.startswith(f"linewatt: {url}: the store does not give it: ")
    assert KEY not in err
    assert "somebody" not in err


def test_a_store_that_does_not_answer_is_told_in_a_line(
    bucket: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    code, out, err = run("list", "--results", URL)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "the store does not give it" in err


def test_a_key_in_the_url_is_refused_and_not_repeated(run: Run) -> None:
    code, _, err = run("list", "--results", f"s3://me:{KEY}@lab/x")
    assert code == 2
    assert KEY not in err


@pytest.mark.parametrize("command", [("report",), ("run", "x.yaml"), ("verify",), ("export", "--bundle")])
def test_commands_that_write_or_need_more_than_documents_are_for_directories(
    command: tuple[str, ...], run: Run
) -> None:
    code, out, err = run(*command, "--results", URL)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "only list, show and sql read results on S3" in err
    assert list(Path().iterdir()) == []


def test_without_the_library_one_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    code, _, err = run("list", "--results", URL)
    assert (code, err.count("\n")) == (2, 1)
    assert "linewatt[remote]" in err
