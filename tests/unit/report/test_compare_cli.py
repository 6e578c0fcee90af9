# SPDX-License-Identifier: Apache-2.0
"""``linewatt compare`` as a user meets it, on stored results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.compare_factories import TCP, UDP, compared, compared_levels, made, numbered, runs, with_facts
from tests.report_factories import HOSTILE, failed, powered, stored
from tests.unit.conftest import Run

from linewatt.analysis.comparison import known_properties
from linewatt.analysis.comparison.compare import FAIL_ON, exit_finding
from linewatt.analysis.comparison.rows import METRICS_OF_ROWS
from linewatt.cli.actions.compare import NOTHING
from linewatt.cli.commands import compare as command
from linewatt.errors import InvalidInput, StoreError
from linewatt.model import Flag
from linewatt.report.comparison import sides
from linewatt.report.comparison.factor import parse_factor
from linewatt.report.comparison.first_screen import first_screen_of_comparison
from linewatt.report.comparison.page import MOST_ROWS, rows_of
from linewatt.report.comparison.tables import tables
from linewatt.report.printing.screen import fitted
from linewatt.store import cache
from linewatt.store.read import Result

A = "20260101-000000-a"


def keep(*results: Result) -> None:
    for one in results:
        stored(Path("results"), one)


def test_a_slower_result_ends_with_3_and_a_table_that_says_so(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(ratio=0.95, seed=2), day=2))
    code, out, err = run("compare", "20260101", "20260102", "--full")
    assert (code, err) == (3, "")
    assert "h1 → h2, 1 instance" in out
    assert "slower by 5." in out or "slower by 4." in out
    assert "Throughput, TCP, Gbps: 1 slower" in out
    assert out.rstrip().endswith("Regression: 1 of 1 comparisons: slower.")
    assert all(line == line.rstrip() for line in out.splitlines())
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("ratio", "n", "style", "said"),
    [
        (0.95, 10, "bold red", "VERDICT  Regression: 1 of 1 comparisons: slower"),
        (1.0, 10, "bold green", "VERDICT  No regression: no case is slower"),
        (
            1.0,
            3,
            "bold yellow",
            "VERDICT  Not enough evidence: no verdict on slower in 1 of 1 comparisons: not enough trials; "
            "take 4 or more on each side",
        ),
    ],
)
def test_the_first_screen_has_the_verdict_in_its_colour(ratio: float, n: int, style: str, said: str) -> None:
    found = compared(made("a", runs(n=n)), made("b", runs(ratio=ratio, seed=2, n=n), day=2))
    lines = fitted(first_screen_of_comparison(found, exit_finding(found, ("slower",))), 120)
    assert (said, style) in lines


def test_of_a_single_case_the_first_screen_has_each_verdict_in_place_of_counts() -> None:
    found = compared(made("a", runs(n=4, cv=0.1)), made("b", runs(ratio=1.035, n=4, cv=0.1, seed=2), day=2))
    screen = first_screen_of_comparison(found, exit_finding(found, ("slower",)))
    first, *further = [entry[0].prose for entry in screen.blocks[0].entries]
    assert first == (
        "Throughput: +13.9 % (−5.6 to +37.4): interval too wide; about 40 trials on each side would tell "
        "± 5.0 %"
    )
    assert first in screen.sentence
    listed = [entry[0].prose for entry in screen.lists[0].entries]
    assert listed == further, "a page says the first verdict in its sentence, and not again below it"


def test_what_makes_figures_of_a_side_doubtful_is_on_the_first_screen() -> None:
    stolen = Flag("cpu-stolen", "h2", "0.3 cores", "stop it")
    note = Flag("foreign-load", "h2", "a job", "stop it")
    results = [
        made(name, [replace(one, flags=flags) for one in runs(n=4, seed=seed)], day=seed)
        for seed, (name, flags) in enumerate((("a", (stolen, note)), ("b", (stolen,))), start=1)
    ]
    screen = first_screen_of_comparison(compared(*results), exit_finding(compared(*results), ()))
    lines = [line for line, _ in fitted(screen, 120)]
    doubts = lines[lines.index("DOUBTFUL") + 1 :][:1]
    assert doubts == ["  throughput, CPU: CPU stolen in 4 trials of A and 4 trials of B"]
    assert not any("a job" in line or "Host not idle" in line for line in lines)


def test_without_a_check_the_first_screen_says_what_is_counted() -> None:
    networks = numbered(*(runs(replace(TCP, network=name), seed=at) for at, name in enumerate("abc")))
    several = compared_levels(made("two", networks), by="network")
    lines = [line for line, _ in fitted(first_screen_of_comparison(several, exit_finding(several, ())), 120)]
    assert lines[lines.index("VERDICTS  level against base, counted by quantity") + 1].startswith(
        "  Throughput, "
    )


def test_an_equal_result_ends_with_0_and_a_thin_one_with_4(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(seed=2), day=2), made("c", runs(n=3, seed=3), day=3))
    keep(made("d", runs(n=3, seed=4), day=4))
    assert run("compare", "20260101", "20260102")[0] == 0
    code, out, _ = run("compare", "20260103", "20260104", "--full")
    assert code == 4
    assert (
        "Not enough evidence: no verdict on slower in 1 of 1 comparisons: not enough trials; "
        "take 4 or more on each side." in out
    )
    assert run("compare", "20260103", "20260104", "--fail-on", "nothing")[0] == 0


def test_what_differs_is_listed_and_what_is_refused_is_said(run: Run) -> None:
    hosts = {"h1": with_facts("h1"), "h2": with_facts("h2", nic={"firmware": "22.41"})}
    base = made("a", numbered(runs(), runs(UDP)))
    keep(base, made("b", runs(seed=2), day=2, hosts=hosts, campaign={"omit_s": 1.0}))
    code, out, _ = run("compare", "20260101", "20260102", "--full")
    assert code == 4
    assert "h2: nic.firmware 22.39.1002 → 22.41" in out
    assert "campaign: campaign.omit_s 5 → 1" in out
    assert "warm-up left out of 5 s in A, 1 s in B: 3 comparisons" in out
    assert "only in A (no such case in B): UDP 1500, h1 → h2, 1 instance" in out


def test_flags_of_either_side_stand_beside_the_verdict(run: Run) -> None:
    flag = Flag("process-moved", "h2", "seen on CPU 5", "pin it")
    keep(made("a", runs()), made("b", runs(seed=2, flags=(flag,)), day=2))
    _, out, _ = run("compare", "20260101", "20260102", "--full")
    assert "B: Process moved ×10" in out


def test_simulated_watts_are_marked_at_every_number(run: Run) -> None:
    keep(
        made("a", powered(runs(), provenance="simulated")),
        made("b", powered(runs(seed=2), provenance="simulated"), day=2),
    )
    _, out, _ = run("compare", "20260101", "20260102", "--full", "--metric", "power")
    (row,) = [line for line in out.splitlines() if line.startswith("h1 → h2")]
    assert row.count(" sim") == 4
    assert "simulated, not measured" in out


def test_the_page_holds_everything_and_loads_nothing(run: Run) -> None:
    case = replace(TCP, network=HOSTILE)
    keep(
        made("a", powered(numbered(runs(case), runs()), provenance="simulated")),
        made("b", powered(runs(case, 0.95, seed=2), provenance="simulated"), day=2),
    )
    code, _, err = run("compare", "20260101", "20260102", "-o", "page.html")
    assert (code, err) == (3, "")
    page = Path("page.html").read_text()
    assert HOSTILE not in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg ") == 5, "a chart of changes for each metric, and every trial of the one case"
    assert page.count("slower by 4.") >= 2
    assert "Watts are simulated, not measured." in page
    assert "only in A (no such case in B)" in page
    assert run("compare", "20260101", "20260102", "-o", "none/page.html")[0] == 2


def test_of_very_many_cases_those_that_changed_most_are_drawn() -> None:
    cases = [replace(TCP, instances=count) for count in range(1, MOST_ROWS + 11)]
    base = numbered(*(runs(case, n=4, seed=at) for at, case in enumerate(cases)))
    other = numbered(
        *(runs(case, 0.9 if at == 50 else 1, n=4, seed=99 + at) for at, case in enumerate(cases))
    )
    (table, *_) = tables(compared(made("a", base), made("b", other, day=2)))
    rows = rows_of(table)
    assert len(rows) == MOST_ROWS
    assert any(row["change"] < -9 for row in rows)


def test_levels_of_one_result_are_compared_and_end_with_0(run: Run) -> None:
    slow = runs(replace(TCP, network="vxlan"), 0.7, seed=2)
    keep(made("a", numbered(runs(), slow)))
    code, out, _ = run("compare", "last", "--by", "network", "--full")
    assert code == 0
    assert "vxlan ÷ bare" in out
    assert "slower by 30." in out or "slower by 29." in out
    assert run("compare", "last", "--by", "network", "--base", "vxlan", "--fail-on", "slower")[0] == 0
    assert run("compare", "last", "--by", "network", "--fail-on", "slower")[0] == 3


def test_json_has_units_ratios_intervals_and_every_p(run: Run) -> None:
    keep(made("a", numbered(runs(), runs(UDP))), made("b", runs(ratio=0.95, seed=2), day=2))
    code, out, _ = run("compare", "20260101", "20260102", "--json")
    document = json.loads(out)
    assert (code, document["exit_code"], document["schema_version"]) == (3, 3, 1)
    row = document["comparisons"][0]
    assert row["response"] == "throughput_bps"
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"] < 1
    assert row["kind"] == "worse"
    assert 0 < row["p_shuffled"] < 0.05
    assert row["p_holm"] == row["p"] < 0.05
    assert (row["base_n"], row["other_n"]) == (10, 10)
    assert [one["side"] for one in document["left_over"]] == ["A"]


def test_csv_has_a_row_a_case_and_metric(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(seed=2), day=2))
    _, out, _ = run("compare", "20260101", "20260102", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["response"] for row in rows] == [
        "throughput_bps",
        "efficiency_receiver_bps_per_core",
        "efficiency_sender_bps_per_core",
    ]
    assert rows[0]["verdict"].startswith("no difference shown, within ± ")


def test_results_may_be_directories_anywhere(run: Run) -> None:
    one, two = made("a", runs()), made("b", runs(seed=2), day=2)
    paths = [stored(Path("elsewhere"), one), stored(Path("artifacts"), two)]
    assert run("compare", *map(str, paths))[0] == 0


def test_names_cannot_colour_or_break_the_table(run: Run) -> None:
    case = replace(TCP, network=f"{HOSTILE}\x1b[31m\n")
    keep(made("a", runs(case)), made("b", runs(case, seed=2), day=2))
    _, out, _ = run("compare", "20260101", "20260102", "--full")
    assert "\x1b" not in out
    assert len([line for line in out.splitlines() if line.startswith("h1 → h2")]) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["20260101"], "name a second result, or with --by"),
        (["20260101", "20260102", "20260101"], "compare takes two results, or one with --by; got 3"),
        (["20260101", "20260101"], "are the same result"),
        (["20260101", "20260102", "--by", "colour"], "--by colour: must be one of direction, family"),
        (["20260101", "--by", "colour"], f"zerocopy, host, kernel, sender, receiver in {A}"),
        (["20260101", "20260102", "--factor", "3 percent"], "--factor 3 percent: write a part such as 3%"),
        (["20260101", "20260102", "--factor", "200%"], "--factor 200%: write a part"),
        (["20260101", "20260102", "--fail-on", "worse"], "must be one of slower, less-efficient"),
        (["20260101", "20260102", "--fail-on", "nothing,slower"], "--fail-on nothing: goes alone"),
        (["20260101", "20260102", "--metric", "loss", "--fail-on", "slower"], "is not among --metric loss"),
        (["20260101", "20260102", "--allow", "all"], "must be one of window, offloads"),
        (["20260101", "20260102", "--base", "bare"], "of two, the first is the base"),
        (["20260101", "--by", "network"], "has nothing to compare, only bare"),
        (["20260101", "--by", "test", "--base", "udp"], f"--base udp: test is one of tcp, udp-1500 in {A}"),
        (["20260101", "20260102", "--json", "--csv"], "choose one"),
    ],
)
def test_wrong_use_is_one_line_and_2(run: Run, arguments: list[str], said: str) -> None:
    keep(made("a", numbered(runs(), runs(UDP))), made("b", runs(seed=2), day=2))
    code, out, err = run("compare", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("levels", "options", "said"),
    [
        (("bbr",), [], "no trial at bbr succeeded"),
        (("bbr",), ["--base", "bbr"], "no trial at bbr succeeded"),
        (("cubic",), [], "no trial at cubic succeeded"),
        (("cubic", "bbr"), [], "no trial at cubic, bbr succeeded"),
    ],
)
def test_a_level_without_any_trial_that_succeeded_is_not_compared(
    run: Run, levels: tuple[str, ...], options: list[str], said: str
) -> None:
    keep(experiment(levels, ("cubic", "bbr")))
    code, out, err = run("compare", "last", "--by", "congestion_control", *options)
    assert (code, out) == (2, "")
    assert f"--by congestion_control: {said} in {A}; 'linewatt show {A} --full' says why" in err


def test_of_three_levels_two_that_ran_are_compared_and_a_base_that_did_not_is_refused(run: Run) -> None:
    keep(experiment(("cubic",), ("cubic", "bbr", "reno")))
    code, _, err = run("compare", "last", "--by", "congestion_control")
    assert code == 2
    assert f"no trial at cubic, the base, succeeded in {A}; choose another --base (bbr, reno)" in err
    code, out, _ = run("compare", "last", "--by", "congestion_control", "--base", "reno", "--full")
    assert code == 0
    assert "10 of 10 trials failed in cubic" in out


def experiment(failed_levels: Collection[str], levels: Sequence[str]) -> Result:
    """A result with ten trials a level, of some of which each has failed."""
    trials = [
        failed(1, case, "refused") if level in failed_levels else one
        for level in levels
        for case in [replace(TCP, factors=(("congestion_control", level),))]
        for one in runs(case)
    ]
    return made("a", numbered(trials), campaign={"factors": {"congestion_control": list(levels)}})


def test_a_shell_completes_what_the_options_take() -> None:
    assert set(command.PROPERTIES) <= set(known_properties(()))
    assert list(command.METRICS) == list(METRICS_OF_ROWS)
    assert list(command.FAIL_ON) == [*FAIL_ON, "any", NOTHING]


def test_an_unknown_result_and_a_damaged_trial_are_one_line_each(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(seed=2), day=2))
    assert run("compare", "20260101", "2027")[0] == 2
    path = next(Path("results").glob("20260102*/trials/00003/trial.json"))
    path.write_text('{"number": 3')
    code, _, err = run("compare", "20260101", "20260102", "--full")
    assert code == 1
    assert str(path) in err
    assert "damaged" in err


@pytest.mark.parametrize(
    ("text", "ratio"), [("3%", 0.03), ("3 %", 0.03), ("0.03", 0.03), (".5%", 0.005), ("0", 0)]
)
def test_a_factor_is_a_percentage_or_a_part(text: str, ratio: float) -> None:
    assert parse_factor(text) == pytest.approx(ratio)


@pytest.mark.parametrize("text", ["", "-1%", "100%", "1", "nan", "1e-3"])
def test_what_is_no_part_is_no_factor(text: str) -> None:
    with pytest.raises(InvalidInput, match="write a part such as 3%"):
        parse_factor(text)


def test_everything_to_fail_on_is_a_metric() -> None:
    assert set(FAIL_ON.values()) == set(METRICS_OF_ROWS)


def test_what_is_kept_of_a_result_gives_the_same_comparison_with_no_trial_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flag = Flag("process-moved", "h2", "seen on CPU 5", "pin it")
    for day, ratio in ((1, 1.0), (2, 0.9)):
        trials = powered(numbered(runs(flags=(flag,), ratio=ratio, seed=day), runs(UDP, seed=day + 2)))
        stored(Path("results"), made("a", trials, day=day))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", -1.0)
    first = run("compare", "20260101", "20260102", "--json")
    history = run("history", "--json")
    monkeypatch.setattr(sides, "load_result", None)
    assert run("compare", "20260101", "20260102", "--json") == first
    assert run("history", "--json") == history
    assert json.loads(first[1])["comparisons"]


def test_a_result_without_trials_directory_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = stored(tmp_path, made("a", ()))
    (path / "trials").rmdir()
    with pytest.raises(StoreError, match="trials: No such file or directory"):
        sides.kept_side(path)
