# SPDX-License-Identifier: Apache-2.0
"""What a pipeline gets of a comparison: JUnit XML as its consumers read it, and Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from ruamel.yaml import YAML
from tests.compare_factories import TCP, UDP, compared, made, numbered, runs
from tests.report_factories import HOSTILE, stored
from tests.unit.conftest import Run

from linewatt.analysis.comparison.compare import exit_finding
from linewatt.report.comparison import junit
from linewatt.store.read import Result


def keep(*results: Result) -> None:
    for one in results:
        stored(Path("results"), one)


def cases(text: str) -> Iterator[TestCase]:
    """Tests as a consumer reads them; counts that it was told are those that it finds."""
    read = JUnitXml.fromstring(text.encode())
    (suite,) = read
    assert isinstance(suite, TestSuite)
    told = (suite.tests, suite.failures, suite.skipped, suite.errors)
    suite.update_statistics()  # type: ignore[no-untyped-call]
    assert told == (suite.tests, suite.failures, suite.skipped, suite.errors)
    assert (read.tests, read.failures) == told[:2]
    yield from suite


def of(text: str, kind: type) -> dict[str, str]:
    """Name → message of tests with a result of a kind."""
    return {
        f"{one.classname} {one.name}": each.message
        for one in cases(text)
        for each in one.result
        if isinstance(each, kind)
    }


def test_a_regression_fails_and_the_exit_code_is_that_of_any_format(run: Run) -> None:
    keep(
        made("a", numbered(runs(), runs(UDP))),
        made("b", numbered(runs(ratio=0.95, seed=2), runs(UDP, seed=3)), day=2),
    )
    code, out, err = run("compare", "20260101", "20260102", "--format", "junit")
    assert (code, err) == (3, "")
    failures = of(out, Failure)
    assert list(failures) == ["linewatt.Throughput, TCP h1 → h2, 1 instance"]
    assert all(re.match(r"slower by [45]\.\d %", said) for said in failures.values())
    assert of(out, Skipped) == {}
    assert run("compare", "20260101", "20260102")[0] == 3


def test_only_what_was_asked_about_fails(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(ratio=0.95, seed=2), day=2))
    code, out, _ = run("compare", "20260101", "20260102", "--format", "junit", "--fail-on", "nothing")
    assert (code, of(out, Failure)) == (0, {})
    assert "slower by" in out, "it is told all the same"


def test_too_few_runs_and_cases_without_a_partner_are_skipped_with_the_reason(run: Run) -> None:
    keep(made("a", numbered(runs(n=3), runs(UDP, n=3))), made("b", runs(n=3, seed=2), day=2))
    code, out, _ = run("compare", "20260101", "20260102", "--format", "junit")
    assert (code, of(out, Failure)) == (4, {})
    skipped = of(out, Skipped)
    assert skipped["linewatt.Throughput, TCP h1 → h2, 1 instance"].startswith("not enough trials")
    (unmatched,) = [said for name, said in skipped.items() if name.startswith("linewatt.Unmatched UDP 1500")]
    assert unmatched.startswith("only in A: ")


def test_where_nothing_is_compared_that_is_a_skipped_test() -> None:
    nothing = replace(compared(made("a", runs()), made("b", runs(), day=2)), rows=(), pairs=(), overall=())
    text = junit.render_junit(nothing, exit_finding(nothing, ("slower",)), ("slower",))
    assert list(of(text, Skipped).values()) == ["nothing could be compared for slower"]


def test_every_verdict_is_a_test_under_a_name_of_its_own() -> None:
    found = compared(made("a", numbered(runs(), runs(UDP))), made("b", numbered(runs(), runs(UDP)), day=2))
    names = [
        (one.classname, one.name) for one in cases(junit.render_junit(found, exit_finding(found, ()), ()))
    ]
    assert len(set(names)) == len(names) == len(found.rows) + len(found.overall)


@pytest.mark.parametrize("form", ["junit", "md"])
def test_names_of_hosts_break_no_document(form: str, run: Run) -> None:
    hostile = replace(TCP, sender=f"h\x01\ufffe{HOSTILE}")
    keep(made("a", runs(hostile)), made("b", runs(hostile, ratio=0.9, seed=2), day=2))
    code, out, _ = run("compare", "20260101", "20260102", "--format", form)
    assert code == 3
    assert "\x01" not in out
    assert "<script" not in out.replace("\\<", "")
    if form == "junit":
        assert len(of(out, Failure)) == 1


def test_a_summary_begins_with_the_verdict_and_full_has_every_table(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(ratio=0.95, seed=2), day=2))
    code, out, err = run("compare", "20260101", "20260102", "--format", "md")
    assert (code, err) == (3, "")
    assert out.startswith("## B against A\n")
    assert "**Regression: 1 of 1 comparisons: slower." in out
    assert "| Case |" not in out
    _, whole, _ = run("compare", "20260101", "20260102", "--format", "md", "--full")
    assert whole.startswith(out.partition("More:")[0].rstrip())
    assert "| Case |" in whole


def test_wrong_use_is_one_line(run: Run) -> None:
    keep(made("a", runs()), made("b", runs(), day=2))
    for words in (["--format", "xml"], ["--format", "md", "--json"], ["--format", "junit", "--profile"]):
        code, out, err = run("compare", "20260101", "20260102", *words)
        assert (code, out, err.count("\n")) == (2, "", 1), err


def test_the_pipelines_of_the_page_call_what_there_is(run: Run) -> None:
    page = (Path(__file__).parents[3] / "docs" / "ci.md").read_text()
    github, gitlab = (YAML(typ="safe").load(one) for one in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    steps = [line for one in github["jobs"]["measure"]["steps"] for line in one.get("run", "").splitlines()]
    called = [*steps, *gitlab["measure"]["script"], *gitlab["measure"]["after_script"]]
    called += re.findall(r"^linewatt .*", page, re.MULTILINE)
    assert len(called) == 12
    keep(made("a", runs(n=3)), made("b", runs(n=3, seed=2), day=2))
    assert run("baseline", "set", "main", "20260101")[0] == 0
    for line in called:
        words = shlex.split(re.split(r" \|\||>|#", line)[0])
        assert words[0] == "linewatt"
        code, _, err = run(*words[1:]) if words[1] != "run" else (4, "", "")
        assert code in (0, 4), err
