# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of other published tables: their kind is told from their columns, and shown."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.unit.conftest import Run

from linewatt.analysis.power.packet_energy import PacketEnergy, Reading, fit_packet_energy
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables import published
from linewatt.features.tables.charts import of_means
from linewatt.features.tables.kinds import KINDS, import_any
from linewatt.features.tables.quantities import published as soak_summary
from linewatt.features.tables.quantities_diagram import published_diagram
from linewatt.features.tables.view import View, view
from linewatt.missing import Missing
from linewatt.report.charts.figure import render_svg
from linewatt.report.printing.screen import MOST_LINES
from linewatt.store.raw import raw_texts
from linewatt.store.read import load_result

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published"
WITHOUT_TRIALS = {
    "x64_components": "components",
    "vxlan": "mean ± SD",
    "router_power_8201": "packet power",
    "opteron_soak": "soak",
}
ELN, RHEL = "6.9.0-0.rc4.37.eln136", "5.14.0-427.el9"
HOUR = "quantity,value,unit\nduration,1,hours\n"
MEANS = "test,direction,runs,cpu_pct,cpu_pct_sd,mbps\n"


def refused(content: str) -> str:
    table, _ = read_table(content.encode(), "t.csv")
    with pytest.raises(InvalidInput) as caught:
        import_any(table, "t.csv", 1e9)
    return str(caught.value)


def view_of(run: Run, table: str) -> View:
    assert run("import", str(SHIPPED / f"{table}.csv"))[0] == 0
    return view(load_result(next(Path("results").glob(f"*{table}*"))))


def test_a_row_of_a_scaling_table_is_a_trial_with_what_the_row_says(run: Run) -> None:
    code, _, err = run("import", str(SHIPPED / "x64_scaling.csv"))
    assert (code, "5 rows of scaling stored as 5 trials of 2 hosts" in err) == (0, True)
    cases = json.loads(run("show", "--json")[1])["cases"]
    rows = csv.DictReader((SHIPPED / "x64_scaling.csv").open())
    for case, row in zip(cases, rows, strict=True):
        assert case["instances"] == int(row["instances"])
        assert case["throughput_bps_mean"] == pytest.approx(float(row["throughput_mbps"]) * 1e6)
        at_3ghz = case["efficiency_at_3ghz_bps_per_core_mean"] / 1e6
        assert at_3ghz == pytest.approx(float(row["published_mbps_per_core_3ghz"]), abs=0.06)
        assert case["receiver_system_w_mean"] == float(row["psu_out_w"])
        assert case["receiver_system_scope"] == "psu-out"
        assert case["sender_cpu_cores_mean"] is None
        assert case["reasons"]["sender_cpu_cores"] == "not in the imported table"
    for view_ in (("show",), ("show", "--full"), ("list",), ("verify",), ("analyze", "last")):
        assert run(*view_)[0] == 0, view_
    assert "mported from x64_scaling.csv" in run("show")[1]
    run("report", "-o", "r.html")
    assert "mported from x64_scaling.csv" in Path("r.html").read_text()


def test_points_over_one_port_and_over_two_are_one_series(run: Run) -> None:
    path = SHIPPED / "x64_scaling_ports.csv"
    code, _, err = run("import", str(path))
    assert code == 0
    assert "ports" not in err.partition("not read: ")[2].partition("\n")[0].split(", ")
    cases = json.loads(run("show", "--json")[1])["cases"]
    assert [case.get("data_ports") for case in cases] == [None, None, None, None, 2]
    printed = [float(row["published_scaling_factor"]) for row in csv.DictReader(path.open())]
    assert [case["scaling_factor_ratio"] for case in cases] == pytest.approx(printed, abs=0.006)
    assert [case["regime"] for case in cases] == ["single", "multi", "multi", "saturated", "saturated"]
    assert [round(case["line_rate_ratio_mean"], 3) for case in cases] == [0.258, 0.48, 0.85, 1.001, 0.589]
    assert cases[3]["limited_by_kinds"] == "line-rate"
    first = " ".join(run("show")[1].split())
    assert "16 instances over 2 ports 58.9 % of line" in first
    assert "no limit found, perhaps one inside the device or the path near 110.8 Gbps" in first
    assert "not known: the CPUs of the sender, retransmits, whether it repeats: one run" in first
    full = " ".join(run("show", "--full")[1].split())
    line = "94.15 Gbps of payload with 1, 2, 4 and 8 instances; 188.3 Gbps with 16 instances over 2 ports"
    assert f"Line: {line}" in full
    assert "not the line rate: 58.9 % of 188 Gbps of payload" in full
    run("report", "-o", "r.html")
    assert "perhaps one inside the device or the path near 110.8 Gbps" in Path("r.html").read_text()
    assert run("analyze", "last")[1].count("Knee at") == 1


PORTS, PARTS = SHIPPED / "x64_scaling_ports.csv", SHIPPED / "x64_components.csv"


def test_components_beside_a_series_are_where_its_watts_go(run: Run) -> None:
    code, _, err = run("import", str(PORTS), "--components", str(PARTS))
    assert (code, "5 trials of 2 hosts, with 6 components of receiver" in err) == (0, True)
    full = run("show", "--full")[1]
    lines = full.partition("Where the watts of receiver go: TCP, 16 instances")[2].splitlines()
    assert [" ".join(line.split()) for line in lines[1:9]] == [
        "CPU: 136 W, measured",
        "12 DDR5 modules: 48 W, from datasheet",
        "Network card: 20 W, from datasheet",
        "Idle SSD: 2 W, from datasheet",
        "8 x 1U fan at 4000 RPM: 32 W, measured",
        "Motherboard and the rest: 11 W, estimated",
        "Rest: 0 W, what is left",
        "System: 249 W, PSU DC out, measured",
    ]
    assert "not counted: CPU (136 W, measured): cpu is measured" in full
    assert "113 W" not in full
    assert "Throughput" in full
    assert "mported from x64_scaling_ports.csv with x64_components.csv" in run("show")[1]
    assert run("verify")[0] == 0
    run("report", "-o", "r.html")
    assert "Where the watts of receiver go" in Path("r.html").read_text()
    (stored,) = Path("results").iterdir()
    assert load_result(stored).manifest.asked.components["receiver"][1].kind == "other"
    assert raw_texts(stored / "raw" / "imported") == {"receiver/x64_components.csv": PARTS.read_text()}


def test_a_kind_of_a_component_gives_way_to_what_a_series_measures_itself(run: Run) -> None:
    Path("t.csv").write_text("instances,throughput_gbps,power_w,cpu_w\n1,10,200,90\n")
    rows = "EPYC,95,datasheet,cpu\nDIMMs,40,estimate,\n"
    Path("parts.csv").write_text(f"component,power_w,provenance,kind\n{rows}")
    assert run("import", "t.csv", "--components", "receiver=parts.csv")[0] == 0
    full = run("show", "--full")[1]
    assert "not counted: EPYC (95 W, datasheet): cpu is measured" in full
    assert "losses: 70 W" in full
    document = json.loads(run("import", "t.csv", "--components", "parts.csv", "--json")[1])
    assert document["components"] == {"receiver": 2}


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        (PORTS, ("parts.csv",), "parts.csv: cannot be read"),
        (PORTS, ("gen=t.csv",), "--components gen=t.csv: there is no host gen; hosts: "),
        (PORTS, (str(PORTS),), "is a table of scaling; --components needs the columns component, power_w"),
        (PORTS, (str(PARTS), f"receiver={PARTS}"), "components of receiver are named twice"),
        (PARTS, (str(PARTS),), "is a table of components, and components are declared for hosts"),
        ("arm", (str(PARTS),), "the hosts with watts are netdev19, netdev89, arm; write HOST=FILE"),
        ("rates.csv", (str(PARTS),), "no host has watts; write HOST=FILE"),
        ("bad.csv", ("bad.csv",), "row 1 (line 2), column kind: 'engine' is not one of cpu, memory"),
        ("captures", (str(PARTS),), "--components: what was measured by hand is imported"),
    ],
)
def test_components_that_cannot_be_joined_are_one_line_and_nothing_is_stored(
    run: Run, table: Path | str, options: tuple[str, ...], why: str
) -> None:
    Path("rates.csv").write_text("instances,throughput_gbps\n1,10\n")
    Path("bad.csv").write_text("component,power_w,provenance,kind\nx,1,estimate,engine\n")
    captures = Path(__file__).resolve().parents[3] / "captures" / "imports" / "two-hosts"
    paths = {"arm": SHIPPED / "arm_vs_intel_all.csv", "captures": captures, "bad.csv": PORTS}
    words = [word for option in options for word in ("--components", option)]
    code, out, err = run("import", str(paths.get(str(table), table)), *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err
    assert not Path("results").exists() or not list(Path("results").iterdir())


def test_scaling_tables_compare_case_by_case(run: Run) -> None:
    text = (SHIPPED / "x64_scaling.csv").read_text()
    Path("slower.csv").write_text(text.replace("94237.26", "80000"))
    for name in (str(SHIPPED / "x64_scaling.csv"), "slower.csv"):
        run("import", name)
    one, other = sorted(path.name for path in Path("results").iterdir())
    code, out, _ = run("compare", one, other)
    assert code == 4
    assert "not enough trials" in out


def test_the_line_rate_of_a_table_is_what_its_throughput_is_a_part_of(run: Run) -> None:
    Path("t.csv").write_text(
        "instances,throughput_gbps,line_rate_gbps,kernel\n1,47.07,100,a\n1,94.15,100,b\n"
    )
    run("import", "t.csv")
    cases = json.loads(run("show", "--json")[1])["cases"]
    assert [round(case["line_rate_ratio_mean"], 2) for case in cases] == [0.5, 1.0]
    assert [case["factors"] for case in cases] == [{"kernel": "a"}, {"kernel": "b"}]


def test_the_scope_of_a_scaling_tables_watts_is_that_and_no_factor(run: Run) -> None:
    Path("t.csv").write_text(
        "instances,throughput_gbps,power_w,power_scope\n1,10,200,wall\n2,19,210,psu-out\n4,36,220,\n"
    )
    assert run("import", "t.csv")[::2] == (0, "3 rows of scaling stored as 3 trials of 2 hosts\n")
    document = json.loads(run("show", "--json")[1])
    assert [case["receiver_system_scope"] for case in document["cases"]] == ["wall", "psu-out", "system"]
    assert not any("factors" in case for case in document["cases"])
    assert "power_scope" not in json.dumps(document)
    assert run("analyze", "t.csv")[0] == 0
    scaling = "instances,throughput_gbps,{},power_scope\n1,10,200,{}\n"
    assert "row 1 (line 2), column power_scope: " in refused(scaling.format("power_w", "rack"))
    assert "wall is not what psu_out_w holds" in refused(scaling.format("psu_out_w", "wall"))


def test_an_empty_cell_is_missing_and_a_wrong_one_ends_the_import() -> None:
    table, _ = read_table(b"instances,throughput_mbps,psu_out_w\n1,100,\n2,190,200\n", "t.csv")
    _, found = import_any(table, "t.csv", 1e9)
    first, second = (trial.receiver for trial in found.trials)
    assert first is not None
    assert second is not None
    assert (first.power, second.power[0].power_w) == ((), 200)
    assert "row 2 (line 3), column psu_out_w: 'x' is not a number" in refused(
        "instances,throughput_mbps,psu_out_w\n1,100,150\n2,190,x\n"
    )
    assert "has no instances or no throughput" in refused("instances,throughput_mbps\n1,100\n2,\n")
    assert "'tpc' is not one of" in refused("instances,throughput_mbps,test\n1,100,tpc\n")


def test_columns_of_no_kind_list_each_kind_once_in_one_line(run: Run) -> None:
    Path("t.csv").write_text("host,role,test,colour\na,b,c,d\n")
    code, out, err = run("import", "t.csv")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "nearest is host blocks, without receiver, sender, throughput, throughput_unit" in err
    for kind in KINDS:
        assert err.count(f"{kind.name} ({kind.columns})") == 1
    assert not Path("results").exists()


@pytest.mark.parametrize(("table", "kind"), WITHOUT_TRIALS.items())
def test_a_table_without_runs_is_published_in_every_view_and_has_no_trial(
    run: Run, table: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = json.loads(run("import", str(SHIPPED / f"{table}.csv"), "--json")[1])
    assert (made["kind"], made["trials"]) == (kind, 0)
    result = load_result(Path(made["path"]))
    assert (result.imported_kind, result.trials, result.complete) == (kind, (), True)
    says = f"mported from {table}.csv"
    monkeypatch.setenv("COLUMNS", "80")
    assert len(run("show")[1].splitlines()) <= MOST_LINES
    monkeypatch.setenv("COLUMNS", "140")
    for words in (run("show")[1], run("show", "--full")[1], run("list")[1]):
        assert says in words
        assert view(result).answer in " ".join(words.split())
    titles = [table.title for table in view(result).tables]
    assert all(title in run("show", "--full")[1] for title in titles)
    assert json.loads(run("show", "--json")[1])["imported_kind"] == kind
    assert len(list(csv.DictReader(io.StringIO(run("show", "--csv")[1])))) >= 5
    run("report", "-o", "r.html")
    page = Path("r.html").read_text()
    assert says in page
    assert "<svg" in page
    assert "linewatt did not measure them" in page
    ids = re.findall(r'<[^>]+ id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for more in ((), ("--full",)):
        pasted = run("show", "--md", *more)[1]
        assert "\\r" not in pasted
        pasted = pasted.replace("\\", "")
        assert says in pasted
        assert view(result).answer in pasted
        assert "|" in pasted
    assert run("verify")[0] == 0


@pytest.mark.parametrize("table", WITHOUT_TRIALS)
def test_what_cannot_be_asked_of_it_is_one_line_that_says_why(run: Run, table: str) -> None:
    run("import", str(SHIPPED / f"{table}.csv"))
    run("import", str(SHIPPED / "arm_vs_intel_all.csv"), "--name", "other")
    for words, why in (
        (("show", table, "--trials"), "without trials"),
        (("show", table, "--detail"), "without trials"),
        (("compare", table, "other"), "without runs"),
    ):
        named = [
            next(Path("results").glob(f"*{one}")).name if one in (table, "other") else one for one in words
        ]
        code, out, err = run(*named)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert why in err


def test_what_a_bit_and_a_packet_cost_is_as_published_to_the_last_digit(run: Run) -> None:
    found = view_of(run, "router_power_8201").document
    assert f"{found['bit_pj']:.8f}" == "3.20041614"
    assert f"{found['packet_nj']:.8f}" == "13.35646479"
    assert 0 < found["bit_ci95_pj"] < 0.1
    assert 0 < found["packet_ci95_nj"] < 2


def test_planted_costs_are_found_and_two_sizes_have_no_interval() -> None:
    def watts(size: float, rate: float) -> float:
        return 300 + 32 * rate / 8 / (size + 58) * (13e-9 + 3e-12 * 8 * (size + 58))

    readings = [Reading(s, r, watts(s, r)) for s in (256, 512, 1024) for r in (1e10, 5e10, 9e10)]
    found = fit_packet_energy(readings, 32, 58)
    assert isinstance(found, PacketEnergy)
    assert found.bit_j == pytest.approx(3e-12)
    assert found.packet_j == pytest.approx(13e-9)
    assert found.fits[0].base_w == pytest.approx(300)
    assert found.at(1024) == pytest.approx(found.fits[-1].packet_j)
    two = fit_packet_energy(readings[:6], 32, 58)
    assert isinstance(two, PacketEnergy)
    assert (two.bit_reach_j, two.packet_reach_j) == (None, None)
    assert fit_packet_energy(readings[:3], 32, 58) == Missing(
        "1 packet size: two are needed to separate bits from packets"
    )
    assert fit_packet_energy([*readings[:3], readings[3]], 32, 58) == Missing(
        "packet size 512 B has one rate: two are needed for a slope"
    )


def test_a_router_whose_costs_cannot_be_told_says_why(run: Run) -> None:
    header = ",".join(published.PACKET_POWER_COLUMNS)
    Path("t.csv").write_text(f"{header}\n32,58,256,10,301\n32,58,256,20,303\n")
    assert run("import", "t.csv")[0] == 0
    assert "withheld: 1 packet size" in run("show")[1]
    assert "ports and header_bytes vary" in refused(f"{header}\n32,58,256,10,301\n16,58,256,20,303\n")


def test_means_stand_as_printed_with_their_sd_and_never_as_trials(run: Run) -> None:
    found = view_of(run, "vxlan")
    table = found.tables[0]
    printed = list(csv.DictReader((SHIPPED / "vxlan.csv").open()))
    names = [name for name in printed[0] if f"{name}_sd" in printed[0]]
    for row, want in zip(table.rows, printed, strict=True):
        assert [(cell.text, cell.sd) for cell in row.cells] == [(want[n], want[f"{n}_sd"]) for n in names]
    assert found.answer.endswith("over 10 runs.")
    assert any("no interval and no test" in note.text for note in table.notes)


def test_each_mean_with_its_whiskers_is_in_a_chart(run: Run) -> None:
    figures = {one.name: one for one in view_of(run, "vxlan").figures}
    bars = figures["published-means-tcp"].spec["data"]["values"]
    (sys,) = [row for row in bars if (row["pair"], row["bar"]) == ("receive, app CPU", f"{ELN} sys")]
    assert (sys["low"], sys["value"], sys["high"]) == (pytest.approx(53.6), 54.2, pytest.approx(54.8))
    assert f"receive {ELN} 24; send {ELN} 40;" in figures["throughput-tcp"].description
    texts = {one.text for one in ET.fromstring(render_svg(figures["published-means-tcp"].spec)).iter()}  # noqa: S314
    assert {"54.2 ± 0.6", "99.9 ± 0.1"} <= texts
    assert not [row for row in bars if "value" in row and row["bar"].endswith("idle")]


def test_a_panel_of_a_chart_has_rows_for_its_own_bars_only(run: Run) -> None:
    figure = {one.name: one for one in view_of(run, "vxlan").figures}["published-means-tcp"]
    texts = [one.text or "" for one in ET.fromstring(render_svg(figure.spec)).iter()]  # noqa: S314
    labels = [text for text in texts if text.startswith((ELN, RHEL))]
    bars = figure.spec["data"]["values"]
    assert sorted(labels) == sorted(bar["bar"] for bar in bars)


def test_two_kernels_of_one_table_stand_side_by_side_in_a_panel() -> None:
    head, *rows = (SHIPPED / "vxlan.csv").read_text().splitlines()
    kernel = rows[0].partition(",")[0]
    both = "\n".join([head, rows[0], rows[0].replace(kernel, "5.14.0-427")])
    table, _ = read_table(both.encode(), "t.csv")
    (throughput, *_, means) = of_means(published.means(table, "t.csv"))
    bars = [row["bar"] for row in throughput.spec["data"]["values"]]
    assert bars == [kernel, "5.14.0-427"]
    assert len({row["pair"] for row in means.spec["data"]["values"]}) == 2


def test_a_table_of_a_bare_network_and_a_tunnel_has_bars_of_both_in_every_chart() -> None:
    head, *rows = (SHIPPED / "vxlan.csv").read_text().splitlines()
    both = [f"{row},{network},0.3" for network in ("bare", "vxlan") for row in rows]
    text = "\n".join([f"{head},network,published_throughput_sd", *both])
    found = published.means(read_table(text.encode(), "t.csv")[0], "t.csv")
    figures = {figure.name: figure.spec["data"]["values"] for figure in of_means(found)}
    charts = ("throughput", "CPU-per-throughput", "published-means")
    assert set(figures) == {f"{chart}-{test}" for chart in charts for test in ("tcp", "udp-1500", "udp-60")}
    for name, bars in figures.items():
        has_sd = not name.startswith("CPU-per-throughput")
        for network in ("bare", "vxlan"):
            of_network = [bar for bar in bars if network in bar["bar"].split()]
            assert {bar["bar"].split()[0] for bar in of_network} == {ELN, RHEL}
            assert {bar["pair"].partition(",")[0] for bar in of_network} == {"receive", "send"}
            assert all(("low" in bar and "high" in bar) is has_sd for bar in of_network)


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("published_throughput,published_unit,throughput_sd", "24,Gbps,0.4"),
        ("published_throughput,published_unit,published_throughput_sd", "24,Gbps,0.4"),
        ("throughput,throughput_unit,throughput_sd", "24,Gbps,0.4"),
        ("throughput_gbps,throughput_sd", "24,0.4"),
        ("throughput_gbps,throughput_gbps_sd", "24,0.4"),
    ],
)
def test_throughput_has_whiskers_where_the_table_has_its_sd(columns: str, cells: str) -> None:
    both = f"tcp,receive,10,99.9,0.1,{cells}", f"tcp,send,10,53,0.6,{cells.replace('0.4', '')}"
    text = "\n".join([f"test,direction,runs,irq_soft,irq_soft_sd,{columns}", *both])
    table, _ = read_table(f"{text}\n".encode(), "t.csv")
    found = published.means(table, "t.csv")
    (throughput, *_, means) = of_means(found)
    received, sent = throughput.spec["data"]["values"]
    assert (received["low"], received["value"], received["high"]) == (pytest.approx(23.6), 24, 24.4)
    assert (received["text"], sent["text"]) == ("24 ± 0.4", "24")
    assert "low" not in sent
    assert "Throughput (Gbps)" in json.dumps(throughput.spec)
    assert throughput.caption == (
        "Bar: published mean; line: ± its published SD. No line: the table has no SD of it."
    )
    assert {"24 ± 0.4", "24"} <= {one.text for one in ET.fromstring(render_svg(throughput.spec)).iter()}  # noqa: S314
    assert {row["part"] for row in means.spec["data"]["values"]} == {"irq_soft"}, (
        "percent and Gbps share no axis"
    )


def test_throughput_without_any_sd_says_so_and_all_of_them_with_one_need_no_word_of_others() -> None:
    head = "test,runs,cpu_pct,cpu_pct_sd,throughput_mbps"
    (throughput, *_) = of_means(
        published.means(read_table(f"{head}\ntcp,3,90,1,100\n".encode(), "t")[0], "t")
    )
    assert throughput.caption == "As printed; the table has no SD of it."
    every = f"{head},throughput_sd\ntcp,3,90,1,100,2\n"
    (throughput, *_) = of_means(published.means(read_table(every.encode(), "t")[0], "t"))
    assert throughput.caption == "Bar: published mean; line: ± its published SD."


def test_means_say_over_how_many_runs_where_the_table_does() -> None:
    table, _ = read_table(f"{MEANS}tcp,send,10,50,1.5,\nudp-60,send,10,,,7\n".encode(), "t.csv")
    found = published.means(table, "t.csv")
    assert [row.runs for row in found.rows] == [10, 10]
    assert found.rows[1].means["cpu_pct"] is None
    assert "is below 0" in refused(f"{MEANS}tcp,send,10,50,-1,\n")
    assert "is not a number" in refused(f"{MEANS}tcp,send,10,many,1,\n")


def test_a_mean_beside_its_sd_is_no_run_even_where_the_other_columns_would_make_it_one() -> None:
    table, _ = read_table(b"instances,throughput_mbps,throughput_mbps_sd\n1,100,2\n", "t.csv")
    kind, found = import_any(table, "t.csv", 1e9)
    assert (kind.name, found.trials) == (published.MEANS, ())


def test_components_sum_and_each_says_where_it_is_from(run: Run) -> None:
    found = view_of(run, "x64_components")
    assert found.document["power_w"] == 249
    assert [part["provenance"] for part in found.document["parts"]].count("datasheet") == 3
    assert found.answer.startswith(
        "6 parts, 249 W in the sum of all rows (partly from datasheet, estimated), most the CPU "
        "with 136 W (55 %)"
    )
    assert "'guess' is not one of" in refused("component,power_w,provenance\nCPU,136,guess\n")


def test_the_diagram_of_the_published_soak_has_its_clients_ports_and_rates(run: Run) -> None:
    (diagram,) = view_of(run, "opteron_soak").figures
    drawn = ET.fromstring(render_svg(diagram.spec))  # noqa: S314 - our own
    texts = [one.text for one in drawn.iter() if one.text]
    assert [f"Group {n}: 16 clients" for n in range(1, 7)] == [
        one for one in texts if one.startswith("Group")
    ]
    assert {"port 6", "gigabit Ethernet", "6.12 Gbps mean", "6.50 Gbps as stated"} <= set(texts)
    assert [f"switch {n}" for n in range(1, 7)] == [one for one in texts if one.startswith("switch")]
    assert diagram.caption == "Not published: the rate of each group."


def test_a_stored_table_that_was_changed_is_named_and_no_traceback(run: Run) -> None:
    run("import", str(SHIPPED / "x64_components.csv"))
    manifest = next(Path("results").glob("*/manifest.json"))
    manifest.write_text(manifest.read_text().replace("power_w", "power"))
    code, _, err = run("show")
    assert (code, err.count("\n")) == (1, 1)
    assert "damaged" in err


def test_a_list_counts_the_finding_of_a_published_soak_and_says_where_no_check_applies(run: Run) -> None:
    for table in ("opteron_soak", "x64_components"):
        run("import", str(SHIPPED / f"{table}.csv"))
    rows = {one["name"]: one for one in json.loads(run("list", "--json")[1])["results"]}
    assert rows["opteron_soak"]["flags_count"] == 1
    assert "No check applies" not in rows["opteron_soak"]["flags_reason"]
    assert rows["x64_components"]["flags_count"] is None
    assert "No check applies" in rows["x64_components"]["flags_reason"]


def test_figures_that_no_table_has_end_the_import() -> None:
    assert "too large or too small" in refused("component,power_w,provenance\nCPU,1e300,measured\n")
    assert "too large or too small" in refused("instances,throughput_mbps\n1,1e300\n")
    assert "too large or too small" in refused(f"{MEANS}tcp,send,10,1e-200,1,\n")


def test_of_a_long_table_the_first_are_drawn_and_the_caption_says_so() -> None:
    rows = "\n".join(f"tcp,d{n},10,50,1," for n in range(100))
    table, _ = read_table(f"{MEANS}{rows}\n".encode(), "t.csv")
    (figure,) = of_means(published.means(table, "t.csv"))
    assert figure.caption.endswith("Only the first are drawn; the table has all.")
    assert len(figure.spec["data"]["values"]) <= 60


@pytest.mark.parametrize("groups", ["0", "0.4", "1e12"])
def test_groups_that_cannot_be_drawn_have_no_diagram(groups: str) -> None:
    text = f"quantity,value,unit\nclients,96,machines\nclient_groups,{groups},groups\nports,6,ports\n"
    table, _ = read_table(text.encode(), "t.csv")
    assert published_diagram(soak_summary(table)) is None


def test_watts_of_a_scaling_table_come_about_as_its_column_says(run: Run) -> None:
    rows = "1,100,10,simulated\n2,190,12,simulated\n4,300,15,\n"
    Path("t.csv").write_text(f"instances,throughput_mbps,psu_out_w,power_provenance\n{rows}")
    code, _, err = run("import", "t.csv")
    assert (code, "not read" in err) == (0, False)
    cases = json.loads(run("show", "--json")[1])["cases"]
    sources = [case["receiver_system_w_provenance"] for case in cases]
    assert sources == ["simulated", "simulated", "measured"]
    assert not any("factors" in case for case in cases)
    assert "sim" in run("show", "--full")[1]
    assert "row 1 (line 2), column power_provenance: 'guess' is not one of measured" in refused(
        "instances,throughput_mbps,psu_out_w,power_provenance\n1,100,10,guess\n"
    )


def test_two_text_columns_of_a_scaling_table_are_one_experiment(run: Run) -> None:
    table = "".join(
        f"1,{mbps + run_},{os},{nic}\n"
        for mbps, os, nic in ((100, "rhel", "cx6"), (200, "rhel", "cx7"), (150, "sles", "cx6"))
        for run_ in range(3)
    )
    Path("t.csv").write_text(f"instances,throughput_mbps,os,nic\n{table}")
    assert run("import", "t.csv")[0] == 0
    shown = run("show")[1]
    assert "not enough trials" not in shown
    assert "201.0 Mbps" in shown
    assert "at nic=cx7: faster" in shown
    factors = [case["factors"] for case in json.loads(run("show", "--json")[1])["cases"]]
    assert factors[0] == {"nic": "cx6", "os": "rhel"}


def test_a_column_that_never_varies_is_a_fact_and_no_experiment(run: Run) -> None:
    for nic in ("cx6", "cx7"):
        Path(f"{nic}.csv").write_text(f"instances,throughput_mbps,nic\n1,100,{nic}\n2,190,{nic}\n")
        code, _, err = run("import", f"{nic}.csv")
        assert (code, "not read" in err) == (0, False)
    shown = run("show")[1]
    assert "BEST SETTING" not in shown
    assert "the base is kept" not in shown
    found = json.loads(run("show", "--json")[1])
    assert not any("factors" in case for case in found["cases"])
    one, other = sorted(path.name for path in Path("results").iterdir())
    assert load_result(Path("results") / other).manifest.hosts["receiver"].facts == {"table": {"nic": "cx7"}}
    assert "table.nic" in run("compare", one, other)[1]


def test_watts_of_parts_that_were_not_measured_are_marked_wherever_the_answer_stands(run: Run) -> None:
    Path("t.csv").write_text("component,power_w,provenance\nCPU,136,simulated\nFans,20,simulated\n")
    run("import", "t.csv")
    marked = "2 parts, 156 W in the sum of all rows (simulated), most the CPU with 136 W (87 %, simulated)."
    run("report", "-o", "r.html")
    assert marked in Path("r.html").read_text()
    assert marked in run("show", "--md")[1].replace("\\", "")
    assert json.loads(run("show", "--json")[1])["answer"] == marked
    for view_ in (("show",), ("list",)):
        assert "156 W in the sum of all rows (simulated)" in " ".join(run(*view_)[1].split())


@pytest.mark.parametrize(
    ("watts", "why"),
    [
        ((1, 1, 3), "has 125.6 ± 415 pJ for a bit"),
        ((0, 0, 0), "has 0 ± 0 pJ for a bit"),
        ((-1, -2), "pJ for a bit"),
        ((-1, -1, -3), "has -125.6 ± 415 pJ for a bit"),
    ],
)
def test_costs_of_a_router_that_may_be_0_or_less_are_withheld(
    run: Run, watts: tuple[float, ...], why: str
) -> None:
    sizes = dict(zip((256, 512, 1024), watts, strict=False))
    rows = [f"32,58,{size},{1 + at},{300 + at * w}" for size, w in sizes.items() for at in (0, 1)]
    Path("t.csv").write_text("\n".join([",".join(published.PACKET_POWER_COLUMNS), *rows]))
    assert run("import", "t.csv")[0] == 0
    shown = run("show")[1].replace("\n", " ")
    assert "A bit costs" not in shown
    assert "withheld" in shown
    found = json.loads(run("show", "--json")[1])
    assert why in found["reason"]
    assert found["reason"].endswith("not above 0 beyond doubt")
    assert "bit_pj" not in found
    run("report", "-o", "r.html")
    assert "A bit costs" not in Path("r.html").read_text()


def drawn_of(rows: str) -> str:
    table, _ = read_table(f"quantity,value,unit\n{rows}".encode(), "t.csv")
    figure = published_diagram(soak_summary(table))
    assert figure is not None
    assert render_svg(figure.spec)
    return f"{figure.description} {figure.caption}"


def test_a_diagram_of_a_soak_has_no_port_split_or_peak_that_its_table_lacks() -> None:
    rows = "clients,97,machines\nclient_groups,7,groups\nports,3,10G\ntransfer_rate,1,Gbit/s\n"
    words = drawn_of(f"{rows}duration,1,hours\ndata_transferred,1e15,bits\n")
    assert "Group 7 – 10G; server: 278 Gbps mean, 1.00 Gbps as stated" in words
    assert "how 97 clients are in groups, which of 3 ports a group uses" in words
    for invented in ("port 1", "13.8571", "peak"):
        assert invented not in words
    assert "server: 1.00 Gbps as stated" in drawn_of(rows)
    below, _ = read_table(f"{HOUR}transfer_rate,1,Gbit/s\ndata_transferred,1e15,bits\n".encode(), "t.csv")
    assert [flag.advice.partition(":")[0] for flag in soak_summary(below).flags] == ["the rate is not a peak"]
    two = drawn_of(f"{rows}switches,2,switches\n")
    assert "which of 2 switches a group uses" in two
    assert "how many switches" not in two
    assert "switch 1" not in two
    bare = drawn_of("clients,6,machines\nclient_groups,6,groups\nports,6,10G\n")
    assert "Group 6: 1 client – port 6 – 10G; server Not" in bare


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ("duration,48,hours\ntransfer_rate,6.5,Gbit/s\n", "6.50 Gbps as stated over 2 d 00 h."),
        ("file_transfers,100,transfers\n", "100 transfers."),
        ("duration,1,hours\nfile_transfers,1,x\n", "A soak of 1 h 00 min: 1 transfer."),
        ("transfer_rate,1,Gbit/s\ndata_transferred,1e12,bits\n", "1.00 Gbps as stated: 1.000 Tbit."),
        ("ports,6,10G\n", "No rate, duration, total or number of transfers is in the table."),
    ],
)
def test_the_answer_of_a_published_soak_is_what_its_table_knows(run: Run, rows: str, answer: str) -> None:
    Path("t.csv").write_text(f"quantity,value,unit\n{rows}")
    run("import", "t.csv")
    assert f"  {answer}" in run("show")[1].splitlines()
    assert "Mean packet: the table does not say enough" in " ".join(run("show", "--full")[1].split())


def test_the_sum_of_parts_says_that_it_is_of_all_rows(run: Run) -> None:
    Path("t.csv").write_text("component,power_w,provenance\nCPU,136,measured\nWhole server,249,measured\n")
    run("import", "t.csv")
    assert "no reading of the whole machine" not in run("show")[1]
    assert "Sum of all rows: each is taken for a part of its own" in " ".join(
        run("show", "--full")[1].split()
    )


def test_a_series_whose_throughput_is_0_is_refused_for_that() -> None:
    assert "row 1 (line 2), column throughput_mbps: 0 is not greater than 0" in refused(
        "instances,throughput_mbps\n1,0\n2,0\n"
    )
