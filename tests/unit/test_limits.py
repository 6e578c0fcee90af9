# SPDX-License-Identifier: Apache-2.0
"""What limits a case: the published findings come out of the published figures."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import end, renumbered, result, shares, trial

from linewatt.analysis.imported import import_table
from linewatt.analysis.limits import limit
from linewatt.analysis.stats import Estimate
from linewatt.analysis.summary import CaseSummary, summarise
from linewatt.analysis.table import read_table
from linewatt.model import Case, CpuShares, Trial
from linewatt.report.document import as_json, case_rows, digest
from linewatt.report.limits import MOST_NAMED, limit_notes

GIVEN = ("usr", "sys", "irq", "soft", "idle")
PUBLISHED = Path(__file__).resolve().parents[1] / "captures" / "derive" / "published"


def vxlan_rows() -> dict[tuple[str, str], CaseSummary]:
    """The published rows, each with the one end that it has."""
    with (PUBLISHED / "vxlan_eln.csv").open(newline="") as file:
        return {(row["test"], row["direction"]): _summary(row) for row in csv.DictReader(file)}


def _summary(row: dict[str, str]) -> CaseSummary:
    role = {"receive": "receiver", "send": "sender"}[row["direction"]]
    rate = Estimate(
        float(row["published_throughput"]) * {"Gbps": 1e9, "Mbps": 1e6}[row["published_unit"]], 0.0, 10
    )
    case = Case(row["test"], "gen", "dut", network="vxlan")  # type: ignore[arg-type]
    known: dict[str, Any] = {f"{role}_{part}": _shares(row, part) for part in ("app", "irq")}
    known["throughput_bps" if role == "receiver" else "offered_bps"] = rate
    return CaseSummary(case, 10, 0, **known)


def _shares(row: dict[str, str], part: str) -> CpuShares:
    ratio = {f"{name}_ratio": float(row[f"{part}_{name}"]) / 100 for name in GIVEN}
    return CpuShares(cpus=(), unnumbered=1, other_ratio=0.0, **ratio)


@pytest.mark.parametrize(
    ("row", "kind", "says"),
    [
        (("tcp", "receive"), "receiver-irq-cpu", "the receiver's IRQ CPU (99.9 % busy, 99.9 % soft)"),
        (("udp-1500", "receive"), "receiver-irq-cpu", "the receiver's IRQ CPU (100.0 % busy, 99.9 % soft)"),
        (("udp-60", "receive"), "receiver-app-cpu", "the receiver's app CPU (100.0 % busy, 85.0 % sys)"),
        (("udp-1500", "send"), "sender-app-cpu", "the sender's app CPU (99.9 % busy, 95.7 % sys)"),
        (("udp-60", "send"), "sender-app-cpu", "the sender's app CPU (99.9 % busy, 93.4 % sys)"),
    ],
)
def test_the_published_limits_of_vxlan_are_found(row: tuple[str, str], kind: str, says: str) -> None:
    found = limit(vxlan_rows()[row])
    assert found.kinds == (kind,)
    assert found.words == says


def test_where_the_other_end_is_unknown_nothing_is_ruled_out() -> None:
    found = limit(vxlan_rows()["tcp", "send"])
    assert found.kinds == ("not-found",)
    assert found.what == "not found"
    assert "not known: the receiver's IRQ CPU, the receiver's app CPU" in found.evidence
    assert "no full CPU, the busiest is the sender's app CPU with 56.7 %" in found.evidence


def test_the_published_matrix_names_both_full_cpus_of_the_slow_receiver() -> None:
    table, _ = read_table((PUBLISHED / "arm_vs_intel.csv").read_bytes(), "t")
    summaries = summarise(import_table(table, "t", 0.0).trials)
    by_case = {(one.case.test, *one.case.hosts): limit(one) for one in summaries}
    assert by_case["tcp", "netdev19", "arm"].kinds == ("receiver-app-cpu", "receiver-irq-cpu")
    assert by_case["udp-1500", "netdev89", "arm"].kinds == ("sender-app-cpu",)
    assert by_case["tcp", "netdev89", "arm"].kinds == ("not-found",), "95.3 % is busy, not full"
    assert by_case["tcp", "netdev89", "netdev19"].kinds == ("not-found",)
    assert by_case["tcp", "netdev89", "netdev19"].what == "not found: no full core"


def loaded(test: str = "tcp", **busy: float) -> Trial:
    """A trial whose roles are busy to what is named, the others to a half."""
    level = {"sender_app": 0.5, "sender_irq": 0.5, "receiver_app": 0.5, "receiver_irq": 0.5} | busy
    case = Case(test, "a", "b")  # type: ignore[arg-type]
    ends = {
        role: end(
            host,
            role,  # type: ignore[arg-type]
            1.0,
            0,
            0,
            app_cpu=shares(level[f"{role}_app"]),
            irq_cpu=shares(level[f"{role}_irq"], cpus=(1,), soft=level[f"{role}_irq"]),
        )
        for role, host in (("sender", "a"), ("receiver", "b"))
    }
    return replace(trial(1, case, 10e9, 1.0), **ends)  # type: ignore[arg-type]


def summary(test: str = "tcp", **busy: float) -> CaseSummary:
    (found,) = summarise([loaded(test, **busy)])
    return found


def test_a_full_line_is_named_before_a_full_cpu() -> None:
    full = summary(receiver_irq=0.999)
    assert limit(full, 0.985).kinds == ("line-rate",)
    assert limit(full, 0.985).evidence == "98.5 % of the goodput that the link can carry"
    assert limit(full, 0.8).kinds == ("receiver-irq-cpu",)


def test_neither_line_rate_nor_a_full_core_is_said_only_when_both_are_known() -> None:
    assert limit(summary(), 0.5).what == "not found: neither line rate nor a full core"
    unknown = limit(summary())
    assert unknown.what == "not found: no full core"
    assert unknown.evidence.startswith("line rate not known; no full CPU")


def test_udp_that_is_lost_names_both_ends_and_how_much() -> None:
    lossy = summary("udp-1500", sender_app=0.999, receiver_irq=0.999)
    found = limit(lossy)
    assert found.kinds == ("sender-app-cpu", "receiver-irq-cpu")
    assert found.evidence.endswith("12.5 % of what was sent did not arrive")
    whole = replace(lossy, lost_ratio=Estimate(0.0, 0.0, 3))
    assert limit(whole).kinds == ("sender-app-cpu",)


def test_loss_that_no_full_cpu_of_the_receiver_explains_says_so() -> None:
    found = limit(summary("udp-1500", sender_app=0.999))
    assert found.kinds == ("sender-app-cpu",)
    assert found.evidence.endswith("did not arrive, though no CPU of the receiver is full")


def test_a_paced_load_is_limited_by_what_was_asked_for() -> None:
    paced = replace(summary(receiver_irq=0.999), case=Case("tcp", "a", "b", rate_bps=1e9))
    assert limit(paced).kinds == ("paced",)


def test_a_case_without_any_cpu_says_so_in_few_words() -> None:
    blind = replace(summary(), receiver_app=None, receiver_irq=None, sender_app=None, sender_irq=None)
    assert limit(blind).words == "not found (line rate not known; not known: the CPUs of both ends)"


def test_a_case_without_numbers_says_that_nothing_is_known() -> None:
    assert limit(CaseSummary(Case("tcp", "a", "b"), 0, 1)).words == "not known (no trial has a throughput)"


def test_cases_with_one_limit_share_a_line_that_stays_short() -> None:
    trials = []
    for at in range(MOST_NAMED + 3):
        one = loaded(receiver_irq=0.999)
        trials.append(replace(one, case=replace(one.case, sender=f"h{at}")))
    (group,) = digest(result(renumbered(trials))).groups
    (note,) = limit_notes(group)
    assert note.lead == "Limited by the receiver's IRQ CPU"
    assert note.sentence.count("99.9 % soft") == 1, "that of the first stands for all"
    assert note.sentence.count(" → b") == MOST_NAMED
    assert note.sentence.endswith("; and 3 more cases")


def test_limits_that_were_found_stand_before_those_that_were_not() -> None:
    idle = [replace(loaded(), case=Case("tcp", sender, "b")) for sender in ("x", "y")]
    (group,) = digest(result(renumbered(idle, [loaded(receiver_irq=0.999)]))).groups
    assert [note.lead for note in limit_notes(group)] == [
        "Limited by the receiver's IRQ CPU",
        "Limit not found: no full core",
    ]


def test_json_and_csv_say_what_limits_each_case() -> None:
    view = digest(result([loaded(receiver_irq=0.999)]))
    case = as_json(view)["cases"][0]
    assert case["limited_by"] == "the receiver's IRQ CPU (99.9 % busy, 99.9 % soft)"
    assert case["limited_by_kinds"] == "receiver-irq-cpu"
    assert case_rows(view)[0]["limited_by"] == case["limited_by"]
