# SPDX-License-Identifier: Apache-2.0
"""The course of a soak's rate over many soaks, read from the ends of each alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import numpy as np
import pytest
from tests.compare_factories import TCP, as_it_is, courses_of, made, runs
from tests.report_factories import stored
from tests.soak_pairs import asked, soak
from tests.soak_result import STARTED_S
from tests.unit.conftest import Run

from linewatt import records
from linewatt.analysis.comparison.points import series_of_tasks
from linewatt.analysis.comparison.side import Quantity, Side
from linewatt.features.history.courses import Course
from linewatt.features.soak import load_totals as soak_totals
from linewatt.features.soak import storage as store
from linewatt.features.soak.comparison import SoakRun
from linewatt.features.soak.digest import digest
from linewatt.features.soak.job import ASKED, Job, job_of
from linewatt.features.soak.metrics import CLIENT_CPU, RATE
from linewatt.features.soak.quantities import followed_run
from linewatt.features.soak.segments import CHANNELS
from linewatt.features.users.model import Users
from linewatt.model import Channel, Sample
from linewatt.records import Campaign
from linewatt.store.read import load_result
from linewatt.store.samples import Series
from linewatt.store.write import new_result

JOB = Job({"users": 4}, "dut", ("dut", "c1", "c2"))


def one_of(path: Path, response: Any = RATE) -> float | None:
    return followed_run(load_result(path), response).quantities[response.name].value


def side_with(value: float) -> Side:
    return Side("s", "s", Campaign(written={}), {}, {}, single_run=SoakRun(JOB, {RATE.name: Quantity(value)}))


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"kill_at": 25, "away_s": 15},
        {"lost_client": ("c2", 20, 45)},
        {"lost_client": ("c2", 31, 120), "duration_s": 120},
        {"server_dies_at": 20, "stall": (30, 40)},
    ],
    ids=["calm", "two parts", "a client away", "a client gone for good", "failures and a stall"],
)
def test_what_the_ends_of_parts_say_is_what_reading_all_of_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = soak(1, **shape)
    whole = digest(load_result(path))
    rate, cpu = one_of(path), one_of(path, CLIENT_CPU)
    assert rate == pytest.approx(whole.total_bytes * 8 / whole.load_s, rel=1e-12)
    assert cpu == pytest.approx(whole.client_cpu[0], rel=1e-12)


def test_only_the_first_and_the_last_chunk_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = soak(1, duration_s=240, clients=("c1",))
    seen: set[str] = set()
    rows = soak_totals._rows

    def watched(query: str, paths: Sequence[Path]) -> Any:
        seen.update(one.name for one in paths)
        return rows(query, paths)

    monkeypatch.setattr(soak_totals, "_rows", watched)
    assert one_of(path)
    assert seen == {"chunk-000001.parquet", "chunk-000008.parquet"}


def test_a_soak_without_an_end_and_one_that_cannot_be_read_are_left_out_with_the_reason(run: Run) -> None:
    soak(1)
    (soak(2) / "soak" / "part-001" / "ended.json").unlink()
    chunk = soak(3) / "soak" / "part-001" / "chunk-000002.parquet"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    soak(4, lambda manifest: manifest["campaign"].update(soak={"duration_s": 60.0, "interval_s": 10.0}))
    code, out, err = run("history")
    assert (code, err) == (0, "")
    assert "Mean rate of soaks over 2 soaks" in out
    assert "Left out: 2 soaks" in out
    assert "20260102-000000-soak: not complete" in out
    (damaged,) = [line for line in out.splitlines() if line.startswith("  20260103-000000-soak: ")]
    assert "samples cannot be read" in damaged
    document = json.loads(run("history", "--json")[1])
    assert [one["id"] for one in document["left_out"]] == ["20260102-000000-soak", "20260103-000000-soak"]
    assert [one["id"] for one in document["soaks"][0]["results"]] == [
        "20260101-000000-soak",
        "20260104-000000-soak",
    ]


def test_a_step_between_soaks_of_one_job_is_found_and_campaigns_stand_apart(run: Run) -> None:
    for day in range(1, 7):
        # files grow while it runs: by half on average
        soak(day, seed=7 + day, drift_per_s=0.0 if day < 4 else 0.5 / 30)
        stored(Path("results"), made("t", runs(seed=day), day=day))
    code, out, err = run("history")
    assert (code, err) == (0, "")
    assert "Throughput (Gbps) over 6 results" in out
    assert "Mean rate of soaks over 6 soaks" in out
    assert f"[{TCP.key}]: no change found over 6 results" in out
    (head,) = [line for line in out.splitlines() if line.startswith("soak of ")]
    assert head.startswith("soak of 1 min 00 s, 4 users on 2 clients, server dut [")
    assert head.endswith("since 20260104-000000-soak (3 results)")
    assert "]: faster by " in head
    found = [line for line in out.splitlines() if " UTC " in line and "-soak " in line]
    assert ["◀" in line for line in found] == [False, False, False, True, False, False]
    document = json.loads(run("history", "--json", "--test", "soak")[1])
    assert document["cases"] == []
    (course,) = document["soaks"]
    assert [one["n"] for one in course["results"]] == [1] * 6
    (change,) = course["changes"]
    assert change["id"] == "20260104-000000-soak"
    assert change["ratio"] == pytest.approx(1.5, rel=0.1)


def test_cpu_per_gbit_has_a_course_of_its_own_and_less_of_it_is_better(run: Run) -> None:
    for day in range(1, 7):
        soak(day, seed=day, cpu_share=0.3 if day < 4 else 0.6)
    _, out, _ = run("history", "--metric", "efficiency")
    assert "Client CPU per Gbit of soaks over 6 soaks" in out
    assert "CPU-s/Gbit" in out
    (head,) = [line for line in out.splitlines() if line.startswith("soak of ")]
    assert "]: more CPU per Gbit by " in head
    (course,) = json.loads(run("history", "--metric", "efficiency", "--json")[1])["soaks"]
    assert course["changes"][0]["kind"] == "worse"


def test_a_job_is_what_was_asked_whatever_hosts_are_called_but_not_of_another_server(run: Run) -> None:
    def moved(**names: str) -> Any:
        def edit(manifest: dict[str, Any]) -> None:
            users = manifest["campaign"]["users"]
            users["server"]["host"] = names.get("dut", "dut")
            users["seed"], users["sustained_bps"] = 99, None
            for group in users["groups"]:
                group["clients"] = [names.get(name, name) for name in group["clients"]]

        return edit

    def job(edit: Any) -> Job:
        manifest = json.loads((Path("results") / "20260101-000000-soak" / "manifest.json").read_text())
        edit(manifest)
        return job_of(Campaign.model_validate(manifest["campaign"]))

    soak(1)
    base = job(lambda _: None)
    assert job(moved(c1="n1")).key == base.key
    assert job(moved(c1="n1")).hosts_under_test == base.hosts_under_test
    assert job(moved(dut="other")).key == base.key
    assert job(moved(dut="other")).hosts_under_test != base.hosts_under_test
    for edit in (asked(users=5), asked(think_s=1.0), asked(arrival_rate_hz=1.0), asked(start="ramped")):
        assert job(edit).key != base.key
    soak(2, asked(think_s=1.0))
    _, out, _ = run("history")
    assert "nothing to follow: 2 jobs" in out
    assert run("history", "--case", base.key[:5], "--json")[1].count('"job_key"') == 1


def _paths(kind: type, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where a class that a campaign writes has values, those of its own classes included."""
    types = get_type_hints(kind)
    for one in fields(kind):
        inner = [each for each in (types[one.name], *get_args(types[one.name])) if is_dataclass(each)]
        for each in inner:
            yield from _paths(cast(type, each), (*at, one.name))
        if not inner:
            yield (*at, one.name)


OF_NO_JOB = {("groups", "server"), ("server", "password_env"), ("server", "password_file"), ("put_folder",)}
OF_NO_JOB |= {("groups", "name"), ("groups", "switch"), ("python",), ("put", "count")}
"""where users are and how they get in"""


def test_all_that_a_campaign_says_of_users_is_asked_for_under_its_name() -> None:
    """A value that is part of no job makes two soaks repetitions of each other that are none."""
    told: dict[str, Any] = {}
    for path in _paths(Users):
        inner = told
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = "/".join(path)
    told |= {"users": 4, "groups": [records.UserGroup(name="all", clients=["a"])]}
    for name, kind in (("get", records.Sizes), ("put", records.Sizes), ("server", records.UserServer)):
        told[name] = kind.model_construct(**told[name])
    told["server"] = told["server"].model_copy(update={"options": [["server", "options"]]})
    found = Campaign.model_construct(written={}, users=records.Users.model_construct(**told))
    read = {str(one.read(found)).strip("[']").replace("=", "/") for one in ASKED}
    lacking = {path for path in _paths(Users) if "/".join(path) not in read} - OF_NO_JOB
    assert lacking == {("users",), ("groups", "clients"), ("server", "host"), ("server", "url")}


def test_the_key_of_a_job_never_changes() -> None:
    users = {"users": 4, "groups": [{"name": "all", "clients": ["a", "b"]}], "think_s": 1.5, "seed": 3}
    campaign = {"soak": {"duration_s": 60.0, "interval_s": 10.0}, "users": users, "networks": ["bare"]}
    job = job_of(Campaign.model_validate(campaign))
    assert job.parameters == {
        "duration_s": 60.0,
        "network": "bare",
        "users": 4,
        "clients": [2],
        "think_s": 1.5,
    }
    assert job.key == "8c17487c3ee6"


def test_where_nothing_of_soaks_was_asked_for_they_are_not_shown(run: Run) -> None:
    soak(1)
    stored(Path("results"), made("t", runs(), day=2))
    for arguments in (["--test", "tcp"], ["--case", TCP.key]):
        code, out, _ = run("history", *arguments)
        assert code == 0
        assert "soak" not in out
    assert run("history", "--metric", "loss")[0] == 2


def iperf3_soak(day: int, segment_bytes: float) -> Path:
    """Without users: 10 segments of 6 s from h1 to h2, each stored with the chunk after its end."""
    campaign = {
        "name": "lines",
        "soak": {"duration_s": 60.0, "interval_s": 1.0, "segment_s": 6.0},
        "users": None,
        "tests": [{"test": "tcp", "instances": [1], "streams": [1], "rate_bps": None, "zerocopy": False}],
        "pairs": [["h1", "h2"]],
    }
    created_s = STARTED_S + 86_400 * day
    manifest = {"schema_version": 1, "name": "lines", "created_s": created_s, "campaign": campaign}
    manifest |= {"plan": [], "trials_planned": 0, "hosts": {name: {"facts": {}} for name in ("h1", "h2")}}
    path = new_result(Path("results"), "lines", created_s, manifest)
    part = store.new_part(path, created_s)
    idle = {"cpu0.idle_ratio": Channel("cpu0.idle_ratio", "ratio", "mean", "cpu:0")}
    for number in range(1, 12):
        now_s = created_s + 6 * number
        series = [Series("h1", "mpstat", idle, [Sample(now_s - 3, "cpu0.idle_ratio", 0.5, 1.0)])]
        if number > 1:
            series += [
                Series(host, "iperf3", CHANNELS, list(counted(name, now_s - 12, number - 2, segment_bytes)))
                for host, name in (("h1", "load.sent_bytes"), ("h2", "load.received_bytes"))
            ]
        store.write_chunk(part, number, series)
    store.end_part(part, created_s + 66, "done")
    return path


def counted(name: str, start_s: float, before: int, segment_bytes: float) -> Iterator[Sample]:
    for second in range(7):
        yield Sample(start_s + second, name, segment_bytes * (before + second / 6))


def test_a_soak_of_iperf3_alone_is_a_job_of_its_pairs_and_compared_by_what_was_received(run: Run) -> None:
    paths = [iperf3_soak(1, 6e9), iperf3_soak(2, 5.4e9)]
    for path, rate_bps in zip(paths, (8e9, 7.2e9), strict=True):
        value, whole = one_of(path), digest(load_result(path))
        assert value == pytest.approx(rate_bps)
        assert value == pytest.approx(whole.total_bytes * 8 / whole.load_s)
        assert job_of(load_result(path).manifest.asked).hosts_under_test == ("h1", "h2")
    assert "soak of 1 min 00 s, iperf3 on h1, h2 [" in run("history")[1]
    code, out, _ = run("compare", paths[0].name, paths[1].name, "--json")
    assert code == 4
    found = {row["response"]: row for row in json.loads(out)["comparisons"]}
    assert found["throughput_bps"]["ratio"] == pytest.approx(0.9)
    assert not found.keys() & {"client_cpu_s_per_gbit", "transfers_hz", "failed_ratio", "server_cores"}


def course_of(levels: Sequence[float], draw: np.random.Generator) -> Course:
    values = [1e9 * level * math.exp(draw.normal(0, 0.02)) for level in levels]
    (course,) = courses_of(series_of_tasks(list(map(side_with, values)), RATE, as_it_is))
    return course


@pytest.mark.parametrize("count", [6, 8, 20])
def test_soaks_that_only_vary_are_seldom_said_to_change(count: int) -> None:
    """One value a soak, which vary by 2 %: all that is known of their spread is how they differ."""
    draw = np.random.default_rng(5)
    found = sum(bool(course_of([1] * count, draw).changes) for _ in range(100))
    assert found <= 2


def test_a_step_of_10_percent_is_found_among_ten_soaks() -> None:
    draw = np.random.default_rng(6)
    levels = [1.0] * 5 + [0.9] * 5
    found = sum([change.at for change in course_of(levels, draw).changes] == [5] for _ in range(60))
    assert found >= 36


def test_equal_soaks_have_no_change_and_three_are_not_enough() -> None:
    (course,) = courses_of(series_of_tasks([side_with(1e9)] * 6, RATE, as_it_is))
    assert course.changes == ()
    (course,) = courses_of(series_of_tasks(list(map(side_with, (1e9, 2e9, 2e9))), RATE, as_it_is))
    assert course.words == "too few results (3 of 6): a step needs 3 before and 3 after it, so 3 more"
