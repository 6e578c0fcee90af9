# SPDX-License-Identifier: Apache-2.0
"""``linewatt sql``: results in views that keep their promises; nothing is written, nothing else reached."""

# ruff: noqa: S608  queries of tests, with names of tests

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.first_screens import KINDS
from tests.report_factories import demo_trials, failed, powered, renumbered, result, stored
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES, TRIAL

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.of_power import BOUNDS, POWER_METRICS
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.statistics.modes import Modes
from linewatt.analysis.statistics.stats import Estimate
from linewatt.errors import StoreError
from linewatt.model import ENDS, Case
from linewatt.report.data import database, query
from linewatt.report.data.page import page
from linewatt.report.data.query import run_query
from linewatt.report.data.views import VIEWS, Source
from linewatt.report.full_result import rows_of_result
from linewatt.report.printing.export import csv_of
from linewatt.report.trials.digest import csv_columns, digest_of
from linewatt.report.trials.settings.scalability import export_case
from linewatt.store import cache as result_cache
from linewatt.store import read, write

ROOT = Path(__file__).parents[3]
DEMO = "20260101-000000-demo"
SOAK = "20260106-000000-soak"
EXTRA = {"result", "reasons"}
"""columns of the view cases that CSV has not"""
LONG = "SELECT count(*) FROM range(10000000000000)"


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept of results goes with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of every kind, two with samples; one of trials that failed, one that is damaged."""
    folder = tmp_path_factory.mktemp("sql")
    with inside(folder):
        for kind in ("campaign", "experiment", "users", "matrix", "groups", "levels", "ports", "soak"):
            KINDS[kind]()
    results = folder / "results"
    for day in (1, 2):
        store_sampled(results, day)
    gone = failed(1, Case("tcp", "h1", "h2"), "the cable was cut")
    stored(results, result([gone], id="20250101-000000-failed", name="failed"))
    (results / "20250102-000000-broken").mkdir()
    (results / "20250102-000000-broken" / "manifest.json").write_text("{")
    return results


def store_sampled(results: Path, day: int) -> None:
    """A result with samples."""
    path = write.new_result(results, "sampled", 86_400.0 * day, MANIFEST)
    for number in (1, 2):
        write.write_trial(path, replace(TRIAL, number=number), [SERIES], {"h2/out.json": "{}"})


@pytest.fixture(scope="module")
def one_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a query that is refused could reach: files of a result."""
    results = tmp_path_factory.mktemp("sql") / "results"
    store_sampled(results, 1)
    return results


SAMPLED = "19700102-000000-sampled"


def asked(root: Path, query: str, limit: int = 1000) -> list[tuple[Any, ...]]:
    return list(run_query(lambda _: root, query, limit=limit, timeout_s=60).rows)


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """What a folder holds, and when it was changed."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def everything(case: Case) -> CaseSummary:
    """A summary with a value of each metric there is."""
    some = Estimate(2.0, 0.1, 3)
    names = (*(one.name for one in POWER_METRICS), *BOUNDS)
    receiver, sender = (EndPower(case.host(role), role, values=dict.fromkeys(names, some)) for role in ENDS)
    values = {metric.name: some for metric in METRICS}
    scalings = {metric.name: 1.0 for metric in METRICS}
    return CaseSummary(
        case,
        3,
        0,
        values=values,
        scalings=scalings,
        modes=Modes(some, some, "made for a test"),
        receiver_power=receiver,
        sender_power=sender,
    )


FULLEST = Case(
    "udp-60",
    "h1",
    "h2",
    instances=4,
    load_level=0.5,
    factors=(("mtu", "9000"),),
    load="sockperf",
    search="instances",
    data_ports=2,
    port_weights=(2, 1),
    chosen_ports=(0, 2),
    users=(("users", "8"),),
    shape="many-to-one",
    flow_of=2,
    beside=(("h1", "h2"), ("h3", "h2")),
)


def test_cases_have_a_column_for_whatever_a_case_can_have_and_no_other() -> None:
    columns = [one.name for one in VIEWS["cases"].columns]
    group = replace(FULLEST, flows=(("h1", "h2"), ("h3", "h2")), flow_of=None, beside=())
    cases = [replace(one, test=test) for one in (FULLEST, group) for test in ("tcp", "udp-60", "tcp-rr")]
    known = {name for case in cases for name in export_case(everything(case))} | set(csv_columns())
    assert len(columns) == len(set(columns))
    assert set(columns) == known | EXTRA


def test_trials_have_the_columns_of_csv_and_those_that_only_some_trials_have() -> None:
    columns = {one.name for one in VIEWS["trials"].columns}
    named = set(csv_columns(trials=True))
    assert named < columns
    only_some = columns - named - {"result"}
    latencies = {f"latency_{name}_s" for name in ("p50", "p99", "p99_9", "max")}
    assert only_some == latencies | {
        "load", "search", "data_ports", "port_weights", "chosen_ports", "users", "shape", "pairs", "flow_of",
        "beside", "duplicate_packets", *(f"{role}_system_w_as_read" for role in ENDS),
    }  # fmt: skip


def test_every_number_that_is_measured_says_its_unit_in_its_name() -> None:
    numbers = [one for view in VIEWS.values() for one in view.columns if one.type == "DOUBLE"]
    assert [one.name for one in numbers if not one.unit and one.name != "value"] == []
    assert all(one.meaning for view in VIEWS.values() for one in view.columns)
    columns = {one.name: one.unit for one in VIEWS["cases"].columns}
    assert columns["throughput_bps_ci95_low"] == "bit/s"
    assert columns["receiver_dynamic_w_per_gbps_mean"] == "W per Gbit/s"
    assert columns["efficiency_receiver_bps_per_core_sd"] == "bit/s per core"


def test_watts_have_their_provenance_beside_them() -> None:
    for view in ("cases", "trials", "ends"):
        names = [one.name for one in VIEWS[view].columns]
        watts = [
            name for name in names if name.endswith(("system_w", "cpu_w", "system_w_mean", "cpu_w_mean"))
        ]
        assert watts
        assert all(f"{name.removesuffix('_mean')}_provenance" in names for name in watts)


def test_the_tables_of_the_document_are_made_of_the_declarations() -> None:
    text = (ROOT / "docs" / "sql.md").read_text()
    assert text == page(text), "run `make views`"
    missing = [one.name for view in VIEWS.values() for one in view.columns if f"`{one.name}`" not in text]
    assert missing == []
    assert f"more than {database.MEMORY} of memory. It has at most {database.MOST_THREADS} threads" in text


def test_rows_of_cases_and_trials_are_those_of_csv(root: Path) -> None:
    for view, trials in (("cases", False), ("trials", True)):
        answer = run_query(
            lambda _: root, f"SELECT * FROM {view} WHERE result = '{DEMO}'", limit=1000, timeout_s=60
        )
        columns, expected = rows_of_result(read.load_result(root / DEMO), trials=trials)
        shown = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        texts = list(csv.DictReader(io.StringIO(csv_of(columns, shown))))
        assert texts == list(csv.DictReader(io.StringIO(csv_of(columns, expected))))
        assert len(texts) == len(expected) > 4


def test_what_is_missing_is_null_with_its_reason_and_never_0(root: Path) -> None:
    ((bits, why, power_why),) = asked(
        root,
        "SELECT lost_ratio_mean, reasons->>'lost_ratio', reasons->>'receiver_power' FROM cases "
        "WHERE result = '20260103-000000-matrix' LIMIT 1",
    )
    assert (bits, why) == (None, "TCP has no datagrams to count")
    assert power_why == "no source of power is named for this host"
    (row,) = asked(
        root, "SELECT throughput_bps, receiver_cpu_cores, reason FROM trials WHERE result LIKE '2025%'"
    )
    assert row == (None, None, "the cable was cut")
    assert asked(root, "SELECT best_throughput_bps, best_reason FROM results WHERE name = 'failed'") == [
        (None, "no throughput is on record")
    ]


def test_simulated_watts_and_hosts_of_a_lab_are_said_to_be_so(root: Path) -> None:
    query = "SELECT DISTINCT receiver_system_w_provenance FROM {} WHERE result = '{}'"
    assert asked(root, query.format("cases", DEMO)) == [("simulated",)]
    assert asked(root, query.format("trials", DEMO)) == [("simulated",)]
    assert asked(root, f"SELECT lab_hosts FROM results WHERE result = '{DEMO}'") == [("h1, h2",)]


def test_ends_have_a_row_for_each_end_of_each_trial_and_each_pair_of_a_group(root: Path) -> None:
    assert asked(root, f"SELECT role, count(*) FROM ends WHERE result = '{DEMO}' GROUP BY 1 ORDER BY 1") == [
        ("receiver", 15),
        ("sender", 15),
    ]
    joined = (
        "SELECT count(*) FROM ends e JOIN trials t ON t.result = e.result AND t.number = e.trial "
        "AND t.case_key = e.case_key AND t.sender = e.sender AND t.receiver = e.receiver "
        "WHERE e.role = 'receiver' AND e.cpu_cores = t.receiver_cpu_cores AND e.result = '{}'"
    )
    assert asked(root, joined.format(DEMO)) == [(15,)]
    groups = asked(
        root, "SELECT host, role FROM ends WHERE result = '20260106-000000-groups' AND trial = 1 ORDER BY ALL"
    )
    assert groups == [("dut", "receiver"), ("g1", "sender"), ("g2", "sender"), ("g3", "sender")]
    assert (
        asked(root, f"SELECT system_w, reasons->>'system_w' FROM ends WHERE result = '{SAMPLED}'")
        == [(None, "no source of system power is named")] * 2
    )


def test_findings_join_the_trials_that_have_them(root: Path) -> None:
    found = asked(
        root,
        "SELECT t.number, f.code, f.rank FROM findings f JOIN trials t ON t.result = f.result "
        f"AND t.number = f.trial WHERE f.result = '{DEMO}' AND f.figures = 'cpu' ORDER BY ALL",
    )
    assert ("cpu-accounting-disagrees", "doubtful") in {one[1:] for one in found}
    assert {number for number, code, _ in found if code == "cpu-accounting-disagrees"} == {1, 2}


def test_samples_have_result_and_trial_and_a_reason_where_a_reading_is_missing(root: Path) -> None:
    (row,) = asked(
        root,
        "SELECT trial, host, unit, reason FROM samples "
        f"WHERE result = '{SAMPLED}' AND trial = 2 AND value IS NULL",
    )
    assert row == (2, "h2", "ratio", "stalled")
    assert asked(root, "SELECT count(DISTINCT result), count(DISTINCT trial) FROM samples") == [(2, 2)]


def test_only_the_samples_that_a_query_asks_for_are_opened(root: Path, tmp_path: Path, run: Run) -> None:
    copied = tmp_path / "copied"
    for name in (SAMPLED, "19700103-000000-sampled"):
        shutil.copytree(root / name, copied / name)
    file = copied / "19700103-000000-sampled" / "trials" / "00002" / "samples.parquet"
    file.write_bytes(b"PAR1 no more")
    assert asked(copied, f"SELECT count(*) FROM samples WHERE result = '{SAMPLED}'") == [(6,)]
    assert asked(copied, "SELECT count(*) FROM samples WHERE trial = 1") == [(6,)]
    code, out, err = run("sql", "SELECT count(*) FROM samples", "--results", str(copied))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "damaged samples" in err
    assert str(file) in err


def test_no_link_leads_out_of_the_results(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.parquet"
    duckdb.execute(f"COPY (SELECT 'secret' AS host) TO '{secret}'")
    path = shutil.copytree(root / SAMPLED, tmp_path / "copied" / SAMPLED)
    file = path / "trials" / "00002" / "samples.parquet"
    file.unlink()
    file.symlink_to(secret)
    assert asked(tmp_path / "copied", "SELECT DISTINCT trial FROM samples") == [(1,)]


WRITES = (
    "CREATE TABLE t (a INT)",
    "CREATE VIEW results AS SELECT 1",
    "INSERT INTO trials SELECT * FROM trials",
    "UPDATE results SET name = 'x'",
    "DELETE FROM results",
    "DROP TABLE results",
    "ALTER TABLE results ADD COLUMN x INT",
    "COPY (SELECT * FROM results) TO 'out.csv'",
    "COPY results FROM '/etc/passwd'",
    "EXPORT DATABASE 'out'",
    "IMPORT DATABASE 'out'",
    "ATTACH 'out.duckdb' AS o",
    "DETACH memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CREATE SECRET (TYPE s3)",
    "PRAGMA database_list",
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "SET VARIABLE a = 1",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "USE memory",
    "PREPARE p AS SELECT 1",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO 'out.csv'",
    "SELECT 1; DELETE FROM results",
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
)


@pytest.mark.parametrize("query", WRITES)
def test_whatever_is_not_one_select_is_refused_before_anything_is_read(query: str, run: Run) -> None:
    code, out, err = run("sql", "--", query)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "takes" in err
    assert list(Path().iterdir()) == []


OUTSIDE = (
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "SELECT * FROM read_parquet('{root}/*/trials/*/samples.parquet')",
    "SELECT * FROM read_text('{root}/" + SAMPLED + "/manifest.json')",
    "SELECT *, (SELECT content FROM read_text('{root}/" + SAMPLED + "/manifest.json')) FROM samples",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = 'log')",
    "SELECT * FROM enable_profiling(save_location = 'profile')",
    "SELECT * FROM query('COPY (SELECT 1) TO ''out.csv''')",
    "WITH x AS (COPY (SELECT 1) TO 'out.csv') SELECT * FROM x",
    "WITH x AS (INSERT INTO results SELECT * FROM results RETURNING 1) SELECT * FROM x",
    "WITH x AS (DELETE FROM results RETURNING 1) SELECT * FROM x",
    "SELECT * FROM root",
    "SELECT * FROM files",
    "SELECT * FROM query_table('ca' || 'ses'), results",
)
"""the names of variables of the module that asks are among them, and a view that is not named in one word"""


@pytest.mark.parametrize("query", OUTSIDE)
def test_a_select_reaches_nothing_but_the_views_that_it_names(query: str, one_result: Path, run: Run) -> None:
    before = tree(one_result)
    code, out, err = run("sql", query.format(root=one_result), "--results", str(one_result))
    assert (code, out) == (2, "")
    assert err.startswith("linewatt: sql: ")
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []
    assert tree(one_result) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS a",
        "FROM results",
        "VALUES (1)",
        "WITH one AS (SELECT * FROM results) SELECT count(*) FROM one",
        "SELECT count(*) FROM results -- how many",
        "SELECT count(*) FROM results; -- how many",
        "TABLE results",
        "DESCRIBE results",
        "SUMMARIZE results",
    ],
)
def test_every_kind_of_select_is_answered(query: str, root: Path) -> None:
    assert asked(root, query)


def test_a_query_that_names_no_view_finds_all_of_them(root: Path) -> None:
    assert asked(root, "SHOW TABLES") == [(name,) for name in sorted(VIEWS)]


def test_more_rows_than_asked_for_are_said_to_be_there(root: Path, run: Run) -> None:
    place = ("--results", str(root))
    code, out, err = run("sql", "SELECT number FROM trials", "--limit", "3", "--csv", *place)
    assert (code, len(out.splitlines())) == (0, 4)
    assert "cut after 3 rows: there are more; --limit asks for them\n" in err
    document = json.loads(run("sql", "SELECT number FROM trials", "--limit", "3", "--json", *place)[1])
    assert (document["cut"], document["rows_count"], len(document["rows"])) == (True, 3, 3)
    _, _, err = run("sql", "SELECT * FROM range(3)", "--limit", "3", *place)
    assert "cut" not in err


def test_rows_beyond_the_limit_are_never_made(root: Path) -> None:
    assert len(asked(root, "SELECT * FROM range(10000000000000)", limit=5)) == 5


def test_a_query_that_takes_too_long_is_given_up_in_a_line(root: Path, run: Run) -> None:
    code, out, err = run("sql", LONG, "--timeout", "0.2", "--results", str(root))
    assert (code, out) == (1, "")
    assert err == "linewatt: sql: took longer than 0.2 s; ask for less, or give it more time with --timeout\n"


class Pressed(Future[Any]):
    """Ctrl-C comes while somebody waits for it."""

    def result(self, timeout: float | None = None) -> Any:
        raise KeyboardInterrupt


def test_a_query_that_nobody_waits_for_any_more_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "Future", Pressed)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        asked(root, LONG)
    assert set(threading.enumerate()) <= before


def test_a_query_that_takes_too_much_memory_is_given_up_and_spills_nothing(
    root: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database._CLOSED, "memory_limit", "32MB")
    code, out, err = run(
        "sql", "SELECT max(x) FROM (SELECT list(range) AS x FROM range(20000000))", "--results", str(root)
    )
    assert (code, out) == (1, "")
    assert err.startswith("linewatt: sql: needs more than ")
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_results_that_cannot_be_read_are_left_out_and_named(root: Path, run: Run) -> None:
    code, out, err = run("sql", "SELECT count(*) AS n FROM results", "--json", "--results", str(root))
    document = json.loads(out)
    assert code == 0
    assert [one["id"] for one in document["left_out"]] == ["20250102-000000-broken"]
    assert "left out: 20250102-000000-broken: " in err
    readable = [path for path in root.iterdir() if path.name != "20250102-000000-broken"]
    assert document["rows"] == [{"n": len(readable)}]


def test_a_soak_is_in_results_and_findings_and_said_to_be_nowhere_else(root: Path, run: Run) -> None:
    ((kind, bps),) = asked(root, f"SELECT kind, best_throughput_bps FROM results WHERE result = '{SOAK}'")
    assert kind == "soak"
    assert bps > 0
    assert asked(root, f"SELECT count(*) > 0 FROM findings WHERE result = '{SOAK}'") == [(True,)]
    _, out, err = run("sql", f"SELECT * FROM cases WHERE result = '{SOAK}'", "--json", "--results", str(root))
    assert json.loads(out)["rows"] == []
    assert "1 soak in results and findings only: a soak has no cases and trials\n" in err
    assert "soak" not in run("sql", "SELECT 1 FROM results", "--results", str(root))[2]


def test_a_published_table_is_in_results_alone(tmp_path: Path, run: Run) -> None:
    table = ROOT / "docs" / "published" / "x64_components.csv"
    assert run("import", str(table))[0] == 0
    _, out, _ = run("sql", "SELECT kind, imported_from FROM results", "--csv")
    assert out == "kind,imported_from\npublished,x64_components.csv\n"
    assert asked(tmp_path / "results", "SELECT count(*) FROM cases, trials, ends, findings") == [(0,)]


def test_counting_results_reads_no_sample_and_the_second_time_no_result(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(result_cache, "SETTLED_S", -1.0)
    seen: list[str] = []
    load = read.load_result

    def noted(path: Path) -> read.Result:
        seen.append(path.name)
        return load(path)

    monkeypatch.setattr("linewatt.report.data.query.Source", lambda path: Source(path, noted))
    for text in ("SELECT count(*) FROM results", "SELECT count(*) FROM cases"):
        first = asked(root, text)
        assert seen
        seen.clear()
        assert asked(root, text) == first
        assert set(seen) <= {"20250102-000000-broken"}, "what is damaged is looked at each time"
        seen.clear()
    opened: list[Any] = []
    monkeypatch.setattr("linewatt.report.data.query.sample_files", opened.append)
    asked(root, "SELECT count(*) FROM results")
    assert opened == []


@pytest.mark.parametrize("text", ["SHOW TABLES", "SELECT 1", "SELECT count(*) FROM duckdb_columns()"])
def test_a_query_that_names_no_view_opens_no_result(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("linewatt.report.data.query.Source", opened.append)
    monkeypatch.setattr("linewatt.report.data.query.sample_files", lambda paths: [*map(opened.append, paths)])
    assert asked(root, text)
    assert opened == []


def test_a_view_whose_name_is_computed_has_its_rows(root: Path) -> None:
    named = asked(root, "SELECT count(*) FROM trials")
    assert named > [(0,)]
    assert asked(root, "SELECT count(*) FROM query_table('tri' || 'als')") == named


@pytest.mark.parametrize("view", ["trials", "ends"])
def test_rows_of_trials_are_made_without_a_digest_of_their_result(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    digested: list[str] = []

    def noted(result: read.Result) -> Any:
        digested.append(result.id)
        return digest_of(result)

    monkeypatch.setattr("linewatt.report.data.views.digest_of", noted)
    assert asked(root, f"SELECT count(*) FROM {view}") > [(0,)]
    assert digested == []
    assert asked(root, "SELECT count(*) FROM cases") > [(0,)]
    assert digested


def test_a_query_may_stand_on_standard_input(root: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT count(*) AS n\nFROM trials\n"))
    code, out, _ = run("sql", "-", "--csv", "--results", str(root))
    assert code == 0
    assert int(out.split()[1]) > 15
    monkeypatch.setattr(sys, "stdin", io.StringIO("x" * (1 << 21)))
    assert run("sql", "-", "--results", str(root))[0] == 2


def test_json_has_columns_with_types_and_plain_values(root: Path, run: Run) -> None:
    query = (
        "SELECT 1.5 AS price, 'NaN'::DOUBLE AS nan, DATE '2026-01-02' AS day, [1, 2] AS list, "
        "{'a': 1} AS struct, 'ab'::BLOB AS blob, sum(range) AS total, 1 AS x, 2 AS x FROM range(3)"
    )
    document = json.loads(run("sql", query, "--json", "--results", str(root))[1])
    assert document["schema_version"] == 1
    assert document["columns"][6] == {"name": "total", "type": "HUGEINT"}
    assert document["rows"] == [
        {
            "price": 1.5,
            "nan": None,
            "day": "2026-01-02",
            "list": [1, 2],
            "struct": {"a": 1},
            "blob": "6162",
            "total": 3,
            "x": 1,
            "x_1": 2,
        }
    ]


def test_text_of_a_host_is_no_formula_in_csv_and_no_escape_at_a_terminal(run: Run) -> None:
    trials = renumbered(powered(demo_trials()[:3]))
    stored(Path("results"), result(trials, name="=cmd\x1b[31m"))
    _, out, _ = run("sql", "SELECT name FROM results", "--csv")
    assert out == "name\n'=cmd\\x1b[31m\n"
    _, out, _ = run("sql", "SELECT name FROM results")
    assert "\x1b" not in out
    assert "=cmd\\x1b[31m" in out


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT nothing FROM results", 'sql: Referenced column "nothing" not found'),
        ("SELEC 1", 'sql: syntax error at or near "SELEC"'),
        ("SELECT * FROM nothing", "sql: there is no view nothing; there are results, "),
        ("SELECT '\udc80'", "sql: the query is not valid UTF-8"),
    ],
)
def test_a_wrong_query_is_told_in_a_line(query: str, said: str, run: Run) -> None:
    code, out, err = run("sql", query)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_samples_in_a_folder_that_is_a_pattern_are_refused_and_all_else_is_read(
    tmp_path: Path, root: Path
) -> None:
    odd = tmp_path / "results [1]"
    shutil.copytree(root / SAMPLED, odd / SAMPLED)
    assert asked(odd, "SELECT count(*) FROM trials") == [(2,)]
    with pytest.raises(StoreError, match="rename it"):
        asked(odd, "SELECT count(*) FROM samples")


def test_no_results_are_empty_views(run: Run) -> None:
    for view in VIEWS:
        assert run("sql", f"SELECT count(*) AS n FROM {view}", "--csv")[:2] == (0, "n\n0\n")


def test_a_number_that_no_table_can_hold_is_a_damaged_result(tmp_path: Path, run: Run) -> None:
    trials = [replace(demo_trials()[0], retransmits=1 << 70)]
    stored(tmp_path / "results", result(trials, id=DEMO))
    code, out, err = run("sql", "SELECT number FROM trials", "--csv")
    assert (code, out) == (0, "number\n")
    assert f"left out: {DEMO}: " in err
    assert "retransmits" in err
