# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise psu`` as a process: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests import forked
from tests.report_factories import powered, result, scaling_trials, stored, watts

from linewatt.features.advice.command import advise_app

POWER = (Path(__file__).parents[4] / "docs" / "power.md").read_text(encoding="utf-8")
TWO_800_W = ("--count", "2", "--rating-w", "800")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["advise", "psu", *arguments])


def document(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_example_of_the_docs_prints_what_they_show() -> None:
    _, _, example = POWER.partition("```sh\nlinewatt advise psu")
    command = shlex.split(f"linewatt advise psu{example.partition('```')[0]}")
    done = run(*command[3:])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == example.split("```\n```\n")[1].split("```")[0]


def test_two_800_w_units_need_320_w_and_platinum_has_bounds_alone_at_15_6_percent() -> None:
    done = run(*TWO_800_W, "--load-w", "249", "--level", "platinum")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "two 800 W units need 320 W to reach 20 %" in lines
    assert "efficiency: not known: 15.6 % of the rating is below the table, which begins at 20 %" in lines
    assert "extrapolated: 87.5 % to 90 %, 276.7 to 284.6 W in (estimate)" in lines
    proposals = [line for line in lines if line.startswith("- ")]
    assert len(proposals) == 3
    (standby,) = [line for line in proposals if line.startswith("- one of the two units on hot standby")]
    assert standby.endswith("; saves 4.5 to 12.4 W (extrapolated), 39 to 108 kWh a year")
    assert all("(extrapolated)" in line for line in proposals)
    assert "they are what a certificate asks for, not curves of your units, which may do better" in lines


def test_72_w_from_one_400_w_unit_is_18_percent() -> None:
    done = run("--count", "1", "--rating-w", "400", "--in-w", "88", "--out-w", "72", "--level", "gold")
    lines = done.stdout.splitlines()
    assert lines[0] == "one 400 W unit carries 72 W, 18 % of its rating"
    assert "one 400 W unit needs 80 W to reach 20 %" in lines
    assert (
        "measured: 88 W in, 72 W out at 18 % load: in − out is 16.0 W and may be off by 24.0 W" in done.stdout
    )


def test_good_readings_are_an_efficiency_with_bounds() -> None:
    done = run(*TWO_800_W, "--in-w", "305", "--out-w", "249", "--tolerance-percent", "1")
    assert (
        "measured: 305 W in, 249 W out at 15.6 % load: 81.6 %, between 80 % and 83.3 % (each reading ± 1 %); "
        "56.0 ± 5.5 W of loss" in done.stdout.splitlines()
    )


def test_a_unit_on_standby_is_described_as_it_is() -> None:
    done = run(*TWO_800_W, "--load-w", "249", "--mode", "standby", "--level", "gold")
    first, second, *_ = done.stdout.splitlines()
    assert first == (
        "two 800 W units for 249 W, one on hot standby: the other carries 249 W, 31.1 % of its rating"
    )
    assert second == "one 800 W unit needs 160 W to reach 20 %"


def test_nothing_better_is_said_as_such() -> None:
    done = run("--count", "1", "--rating-w", "350", "--load-w", "175", "--level", "gold")
    assert done.returncode == 0
    assert "no hot standby, number or rating of units is known to be better" in done.stdout


def test_json_has_a_schema_version_si_and_null_with_a_reason() -> None:
    found = document(*TWO_800_W, "--load-w", "249", "--level", "platinum", "--price-per-kwh", "0.30")
    assert list(found) == [
        *("schema_version", "supply", "load_w", "active", "unit_w", "load_ratio", "good_from_w"),
        *("efficiency_ratio", "input_w", "loss_w", "reason", "input_bounds_w", "provenance", "peak_w"),
        *("redundant", "table", "measured", "price_per_kwh", "currency", "options", "warnings", "host"),
    ]
    assert found["schema_version"] == 1
    assert found["supply"] == {"count": 2, "rating_w": 800, "mode": "shared"}
    assert (found["load_ratio"], found["good_from_w"], found["redundant"]) == (0.155625, 320, True)
    assert (found["efficiency_ratio"], found["input_w"], found["loss_w"]) == (None, None, None)
    assert found["reason"].endswith("below the table, which begins at 20 %")
    assert found["provenance"] == "estimate"
    assert found["table"]["points"] == [[0.2, 0.9], [0.5, 0.94], [1, 0.91]]
    assert found["input_bounds_w"] == pytest.approx([249 / 0.9, 249 + 2 * (160 / 0.9 - 160)])
    (standby,) = [option for option in found["options"] if option["change"] == "standby"]
    assert (standby["change"], standby["active"], standby["provenance"]) == ("standby", 1, "estimate")
    assert standby["efficiency_ratio"] == pytest.approx(0.914833, abs=1e-6)
    assert (standby["saved_w"], standby["saved_cost_per_year"]) == (None, None)
    assert standby["saved_reason"]
    assert standby["saved_bounds_w"] == pytest.approx([4.485, 12.374], abs=0.001)
    assert standby["payback"] is None


PRICES = ("--price-per-kwh", "0.30", "--unit-price", "180", "--unit-price", "350=150", "--currency", "EUR")


def test_what_units_cost_and_the_years_until_they_are_paid_are_said() -> None:
    done = run(*TWO_800_W, "--load-w", "249", "--level", "titanium", *PRICES)
    assert (done.returncode, done.stderr) == (0, "")
    both, smaller, standby = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert both.endswith("worth 27.81 EUR a year; the units cost 360.00 EUR, paid after 12.9 years")
    assert smaller.endswith("worth 21.00 EUR a year; the units cost 300.00 EUR, paid after 14.3 years")
    assert standby.endswith("worth 18.85 EUR a year; nothing to buy")
    assert "paid: by saved energy at this load all year, without interest" in done.stdout
    found = document(*TWO_800_W, "--load-w", "249", "--level", "titanium", *PRICES)
    assert found["currency"] == "EUR"
    payback = found["options"][1]["payback"]
    assert payback["cost"] == 300
    assert payback["years"] == pytest.approx([14.28, 14.28], abs=0.01)


def test_years_have_bounds_where_the_saving_has() -> None:
    done = run(*TWO_800_W, "--load-w", "249", "--level", "platinum", *PRICES)
    proposals = [line for line in done.stdout.splitlines() if line.startswith("- two 500 W units")]
    (both,) = [line for line in proposals if "one of them on hot standby" in line]
    found = document(*TWO_800_W, "--load-w", "249", "--level", "platinum", *PRICES)
    (option,) = [option for option in found["options"] if option["change"] == "smaller-standby"]
    years = option["payback"]["years"]
    saved = [power_w * 8.76 * 0.30 for power_w in option["saved_bounds_w"]]
    assert years == pytest.approx([360 / saved[1], 360 / saved[0]])
    assert f"worth {saved[0]:.2f} to {saved[1]:.2f} EUR a year; the units cost 360.00 EUR" in both
    assert both.endswith(f"paid after {years[0]:.1f} to {years[1]:.1f} years")


def test_with_prices_of_some_ratings_only_those_are_proposed() -> None:
    prices = ("--price-per-kwh", "0.30", "--unit-price", "450=90", "--unit-price", "2000=900")
    found = document(*TWO_800_W, "--load-w", "249", "--level", "titanium", *prices)
    assert {option["supply"]["rating_w"] for option in found["options"]} == {450, 800}


def test_json_has_what_is_saved_and_what_was_measured() -> None:
    found = document(
        *TWO_800_W, "--in-w", "363", "--out-w", "320", "--level", "gold", "--price-per-kwh", "0.30"
    )
    assert found["measured"]["tolerance_ratio"] == 0.05
    assert found["measured"]["efficiency_ratio"] == pytest.approx(320 / 363)
    (standby,) = [one for one in found["options"] if one["change"] == "standby"]
    assert standby["saved_w"] == pytest.approx(10.695, abs=0.001)
    assert standby["saved_cost_per_year"] == pytest.approx(28.11, abs=0.01)
    assert standby["saved_reason"] is None


def test_a_table_of_ones_own_is_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "unit.csv"
    file.write_text("load_percent,efficiency_percent\n5,80\n100,90\n")
    found = document(*TWO_800_W, "--load-w", "80", "--table", str(file))
    assert found["efficiency_ratio"] == pytest.approx(0.8)
    assert found["table"]["certified"] is False
    done = run(*TWO_800_W, "--load-w", "80", "--table", str(file))
    assert "efficiency: 80 %, 100.0 W in (estimate), 20.0 W of loss" in done.stdout
    assert "certificate" not in done.stdout


@pytest.mark.parametrize("mode", ["shared", "standby"])
def test_a_load_that_all_but_one_cannot_carry_is_a_warning(mode: str) -> None:
    done = run(*TWO_800_W, "--load-w", "900", "--mode", mode, "--json")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: not redundant: one 800 W unit cannot carry 900 W when another fails")
    found = json.loads(done.stdout)
    assert (found["redundant"], found["active"]) == (False, 2)
    assert f"warning: {found['warnings'][0]}" == line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--load-w 249 --level white", "there is no level 'white'; the levels are bronze, silver, gold"),
        ("--load-w 1601", "two 800 W units cannot carry 1601 W, only 1600: check load and rating"),
        ("--load-w 249 --peak-w 1700", "two 800 W units cannot carry 1700 W"),
        ("--load-w 249 --peak-w 100", "the most it draws, 100 W, is less than the load, 249 W"),
        ("--load-w -249", "--load-w must be more than 0 and finite, got -249"),
        ("--load-w 0", "--load-w must be more than 0 and finite, got 0"),
        ("--load-w nan", "--load-w must be more than 0 and finite, got nan"),
        ("--load-w inf", "--load-w must be more than 0 and finite, got inf"),
        ("--load-w 249 --rating-w -800", "--rating-w must be more than 0"),
        ("--load-w 249 --count 0", "--count must be from 1 to 16, got 0"),
        ("--load-w 249 --count 17", "--count must be from 1 to 16, got 17"),
        ("--load-w 249 --count 1 --mode standby", "a single unit cannot be on standby"),
        ("--load-w 249 --mode spare", "--mode must be shared or standby, got 'spare'"),
        ("--load-w 249 --mains 110", "--mains must be 230 or 115, got '110'"),
        ("--load-w 249 --price-per-kwh -0.3", "--price-per-kwh must be more than 0"),
        ("--load-w 249 --unit-price 180", "--unit-price: the years until a unit is paid need --price-per"),
        ("--load-w 249 --price-per-kwh 1 --unit-price 0", "--unit-price 0: write PRICE, or W=PRICE"),
        ("--load-w 249 --price-per-kwh 1 --unit-price =5", "--unit-price =5: write PRICE, or W=PRICE"),
        ("--load-w 249 --price-per-kwh 1 --unit-price 500=x", "--unit-price 500=x: write PRICE"),
        (
            "--load-w 249 --price-per-kwh 1 --unit-price 5 --unit-price 6",
            "--unit-price 6: is the second price of these units; give one",
        ),
        ("--load-w 249 --currency 12", "--currency '12': give a sign, or a word of at most 12"),
        ("--load-w 249 --tolerance-percent 0", "--tolerance-percent must be more than 0"),
        ("--load-w 249 --in-w 300", "--in-w and --out-w belong together"),
        ("--in-w 300 --out-w -5", "--out-w must be more than 0"),
        ("--in-w 3000 --out-w 2000", "two 800 W units cannot carry 2000 W"),
        ("", "--load-w is missing"),
        ("--load-w 249 --level gold --table x.csv", "--level and --table exclude each other"),
        ("--load-w 249 --table /nonexistent.csv", "/nonexistent.csv: cannot be read: No such file"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: str, said: str) -> None:
    done = run(*TWO_800_W, *arguments.split(), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"linewatt: {said}")


def test_a_bad_row_of_a_table_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "unit.csv"
    file.write_text("load_percent,efficiency_percent\n20,90\n50,94 %\n")
    done = run(*TWO_800_W, "--load-w", "249", "--table", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linewatt: {file}:3: efficiency_percent: '94 %' is not a number\n"


def test_every_option_is_in_the_docs() -> None:
    command = typer.main.get_command(advise_app).commands["psu"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    assert len(options) == 18
    assert {option for option in options if f"`{option}`" not in POWER} == set()


PUBLISHED = Path(__file__).resolve().parents[4] / "docs" / "published"
DECLARED = {"psus": {"h2": {"count": 2, "rating_w": 800.0, "level": "titanium", "mode": "shared"}}}


def advised(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("--from", "last", "--results", "results", *arguments)


def test_the_load_of_an_imported_series_is_that_of_its_fastest_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert forked.run(["import", str(PUBLISHED / "x64_scaling_ports.csv")]).returncode == 0
    done = advised("--rating-w", "800", "--level", "titanium")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "receiver draws 249.0 W in TCP, sender → receiver, 16 instances; at most 339.2 W in any case",
        "two 800 W units share 249 W: each carries 124.5 W, 15.6 % of its rating",
    ]
    found = json.loads(advised("--rating-w", "800", "--level", "titanium", "--json").stdout)
    assert (found["load_w"], found["peak_w"]) == (249.0, 339.24)
    assert found["host"]["host"] == "receiver"
    assert found["options"][0]["change"] == "smaller-standby"
    given = json.loads(advised("--rating-w", "800", "--load-w", "300", "--peak-w", "500", "--json").stdout)
    assert (given["load_w"], given["peak_w"]) == (300, 500)


def test_the_supplies_that_a_host_declares_are_taken_with_its_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trials = powered(scaling_trials((1, 16), 2), ends=("receiver", "sender"))
    stored(tmp_path / "results", result(trials, campaign=DECLARED))
    several = advised()
    assert several.returncode == 2
    assert "has DC output of h2 and h1: name one with --host" in several.stderr
    found = json.loads(advised("--host", "h2", "--json").stdout)
    assert (found["supply"]["count"], found["supply"]["rating_w"]) == (2, 800)
    assert found["table"]["name"] == "80 PLUS Titanium (230 V, redundant)"
    undeclared = advised("--host", "h1")
    assert undeclared.returncode == 2
    assert "h1 declares no power supplies (hosts.h1.psus): give --rating-w" in undeclared.stderr


def test_what_went_into_the_supplies_is_taken_as_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trials = [
        replace(one, receiver=replace(one.receiver, power=(*one.receiver.power, watts("psu-in:PSU1", 290.0))))
        for one in powered(scaling_trials((16,), 2))
        if one.receiver is not None
    ]
    stored(tmp_path / "results", result(trials, campaign=DECLARED))
    measured = json.loads(advised("--json").stdout)["measured"]
    assert (measured["in_w"], measured["out_w"]) == (290.0, 249.0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--load-w", "100"), "--rating-w is missing"),
        (("--rating-w", "800", "--load-w", "100", "--host", "h2"), "give it with --from ID"),
        (("--rating-w", "800", "--from", "nosuch"), "nosuch"),
    ],
)
def test_what_is_missing_beside_a_stored_result_is_one_line(arguments: tuple[str, ...], why: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert why in done.stderr
