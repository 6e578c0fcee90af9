# SPDX-License-Identifier: Apache-2.0
"""A soak as people and programs see it, from simulated results of which every figure is known."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.inline import invoke
from tests.saved_files import saved
from tests.soak_result import FILE_BYTES, STARTED_S, Shape, Truth, write
from tests.unit.conftest import Run

from linewatt.errors import StoreError
from linewatt.features.soak import listing as listed
from linewatt.features.soak import storage as store
from linewatt.features.soak import stuck_meters as still
from linewatt.features.soak.charts import figures
from linewatt.features.soak.cpus import CpusUsed
from linewatt.features.soak.diagram import soak_diagram
from linewatt.features.soak.digest import HostPower, Soak, digest
from linewatt.features.soak.document import as_json
from linewatt.features.soak.figures import Drift
from linewatt.features.soak.first_screen import first_screen
from linewatt.features.soak.flags import flags
from linewatt.features.soak.ledger import CLIENTS, SERVER
from linewatt.features.soak.ledger_tables import event_line, groups_table
from linewatt.features.soak.page import render
from linewatt.features.soak.summary import details, summary
from linewatt.model import Channel, Sample
from linewatt.records import NotReady
from linewatt.report.charts.figure import render_svg
from linewatt.report.printing.screen import screen_text as first_screen_text
from linewatt.store import read, sums
from linewatt.store.samples import Series
from linewatt.store.write import new_result
from linewatt.units import format_rate

CALM = Shape(duration_s=240)
ROUGH = Shape(
    duration_s=420,
    kill_at=150,
    away_s=60,
    server_dies_at=75,
    drops_at=220,
    stall=(270, 300),
    lost_client=("c3", 330, 390),
    cpu_share=0.95,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@cache
def soak_of(root: Path, shape: Shape) -> tuple[Soak, Truth]:
    path, truth = write(root, shape)
    return digest(read.load_result(path)), truth


def counted(truth: Truth, channel: str) -> float:
    """Over all clients and parts."""
    return sum(value for (_, name), value in truth.totals.items() if name.partition(":")[2] == channel)


def codes(soak: Soak) -> set[str]:
    return {flag.code for flag in flags(soak)}


def test_a_calm_soak_balances_to_the_byte_and_raises_no_flag(results: Path) -> None:
    soak, truth = soak_of(results, CALM)
    assert (soak.balance.verdict, soak.balance.unexplained, codes(soak)) == ("balanced", 0, set())
    assert soak.total_bytes == counted(truth, "users.received_bytes") + counted(truth, "users.sent_bytes")
    assert soak.ledger.value("gets_done", CLIENTS).value == counted(truth, "users.gets")
    assert soak.ledger.value("puts_done", SERVER).value == counted(truth, "users.puts")
    assert soak.load_s == 240
    assert soak.complete
    assert soak.rates is not None
    assert soak.rates.mean_bps == pytest.approx(soak.total_bytes * 8 / 240, rel=1e-6)


def test_a_host_that_was_not_ready_when_the_soak_began_is_a_flag(results: Path) -> None:
    soak, _ = soak_of(results, CALM)
    failure = NotReady(host="dut", check="clock", found="is 3 s behind", advice="start chrony")
    manifest = soak.result.manifest.model_copy(update={"not_ready": [failure]})
    (flag,) = flags(replace(soak, result=replace(soak.result, manifest=manifest)))
    assert (flag.code, flag.where, flag.evidence) == ("not-ready", "dut", "clock: is 3 s behind")


def test_the_summary_is_the_one_that_studies_publish(results: Path) -> None:
    soak, truth = soak_of(results, CALM)
    said = {fact.title: fact.value for fact in summary(soak)}
    assert list(said) == [
        "Rate, mean",
        "Rate, peak",
        "File transfers",
        "Packets",
        "Dropped or overrun",
        "Total data",
    ]
    assert said["File transfers"] == f"{counted(truth, 'users.gets') + counted(truth, 'users.puts'):,.0f}"
    assert said["Dropped or overrun"] == "0"
    told = {fact.title: fact for fact in details(soak)}
    assert told["Users sustained"].value == "4 of 8", "the simulation counts one user a client"
    assert told["Get, whole"].note.startswith(f"of {counted(truth, 'users.gets'):,.0f}")
    assert told["Energy per GB, dut"].mark == "sim"
    moved_gbit = soak.total_bytes * 8 / 1e9
    assert soak.client_cpu[0] == pytest.approx(counted(truth, "users.cpu_s") / moved_gbit)


def test_groups_add_up_to_all_clients(results: Path) -> None:
    soak, _ = soak_of(results, CALM)
    assert [(group.name, group.clients) for group in soak.groups] == [("port1", 2), ("port2", 2)]
    assert (
        sum(group.got_bytes.value or 0.0 for group in soak.groups)
        == soak.ledger.value("get_bytes", CLIENTS).value
    )


def test_the_rates_of_groups_add_up_to_the_mean_and_stand_in_the_diagram(results: Path) -> None:
    soak, _ = soak_of(results, CALM)
    assert sum(soak.rate_of(one).value or 0.0 for one in soak.groups) == pytest.approx(soak.mean_bps)
    diagram = soak_diagram(soak)
    assert diagram is not None
    for one in soak.groups:
        assert f"{one.name}: {one.clients} clients" in diagram.description
        assert format_rate(soak.rate_of(one).value) in diagram.description


def with_switches(soak: Soak, *switches: str | None) -> Soak:
    """The same soak of a campaign that names the switch of each group."""
    manifest = soak.result.manifest
    campaign = manifest.model_dump()["campaign"]
    for group, switch in zip(campaign["users"]["groups"], switches, strict=True):
        group["switch"] = switch
    changed = type(manifest).model_validate(manifest.model_dump() | {"campaign": campaign})
    return digest(replace(soak.result, manifest=changed))


@pytest.mark.parametrize(
    ("switches", "boxes", "note"),
    [
        ((None, None), ["network"], "Switches are not on record: the campaign names none"),
        (("sw1", "sw2"), ["sw1", "sw2"], "Switches: as the campaign names them."),
        (("sw1", "sw1"), ["sw1"], "Switches: as the campaign names them."),
        (("sw1", None), ["sw1", "network"], "Switches: as the campaign names them for 1 group of 2."),
    ],
)
def test_each_switch_that_a_campaign_names_is_a_box_beside_its_groups(
    results: Path, switches: tuple[str | None, str | None], boxes: list[str], note: str
) -> None:
    soak, _ = soak_of(results, CALM)
    diagram = soak_diagram(with_switches(soak, *switches))
    assert diagram is not None
    drawn = [row for row in diagram.spec["data"]["values"] if row["kind"] == "box"]
    middle = [row for row in drawn if 4 < row["xm"] < 6]
    assert [row["text"] for row in middle] == boxes
    for row in middle:
        joined = [box for box in drawn if box["xm"] < 4 and row["y"] < box["ym"] < row["y2"]]
        assert len(joined) == 2 / len(boxes)
    assert note in diagram.caption
    for switch in filter(None, switches):
        assert f"2 clients – {switch} – " in diagram.description


def test_lines_of_a_soak_are_named_at_their_ends_and_events_have_their_times(results: Path) -> None:
    soak, _ = soak_of(results, ROUGH)
    drawn = {one.name: render_svg(one.spec) for one in figures(soak)}
    for name, labels in (("rate", ("Received", "Sent")), ("cpu", ("Clients", "Server"))):
        assert "role-legend" not in drawn[name]
        for label in labels:
            assert drawn[name].count(f">{label}<") == 1
        places = [
            float(y)
            for y in re.findall(r"translate\([\d.]+,([\d.-]+)\)[^>]*>(?:Received|Sent)<", drawn["rate"])
        ]
        assert abs(places[0] - places[1]) > 12
    listed = event_line(soak.events[0])
    for name in ("rate", "cpu", "power", "drops", "users"):
        stamps = re.findall(r">(\d\d-\d\d \d\d:\d\d:\d\d)<", drawn[name])
        assert stamps == [listed[:14]], "the second is a second later: there is no room for both"


@pytest.mark.parametrize(("count", "words"), [(40, "events"), (41, "the first 40 of 41 events")])
def test_a_chart_says_how_many_of_the_events_it_draws(results: Path, count: int, words: str) -> None:
    soak, _ = soak_of(results, ROUGH)
    events = [soak.events[0].model_copy(update={"time_s": soak.scan.start_s + at}) for at in range(count)]
    many = replace(soak, events=tuple(events))
    (rate,) = (one for one in figures(many) if one.name == "rate")
    assert f" Dotted: {words}, with the time" in rate.caption
    rules = [layer["data"]["values"] for layer in rate.spec["layer"] if "at" in str(layer.get("data", ""))]
    assert {len(one) for one in rules} == {40}


def test_the_intervals_of_the_ledger_add_up_to_its_total(results: Path) -> None:
    for shape in (CALM, ROUGH):
        soak, _ = soak_of(results, shape)
        assert len(soak.intervals) <= 50
        for key in ("get_bytes", "put_done_bytes", "gets_done", "gets_failed", "retransmits"):
            parts = [one.ledger.value(key, CLIENTS).value for one in soak.intervals]
            assert sum(part or 0.0 for part in parts) == soak.ledger.value(key, CLIENTS).value, key
        parts = [one.ledger.value("get_done_bytes", SERVER).value for one in soak.intervals]
        assert sum(part or 0.0 for part in parts) == soak.ledger.value("get_done_bytes", SERVER).value


def test_a_rough_soak_shows_exactly_the_failures_drops_gaps_and_stalls_there_were(results: Path) -> None:
    soak, truth = soak_of(results, ROUGH)
    assert truth.failures == {"get.connection-lost": 4}
    assert soak.ledger.value("failed_get_connection_lost", CLIENTS).value == 4
    assert soak.ledger.value("get_vain_bytes", CLIENTS).value == 4_000_000
    assert soak.ledger.value("nic_rx_missed", SERVER).value == 30
    assert soak.ledger.dropped == 30
    assert soak.balance.unexplained == 10, "40 segments were sent again"
    assert soak.ledger.value("gets_done", CLIENTS).value == counted(truth, "users.gets")
    scan = soak.scan
    assert [
        (scan.start_s + one.first * scan.cell_s - STARTED_S, (one.end - one.first) * scan.cell_s)
        for one in soak.stalls
    ] == [(270, 30)]
    assert [(part.number, part.why) for part in soak.parts] == [(1, None), (2, "done")]
    assert soak.ran_s == 360
    assert {(gap.host, gap.source) for gap in soak.scan.gaps} == {
        ("c3", source) for source in ("users", "netcounters", "mpstat")
    }
    assert codes(soak) == {
        "drops-unexplained",
        "soak-interrupted",
        "readings-missing",
        "client-saturated",
        "stalls",
    }
    assert [one.kind for one in soak.events] == ["server-ended", "server-started"]
    cells = soak.rate("clients|users.received_bytes", inside=False)
    assert [at for at, value in enumerate(cells[:42]) if value is None] == [
        *(15, 16, 17, 18, 19, 20),  # the controller was away
        *range(33, 40),  # one client of four was
    ]


def test_a_server_that_says_it_sent_more_is_off_by_that_many_bytes(results: Path) -> None:
    shape = Shape(duration_s=60, server_extra_bytes=12_345)
    soak, _ = soak_of(results, shape)
    assert "ledger-off" in codes(soak)
    assert "off by 12,345 B" in soak.balance.words


def test_a_part_that_was_cut_off_is_not_compared_and_never_called_balanced(tmp_path: Path) -> None:
    path, _ = write(tmp_path, Shape(duration_s=60, server_extra_bytes=99))
    (path / "soak" / "part-001" / "ended.json").unlink()
    soak = digest(read.load_result(path))
    assert (soak.balance.verdict, soak.complete) == (None, False)
    assert "it was cut off" in soak.balance.words
    assert soak.ledger.value("gets_done", SERVER).value, "the ledger has it all the same"


def test_a_drift_over_hours_is_flagged_with_its_slope(results: Path) -> None:
    shape = Shape(clients=("c1",), users=2, duration_s=3900, chunk_s=300, drift_per_s=0.3 / 3900)
    soak, _ = soak_of(results, shape)
    assert isinstance(soak.drift, Drift)
    assert 0.2 < soak.drift.over_all < 0.32
    assert "rate-drifts" in codes(soak)


def test_a_damaged_chunk_is_flagged_and_what_it_counted_is_still_in_the_total(tmp_path: Path) -> None:
    path, truth = write(tmp_path, Shape(duration_s=120))
    chunk = path / "soak" / "part-001" / "chunk-000002.parquet"
    chunk.write_bytes(chunk.read_bytes()[:1000])
    soak = digest(read.load_result(path))
    assert soak.total_bytes == counted(truth, "users.received_bytes") + counted(truth, "users.sent_bytes")
    (flag,) = [one for one in flags(soak) if one.code == "chunk-damaged"]
    assert "part-001/chunk-000002.parquet" in flag.evidence


def without(path: Path, *chunks: int, part: int = 1) -> Soak:
    """The soak without these chunks of a part, as one stored before there were checksums."""
    (path / sums.SUMS_FILE).unlink(missing_ok=True)
    for number in chunks:
        (path / "soak" / f"part-{part:03d}" / f"chunk-{number:06d}.parquet").unlink()
    return digest(read.load_result(path))


@pytest.mark.parametrize("gone", [(1,), (1, 2, 3), (2,), (4, 5), (8,), (1, 8), (1, 3, 5)], ids=str)
def test_missing_chunks_are_named_and_no_mean_is_above_its_peak(
    tmp_path: Path, gone: tuple[int, ...]
) -> None:
    path, _ = write(tmp_path, CALM)
    soak = without(path, *gone)
    assert soak.rates is not None
    assert soak.mean_bps is not None
    assert soak.mean_bps <= soak.rates.peak_bps
    points = list(soak.rates.percentiles_bps.values())
    assert points == sorted(points)
    assert soak.rates.least_bps <= points[0] <= points[-1] <= soak.rates.peak_bps
    (flag,) = [one for one in flags(soak) if one.code == "chunk-missing"]
    for number in gone:
        if number == 8:
            assert "from chunk 8 to the end" in flag.evidence
        elif len(gone) == 1:
            assert f"part 1, chunk {number}, " in flag.evidence
    assert "readings-missing" not in codes(soak), "one event, told once"
    assert "ledger-off" not in codes(soak)
    assert "stalls" not in codes(soak)


def test_a_missing_first_chunk_leaves_a_rate_of_the_time_that_is_there(results: Path, tmp_path: Path) -> None:
    whole, _ = soak_of(results, CALM)
    path, _ = write(tmp_path, CALM)
    soak = without(path, 1)
    assert soak.mean_bps == pytest.approx(whole.mean_bps, rel=0.03)
    assert soak.total_bytes < 0.9 * whole.total_bytes
    assert soak.balance.verdict is None
    assert "lacks its first or last chunk" in soak.balance.words


def test_what_a_missing_chunk_in_between_counted_is_in_the_total_and_in_no_slice(tmp_path: Path) -> None:
    path, truth = write(tmp_path, CALM)
    soak = without(path, 4)
    assert soak.total_bytes == counted(truth, "users.received_bytes") + counted(truth, "users.sent_bytes")
    assert soak.balance.verdict == "balanced"
    unknown = [at for at, value in enumerate(soak.payload[:24]) if value is None]
    assert (soak.scan.cell_s, unknown) == (10.0, [9, 10, 11, 12]), "users first speak again at 130 s"


@pytest.mark.parametrize("interval_s", [10, 30])
@pytest.mark.parametrize("gone", [(1,), (2,), (4, 5), (8,), (1, 3, 5)], ids=str)
@pytest.mark.parametrize("way", ["missing", "cut"])
def test_a_slice_that_has_a_rate_has_the_one_it_had_with_all_chunks(
    results: Path, tmp_path: Path, way: str, gone: tuple[int, ...], interval_s: int
) -> None:
    shape = replace(CALM, interval_s=interval_s)
    whole, _ = soak_of(results, shape)
    path, _ = write(tmp_path, shape)
    for number in gone:
        chunk = path / "soak" / "part-001" / f"chunk-{number:06d}.parquet"
        chunk.unlink() if way == "missing" else chunk.write_bytes(chunk.read_bytes()[:900])
    left = digest(read.load_result(path))
    pairs = [(was, now) for was, now in zip(whole.payload, left.payload, strict=False) if now is not None]
    assert len(pairs) >= 2
    assert [now for _, now in pairs] == pytest.approx([was for was, _ in pairs], rel=1e-9)


def screen_of(soak: Soak) -> str:
    return first_screen_text(first_screen(soak), 100).plain


def test_of_a_soak_without_readings_neither_stalls_nor_bytes_are_told(tmp_path: Path) -> None:
    path, _ = write(tmp_path, CALM)
    soak = without(path, *range(1, 9))
    shown = screen_of(soak)
    assert "stalls and drift not known" in shown
    assert "no counter of payload was read" in shown
    assert "bytes not read  transfers not counted  packets not counted" in shown
    for untrue in ("no stall", "0 B", "– ", "no source of power was named", "rate: "):
        assert untrue not in shown
    assert as_json(soak)["summary"]["total_bytes"] is None
    for group in as_json(soak)["groups"]:
        assert (group["got_bytes"], group["put_bytes"], group["transfers"], group["failed"]) == (None,) * 4
        assert set(group["reasons"]) == {"got_bytes", "put_bytes", "transfers", "failed"}
    table = groups_table(soak)
    assert [cell.text for row in table.rows for cell in row.cells[1:]] == ["–"] * 10
    assert table.said("absence")
    assert "rate not read" in soak_diagram(soak).description  # type: ignore[union-attr]
    total = next(fact for fact in summary(soak) if fact.title == "Total data")
    assert (total.value, total.note) == ("–", "no counter of payload was read")


def test_watts_of_other_hosts_are_summed_where_scope_and_provenance_are_alike(tmp_path: Path) -> None:
    soak, _ = soak_of(tmp_path, CALM)
    server = soak.roles.ends.server
    (known,) = (one.total for one in soak.power if one.host == server)
    assert known is not None
    ac = replace(known, scope="psu-in", power_w=120.0)
    of_hosts = {"c1": known, "c2": known, "c3": ac, "c4": replace(known, provenance="measured")}
    soak.__dict__["power"] = tuple(HostPower(host, total, None, 1.0) for host, total in of_hosts.items())
    others = [one for one in details(soak) if one.title == "Power, other hosts"]
    assert [one.note.partition(" together")[0] for one in others] == [
        "2 of 4 hosts",
        "1 of 4 hosts",
        "1 of 4 hosts",
    ]
    assert [one.mark for one in others] == ["sim", "sim", None]
    assert others[0].value == f"{2 * known.power_w:,.1f} W"


def test_a_note_of_a_soak_is_not_called_what_makes_a_number_doubtful(results: Path) -> None:
    soak, _ = soak_of(results, replace(CALM, drops_at=100))
    assert codes(soak) == {"drops-unexplained"}
    page = render(soak)
    assert "<b>Findings: 1 note</b>" in page
    assert "makes a number doubtful" not in page


def test_where_some_of_the_time_was_not_read_that_there_was_no_stall_is_said_of_the_rest(
    tmp_path: Path,
) -> None:
    path, _ = write(tmp_path, CALM)
    assert "no stall ·" in screen_of(digest(read.load_result(path)))
    assert "no stall in the time that was read" in screen_of(without(path, 4, 5))


def test_what_was_stored_of_a_soak_and_is_not_there_is_named_wherever_it_is_shown(tmp_path: Path) -> None:
    path, _ = write(tmp_path, ROUGH)
    for name in ("part-001/chunk-000005.parquet", "part-001/users-000002.json", "part-002/ended.json"):
        (path / "soak" / name).unlink()
    (path / "soak" / "part-002" / "users-000001.json").write_text("{}")
    said = (
        "part-001/users-000002.json",
        "part-002/ended.json",
        "part-002/users-000001.json (users: Field required)",
        "part 1, chunk 5, after ",
    )
    for command in (["show", "--full"], ["list"]):
        done = invoke([*command, "--results", str(tmp_path)], env={"COLUMNS": "500"})
        for one in said:
            assert one in " ".join(done.stdout.split()), command
    page = render(digest(read.load_result(path)))
    assert all(one in page for one in said)
    shutil.rmtree(path / "soak" / "part-002")
    done = invoke(["show", "--full", "--results", str(tmp_path)], env={"COLUMNS": "500"})
    assert "all of part-002" in done.stdout


def test_missing_chunks_stand_in_every_view(tmp_path: Path) -> None:
    path, _ = write(tmp_path, CALM)
    without(path, 1)
    done = invoke(["show", path.name, "--full", "--results", str(tmp_path)])
    assert "[chunk-missing]\n  the result: missing: part 1, chunk 1, " in done.stdout
    told = invoke(["show", path.name, "--results", str(tmp_path), "--json"])
    (one,) = json.loads(told.stdout)["missing"]
    assert (one["part"], one["first"], one["last"]) == (1, 1, 1)
    assert "chunk-missing" in render(digest(read.load_result(path)))


@pytest.mark.parametrize(
    ("cells", "ratio", "told"), [(100, 1.05, True), (99, 1.05, False), (100, 1.005, False)]
)
def test_a_mean_of_slices_that_the_total_contradicts_is_flagged(
    results: Path, cells: int, ratio: float, told: bool
) -> None:
    soak = replace(soak_of(results, CALM)[0])
    assert soak.rates is not None
    assert soak.mean_bps is not None
    soak.__dict__["rates"] = replace(soak.rates, cells=cells, mean_bps=ratio * soak.mean_bps)
    assert ("total-disagrees-with-rate" in codes(soak)) == told


@pytest.mark.parametrize(("count", "more"), [(4, ""), (6, " and 2 more")])
def test_of_many_the_first_four_are_named_and_the_others_counted(
    results: Path, count: int, more: str
) -> None:
    damaged = {Path(f"part-001/chunk-{number:06d}.parquet"): "cut off" for number in range(1, count + 1)}
    (flag,) = [
        one
        for one in flags(replace(soak_of(results, CALM)[0], damaged=damaged))
        if one.code == "chunk-damaged"
    ]
    assert flag.evidence.endswith(f"chunk-000004.parquet (cut off){more}")


def test_show_prints_summary_ledger_failures_events_and_flags(results: Path, tmp_path: Path) -> None:
    path, _ = write(tmp_path, ROUGH)
    done = invoke(["show", path.name, "--full", "--results", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for said in (
        "a soak: 6 min 00 s of 7 min 00 s in 2 parts",
        "not ended: its controller was killed",
        "The ledger balances",
        "10 unexplained drops",
        "– connection-lost",
        "the connection was lost after 1000000 of 4000000 bytes",
        "vsftpd was ended by signal 9",
        "[client-saturated]\n  c1: its users' process used a whole core",
        "W sim",
        "no transfer",
    ):
        assert said in done.stdout, said
    told = json.loads(invoke(["show", path.name, "--results", str(tmp_path), "--json"]).stdout)
    assert told["flags_count"] == len({(each["code"], each["where"]) for each in told["flags"]}) == 8
    assert "Findings: 8 (" in done.stdout
    listed = invoke(["list", "--results", str(tmp_path)])
    assert listed.exit_code == 0, listed.output
    assert listed.stdout.splitlines()[2].split()[6:8] == ["8", "all"], listed.stdout
    refused = invoke(["show", path.name, "--results", str(tmp_path), "--csv"])
    assert "is a soak, without cases and trials" in str(refused.exception or refused.output)


def test_json_has_every_figure_with_its_unit_in_the_key_and_missing_as_null_with_a_reason(
    tmp_path: Path,
) -> None:
    path, truth = write(tmp_path, CALM)
    done = invoke(["show", path.name, "--results", str(tmp_path), "--json"])
    document: dict[str, Any] = json.loads(done.stdout)
    assert (document["schema_version"], document["kind"]) == (1, "soak")
    gets = next(line for line in document["ledger"] if line["key"] == "get_done_bytes")
    assert gets["clients_bytes"] == gets["server_bytes"] == counted(truth, "users.done_received_bytes")
    refused = next(line for line in document["ledger"] if line["key"] == "logins_failed")
    assert refused["server_count"] is None
    assert "no transfer" in refused["reasons"]["server"]
    assert document["balance"]["verdict"] == "balanced"
    assert document["power"][0]["provenance"] == "simulated"
    assert document["users"]["times"]["get.total"]["percentiles_s"]["p99_s"] > 0.02


def test_a_soak_that_cannot_be_counted_in_a_list_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, replace(CALM, duration_s=60))
    monkeypatch.setattr(listed, "MOST_BYTES", 1000)
    done = invoke(["list", "--results", str(tmp_path)])
    assert done.exit_code == 0
    assert "of samples are not read for a list; see its show" in done.stdout
    (one,) = json.loads(invoke(["list", "--results", str(tmp_path), "--json"]).stdout)["results"]
    assert one["flags_count"] is None
    assert one["flags_reason"]


class _Page(HTMLParser):
    """Tags that are open, and whatever could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "a" and "download" in dict(attrs):
            saved(dict(attrs))
            return
        names = {"src", "href", "xlink:href", "action", "data"}
        self.loads += [
            value or "" for name, value in attrs if name in names and not (value or "").startswith("#")
        ]


def test_the_page_loads_nothing_runs_nothing_and_marks_simulated_watts(results: Path) -> None:
    soak, _ = soak_of(results, ROUGH)
    text = render(soak)
    page = _Page()
    page.feed(text)
    assert page.loads == []
    assert "script" not in page.tags
    assert text.count("<svg") == 6
    assert "Power over time (simulated)" in text
    assert '<span class="unmeasured">sim</span>' in text
    assert "nothing was read" in text
    assert re.search(r"10 unexplained drops", text)
    assert f"{FILE_BYTES}" in text


def test_the_page_of_hostile_names_escapes_them(tmp_path: Path) -> None:
    path, _ = write(tmp_path, Shape(duration_s=30))
    part = store.new_part(path, STARTED_S + 60)
    event = {
        "time_s": STARTED_S + 61,
        "kind": "warning",
        "host": "<i>h</i>",
        "text": "<script>alert(1)</script>",
    }
    one = Series(
        "dut", "psu", {"out": Channel("out", "W", "gauge", "psu-out:1")}, [Sample(STARTED_S + 61, "out", 1)]
    )
    store.write_chunk(part, 1, [one], None, [event])
    text = render(digest(read.load_result(path)))
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def line_soak(
    root: Path, *more: Series, seconds: int = 60, rest_s: float = 0.0, interval_s: float = 1.0, **asked: Any
) -> Soak:
    """1e8 B/s from a to b, of iperf3 alone, with further series; for ``rest_s`` behind it nothing runs."""
    manifest = {
        "schema_version": 1,
        "name": "line",
        "created_s": STARTED_S,
        "campaign": {
            "soak": {"duration_s": float(seconds), "interval_s": interval_s, "segment_s": 30.0},
            "users": None,
            **asked,
        },
        "trials_planned": 0,
        "hosts": {"a": {}, "b": {}},
    }
    path = new_result(root, "line", STARTED_S, manifest)
    part = store.new_part(path, STARTED_S)
    chunks = [*more]
    for host, way in (("a", "sent"), ("b", "received")):
        name = f"load.{way}_bytes"
        samples = [Sample(STARTED_S + at, name, 1e8 * at) for at in range(seconds + 1)]
        chunks.append(Series(host, "iperf3", {name: Channel(name, "B", "counter", "host")}, samples))
    store.write_chunk(part, 1, chunks)
    store.end_part(part, STARTED_S + seconds + rest_s, "done")
    return digest(read.load_result(path))


def load_words(soak: Soak) -> str:
    (figure,) = [one for one in figures(soak) if one.name == "rate"]
    return figure.description


def test_the_mean_of_a_chart_is_of_the_time_in_which_loads_ran(tmp_path: Path) -> None:
    """Ten slices of 6 s, and one in which nothing ran, or only for a moment."""
    for number, (seconds, rest_s) in enumerate([(60, 4.0), (60, 0.0), (61, 0.0), (65, 0.0)]):
        soak = line_soak(tmp_path / str(number), seconds=seconds, rest_s=rest_s, interval_s=6.0)
        assert load_words(soak) == "iperf3: mean 800 Mbps, peak 800 Mbps"
        assert soak.rates is not None
        assert soak.rates.mean_bps == pytest.approx(8e8)


PAUSED = replace(CALM, duration_s=65, stall=(60, 65))
"""which ends with half a slice in which users wait"""


@pytest.mark.parametrize("shape", [PAUSED, ROUGH, replace(CALM, lost_client=("c1", 60, 120))])
def test_the_means_of_the_chart_of_payload_add_up_to_the_mean_of_the_summary(
    shape: Shape, results: Path
) -> None:
    soak, _ = soak_of(results, shape)
    told = dict(re.findall(r"(Received|Sent): mean ([^,]+), peak", load_words(soak)))
    ways = {"Received": "get_bytes", "Sent": "put_bytes"}
    rates = {
        name: 8 * (soak.ledger.value(key, CLIENTS).value or 0.0) / soak.load_s for name, key in ways.items()
    }
    assert told == {name: format_rate(rate) for name, rate in rates.items()}
    assert sum(rates.values()) == pytest.approx(soak.mean_bps)


def asked_for(rate_bps: float | None, instances: int = 1, **more: Any) -> dict[str, Any]:
    test = {"test": "tcp", "instances": [instances], "rate_bps": rate_bps}
    return {"tests": [test], "pairs": [["a", "b"]]} | more


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (asked_for(5.9e8), "800 Mbps with a requested 590 Mbps (135.6 %)"),
        (asked_for(3e8, 2), "800 Mbps with a requested 600 Mbps (133.3 %)"),
        (asked_for(3e8, pairs=[["a", "b"], ["b", "a"]], concurrent_pairs=True), "with a requested 600 Mbps"),
        (asked_for(4e8, 2), ""),
        (asked_for(7.9e8), ""),
        (asked_for(None), ""),
        ({}, ""),
    ],
    ids=["one", "two instances", "pairs at once", "as asked", "within 2 %", "unlimited", "not on record"],
)
def test_a_soak_whose_load_is_above_its_rate_says_so(
    asked: dict[str, Any], told: str, tmp_path: Path
) -> None:
    found = [one for one in flags(line_soak(tmp_path, **asked)) if one.code == "rate-exceeded"]
    assert bool(found) == bool(told)
    assert all(told in one.evidence and one.where == "iperf3" for one in found)


STEADY = Shape(clients=("c1",), users=2, frozen_w=216.0)
FROZEN = replace(STEADY, cpu_swing=(60, 0.9))


def test_a_meter_that_never_moves_while_cpus_do_makes_watts_doubtful(results: Path, run: Run) -> None:
    soak, _ = soak_of(results, FROZEN)
    (flag,) = flags(soak)
    assert (flag.code, flag.where) == ("power-frozen", "dut: psu PSU1 Power Out")
    assert re.fullmatch(
        r"reads 216 W all the soak; dut used 0\.[5-6]\d to 1\.[7-9]\d cores meanwhile", flag.evidence
    )
    assert "watts: doubtful (1)" in run("show", str(soak.result.path))[1]


@pytest.mark.parametrize(
    "shape",
    [
        STEADY,
        replace(STEADY, cpu_swing=(60, 0.45)),
        replace(FROZEN, frozen_w=None),
        replace(FROZEN, duration_s=180),
        replace(FROZEN, frozen_w=12.0),
    ],
    ids=["cpus are steady", "they go up by a seventh", "it moves", "a short soak", "a supply that stands by"],
)
def test_a_meter_that_has_no_reason_to_move_or_does_is_not_called_frozen(results: Path, shape: Shape) -> None:
    soak, _ = soak_of(results, shape)
    assert "power-frozen" not in codes(soak)


@pytest.mark.parametrize(
    ("cpus", "swing_cores", "told"),
    [(1, 0.45, False), (1, 0.55, True), (8, 1.9, False), (8, 2.1, True)],
    ids=["half a core is needed", "one CPU", "a quarter of all is needed", "eight CPUs"],
)
def test_how_far_cpus_must_swing_before_a_meter_that_never_moves_is_frozen(
    results: Path, monkeypatch: pytest.MonkeyPatch, cpus: int, swing_cores: float, told: bool
) -> None:
    used = CpusUsed(cpus, [0.1 + swing_cores * (at % 2) for at in range(60)])
    monkeypatch.setattr(still, "cpus_used", lambda *_: used)
    soak, _ = soak_of(results, STEADY)
    assert ("power-frozen" in codes(soak)) == told


def test_energy_that_wraps_is_no_counter_of_the_ledger_that_went_back(tmp_path: Path) -> None:
    readings = [
        Sample(STARTED_S + at, "psys-0", (1_000.0 + 300.0 * at) % 65_500.0) for at in range(0, 601, 10)
    ]
    rapl = Series("b", "rapl", {"psys-0": Channel("psys-0", "J", "counter", "psys:0")}, readings)
    soak = line_soak(tmp_path, rapl, seconds=600)
    (watts,) = soak.power
    assert watts.total is not None
    assert watts.total.power_w == pytest.approx(300.0)
    assert watts.covered == pytest.approx(580 / 600)
    assert codes(soak) == {"power-incomplete"}


def watts_of(host: str, source: str, values_w: dict[str, tuple[float, int]]) -> Series:
    """A channel each: scope → watts, read once a second, and for how many seconds."""
    samples = [
        Sample(STARTED_S + at, scope, watts)
        for scope, (watts, seconds) in values_w.items()
        for at in range(1, seconds + 1)
    ]
    return Series(host, source, {scope: Channel(scope, "W", "gauge", scope) for scope in values_w}, samples)


@pytest.mark.parametrize(
    "readings",
    [
        [watts_of("b", "bmc", {"psu-out": (200.0, 6)}), watts_of("b", "hwmon", {"package": (90.0, 60)})],
        [watts_of("b", "bmc", {"psu-out:1": (100.0, 60), "psu-out:2": (100.0, 6)})],
    ],
)
def test_how_long_power_was_read_is_that_of_the_watts_that_are_shown(
    tmp_path: Path, readings: list[Series]
) -> None:
    soak = line_soak(tmp_path, *readings)
    (watts,) = soak.power
    assert watts.total is not None
    assert watts.total.power_w == 200.0
    assert watts.covered == pytest.approx(0.1)
    assert "power-incomplete" in codes(soak)


def test_drops_that_are_not_all_counted_are_shown_as_the_least_wherever_they_stand(tmp_path: Path) -> None:
    missed = "nic.rx_missed_errors"
    counts = [Sample(STARTED_S + at, missed, 100.0 * at) for at in range(61)]
    soak = line_soak(tmp_path, Series("a", "netcounters", {missed: _nic(missed)}, counts))
    why = f"at least: b: no reading of {missed}"
    (fact,) = (one for one in summary(soak) if one.title == "Dropped or overrun")
    assert (fact.value, fact.note) == ("≥ 6,000", why)
    shown = first_screen_text(first_screen(soak), 160)
    assert f"≥ 6,000 packets  {why}" in shown
    told = as_json(soak)["summary"]
    assert (told["dropped_count"], told["dropped_ratio"]) == (6000, None)
    assert told["dropped_lacks"] == f"b: no reading of {missed}"


def _nic(name: str) -> Channel:
    return Channel(name, "count", "counter", "nic:data")


def _cut(path: Path) -> None:
    path.write_text("{")


@pytest.mark.parametrize("spoil", [_cut, Path.unlink], ids=["damaged", "gone"])
@pytest.mark.parametrize("name", ["users-000002.json", "chunk-000002.parquet"])
def test_users_are_sustained_at_least_by_what_is_on_record_of_them(
    tmp_path: Path, name: str, spoil: Callable[[Path], object]
) -> None:
    path, _ = write(tmp_path, CALM)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["campaign"]["users"]["sustained_bps"] = 100e6
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert digest(read.load_result(path)).sustained_users == 4
    spoil(path / "soak" / "part-001" / name)
    soak = digest(read.load_result(path))
    (fact,) = (one for one in details(soak) if one.title == "Users sustained")
    is_there = name.startswith("chunk") and spoil is _cut  # what users did stands in a file beside it
    assert fact.value == ("4 of 8" if is_there else "≥ 0 of 8")
    assert ("is not on record of part" in fact.note) == (not is_there)
    assert as_json(soak)["users"]["sustained_count"] == (4 if is_there else None)


def test_a_soak_of_iperf3_alone_has_its_rate_and_bytes(tmp_path: Path) -> None:
    soak = line_soak(tmp_path)
    assert soak.total_bytes == 6e9
    assert soak.rates is not None
    assert soak.rates.peak_bps == pytest.approx(8e8)
    assert soak.ledger.value("iperf3_sent_bytes", CLIENTS).value == 6e9
    assert soak.balance.verdict is None
    assert "Payload over time" in render(soak)


def test_a_soak_that_never_began_says_so(tmp_path: Path) -> None:
    path, _ = write(tmp_path, Shape(duration_s=30))
    for file in sorted((path / "soak").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    with pytest.raises(StoreError, match="ended before its first part"):
        digest(read.load_result(path))
