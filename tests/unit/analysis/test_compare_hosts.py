# SPDX-License-Identifier: Apache-2.0
"""Two hosts of one result compared: which cases, what differs, what does not, and whether it is hardware."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.compare_factories import made, numbered, runs, side, with_facts
from tests.report_factories import host, stored
from tests.unit.conftest import Run

from linewatt.analysis.comparison.compare import Comparison, compare_sides
from linewatt.analysis.comparison.rows import Options
from linewatt.analysis.comparison.two_hosts import match_hosts
from linewatt.errors import InvalidInput
from linewatt.model import Case, Trial
from linewatt.store.read import Result

TO_H2, TO_H3 = Case("tcp", "h1", "h2"), Case("tcp", "h1", "h3")
NEW = {"h1": host("h1"), "h2": host("h2"), "h3": with_facts("h3", kernel={"release": "6.12.1"})}


def in_turn(*groups: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """Runs of cases one after the other, again and again."""
    mixed = [one for each in zip(*groups, strict=True) for one in each]
    return tuple(
        replace(one, number=at, started_s=1000.0 + 100 * at) for at, one in enumerate(mixed, start=1)
    )


def kernels(ratio: float = 0.95, **manifest: Any) -> Result:
    trials = in_turn(runs(TO_H2), runs(TO_H3, ratio, seed=2))
    return made("kernels", trials, **({"hosts": NEW} | manifest))


def compared(one: Result, *hosts: str, **options: Any) -> Comparison:
    own = side("A", one)
    base, other = hosts or ("h2", "h3")
    return compare_sides(own, own, match_hosts(own, (base, other)), Options(by="host", **options))


def said(found: Comparison) -> str:
    return "\n".join(found.words)


def test_the_second_host_is_compared_with_the_first_in_the_same_place() -> None:
    found = compared(kernels())
    assert found.levels == found.hosts == ("h2", "h3")
    assert {row.outcome for row in found.rows if row.response.group == "throughput"} == {"worse"}
    turned = compared(kernels(), "h3", "h2")
    assert {row.outcome for row in turned.rows if row.response.group == "throughput"} == {"better"}


def test_what_differs_between_the_two_is_expected_and_what_does_not_is_named() -> None:
    found = compared(kernels())
    assert [(one.fact, one.expected) for one in found.differences] == [("kernel.release", True)]
    assert "The same on both: " in said(found)
    assert "nic.driver mlx5_core" in said(found)
    assert "kernel.release" not in said(found)


def test_of_command_lines_only_the_words_that_differ_are_told(run: Run) -> None:
    lines = {"h2": "ro quiet mitigations=off", "h3": "ro quiet nohz_full=2-13 audit=0"}
    hosts = {"h1": host("h1")} | {
        name: with_facts(name, kernel={"command_line": line}) for name, line in lines.items()
    }
    stored(Path("results"), kernels(hosts=hosts))
    out = " ".join(run("compare", "last:h2", "last:h3")[1].split())
    assert "kernel.command_line mitigations=off → nohz_full=2-13 audit=0 (words that only one has)" in out
    assert "quiet" not in out


def test_a_fact_that_only_one_has_is_not_said_to_be_the_same() -> None:
    facts = {name: value for name, value in NEW["h3"]["facts"].items() if name != "nic"}
    found = compared(kernels(hosts=NEW | {"h3": host("h3", facts=facts)}))
    same, unknown = found.words[-2:]
    assert "nic.driver" not in same
    assert unknown.startswith("Not on record of both: ")
    assert "nic.driver" in unknown


def test_runs_over_the_same_time_are_said_to_be_and_others_are_not() -> None:
    assert "were taken over the same time" in said(compared(kernels()))
    apart = numbered(runs(TO_H2), runs(TO_H3, seed=2))
    apart = tuple(replace(one, started_s=1000.0 * one.number) for one in apart)
    found = compared(made("apart", apart, hosts=NEW))
    assert "were taken over the same time" not in said(found)
    assert {row.besides for row in found.rows} == {("the time (not interleaved)",)}


def test_another_generator_is_in_the_ratio_and_what_differs_on_it_is_not_expected() -> None:
    hosts = NEW | {"g": with_facts("g", kernel={"release": "5.4"})}
    trials = in_turn(runs(TO_H2), runs(Case("tcp", "g", "h3"), seed=2))
    found = compared(made("two", trials, hosts=hosts))
    assert "h2 ran with h1, h3 with g" in said(found)
    expected = {one.where: one.expected for one in found.differences if one.fact == "kernel.release"}
    assert expected == {"h2 / h3": True, "h1 / g": False}


def test_a_case_with_the_same_generator_is_preferred() -> None:
    other = Case("tcp", "g", "h3")
    hosts = NEW | {"g": host("g")}
    trials = in_turn(runs(TO_H2), runs(TO_H3, seed=2), runs(other, seed=3))
    found = compared(made("three", trials, hosts=hosts))
    assert {row.match.other for row in found.rows} == {TO_H3}
    assert [(one.case, one.why) for one in found.left_over] == [(other, "no such case of h2")]


def test_senders_are_compared_with_senders() -> None:
    back = replace(TO_H2, sender="h2", receiver="h1"), replace(TO_H3, sender="h3", receiver="h1")
    trials = in_turn(runs(TO_H2), runs(TO_H3, seed=2), runs(back[0], seed=3), runs(back[1], seed=4))
    found = compared(made("both", trials, hosts=NEW))
    assert {(row.match.base, row.match.other) for row in found.rows} == {(TO_H2, TO_H3), back}


def test_a_case_between_the_two_is_in_no_comparison() -> None:
    between = Case("tcp", "h2", "h3")
    trials = in_turn(runs(TO_H2), runs(TO_H3, seed=2), runs(between, seed=3))
    found = compared(made("between", trials, hosts=NEW))
    assert [(one.case, one.why) for one in found.left_over] == [(between, "both hosts take part in it")]


def test_a_host_without_trials_is_named_with_those_that_have_some() -> None:
    with pytest.raises(InvalidInput, match=r"no trial of a host h9; there are h1, h2, h3"):
        match_hosts(side("A", kernels()), ("h2", "h9"))


def test_two_hosts_on_the_command_line(run: Run) -> None:
    stored(Path("results"), kernels())
    code, out, err = run("compare", "last:h2", "last:h3")
    assert (code, err) == (0, "")
    assert "h3 against h2" in out
    assert "6.12.1 (with host)" in out
    assert "linewatt compare 20260101-000000-kernels:h2 20260101-000000-kernels:h3 --full" in out
    assert run("compare", "last:h2", "last:h3", "--fail-on", "slower")[0] == 3


def test_few_runs_have_no_verdict_between_hosts_either(run: Run) -> None:
    stored(Path("results"), made("few", in_turn(runs(TO_H2, n=2), runs(TO_H3, n=2)), hosts=NEW))
    code, out, _ = run("compare", "last:h2", "last:h3", "--fail-on", "slower")
    assert code == 4
    assert "not enough trials" in out


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["last:h2", "last:h2"], "names one host twice"),
        (["last:h2"], "two hosts of one result are ID:HOST ID:HOST"),
        (["last:h2", "last"], "two hosts of one result are ID:HOST ID:HOST"),
        (["last:", "last:h3"], "two hosts of one result are ID:HOST ID:HOST"),
        (["last:h2", "2026:h3"], "hosts are compared within one result"),
        (["last:h2", "last:h3", "--by", "network"], "so that --by and --base go without"),
        (["last:h2", "last:h4"], "no trial of a host h4"),
    ],
)
def test_wrong_use_is_one_line(run: Run, words: list[str], wrong: str) -> None:
    stored(Path("results"), kernels())
    code, out, err = run("compare", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert wrong in err


def test_guests_without_kvm_are_said_to_be_translated_in_every_form(run: Run) -> None:
    lab = {name: one | {"lab": "lab", "emulated": name != "h1"} for name, one in NEW.items()}
    stored(Path("results"), kernels(hosts=lab))
    words = ("compare", "last:h2", "last:h3")
    translated = "QEMU without KVM translated every instruction of h2, h3"
    for form in ((), ("--full",)):
        out = " ".join(run(*words, *form)[1].split())
        assert "Lab: h1, h2, h3 simulated on one machine; no measure of hardware" in out
        assert translated in out
    document = json.loads(run(*words, "--json")[1])
    assert document["hosts"] == ["h2", "h3"]
    assert document["caveats"][1].startswith(translated)
    run(*words, "-o", "page.html")
    assert translated in Path("page.html").read_text()


def test_real_hosts_are_no_lab(run: Run) -> None:
    stored(Path("results"), kernels())
    assert json.loads(run("compare", "last:h2", "last:h3", "--json")[1])["caveats"] == []
