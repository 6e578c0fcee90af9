# SPDX-License-Identifier: Apache-2.0
"""Two tables of published means: tested where they say over how many runs they are, else only set apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.conftest import Run

from linewatt.delimited import read_table
from linewatt.features.tables.means_comparison import NO_SD, MeansCompared, compare_means
from linewatt.features.tables.published import Means, means

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published" / "vxlan.csv"
ELN, RHEL = "6.9.0-0.rc4.37.eln136", "5.14.0-427.el9"
HEAD = "kernel,test,runs,cpu_pct,cpu_pct_sd"


def table(*rows: str, head: str = HEAD) -> Means:
    raw, _ = read_table("\n".join([head, *rows]).encode(), "t.csv")
    return means(raw, "t.csv")


def compared(a: str, b: str) -> MeansCompared:
    return compare_means(table(f"eln,tcp,{a}"), table(f"rhel,tcp,{b}"))


def test_the_interval_and_p_are_those_of_welch() -> None:
    from scipy.stats import (
        ttest_ind_from_stats,
    )  # here: its import takes a second, and workers import every file

    (one,) = compared("10,50,2", "8,53,1").changes
    want = ttest_ind_from_stats(53, 1, 8, 50, 2, 10, equal_var=False)
    assert one.p == pytest.approx(want.pvalue)
    assert one.low is not None
    assert one.high is not None
    assert (one.low + one.high) / 2 == pytest.approx(3)
    interval = want.confidence_interval() if hasattr(want, "confidence_interval") else None
    assert interval is None or one.low == pytest.approx(interval.low)
    assert one.kind == "higher"


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("10,50,2", "10,45,2", "lower"),
        ("10,50,2", "10,51,2", "same"),
        ("10,50,0.01", "10,50.1,0.01", "small"),
        ("10,50,0", "10,50,0", "same"),
        (",50,2", "10,45,2", "untested"),
        ("10,50,", "10,45,2", "untested"),
        ("10,50,0", "10,45,0", "untested"),
        ("1,50,2", "10,45,2", "untested"),
    ],
)
def test_a_difference_counts_beyond_chance_and_beyond_what_matters(a: str, b: str, kind: str) -> None:
    found = compared(a, b)
    assert [one.kind for one in found.changes] == [kind]
    assert found.tested == (kind != "untested")
    assert bool(found.changes[0].reason) == (kind == "untested")


def test_of_many_figures_one_alone_beyond_chance_is_none() -> None:
    head = "test,runs," + ",".join(f"f{n}_pct,f{n}_pct_sd" for n in range(20))
    same = ",".join(["50,2"] * 19)
    a, b = table(f"tcp,10,50,2,{same}", head=head), table(f"tcp,10,52,2,{same}", head=head)
    first, *others = compare_means(a, b).changes
    assert first.p is not None
    assert first.p < 0.05
    assert {one.kind for one in (first, *others)} == {"same"}


def test_what_differs_and_what_has_no_partner_is_named() -> None:
    a = table("eln,tcp,10,50,2", "eln,udp,10,50,2", "eln,tcp,10,60,2")
    b = table("rhel,tcp,10,50,2", "rhel,rr,10,50,2")
    found = compare_means(a, b)
    assert found.apart == {"kernel": ("eln", "rhel")}
    assert [one.a.value for one in found.changes] == [50]
    assert found.alone == ("A: tcp stands twice, its first row counts", "A: udp", "B: rr")


def of_kernel(kernel: str, runs: str) -> str:
    """The rows of one kernel of the shipped table, with other runs."""
    head, *rows = SHIPPED.read_text().splitlines()
    chosen = [row.replace(f"{kernel},10,", f"{kernel},{runs},") for row in rows if row.startswith(kernel)]
    return "\n".join([head, *chosen, ""])


def import_kernels(run: Run, runs: str) -> tuple[str, str]:
    """Import both kernels of the shipped table, a result each; their ids."""
    for name, kernel in (("eln", ELN), ("rhel", RHEL)):
        Path(f"{name}.csv").write_text(of_kernel(kernel, runs))
        assert run("import", f"{name}.csv")[0] == 0
    a, b = (next(Path("results").glob(f"*-{name}")).name for name in ("eln", "rhel"))
    return a, b


def test_the_kernels_of_the_shipped_table_without_its_runs_have_differences_and_no_verdict(run: Run) -> None:
    a, b = import_kernels(run, "")
    code, out, _ = run("compare", a, b)
    assert code == 4
    assert f"kernel: A {ELN}, B {RHEL}\n" in out
    assert "78 published means: 78 not tested." in out
    assert "not tested: how many runs is not in the table" in out
    assert "+9.90" in out
    document = json.loads(run("compare", a, b, "--json")[1])
    assert {one["kind"] for one in document["changes"]} == {"untested"}
    assert {one["p"] for one in document["changes"]} == {None}
    assert len(run("compare", a, b, "--csv")[1].splitlines()) == 79


def test_tables_that_state_their_runs_have_verdicts(run: Run) -> None:
    for name, value in (("one", "50,2"), ("other", "40,2")):
        Path(f"{name}.csv").write_text(f"{HEAD}\n{name},tcp,10,{value}\n")
        run("import", f"{name}.csv")
    a, b = (next(Path("results").glob(f"*-{name}")).name for name in ("one", "other"))
    code, out, _ = run("compare", a, b)
    assert code == 0
    assert "1 published mean: 1 B is lower." in out
    code, _, err = run("compare", a, b, "--fail-on", "any")
    assert (code, err.count("\n")) == (2, 1)
    assert "no options but --by, --base, --json and --csv" in err


@pytest.mark.parametrize(
    ("runs", "why"),
    [(("1", "10"), "a mean of one run has no spread"), (("", "10"), "how many runs is not in the table")],
)
def test_a_mean_of_one_run_has_a_reason_of_its_own(runs: tuple[str, str], why: str) -> None:
    (one,) = compared(*(f"{count},50,2" for count in runs)).changes
    assert why in one.reason


def test_the_kernels_of_one_table_are_compared_by_that_column(run: Run) -> None:
    assert run("import", str(SHIPPED))[0] == 0
    code, out, err = run("compare", "last", "--by", "kernel")
    assert (code, err) == (4, "")
    assert f"kernel: A {ELN}, B {RHEL}\n" in out
    document = json.loads(run("compare", "last", "--by", "kernel", "--json")[1])
    changes = {(one["test"], one["direction"], one["figure"]): one for one in document["changes"]}
    tested = changes["tcp", "receive", "app_sys"]
    assert (tested["a_mean"], tested["b_mean"], tested["kind"]) == (54.2, 64.1, "higher")
    used = changes["tcp", "receive", "cpu_used_pct"]
    assert (used["a_mean"], used["a_sd"]) == (pytest.approx(155.9), pytest.approx(0.5))
    assert (used["b_mean"], used["kind"]) == (pytest.approx(167.1), "higher")
    cost = changes["tcp", "receive", "cpu_pct_per_gbps"]
    assert cost["difference"] == pytest.approx(167.1 / 24 - 155.9 / 24)
    assert (cost["kind"], cost["reason"]) == ("untested", NO_SD)
    assert changes["udp-60", "receive", "cpu_pct_per_mbps"]["a_mean"] == pytest.approx(159 / 90)
    assert changes["udp-1500", "receive", "published_throughput Gbps"]["b_mean"] == 4
    swapped = json.loads(run("compare", "last", "--by", "kernel", "--base", RHEL, "--json")[1])
    assert swapped["differs"] == {"kernel": {"a": RHEL, "b": ELN}}


def test_the_two_kernels_of_one_table_differ_as_those_of_two_tables(run: Run) -> None:
    by_table = json.loads(run("compare", *import_kernels(run, "10"), "--json")[1])
    run("import", str(SHIPPED))
    by_column = json.loads(run("compare", "last", "--by", "kernel", "--json")[1])
    assert by_column["changes"] == by_table["changes"]
    assert by_column["answer"] == by_table["answer"]


def test_throughput_and_cost_are_tested_where_their_sd_can_be_told() -> None:
    head = "kernel,test,runs,throughput_gbps,throughput_gbps_sd,cpu_pct,cpu_pct_sd"
    a, b = (
        table(f"{row}", head=head) for row in ("eln,tcp,10,24,0.24,156,1.56", "el9,tcp,10,20,0.2,156,1.56")
    )
    by_figure = {one.figure: one for one in compare_means(a, b).changes}
    assert by_figure["throughput_gbps"].kind == "lower"
    cost = by_figure["cpu_pct_per_gbps"]
    assert (cost.kind, cost.is_bounded) == ("higher", True)
    assert cost.a.sd == pytest.approx(6.5 * 0.02)


def test_throughput_in_another_unit_is_another_figure() -> None:
    head = "test,runs,throughput,throughput_unit,throughput_sd"
    a, b = (table(row, head=head) for row in ("tcp,10,900,Mbps,9", "tcp,10,1.1,Gbps,0.01"))
    assert compare_means(a, b).changes == ()
    (change,) = compare_means(a, table("tcp,10,950,Mbps,9", head=head)).changes
    assert (change.figure, change.kind) == ("throughput Mbps", "higher")


def test_analyze_names_what_limits_each_published_row_with_its_spread(run: Run) -> None:
    run("import", str(SHIPPED))
    code, out, err = run("analyze", "last")
    assert (code, err) == (0, "")
    tcp = out.partition(f"{ELN}, tcp, receive\n")[2]
    assert tcp.startswith("    24.00 Gbps: Limited by the receiver's IRQ CPU\n    99.9 % busy, 99.9 % soft\n")
    assert "published: IRQ CPU soft 99.9 ± 0.1 %, mean ± SD over 10 runs" in tcp
    findings = json.loads(run("analyze", "last", "--json")[1])["findings"]
    kinds = {tuple(one["series"].split(", ")): one["kind"] for one in findings}
    assert len(findings) == len(kinds)
    expected = {
        ("tcp", "receive"): "receiver-irq-cpu",
        ("udp-1500", "receive"): "receiver-irq-cpu",
        ("udp-1500", "send"): "sender-app-cpu",
        ("udp-60", "receive"): "receiver-app-cpu",
        ("udp-60", "send"): "sender-app-cpu",
    }
    assert kinds == {(kernel, *row): kind for kernel in (ELN, RHEL) for row, kind in expected.items()}


def test_a_table_of_means_whose_rows_name_no_end_cannot_be_analyzed(run: Run) -> None:
    Path("t.csv").write_text(f"{HEAD}\neln,tcp,10,50,2\n")
    run("import", "t.csv")
    code, out, err = run("analyze", "last")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no row has a test, the end that it is about (direction: receive or send)" in err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--by", "nic"), "has no such column that tells rows apart; it has kernel, test, direction"),
        (("--by", "test"), "has 3 levels of it (tcp; udp-1500; udp-60); two are compared"),
        (("--by", "kernel", "--base", "6.6"), f"has kernel {ELN} and {RHEL}"),
        (("--by", "kernel", "--factor", "2%"), "no options but --by, --base, --json and --csv"),
    ],
)
def test_what_cannot_be_compared_in_one_table_is_said(run: Run, options: tuple[str, ...], why: str) -> None:
    run("import", str(SHIPPED))
    code, out, err = run("compare", "last", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err
