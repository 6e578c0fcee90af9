# SPDX-License-Identifier: Apache-2.0
"""``linewatt export``: what other programs are given is what ``show`` says, and they can read it."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics
from tests.report_factories import (
    demo_trials,
    failed,
    host,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    stored,
    trial,
)
from tests.soak_pairs import soak
from tests.unit.conftest import Run
from tests.unit.store.test_store import MANIFEST, SERIES

from linewatt.analysis.metrics.of_power import BOUNDS, POWER_METRICS
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.loads.iperf3 import LOAD
from linewatt.model import ENDS, Case, Trial
from linewatt.report.data.openmetrics import _TWICE, name_of
from linewatt.report.data.views import VIEWS
from linewatt.store import write

DEMO = "20260101-000000-demo"
CAPTURES = Path(__file__).parents[2] / "captures" / "iperf3"
PUBLISHED = Path(__file__).parents[3] / "docs" / "published"
THROUGHPUT = "linewatt_throughput_bits_per_second"


@pytest.fixture
def demo(run: Run) -> Path:
    """A result of a lab with simulated watts at the receiver, and one trial that failed."""
    lab = {"lab": "demo", "shares_cpus_with": ["h1", "h2"]}
    trials = renumbered(
        powered(demo_trials()[:9], provenance="simulated"),
        demo_trials()[9:],
        [failed(1, Case("tcp", "h1", "h2", instances=8), "the cable was cut")],
    )
    hosts = {name: host(name, **lab) for name in ("h1", "h2")}
    return stored(Path("results"), result(trials, id=DEMO, name="demo", hosts=hosts))


@pytest.mark.parametrize("trials", [False, True])
@pytest.mark.parametrize("form", ["csv", "json"])
def test_csv_and_json_are_those_of_show(form: str, trials: bool, demo: Path, run: Run) -> None:
    more = ("--trials",) if trials else ()
    code, out, _ = run("export", "--format", form, *more)
    name = f"{DEMO}.{'trials.' if trials else ''}{form}"
    assert (code, out) == (0, f"{name}\n")
    assert Path(name).read_text() == run("show", "last", f"--{form}", *more)[1]


@pytest.mark.parametrize("trials", [False, True])
def test_parquet_has_the_rows_of_csv_typed_whatever_the_result_has_of_them(
    trials: bool, demo: Path, run: Run
) -> None:
    more = ("--trials",) if trials else ()
    assert run("export", "last", "--format", "parquet", "-o", "t.parquet", *more)[0] == 0
    found = duckdb.execute("SELECT * FROM 't.parquet'")
    described = {one[0]: str(one[1]) for one in found.description or ()}
    view = VIEWS["trials" if trials else "cases"]
    assert described == {one.name: one.type for one in view.columns}
    rows = [dict(zip(described, row, strict=True)) for row in found.fetchall()]
    texts = list(csv.DictReader(io.StringIO(run("show", "last", "--csv", *more)[1])))
    assert len(rows) == len(texts) > 4
    for row, text in zip(rows, texts, strict=True):
        for name, value in text.items():
            shown = "" if row[name] is None else str(row[name])
            assert shown == value or float(shown) == float(value), name
    ((key,),) = duckdb.execute("SELECT value FROM parquet_kv_metadata('t.parquet')").fetchall()
    assert json.loads(key) == {"schema_version": 1, "view": view.name, "result": DEMO}


def test_parquet_has_nulls_and_provenance_and_unites_with_that_of_another_result(
    demo: Path, run: Run
) -> None:
    stored(
        Path("results"), result(level_trials(Case("udp-1500", "h1", "h2")), id="20260102-000000-l", name="l")
    )
    for wanted in ("20260101", "20260102"):
        assert run("export", wanted, "--format", "parquet", "-o", f"{wanted}.parquet")[0] == 0
    rows = duckdb.execute(
        "SELECT DISTINCT result, receiver_system_w_provenance, sender_system_w_mean, offered_bps_mean IS NULL"
        " FROM '2026*.parquet' WHERE receiver_system_w_mean > 0 ORDER BY ALL"
    ).fetchall()
    assert rows == [(DEMO, "simulated", None, False), ("20260102-000000-l", "measured", None, False)]


def families(text: str) -> dict[str, Any]:
    """What a reader of OpenMetrics makes of a text."""
    found = list(openmetrics.text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    assert [name for name, count in Counter(one.name for one in found).items() if count > 1] == []
    return {one.name: one for one in found}


def samples(text: str, name: str, **labels: str) -> list[Any]:
    return [one for one in families(text)[name].samples if labels.items() <= one.labels.items()]


def metrics(run: Run, wanted: str = "last") -> str:
    code, out, _ = run("export", wanted, "--format", "openmetrics", "-o", "linewatt.prom")
    assert (code, out) == (0, "linewatt.prom\n")
    return Path("linewatt.prom").read_text()


def test_metrics_are_valid_and_say_what_show_says(demo: Path, run: Run) -> None:
    text = metrics(run)
    assert text.endswith("# EOF\n")
    cases = json.loads(run("show", "last", "--json")[1])["cases"]
    for name, key in (
        (THROUGHPUT, "throughput_bps_mean"),
        ("linewatt_throughput_ci95_low_bits_per_second", "throughput_bps_ci95_low"),
        ("linewatt_throughput_ci95_high_bits_per_second", "throughput_bps_ci95_high"),
        ("linewatt_lost_ratio", "lost_ratio_mean"),
        ("linewatt_retransmits_segments_per_trial", "retransmits_per_trial_mean"),
    ):
        expected = {one["case_key"]: one[key] for one in cases if one[key] is not None}
        assert {one.labels["case"]: one.value for one in samples(text, name)} == expected, name
    for role in ENDS:
        for name, key in (
            ("linewatt_cpu_cores", f"{role}_cpu_cores_mean"),
            ("linewatt_efficiency_bits_per_second_per_core", f"efficiency_{role}_bps_per_core_mean"),
            ("linewatt_system_watts", f"{role}_system_w_mean"),
        ):
            expected = {one["case_key"]: one[key] for one in cases if one[key] is not None}
            found = {one.labels["case"]: one.value for one in samples(text, name, role=role)}
            assert found == expected, (name, role)
    assert families(text)[THROUGHPUT].unit == "bits_per_second"


def test_what_is_missing_has_no_sample(demo: Path, run: Run) -> None:
    text = metrics(run)
    gone = Case("tcp", "h1", "h2", instances=8).key
    named = {
        one.name
        for family in families(text).values()
        for one in family.samples
        if one.labels.get("case") == gone
    }
    assert named == {"linewatt_trials"}
    assert [one.value for one in samples(text, "linewatt_trials", case=gone, status="failed")] == [1]
    assert samples(text, "linewatt_system_watts", role="sender") == []
    assert "NaN" not in text


def test_watts_say_their_provenance_figures_whether_they_are_doubtful_and_cases_whether_of_a_lab(
    demo: Path, run: Run
) -> None:
    text = metrics(run)
    watts = samples(text, "linewatt_system_watts")
    assert {(one.labels["provenance"], one.labels["scope"]) for one in watts} == {("simulated", "psu-out")}
    assert {one.labels["host"] for one in watts} == {"h2"}
    first = Case("tcp", "h1", "h2").key
    assert [
        one.labels["doubtful"] for one in samples(text, "linewatt_cpu_cores", case=first, role="receiver")
    ] == ["true"]
    assert {one.labels["doubtful"] for one in samples(text, THROUGHPUT, case=first)} == {"false"}
    assert {one.labels["lab"] for one in samples(text, THROUGHPUT)} == {"h1,h2"}
    stored(Path("results"), result(powered(scaling_trials((1,))), id="20260109-000000-own", name="own"))
    assert [one.labels.get("lab") for one in samples(metrics(run), THROUGHPUT)] == [None]


def test_every_metric_has_a_name_of_its_own_and_a_base_unit() -> None:
    plain = [metric.si_key for metric in METRICS]
    names = [(name_of(key)[0], "receiver" in key.split("_") or "sender" in key.split("_")) for key in plain]
    power = [one.name for one in POWER_METRICS] + [*BOUNDS]
    names += [(name_of(name)[0], False) for name in power if name not in _TWICE]
    twice = [name for (name, of_end), count in Counter(names).items() if count > (2 if of_end else 1)]
    assert twice == []
    assert all(name.endswith(name_of(key)[1]) for key, (name, _) in zip(plain, names, strict=False))


def test_node_exporter_can_take_the_file(demo: Path, run: Run) -> None:
    """Its textfile collector reads the older format, as another user, and refuses times of samples."""
    before = os.umask(0o077)
    try:
        text = metrics(run)
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path("linewatt.prom").stat().st_mode) == 0o644
    found = list(prometheus.text_string_to_metric_families(text))
    assert {one.type for one in found} == {"gauge"}
    assert all(one.timestamp is None for family in found for one in family.samples)
    assert [path.name for path in Path().iterdir() if path.name.endswith(".tmp")] == []


def test_a_name_of_a_host_is_a_label_whatever_is_in_it(run: Run) -> None:
    odd = 'a"}\n\\x'
    stored(Path("results"), result(scaling_trials((1,)), id=DEMO, name=odd))
    assert {one.labels["campaign"] for one in samples(metrics(run), THROUGHPUT)} == {odd}


def test_pairs_of_groups_are_series_of_their_own(run: Run) -> None:
    from tests.first_screens import KINDS

    KINDS["groups"]()
    found = samples(metrics(run), THROUGHPUT)
    assert len({frozenset(one.labels.items()) for one in found}) == len(found) == 5
    assert [one.labels["receiver"] for one in found if "beside" in one.labels] == ["dut"] * 3


@pytest.mark.parametrize("form", ["openmetrics", "parquet", "iperf3"])
def test_what_has_no_cases_is_refused(form: str, run: Run) -> None:
    soak()
    code, out, err = run("export", "last", "--format", form)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert run("import", str(PUBLISHED / "x64_components.csv"))[0] == 0
    code, out, err = run("export", "last", "--format", form)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert [path.name for path in Path().iterdir()] == ["results"]


def test_a_soak_and_a_published_table_have_the_json_that_show_has(run: Run) -> None:
    path = soak()
    assert run("export", path.name, "--format", "json", "-o", "s.json")[0] == 0
    assert Path("s.json").read_text() == run("show", path.name, "--json")[1]
    assert run("import", str(PUBLISHED / "x64_components.csv"))[0] == 0
    assert run("export", "last", "--format", "csv", "-o", "p.csv")[0] == 0
    assert Path("p.csv").read_text() == run("show", "last", "--csv")[1]


def capture(name: str, end: str = "client") -> str:
    return (CAPTURES / name / f"{end}.json").read_text()


def measured(case: Case, *outputs: str) -> tuple[Path, Trial]:
    """A stored trial whose clients wrote this."""
    one = replace(trial(1, case, 1e9, 0.5), number=1)
    path = write.new_result(Path("results"), "t", 0.0, MANIFEST)
    texts = {f"{case.client}/iperf3-client-{at}.json": text for at, text in enumerate(outputs)}
    write.write_trial(path, one, [SERIES], texts)
    return path, one


def exported(run: Run, *more: str) -> Any:
    code, out, _ = run("export", "last", "--format", "iperf3", "--trial", "1", *more)
    assert code == 0
    return json.loads(Path(out.strip()).read_text())


def test_one_instance_has_the_document_that_its_client_wrote(run: Run) -> None:
    path, one = measured(Case("tcp", "h1", "h2"), capture("3.17.1-tcp-rate-limited"))
    document = exported(run)
    about = document.pop("linewatt")
    assert document == json.loads(capture("3.17.1-tcp-rate-limited"))
    assert (about["source"], about["result"], about["instances"]) == ("client", path.name, 1)
    assert about["window_throughput_bps"] == one.throughput_bps


ADDED = (
    (Case("tcp", "h1", "h2", instances=2), ("3.17.1-tcp-rate-limited", "3.18-tcp-rate-limited")),
    (
        Case("udp-1500", "h1", "h2", instances=3, direction="reverse"),
        ("3.17.1-udp1500-reverse", "3.18-udp1500-reverse", "3.12-udp1500-reverse-streams-8"),
    ),
)


@pytest.mark.parametrize(("case", "names"), ADDED)
def test_several_instances_are_added_up_and_it_says_so(case: Case, names: tuple[str, ...], run: Run) -> None:
    texts = [capture(name) for name in names]
    measured(case, *texts)
    document = exported(run)
    parts = [json.loads(text) for text in texts]
    assert document["linewatt"]["source"] == "added-up"
    assert document["linewatt"]["note"].startswith(f"{len(names)} clients added up")
    for name in ("sum_sent", "sum_received"):
        for key in ("bytes", "bits_per_second"):
            assert document["end"][name][key] == pytest.approx(sum(one["end"][name][key] for one in parts))
    used = [one["end"]["cpu_utilization_percent"]["host_total"] for one in parts]
    assert document["end"]["cpu_utilization_percent"]["host_total"] == pytest.approx(sum(used))
    streams = sum(one["start"]["test_start"]["num_streams"] for one in parts)
    assert document["start"]["test_start"]["num_streams"] == streams == len(document["end"]["streams"])
    sockets = [one["socket"] for one in document["start"]["connected"]]
    assert len(set(sockets)) == len(sockets) == streams
    whole, ends = LOAD.parse(json.dumps(document)), [LOAD.parse(text) for text in texts]
    shortest = min(len(one.intervals) for one in ends)
    assert len(whole.intervals) == shortest >= 2
    for at, interval in enumerate(whole.intervals):
        assert interval.transferred_bytes == sum(one.intervals[at].transferred_bytes for one in ends)
        assert document["intervals"][at]["sum"]["bytes"] == interval.transferred_bytes


def test_loss_of_several_instances_is_that_of_all_their_datagrams(run: Run) -> None:
    case, names = ADDED[1]
    texts = [capture(name) for name in names]
    measured(case, *texts)
    total, parts = exported(run)["end"]["sum"], [json.loads(text)["end"]["sum"] for text in texts]
    lost, packets = (sum(one[key] for one in parts) for key in ("lost_packets", "packets"))
    assert (total["lost_packets"], total["packets"]) == (lost, packets)
    assert total["lost_percent"] == pytest.approx(100 * lost / packets)


def test_senders_of_datagrams_who_count_no_loss_have_none_added_up(run: Run) -> None:
    """As little as each of them has in its own intervals."""
    texts = [capture("3.21-udp60-forward"), capture("3.18-udp60-forward")]
    measured(Case("udp-60", "h1", "h2", instances=2), *texts)
    sums = [one["sum"] for one in exported(run)["intervals"]]
    own = [one["sum"] for text in texts for one in json.loads(text)["intervals"]]
    assert all("packets" in one and "lost_percent" not in one for one in own)
    assert all("packets" in one and "lost_percent" not in one for one in sums)


def test_without_output_the_figures_of_the_window_are_given_and_no_more(run: Run) -> None:
    measured(Case("tcp", "h1", "h2", instances=2), capture("3.17.1-tcp-rate-limited"))
    document = exported(run)
    assert document["linewatt"]["source"] == "figures"
    assert document["end"]["sum_received"]["bits_per_second"] == 1e9
    assert document["end"]["sum_received"]["bytes"] == 60 * 1e9 / 8
    assert "cpu_utilization_percent" not in document["end"]
    assert "version" not in document["start"]
    assert len(document["intervals"]) == 1


def test_each_trial_has_a_file_and_those_without_are_named(demo: Path, run: Run) -> None:
    code, out, err = run("export", "--format", "iperf3")
    assert (code, out) == (0, f"{DEMO}.iperf3\n")
    names = sorted(path.name for path in Path(f"{DEMO}.iperf3").iterdir())
    assert names == [f"{number:05d}.json" for number in range(1, 16)]
    assert err == "left out: trials 16 (failed)\n"
    code, _, err = run("export", "--format", "iperf3")
    assert code == 2
    assert "is there already" in err
    code, out, _ = run("export", "--format", "iperf3", "-o", "again", "--json")
    assert json.loads(out)["left_out"] == {"16": "failed"}
    assert run("export", "--format", "iperf3", "--trial", "16")[0] == 2
    assert run("export", "--format", "iperf3", "--trial", "99")[0] == 2


def test_loads_that_are_no_iperf3_have_no_such_document(run: Run) -> None:
    case = Case("tcp-rr", "h1", "h2", load="sockperf")
    stored(Path("results"), result([replace(trial(1, case, 1e6, 0.1), retransmits=None)], id=DEMO))
    code, _, err = run("export", "--format", "iperf3")
    assert code == 2
    assert "no trial of iperf3 is done: trials 1 (no load of iperf3)" in err


def test_damaged_output_is_named_and_nothing_is_written(run: Run) -> None:
    measured(Case("tcp", "h1", "h2"), '{"start": {}, "intervals": [3], "end": {}}')
    code, out, err = run("export", "--format", "iperf3")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "iperf3-client-0.json" in err
    assert [path.name for path in Path().iterdir()] == ["results"]


def wrong() -> Iterator[tuple[tuple[str, ...], str]]:
    yield (), "name a format: --format csv, json, parquet, openmetrics, iperf3, bundle"
    yield ("--format", "xml"), "--format xml: not a format"
    yield ("--format", "csv", "--bundle"), "--bundle and --format csv: choose one"
    yield ("--format", "openmetrics", "--trials"), "--trials: goes with --format csv, json, parquet"
    yield ("--format", "csv", "--trial", "1"), "--trial: goes with --format iperf3"
    yield ("--format", "csv", "-o", "no/where.csv"), "there is no directory no; make it first"
    yield ("--format", "iperf3", "-o", "no/where"), "there is no directory no; make it first"


@pytest.mark.parametrize(("arguments", "said"), [*wrong()])
def test_wrong_use_is_told_before_anything_is_written(
    arguments: tuple[str, ...], said: str, demo: Path, run: Run
) -> None:
    code, out, err = run("export", "last", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert [path.name for path in Path().iterdir()] == ["results"]


def test_what_was_written_is_told_as_json(demo: Path, run: Run) -> None:
    document = json.loads(run("export", "last", "--format", "csv", "-o", "x.csv", "--json")[1])
    assert document == {"schema_version": 1, "id": DEMO, "format": "csv", "path": "x.csv"}
    assert json.loads(run("export", "last", "--format", "bundle", "--json")[1])["path"] == f"{DEMO}.tar.zst"
