# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: a published host matrix becomes a result that every view can show."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Run

from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.cases.summary import summarise
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.imported import NOT_SAID, import_table
from linewatt.model import ENDS
from linewatt.report.trials.charts.heat_map import heat_maps
from linewatt.report.trials.detail import detail_groups, layout
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.settings.matrix import matrix_table, pair_cases
from linewatt.store.read import load_result
from linewatt.units import format_cut

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published" / "arm_vs_intel_all.csv"
BESIDE = Path(__file__).resolve().parents[4].parent / "shared" / "published" / "arm_vs_intel_all.csv"
COLUMNS = ("test", "receiver", "sender", "host", "role", "throughput", "throughput_unit")


@pytest.fixture(params=[SHIPPED, BESIDE], ids=["shipped", "beside-the-clone"])
def published(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    if not path.is_file():
        pytest.skip(f"no {path.parent.name}/{path.name} beside this clone; shipped tables are tested")
    return path


def printed(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def text(*rows: Mapping[str, str] | None, columns: tuple[str, ...] = COLUMNS) -> str:
    """A table of rows like the published first one, each changed as told."""
    base = {
        "test": "tcp",
        "receiver": "arm",
        "sender": "gen",
        "host": "arm",
        "role": "receiver",
        "throughput": "26.8",
        "throughput_unit": "Gbits/sec",
    }
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(base | dict(row or {}) for row in rows)
    return out.getvalue()


SENDER = {"host": "gen", "role": "sender"}


def imported(content: str) -> Any:
    table, _ = read_table(content.encode(), "t.csv")
    return import_table(table, "t.csv", 1e9)


def test_every_published_figure_stands_in_its_block_as_printed(published: Path, run: Run) -> None:
    assert run("import", str(published))[0] == 0
    result = load_result(next(Path("results").iterdir()))
    blocks = {
        (str(b.case.test), b.case.receiver, b.case.sender, b.host): b for b in detail_blocks(result.trials)
    }
    rows = printed(published)
    assert len(rows) == len(blocks) == 36
    for row in rows:
        test = {"tcp-tput": "tcp"}.get(row["test"], row["test"])
        shown = layout(blocks[test, row["receiver"], row["sender"], row["host"]])
        assert shown.role == {"receiver": "srv(rcv)", "sender": "clt(snd)"}[row["role"]]
        assert [figure.cell.text for figure in shown.costs] == [
            f"{Decimal(row[column]):f}".replace("-", "")
            for column in ("published_cpu_used_pct", "published_cpu_per_tput", "published_w_per_tput")
        ]
        names = ("throughput", "power_w", "idle_w")
        assert [Decimal(figure.cell.text) for figure in shown.rates] == [Decimal(row[name]) for name in names]
        for part, (_, cells) in zip(("app", "irq"), shown.shares, strict=True):
            raw = [row[f"{part}_cpu_{name}_pct"] for name in ("usr", "sys", "irq", "soft", "idle")]
            assert [cell.text for cell in cells] == raw


def test_both_ends_of_a_published_pair_stand_side_by_side_as_printed(published: Path, run: Run) -> None:
    run("import", str(published))
    groups = detail_groups(digest_of(load_result(next(Path("results").iterdir()))))
    cases = {(group.test, part.label): part.rows for group in groups for part in group.table.groups}
    assert len(cases) == 18
    for row in printed(published):
        test = {"tcp-tput": "tcp"}.get(row["test"], row["test"])
        rows = cases[test, f"{row['sender']} → {row['receiver']} (1 trial)"]
        column = [figures.cells[ENDS.index(row["role"])].text for figures in rows]
        assert column[0] == row["host"]
        shares = [row[name] for name in row if name.endswith("_pct") and name[:4] in {"app_", "irq_"}]
        costs = ("published_cpu_used_pct", "published_cpu_per_tput", "published_w_per_tput")
        numbers = [row["throughput"], row["power_w"], row["idle_w"], *shares, *(row[name] for name in costs)]
        assert list(map(Decimal, column[2:])) == list(map(Decimal, numbers))


def test_costs_in_all_tables_are_for_what_each_end_itself_received_or_sent(published: Path) -> None:
    """Of UDP the sender sent more than arrived: one definition gives the published costs of both ends."""
    table, _ = read_table(published.read_bytes(), published.name)
    summaries = {
        (one.case.test, *one.case.hosts): one for one in summarise(import_table(table, "t", 0.0).trials)
    }
    for row in printed(published):
        test = {"tcp-tput": "tcp"}.get(row["test"], row["test"])
        summary = summaries[test, row["sender"], row["receiver"]]
        (power,) = (one for one in (summary.power(role) for role in ENDS) if one and one.role == row["role"])
        scale = {"Gbits/sec": 1e9, "Mbits/sec": 1e6}[row["throughput_unit"]]
        cores_per_bps, per_w = summary.values[f"{row['role']}_cpu_cores_per_bps"], power.system_bps_per_w
        assert cores_per_bps is not None
        assert power.dynamic_w_per_bps is not None
        assert per_w is not None
        costs = (cores_per_bps.mean * 100 * scale, power.dynamic_w_per_bps.mean * scale)
        for cost, column in zip(costs, ("published_cpu_per_tput", "published_w_per_tput"), strict=True):
            assert format_cut(cost, 3) == f"{Decimal(row[column]):f}", (row, column)
        assert per_w.mean == pytest.approx(float(row["throughput"]) * scale / float(row["power_w"]))


def test_every_pair_has_its_published_loss_and_the_costs_of_both_ends(run: Run) -> None:
    run("import", str(SHIPPED))
    view = digest_of(load_result(next(Path("results").iterdir())))
    tests = {cases.test: cases for cases in pair_cases(view.groups)}
    maps = {one.name: one for one in heat_maps(tests.values())}
    for row in printed(SHIPPED):
        test = {"tcp-tput": "tcp"}.get(row["test"], row["test"])
        table = matrix_table(tests[test])
        titles = [head.title for head in table.heads]
        (shown,) = [one for one in table.rows if one.keys[0].text == f"{row['sender']} → {row['receiver']}"]
        for stem, title, column in (
            ("cpu_cores_per_bps", "CPU per throughput, {}", "published_cpu_per_tput"),
            ("dynamic_w_per_bps", "Above idle per throughput, {}", "published_w_per_tput"),
        ):
            cost = float(shown.cells[titles.index(title.format(row["role"]))].text)
            assert cost == pytest.approx(float(row[column]), rel=0.013)  # cut there, rounded here
            cells = maps[f"{row['role']}_{stem}-{test}"].cells
            (cell,) = [one for one in cells if (one.sender, one.receiver) == (row["sender"], row["receiver"])]
            assert float(cell.text) == pytest.approx(cost, rel=0.005)
        if test != "tcp" and row["role"] == "sender":
            lost = float(shown.cells[titles.index("Loss")].text)
            received = float(shown.cells[titles.index("Throughput")].text)
            assert lost == pytest.approx(100 * (1 - received / float(row["throughput"])), abs=0.05)


def test_cpu_used_is_in_the_table_of_roles(run: Run) -> None:
    run("import", str(SHIPPED))
    (group, *_) = digest_of(load_result(next(Path("results").iterdir()))).groups
    table = role_table(group, detail_blocks(load_result(next(Path("results").iterdir())).trials))
    assert table is not None
    used = [row.cells[[head.title for head in table.heads].index("CPU used")].text for row in table.rows]
    of_tcp = {row["published_cpu_used_pct"] for row in printed(SHIPPED) if row["test"] == "tcp-tput"}
    assert sorted(map(float, used)) == pytest.approx(sorted(map(float, of_tcp)), abs=0.051)
    assert "used" in run("show", "--full")[1].partition("CPU by role")[2]


def test_the_table_of_the_senders_watts_has_what_it_sent(run: Run) -> None:
    run("import", str(SHIPPED))
    out = run("show", "--full")[1]
    sender = out.partition("UDP 1500: power of the sender")[2]
    head, row = sender.partition("netdev19 → arm")[0], sender.partition("netdev19 → arm")[2].split()
    assert "Offered" in head
    assert "Throughput" not in head
    assert (row[2], "3.094" in row) == ("7.110", True)
    assert "Throughput" in out.partition("TCP: power of the sender")[2].partition("──")[0]


def test_show_detail_prints_the_published_figures_and_json_has_them(run: Run) -> None:
    run("import", str(SHIPPED))
    code, out, _ = run("show", "--detail")
    assert code == 0
    for row in printed(SHIPPED):
        per = "Mbit/s" if row["throughput_unit"] == "Mbits/sec" else "Gbit/s"
        costs = [Decimal(row[f"published_{name}"]) for name in ("cpu_used_pct", "cpu_per_tput", "w_per_tput")]
        assert (
            f"CPU used {costs[0]} %   CPU/tput {costs[1]} % per {per}   W/tput {costs[2]} W per {per}" in out
        )
    document = json.loads(run("show", "--detail", "--json")[1])
    assert len(document["detail"]) == 36
    first = document["detail"][0]
    assert (first["host"], first["role"], first["connection"]) == ("netdev19", "receiver", "server")
    assert first["cpu_used_cores_mean"] == pytest.approx(1.4961)
    assert first["shown"]["CPU/tput, % per Gbit/s"] == "4.704"
    assert "detail" not in json.loads(run("show", "--json")[1])


def test_nothing_is_said_that_a_table_cannot_know(run: Run) -> None:
    """No run was left out, and a rest without parts is no breakdown."""
    run("import", str(SHIPPED))
    shown = run("show")[1]
    assert "18 trials in the table" in shown
    for claim in ("not run", "Where the watts", "trials done", "one trial: its spread"):
        assert claim not in shown
    run("report", "-o", "r.html")
    page = Path("r.html").read_text()
    for claim in ("What it cost the receiver is not known", "was not run", "one trial: its spread"):
        assert claim not in page


def test_where_figures_are_from_is_said_in_every_view(run: Run) -> None:
    run("import", str(SHIPPED), "--name", "matrix")
    assert (
        json.loads(next(Path("results").glob("*/manifest.json")).read_text())["imported_from"] == SHIPPED.name
    )
    says = f"mported from {SHIPPED.name}"
    assert says in run("show")[1]
    assert says in run("list")[1]
    assert json.loads(run("show", "--json")[1])["imported_from"] == SHIPPED.name
    assert json.loads(run("list", "--json")[1])["results"][0]["imported_from"] == SHIPPED.name
    for flags in ((), ("--trials",)):
        for row in csv.DictReader(io.StringIO(run("show", "--csv", *flags)[1])):
            assert row["imported_from"] == SHIPPED.name
    run("report", "-o", "r.html")
    page = Path("r.html").read_text()
    assert says in page
    assert "The file that was run" not in page


def test_what_the_table_lacks_is_none_with_that_reason(run: Run) -> None:
    run("import", str(SHIPPED))
    case = json.loads(run("show", "--json")[1])["cases"][0]
    for name in ("receiver_cpu_cores", "sender_cpu_cores", "retransmits", "efficiency_receiver_bps_per_core"):
        assert case["reasons"][name] == NOT_SAID
    assert case["receiver_cpu_cores_mean"] is None
    assert case["receiver_app_cpus"] is None


def test_an_end_without_its_row_is_unknown_and_the_other_stands() -> None:
    (trial,) = imported(text(SENDER)).trials
    assert (trial.throughput_bps, trial.offered_bps) == (None, 26.8e9)
    assert trial.receiver.app_cpu is None
    assert trial.receiver.reasons["app_cpu"] == NOT_SAID
    receiver, sender = detail_blocks([trial])
    assert receiver.throughput_bps is None
    assert receiver.reasons["throughput_bps"] == NOT_SAID
    assert sender.throughput_bps is not None


def test_every_view_of_one_end_only_stands(run: Run) -> None:
    Path("half.csv").write_text(text(SENDER, {"test": "udp-60"}))
    assert run("import", "half.csv")[0] == 0
    for view in (("show", "--detail", "--trials"), ("show", "--json"), ("report", "-o", "r.html")):
        assert run(*view)[0] == 0, view


def test_pairs_repetitions_networks_and_directions_make_cases() -> None:
    columns = (*COLUMNS, "network", "direction", "repetition", "instances", "family")
    rows = [
        end | {"network": network, "repetition": str(repetition), "instances": "4", "family": "ipv6"}
        for network in ("bare", "vxlan")
        for repetition in (1, 2)
        for end in (SENDER, {})
    ]
    found = imported(text(*rows, columns=columns))
    assert [(t.case.network, t.repetition, t.number) for t in found.trials] == [
        ("bare", 1, 1),
        ("bare", 2, 2),
        ("vxlan", 1, 3),
        ("vxlan", 2, 4),
    ]
    case = found.trials[0].case
    assert (case.instances, case.family, case.direction) == (4, "ipv6", "forward")


def test_who_opens_the_connection_may_stand_in_the_role() -> None:
    (trial,) = imported(text({"role": "clt(rcv)"})).trials
    assert trial.case.direction == "reverse"
    assert layout(detail_blocks([trial])[0]).role == "clt(rcv)"


def test_one_kernel_a_host_is_a_fact_and_several_are_a_factor() -> None:
    columns = (*COLUMNS, "kernel")
    one = imported(text({"kernel": "6.9"}, SENDER | {"kernel": "5.14"}, columns=columns))
    assert one.hosts["arm"] == {"facts": {"kernel": {"release": "6.9"}}}
    assert one.trials[0].case.factors == ()
    two = imported(text({"kernel": "6.9"}, {"kernel": "5.14"}, columns=columns))
    assert [t.case.factors for t in two.trials] == [(("kernel", "6.9"),), (("kernel", "5.14"),)]
    assert two.factors == {"kernel": ("6.9", "5.14")}
    assert two.hosts["arm"] == {}


def test_a_result_with_several_kernels_can_be_shown(run: Run) -> None:
    rows = [{"kernel": kernel, "repetition": str(n)} for kernel in ("6.9", "5.14") for n in (1, 2, 3)]
    Path("k.csv").write_text(text(*rows, columns=(*COLUMNS, "kernel", "repetition")))
    assert run("import", "k.csv")[0] == 0
    assert "kernel=5.14" in run("show")[1]
    assert "kernel" in run("show", "--full")[1]
    assert run("report", "-o", "r.html")[0] == 0


def test_simulated_watts_of_a_table_stay_marked() -> None:
    columns = (*COLUMNS, "power_w", "idle_w", "power_provenance")
    told = {"power_w": "158", "idle_w": "128", "power_provenance": "simulated"}
    (trial,) = imported(text(told, columns=columns)).trials
    shown = layout(detail_blocks([trial])[0])
    assert [figure.cell.mark for figure in (*shown.rates[1:], shown.costs[2])] == ["sim"] * 3


SHARES = tuple(f"app_cpu_{name}_pct" for name in ("usr", "sys", "irq", "soft", "idle"))


@pytest.mark.parametrize(
    ("change", "columns", "says"),
    [
        ({"test": "sctp"}, COLUMNS, "row 1 (line 2), column test: 'sctp' is not one of"),
        ({"role": ""}, COLUMNS, "column role: the empty cell is not one of"),
        ({"host": "gen"}, COLUMNS, "column host: gen is not the receiver of this row"),
        ({"sender": "arm"}, COLUMNS, "column sender: arm cannot be the receiver as well"),
        ({"receiver": "a b", "host": "a b"}, COLUMNS, "column receiver: 'a b' is not a name"),
        ({"throughput": "26,8"}, COLUMNS, "column throughput: '26,8' is not a number"),
        ({"throughput": "0"}, COLUMNS, "column throughput: 0 is not greater than 0"),
        ({"throughput_unit": "GB/s"}, COLUMNS, "column throughput_unit: 'GB/s' is not a unit of rate"),
        ({"instances": "1.5"}, (*COLUMNS, "instances"), "column instances: '1.5' is not a whole number"),
        ({"repetition": "0"}, (*COLUMNS, "repetition"), "column repetition: '0' is not a whole number"),
        ({"family": "ipx"}, (*COLUMNS, "family"), "column family: 'ipx' is not one of ipv4, ipv6"),
        (
            {"role": "srv(rcv)", "direction": "reverse"},
            (*COLUMNS, "direction"),
            "column direction: reverse is not what role 'srv(rcv)' says",
        ),
        ({"power_w": "-3"}, (*COLUMNS, "power_w"), "column power_w: -3 is not greater than 0"),
        (
            {"power_w": "3", "power_provenance": "guessed"},
            (*COLUMNS, "power_w", "power_provenance"),
            "column power_provenance: 'guessed' is not one of",
        ),
        ({SHARES[0]: "1"}, (*COLUMNS, *SHARES), "column app_cpu_sys_pct: the cell is empty"),
        ({SHARES[0]: "1"}, (*COLUMNS, SHARES[0]), "column app_cpu_sys_pct: the cell is empty"),
        (dict.fromkeys(SHARES, "101"), (*COLUMNS, *SHARES), "column app_cpu_usr_pct: 101 is not between"),
        (dict.fromkeys(SHARES, "30"), (*COLUMNS, *SHARES), "the five shares add up to 150.00 %"),
    ],
)
def test_a_bad_cell_is_one_line_with_its_place_and_nothing_is_written(
    run: Run, change: dict[str, str], columns: tuple[str, ...], says: str
) -> None:
    Path("bad.csv").write_text(text(change, columns=columns))
    code, out, err = run("import", "bad.csv")
    assert (code, out) == (2, "")
    assert err.startswith("linewatt: bad.csv: row 1 (line 2), column ")
    assert says in err
    assert err.count("\n") == 1
    assert not Path("results").exists()


def test_two_rows_of_one_end_of_a_trial_are_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"row 2 \(line 3\), column role: row 1 \(line 2\) is the receiver"
    ):
        imported(text({}, {}))


def test_a_row_with_cells_missing_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"row 1 \(line 2\): its cells are not as many"):
        imported(text({}).rpartition(",")[0] + "\n")


def test_a_table_without_a_needed_column_says_which() -> None:
    with pytest.raises(InvalidInput, match="lacks host, role"):
        imported(text({}, columns=tuple(name for name in COLUMNS if name not in ("host", "role"))))


@pytest.mark.parametrize("name", ["../x", "", "a b", "-x"])
def test_a_name_that_is_no_directory_of_its_own_is_refused(run: Run, name: str) -> None:
    code, _, err = run("import", str(SHIPPED), "--name", name)
    assert (code, err.count("\n")) == (2, 1)
    assert not Path("results").exists()


def test_a_missing_file_is_one_line(run: Run) -> None:
    code, _, err = run("import", "nothing.csv")
    assert (code, err) == (2, "linewatt: nothing.csv: cannot be read: No such file or directory\n")
    Path("scaling.csv").touch()
    assert run("import", "scalings.csv")[2].endswith("directory (did you mean scaling.csv?)\n")


def test_columns_that_are_not_read_are_named(run: Run) -> None:
    Path("t.csv").write_text(text({"comment": "x"}, columns=(*COLUMNS, "comment")))
    assert "not read: comment" in run("import", "t.csv")[2]
    document = json.loads(run("import", "t.csv", "--json")[1])
    assert document["ignored_columns"] == ["comment"]
    assert document["trials"] == 1


def test_there_is_nothing_to_resume(run: Run) -> None:
    run("import", str(SHIPPED))
    code, _, err = run("resume", "last")
    assert code != 0
    assert "nothing to resume" in err
