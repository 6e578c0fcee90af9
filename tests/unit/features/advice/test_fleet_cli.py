# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise fleet``: tables, stored results, JSON to recompute, a page, and what it refuses."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import host, powered, renumbered, result, scaling_trials
from tests.report_factories import stored as stored_result
from tests.unit.conftest import Run

ROOT = Path(__file__).parents[4]
TABLE = ROOT / "docs" / "published" / "x64_scaling.csv"
DOCS = (ROOT / "docs" / "advise.md").read_text(encoding="utf-8")
ASKED = ("--target-gbps", "10000", "--headroom", "0.2", "--price-kwh", "0.15", "--pue", "1.3")
RAW = {  # instances → Mbps, CPU %, W, as the article prints them
    1: (24287.36, 168.66, 210.01),
    2: (45148.76, 337.55, 216.00),
    4: (79982.62, 673.33, 228.50),
    8: (94237.26, 942.52, 339.24),
    16: (110831.41, 1344.55, 249.00),
}


def document(run: Run, *arguments: str) -> dict[str, Any]:
    code, out, err = run("advise", "fleet", *arguments, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_published_series_can_be_recomputed_figure_by_figure(run: Run) -> None:
    found = document(run, *ASKED, "--from", str(TABLE))
    assert list(found) == ["schema_version", "target_gbps", "points", "cheapest", "warnings"]
    assert (found["schema_version"], found["target_gbps"]) == (1, 10000)
    for point in found["points"]:
        mbps, cpu_pct, power_w = RAW[point["instances"]]
        servers = math.ceil(10_000_000 / (mbps * 0.8))
        assert point["servers"] == servers
        assert point["cores"] == pytest.approx(servers * cpu_pct / 100)
        assert point["power_w"] == pytest.approx(servers * power_w)
        assert point["energy_kwh_year"] == pytest.approx(servers * power_w * 1.3 * 8.76)
        assert point["cost_year"] == pytest.approx(servers * power_w * 1.3 * 8.76 * 0.15)
        assert point["interval"] is None, "one row a point tells nothing of spread"
    assert [point["instances"] for point in found["points"]] == list(RAW)
    assert any("no interval" in said for said in found["warnings"])
    assert any("PSU DC output" in said for said in found["warnings"])


def test_it_reaches_the_articles_conclusion(run: Run) -> None:
    """More cores in one box: less work a core, far more work a watt, and the smallest bill."""
    best = document(run, *ASKED, "--from", str(TABLE))["cheapest"]
    assert (best["instances"], best["servers"], best["second"]) == (16, 113, 4)
    assert best["sure"] == "not-known"
    assert best["pareto_front"] == [1, 2, 4, 16]
    trade = best["cores_against_watts"]
    assert (trade["most_per_core_instances"], trade["most_per_w_instances"]) == (1, 16)
    assert trade["mbps_per_core_ratio"] == pytest.approx(8243.06 / 14400.19, rel=1e-3)
    assert trade["mbps_per_w_ratio"] == pytest.approx(445.11 / 115.65, rel=1e-3)


def test_the_row_whose_watts_stand_out_is_doubted_and_to_be_measured_again(run: Run) -> None:
    found = document(run, *ASKED, "--from", str(TABLE))
    (eight,) = [point for point in found["points"] if point["instances"] == 8]
    assert list(eight["doubts"]) == ["power-outlier"]
    first = found["cheapest"]["measure_next"][0]
    assert (first["instances"], first["what"]) == (8, "8 instances again")
    assert first["break_even_w"] == pytest.approx(113 * 249 / 133, abs=0.01)


def test_the_docs_show_what_the_command_prints(run: Run) -> None:
    _, _, example = DOCS.partition("```sh\nlinewatt advise fleet")
    arguments = shlex.split(example.partition("```")[0].replace("\\\n", " "))
    arguments = [str(TABLE) if one.endswith("x64_scaling.csv") else one for one in arguments]
    code, out, err = run("advise", "fleet", *arguments)
    assert (code, err) == (0, "")
    shown = example.split("```\n```\n")[1].split("```")[0]
    assert out.replace(str(TABLE), "docs/published/x64_scaling.csv") == shown


def test_rows_of_the_same_instances_are_runs_with_an_interval(run: Run, tmp_path: Path) -> None:
    rows = "instances,throughput_gbps,cpu_pct,psu_out_w,idle_w\n"
    rows += "".join(
        f"1,{24 + 0.1 * at},170,{210 + at},150\n4,{80 - 0.2 * at},670,{228 + at},150\n" for at in range(5)
    )
    (tmp_path / "runs.csv").write_text(rows)
    found = document(run, *ASKED, "--from", "runs.csv", "--redundancy", "n+1", "--tolerance-percent", "2")
    for point in found["points"]:
        interval = point["interval"]
        assert interval["runs"] == 5
        for name in ("servers", "cores", "power_w", "energy_kwh_year", "cost_year"):
            low, high = interval[name]
            assert low <= point[name] <= high
        active = point["servers"] - 1
        assert point["power_w"] == pytest.approx(active * point["server"]["power_w"] + 150)
        assert point["server"]["power_bound_w"] == pytest.approx(0.02 * point["server"]["power_w"])
    assert found["cheapest"]["sure"] == "clear"


def test_without_a_price_energy_decides_and_money_is_missing(run: Run) -> None:
    found = document(run, "--target-gbps", "100", "--from", str(TABLE))
    assert {point["cost_year"] for point in found["points"]} == {None}
    assert (found["cheapest"]["by"], found["cheapest"]["instances"]) == ("energy_kwh_year", 16)
    assert found["points"][0]["reasons"]["cost_year"] == "no --price-kwh was named"


def test_a_target_below_one_server_takes_one_and_says_that_it_is_hardly_loaded(run: Run) -> None:
    found = document(run, "--target-gbps", "10", "--from", str(TABLE))
    assert {point["servers"] for point in found["points"]} == {1}
    assert any("one server carries more than the target" in said for said in found["warnings"])


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A stored campaign with watts and idle watts at the receiver, five trials a case."""
    trials = renumbered(powered(scaling_trials(trials=5)))
    made = result(trials, id="20260101-000000-t", hosts={"h1": host("h1"), "h2": host("h2")})
    (tmp_path / "results").mkdir(exist_ok=True)
    return stored_result(tmp_path / "results", made).name


def test_a_stored_result_has_intervals_idle_watts_and_its_meters_error(run: Run, stored: str) -> None:
    found = document(run, *ASKED, "--from", stored, "--redundancy", "n+1")
    assert [point["instances"] for point in found["points"]] == [1, 2, 4, 8, 16]
    for point in found["points"]:
        server = point["server"]
        assert server["power_bound_w"] == pytest.approx(0.02 * server["power_w"] / math.sqrt(2), rel=0.5)
        assert point["power_w"] == pytest.approx((point["servers"] - 1) * server["power_w"] + 180)
        assert point["interval"]["power_w"][0] < point["power_w"] < point["interval"]["power_w"][1]
    assert found["cheapest"]["instances"] == 16
    assert found["cheapest"]["sure"] == "clear"


def test_simulated_watts_are_marked_wherever_they_are_shown(run: Run, tmp_path: Path) -> None:
    trials = renumbered(powered(scaling_trials(trials=3), provenance="simulated"))
    (tmp_path / "results").mkdir()
    name = stored_result(tmp_path / "results", result(trials, id="20260101-000000-t")).name
    found = document(run, *ASKED, "--from", name)
    assert {point["provenance"] for point in found["points"]} == {"simulated"}
    assert any("Watts are simulated, not measured" in said for said in found["warnings"])
    _, out, _ = run("advise", "fleet", *ASKED, "--from", name)
    assert "sim" in next(line for line in out.splitlines() if line.startswith("Cheapest for"))


def test_watts_of_the_other_end_are_another_machines(run: Run, stored: str) -> None:
    found = document(run, *ASKED, "--from", stored, "--role", "sender")
    assert {point["power_w"] for point in found["points"]} == {None}
    assert found["cheapest"]["instances"] is None
    assert all(point["reasons"]["power_w"] for point in found["points"])


def test_a_point_that_the_other_end_limits_says_so(run: Run, tmp_path: Path) -> None:
    trials = renumbered(powered(scaling_trials(trials=3), ends=("receiver", "sender")))
    (tmp_path / "results").mkdir()
    name = stored_result(tmp_path / "results", result(trials, id="20260101-000000-t")).name
    sender = document(run, *ASKED, "--from", name, "--role", "sender")
    assert any("the receiver limits it: the sender may carry more" in said for said in sender["warnings"])
    receiver = document(run, *ASKED, "--from", name)
    assert not any("may carry more" in said for said in receiver["warnings"])


def test_of_several_series_one_is_named(run: Run, tmp_path: Path) -> None:
    trials = renumbered(powered(scaling_trials()), powered(scaling_trials(family="ipv6")))
    (tmp_path / "results").mkdir()
    name = stored_result(tmp_path / "results", result(trials, id="20260101-000000-t")).name
    code, out, err = run("advise", "fleet", *ASKED, "--from", name)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "has 2 series, name one with --series: 'TCP, h1 → h2, IPv4', 'TCP, h1 → h2, IPv6'" in err
    found = document(run, *ASKED, "--from", name, "--series", "h1->h2 ipv6")
    assert found["cheapest"]["series"] == "TCP, h1 → h2, IPv6"
    code, _, err = run("advise", "fleet", *ASKED, "--from", name, "--series", "udp")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "matches no series" in err


def test_the_page_is_whole_and_has_the_picture(run: Run, tmp_path: Path) -> None:
    code, out, err = run("advise", "fleet", *ASKED, "--from", str(TABLE), "--output", "fleet.html")
    assert (code, err) == (0, "")
    page = (tmp_path / "fleet.html").read_text(encoding="utf-8")
    assert out.splitlines()[1].startswith("!")
    assert 'data-figure="fleet-front"' in page
    assert "Mbps per core" in page
    assert "Cheapest for 10,000\u00a0Gbps: 16\u00a0instances a server" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_an_imported_table_says_what_the_table_says(run: Run) -> None:
    assert run("import", str(TABLE))[0] == 0
    imported, table = document(run, *ASKED), document(run, *ASKED, "--from", str(TABLE))
    assert imported["points"] == table["points"]
    assert any("not measured by linewatt" in said for said in imported["warnings"])


@pytest.mark.parametrize("kind", ["vxlan", "x64_components", "opteron_soak"])
def test_a_published_table_without_operating_points_is_named_as_that(run: Run, kind: str) -> None:
    assert run("import", str(TABLE.with_name(f"{kind}.csv")))[0] == 0
    code, out, err = run("advise", "fleet", *ASKED)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "published table" in err or "a soak is one load" in err


def test_watts_of_two_provenances_are_said_to_be_apart(run: Run, tmp_path: Path) -> None:
    rows = "instances,throughput_gbps,power_w,power_provenance\n1,10,100,simulated\n2,20,110,measured\n"
    (tmp_path / "mixed.csv").write_text(rows)
    found = document(run, *ASKED, "--from", "mixed.csv")
    assert found["cheapest"]["instances"] == 2
    assert [point["compared"] for point in found["points"]] == [False, True]
    assert (
        "Watts are partly simulated: those are marked, and not compared with measured ones"
        in found["warnings"]
    )


BAD = (
    ("--target-gbps 0 --from TABLE", "--target-gbps must be above 0"),
    ("--target-gbps nan --from TABLE", "--target-gbps must be above 0"),
    ("--target-gbps many --from TABLE", "--target-gbps"),
    ("--from TABLE", "--target-gbps"),
    ("--target-gbps 10", "no table, and"),
    ("--target-gbps 10 --from nowhere", "no table, and"),
    ("--target-gbps 10 --from nowhere.csv", "cannot be read"),
    ("--target-gbps 10 --from TABLE --headroom 1", "--headroom must be from 0 to below 1"),
    ("--target-gbps 10 --from TABLE --pue 0.5", "--pue must be from 1 and at most 10"),
    ("--target-gbps 10 --from TABLE --redundancy two", "--redundancy must be n"),
    ("--target-gbps 10 --from TABLE --price-kwh -1", "--price-kwh must be above 0"),
    (
        "--target-gbps 10 --from TABLE --price-kwh 1e300",
        "--price-kwh must be above 0 and at most 1,000,000,000,000",
    ),
    ("--target-gbps 10 --from TABLE --server-cost 9", "--server-cost needs --price-kwh"),
    ("--target-gbps 10 --from TABLE --load-share 2", "--load-share must be above 0 and at most 1"),
    ("--target-gbps 10 --from TABLE --role client", "--role must be receiver or sender"),
    ("--target-gbps 10 --from TABLE --role sender", "a table has CPU and watts of the receiver"),
    ("--target-gbps 10 --from TABLE --tolerance-percent 100", "--tolerance-percent must be above 0"),
    ("--target-gbps 10 --from TABLE --psu-level gold", "need --psu-rating-w"),
    ("--target-gbps 10 --from TABLE --psu-rating-w 800 --psu-level wood", "there is no level 'wood'"),
    ("--target-gbps 10 --from TABLE --psu-rating-w 800 --psu-count 99", "--psu-count must be from 1 to 16"),
    ("--target-gbps 10 --from TABLE --series udp", "matches no series"),
    ("--target-gbps 10 --from TABLE -o .", "is a directory"),
)


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_what_cannot_be_asked_is_one_line_and_exit_2(run: Run, arguments: str, words: str) -> None:
    asked = [str(TABLE) if one == "TABLE" else one for one in shlex.split(arguments)]
    code, out, err = run("advise", "fleet", *asked)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert words in err


def test_power_supplies_are_paid_for_and_others_are_proposed(run: Run) -> None:
    named = ("--psu-rating-w", "400", "--psu-level", "platinum")
    found = document(run, *ASKED, "--from", str(TABLE), *named)
    best = found["cheapest"]
    (point,) = [one for one in found["points"] if one["instances"] == 16]
    assert point["input_w"] == pytest.approx(point["power_w"] / 0.917, rel=0.01)
    assert point["energy_kwh_year"] == pytest.approx(point["input_w"] * 1.3 * 8.76)
    assert any("share 249 W" in line for line in best["supplies"])
    assert not any("what power supplies lose" in said for said in found["warnings"])
    assert any("the least efficiency that 80 PLUS Platinum" in said for said in found["warnings"])


def test_of_a_table_of_ones_own_its_error_is_said_to_be_in_no_interval(run: Run) -> None:
    Path("own.csv").write_text("load_percent,efficiency_percent\n10,90\n50,94\n100,92\n")
    named = ("--psu-rating-w", "400", "--psu-table", "own.csv")
    found = document(run, *ASKED, "--from", str(TABLE), *named)
    assert "Energy is by the efficiency in own.csv, whose own error is in no interval" in found["warnings"]
    without = document(run, *ASKED, "--from", str(TABLE))
    assert not any("Energy is by" in said for said in without["warnings"])


def test_every_option_is_in_the_docs() -> None:
    import typer.main

    from linewatt.features.advice.command import advise_app

    command = typer.main.get_command(advise_app).commands["fleet"]  # type: ignore[attr-defined]
    for parameter in command.params:
        for option in parameter.opts:
            if option.startswith("--") and option != "--help":
                assert f"`{option}`" in DOCS
