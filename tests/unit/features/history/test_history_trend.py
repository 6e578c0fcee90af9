# SPDX-License-Identifier: Apache-2.0
"""A history as a check: what stands worse, what changed around it, what is one course, and its page."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.compare_factories import UDP, made, numbered, runs, with_facts
from tests.report_factories import host, stored
from tests.unit.conftest import Run

from linewatt.model import Case, Flag, Trial

GOOD, WORSE = [1.0] * 5, [0.9] * 4


def keep(ratios: Sequence[float], changes: dict[int, dict[str, Any]] | None = None, **of_runs: Any) -> None:
    """A result a day, called r01 and so on; ``changes`` of a manifest hold from a day on."""
    given: dict[str, Any] = {}
    for day, ratio in enumerate(ratios, start=1):
        given |= (changes or {}).get(day, {})
        trials = runs(ratio=ratio, seed=day, **of_runs)
        stored(Path("results"), made("r", trials, day=day, **(given | {"id": f"r{day:02d}"})))


def test_a_step_of_5_percent_is_found_at_its_place_among_20_results_with_a_bad_night(run: Run) -> None:
    draw = random.Random(17)  # noqa: S311
    ratios = [draw.gauss(1, 0.01) * (1 if day < 13 else 0.952) for day in range(1, 21)]
    ratios[6] *= 0.6
    keep(ratios)
    (case,) = json.loads(run("history", "--json")[1])["cases"]
    (change,) = case["changes"]
    assert change["id"] == "r13"
    assert change["first_id"] <= "r13" <= change["last_id"] <= "r14"
    assert change["ratio_low"] < 0.952 < change["ratio_high"]
    assert [one["id"] for one in case["unlike"]] == ["r07"]


def test_40_steady_results_have_no_step(run: Run) -> None:
    draw = random.Random(18)  # noqa: S311
    keep([draw.gauss(1, 0.01) for _ in range(40)])
    code, out, _ = run("history", "--fail-on", "regression")
    assert code == 0
    assert "]: no change found over 40 results; a lasting one of " in out


def hosts_with(**sections: Any) -> dict[str, Any]:
    return {"hosts": {name: with_facts(name, **sections) for name in ("h1", "h2")}}


def last_line(out: str) -> str:
    return out.rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    ("ratios", "code", "said"),
    [
        (GOOD + WORSE, 3, "Regression: 1 of 1 course worse than before: TCP, h1 → h2, 1 instance, "),
        (WORSE + GOOD, 0, "No regression: 1 course followed, none worse than before."),
        ([*GOOD, *WORSE, *GOOD], 0, "No regression: 1 course followed, none worse than before."),
        ([1.0] * 9, 0, "No regression: 1 course followed, none worse than before."),
        ([*[1.0] * 8, 0.9], 4, "Not enough evidence: none is worse, but 1 of 1 course cannot be told yet: "),
        ([*[1.0] * 8, 1.1], 0, "No regression: 1 course followed, none worse than before."),
        ([1.0] * 5, 4, "Not enough evidence: none is worse, but 1 of 1 course cannot be told yet: "),
        ([1.0], 4, "Not enough evidence: nothing is in two results or more."),
        ([1 - 0.006 * day for day in range(18)], 3, "Regression: 1 of 1 course worse than before: "),
    ],
    ids=["worse", "better", "recovered", "steady", "one bad night", "one good night", "few", "one", "drift"],
)
def test_a_check_fails_only_where_a_course_stands_worse_than_before(
    run: Run, ratios: Sequence[float], code: int, said: str
) -> None:
    keep(ratios)
    found, out, err = run("history", "--fail-on", "regression")
    assert (found, err) == (code, "")
    assert last_line(out).startswith(said)
    assert run("history")[0] == 0
    document = json.loads(run("history", "--fail-on", "regression", "--json")[1])
    assert document["exit_code"] == code
    assert "exit_code" not in json.loads(run("history", "--json")[1])


def test_more_cpu_for_the_same_throughput_is_a_regression_of_efficiency_alone(run: Run) -> None:
    for day in range(1, 10):
        trials = runs(seed=day)
        if day > 5:
            trials = tuple(_busier(trial, 1.2) for trial in trials)
        stored(Path("results"), made("r", trials, day=day, id=f"r{day:02d}"))
    check = ("history", "--fail-on", "regression", "--metric")
    assert run(*check, "throughput")[0] == 0
    code, out, _ = run(*check, "efficiency")
    assert code == 3
    assert "less efficient by 16." in last_line(out)
    assert run(*check, "throughput,efficiency")[0] == 3
    document = json.loads(run("history", "--metric", "throughput", "--metric", "efficiency", "--json")[1])
    assert next(one["response"] for one in document["cases"]) == "throughput_bps"
    assert len(document["cases"]) > 1


def _busier(trial: Trial, times: float) -> Trial:
    receiver = trial.receiver
    assert receiver is not None
    assert receiver.cpu_cores is not None
    return replace(trial, receiver=replace(receiver, cpu_cores=receiver.cpu_cores * times))


def test_a_known_change_is_left_behind_with_since(run: Run) -> None:
    keep([*GOOD, *[0.9] * 7])
    assert run("history", "--fail-on", "regression")[0] == 3
    assert run("history", "--fail-on", "regression", "--since", "r06")[0] == 0
    code, _, err = run("history", "--since", "r99")
    assert code != 0
    assert "r99" in err


def test_what_changed_between_two_results_stands_at_the_second_and_says_no_reason(run: Run) -> None:
    keep([1.0] * 8, {4: hosts_with(kernel={"release": "6.12"}), 6: hosts_with(nic={"firmware": "22.41"})})
    _, out, _ = run("history")
    rows = {line.split()[0]: line for line in out.splitlines() if " UTC " in line}
    assert "△ kernel.release" in rows["r04"]
    assert [name for name, row in rows.items() if "△" in row] == ["r04", "r06"]
    assert "between r03 and r04: h1, h2: kernel.release 5.14.0-427 → 6.12" in out
    (case,) = json.loads(run("history", "--json")[1])["cases"]
    first, second = case["labels"]
    assert (first["after"], first["id"]) == ("r03", "r04")
    assert {one["fact"] for one in first["differences"]} == {"kernel.release"}
    assert {(one["fact"], one["base"], one["other"]) for one in second["differences"]} >= {
        ("nic.firmware", "22.39.1002", "22.41")
    }


def test_another_window_begins_another_course_and_another_kernel_does_not(run: Run) -> None:
    keep(
        [*[1.0] * 6, *[0.8] * 6],
        {4: hosts_with(kernel={"release": "6.12"}), 7: {"campaign": {"window_s": 30.0}}},
    )
    code, out, _ = run("history", "--fail-on", "regression")
    first, second = json.loads(run("history", "--json")[1])["cases"]
    assert [one["id"] for one in first["results"]] == [f"r{day:02d}" for day in range(1, 7)]
    assert second["apart"] == "window of 60 s in r06, 30 s in r07"
    assert code == 0
    assert "not one course with earlier results: window of 60 s in r06, 30 s in r07" in out


def test_results_of_two_campaigns_in_turn_are_two_courses(run: Run) -> None:
    short, long = {"campaign": {"window_s": 30.0}}, {"campaign": {"window_s": 60.0}}
    keep([1.0, 0.8] * 6, {day: long if day % 2 else short for day in range(1, 13)})
    cases = json.loads(run("history", "--json")[1])["cases"]
    assert [len(one["results"]) for one in cases] == [6, 6]
    assert all(one["changes"] == [] for one in cases)


def test_offloads_that_were_switched_are_a_label_and_a_step_is_found(run: Run) -> None:
    off = {"nic": {"offloads": {"generic-receive-offload": "off"}}}
    on = {"nic": {"offloads": {"generic-receive-offload": "on"}}}
    keep([*GOOD, *WORSE], {1: hosts_with(**on), 6: hosts_with(**off)})
    (case,) = json.loads(run("history", "--json")[1])["cases"]
    assert [one["id"] for one in case["changes"]] == ["r06"]
    assert {one["fact"] for one in case["labels"][0]["differences"]} == {
        "nic.offloads.generic-receive-offload"
    }


def test_findings_that_make_a_result_doubtful_stand_beside_it_and_beside_a_step(run: Run) -> None:
    stolen = Flag("cpu-stolen", "h2", "steal", "look")
    for day in range(1, 10):
        flags = (stolen,) if day > 5 else ()
        trials = runs(ratio=0.9 if day > 5 else 1.0, seed=day, flags=flags)
        stored(Path("results"), made("r", trials, day=day, id=f"r{day:02d}"))
    _, out, _ = run("history")
    (row,) = [line for line in out.splitlines() if line.startswith("r09 ")]
    assert "doubtful: cpu-stolen ×10" in row
    assert "r06: every result before or after it has cpu-stolen, so that it is doubtful" in out
    (case,) = json.loads(run("history", "--json")[1])["cases"]
    assert case["results"][-1]["doubts"] == [{"code": "cpu-stolen", "trials": 10}]
    assert case["changes"][0]["doubts"] == ["cpu-stolen"]


def test_of_many_results_a_terminal_shows_those_of_which_something_is_said(run: Run) -> None:
    keep([*[1.0] * 14, 0.4, *[1.0] * 15, *[0.9] * 12])
    _, out, _ = run("history")
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("r", "…"))]
    assert len(rows) < 20
    assert {"r01", "r15", "r31", "r42", "…"} <= set(rows)
    assert "12 results" in out
    assert len(json.loads(run("history", "--json")[1])["cases"][0]["results"]) == 42


def test_a_page_has_a_chart_of_each_course_with_what_is_marked(run: Run, tmp_path: Path) -> None:
    changes = {4: hosts_with(kernel={"release": "6.12"})}
    keep([1, 1, 1, 1, 0.4, 1, 1, 1, *[0.95] * 6], changes)
    page = tmp_path / "trend.html"
    code, _, err = run("history", "-o", str(page), "--fail-on", "regression")
    assert (code, err) == (3, "")
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "kernel.release" in text.split("<svg")[1]
    assert "−5." in text.split("<svg")[1]
    assert "Regression: 1 of 1 course worse than before" in text
    assert "between r03 and r04: h1, h2: kernel.release" in text
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_only_the_courses_of_lab_hosts_are_marked(run: Run, tmp_path: Path) -> None:
    for day in (1, 2):
        of_lab = runs(Case("tcp", "g1", "g2"), seed=day)
        guests = {name: host(name, lab="demo") for name in ("g1", "g2")}
        stored(Path("results"), made("real", runs(seed=day), day=day))
        stored(Path("results"), made("lab", of_lab, day=day, hosts=guests))
    page = tmp_path / "trend.html"
    assert run("history", "-o", str(page))[0] == 0
    titles = re.findall(r"<(?:h3|caption)>(.*?)</(?:h3|caption)>", page.read_text())
    marked = {title.partition(" <")[0] for title in titles if "badge lab" in title}
    assert len(titles) == 4
    assert marked
    assert all("g1 → g2" in title for title in marked)
    assert not any("badge lab" in title for title in titles if "h1 → h2" in title)
    assert "lab result" not in page.read_text()


def test_a_case_that_is_new_or_has_no_value_is_told_and_fails_no_check(run: Run) -> None:
    for day in range(1, 8):
        own = runs(seed=day)
        trials = own if day < 7 else numbered(own, runs(UDP, seed=day))
        stored(
            Path("results"),
            made("r", trials, day=day, id=f"r{day:02d}", hosts={n: host(n) for n in ("h1", "h2")}),
        )
    code, out, _ = run("history", "--fail-on", "regression")
    assert code == 0
    assert "In one result only, so that there is nothing to follow: 1 case" in out


def test_facts_that_change_with_every_result_are_told_of_the_newest_and_where_a_step_is(run: Run) -> None:
    changes = {day: hosts_with(kernel={"release": f"6.{day}"}) for day in range(1, 31)}
    keep([1.0 if day < 8 else 0.9 for day in range(1, 31)], changes)
    _, out, _ = run("history")
    rows = [line.split()[0] for line in out.splitlines() if "△" in line]
    assert rows == ["r08", *(f"r{day:02d}" for day in range(19, 31))]
    assert "16 earlier results before which something changed, too; --json has what" in out
    assert len(json.loads(run("history", "--json")[1])["cases"][0]["labels"]) == 29
