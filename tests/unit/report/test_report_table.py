# SPDX-License-Identifier: Apache-2.0
"""Columns, rows and notes of the scalability table, and what JSON and CSV have of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from tests.report_factories import (
    DISAGREE,
    PUBLISHED,
    SHARED,
    demo_trials,
    end,
    failed,
    renumbered,
    result,
    scaling_trials,
    trial,
)

from linewatt.analysis.findings import gather_findings
from linewatt.analysis.metrics.metric import CaseMetric
from linewatt.model import Case, Flag, Trial
from linewatt.report.columns import COLUMNS, MORE_COLUMNS, head
from linewatt.report.findings import NO_MARKS, finding_notes, marks_of
from linewatt.report.series import by_test, describe_cases, series_of
from linewatt.report.table import Table
from linewatt.report.trials.digest import (
    Digest,
    case_rows,
    csv_columns,
    digest_document,
    digest_of,
    trial_rows,
)
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.settings.scalability import scalability_table, with_folded_columns
from linewatt.units import number_ranges

TCP = Case("tcp", "h1", "h2")
COLUMN = {metric.name: metric for metric in COLUMNS}


def table(*trials: Trial) -> Table:
    view = digest_of(result(trials))
    return scalability_table(view.groups[0], view.marks)


def shown(made: Table) -> dict[str, list[str]]:
    """Column field → texts of its cells."""
    return {field: [row.cells[at].text for row in made.rows] for at, field in enumerate(fields(made))}


def fields(made: Table) -> list[str]:
    """The fields of its columns but the last, which counts trials."""
    by_key = {head(metric, metric.units[0]).key: metric.name for metric in COLUMNS}
    return [by_key[head.key] for head in made.heads[:-1]]


def test_what_follows_plus_minus_is_said_above_each_column_that_has_it() -> None:
    made = table(*scaling_trials((1, 2), 3))
    columns = {head.title: [row.cells[at] for row in made.rows] for at, head in enumerate(made.heads)}
    signs = {head.title: head.plus_minus for head in made.heads}
    assert signs == {
        title: "± SD" if any(cell.sd for cell in cells) else "" for title, cells in columns.items()
    }
    assert set(signs.values()) == {"± SD", ""}
    single = table(*scaling_trials((1, 2), 1))
    assert {head.plus_minus for head in single.heads} == {""}, "one trial has no spread"


def test_the_published_scaling_table_comes_out_as_printed() -> None:
    trials = [
        trial(1, replace(TCP, instances=n), mbps * 1e6, cpu / 100) for n, (mbps, cpu) in PUBLISHED.items()
    ]
    texts = shown(table(*renumbered(trials)))
    assert texts["throughput_bps"] == ["24.29", "45.15", "79.98", "94.24", "110.8"]
    assert texts["receiver_cpu_cores"] == ["168.7", "337.6", "673.3", "942.5", "1,344.5"]
    assert texts["efficiency_receiver_bps_per_core"] == ["14,400", "13,375", "11,879", "9,998", "8,243"]
    assert texts["efficiency_at_3ghz_bps_per_core"] == ["13,500", "12,539", "11,136", "9,374", "7,728"]
    assert texts["scaling_factor"] == ["1.00", "0.93", "0.82", "0.69", "0.57"]
    assert texts["throughput_scaling"][3] == "0.49"


def test_keys_name_their_unit_and_are_unique() -> None:
    row = case_rows(digest_of(result(scaling_trials((1,), 1))))[0]
    names = list(row)
    assert len(names) == len(set(names))
    for column in COLUMNS + MORE_COLUMNS:
        units = {"bps", "ratio", "s", "cores", "core", "trial", "cycle"}
        assert column.si_key.split("_")[-1] in units, column.si_key
    assert csv_columns() == names


def test_rates_below_one_gbps_are_in_mbps_and_so_is_what_depends_on_them() -> None:
    group = by_test(
        series_of(digest_of(result([trial(1, Case("udp-60", "h1", "h2"), 90e6, 1.59)])).summaries)
    )
    made = scalability_table(group[0], NO_MARKS)
    units = dict(zip(fields(made), (head.unit for head in made.heads), strict=False))
    assert units["throughput_bps"] == "Mbps"
    assert units["offered_bps"] == "Mbps"
    assert units["receiver_cpu_cores_per_bps"] == "% per Mbps"


def test_udp_columns_are_not_in_a_tcp_table_nor_the_other_way_round() -> None:
    tcp, udp = (shown(table(trial(1, case, 5e9, 1.0))) for case in (TCP, Case("udp-1500", "h1", "h2")))
    assert {"lost_ratio", "offered_bps", "packets_per_s"} <= set(udp) - set(tcp)
    assert "retransmits" in set(tcp) - set(udp)


def test_scaling_columns_are_left_out_where_nothing_scales() -> None:
    assert "scaling_factor" not in shown(table(*scaling_trials((1,))))
    assert "scaling_factor" in shown(table(*scaling_trials((1, 2))))


def test_one_trial_has_no_standard_deviation() -> None:
    made = table(*scaling_trials((1,), 1))
    assert made.rows[0].cells[0].sd is None


def test_standard_deviation_has_the_decimals_of_the_mean() -> None:
    cell = table(*scaling_trials((1,), 3)).rows[0].cells[0]
    assert cell.sd is not None
    assert len(cell.text.split(".")[1]) == len(cell.sd.split(".")[1])


def test_unknown_cpu_is_a_dash_with_its_reason_and_null_in_json() -> None:
    lost = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    trials = [replace(each, receiver=lost) for each in scaling_trials((1, 2))]
    made = table(*trials)
    assert "receiver_cpu_cores" not in shown(made), "a column without any value is left out of the view"
    assert any("mpstat ended early" in sentence for sentence in made.said("absence"))
    row = case_rows(digest_of(result(trials)))[0]
    assert row["receiver_cpu_cores_mean"] is None
    assert row["efficiency_receiver_bps_per_core_mean"] is None


def test_a_value_that_some_trials_lack_says_how_many_have_it() -> None:
    first, *rest = scaling_trials((1, 2), 3)
    lost = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    made = table(replace(first, receiver=lost), *rest)
    at = fields(made).index("receiver_cpu_cores")
    assert made.rows[0].cells[at].note == "n=2"
    assert made.rows[1].cells[at].note is None
    [absence] = [text for text in made.said("absence") if "CPU receiver (remote)" in text]
    assert ": 1 instance: " in absence
    assert "in 1 of 3 trials" in absence


def test_unknown_base_frequency_leaves_only_the_3_ghz_column_empty() -> None:
    unknown = end("h2", "receiver", 1.5, 0.5, 0.5, base_frequency_hz=None)
    texts = shown(table(replace(trial(1, TCP, 5e9, 1.5), receiver=unknown)))
    assert "efficiency_at_3ghz_bps_per_core" not in texts
    assert texts["efficiency_receiver_bps_per_core"] == ["3,333"]


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0, "0"), (0.125, "12.5"), (1e-5, "0.0010"), (1e-9, "<0.0001"), (1.0, "100")]
)
def test_a_small_loss_never_looks_like_none(ratio: float, text: str) -> None:
    each = replace(trial(1, Case("udp-1500", "h1", "h2"), 5e9, 1.0), lost_ratio=ratio)
    assert shown(table(each))["lost_ratio"] == [text]


def test_a_case_without_a_done_trial_has_dashes_and_no_numbers() -> None:
    trials = renumbered(scaling_trials((1,)), [failed(1, replace(TCP, instances=2), "h2: no route")])
    made = table(*trials)
    assert [cell.text for cell in made.rows[1].cells] == ["–"] * (len(made.heads) - 1) + ["0/1"]
    row = case_rows(digest_of(result(trials)))[1]
    measured = {key: value for key, value in row.items() if key.endswith(("_mean", "_sd", "_ratio"))}
    assert set(measured.values()) == {None}
    assert row["trials_done"] == 0


def test_json_has_schema_version_and_survives_strict_json() -> None:
    document = digest_document(digest_of(result(demo_trials())), trials=True)
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again["schema_version"] == 1
    assert len(again["trials"]) == 15
    case = again["cases"][2]
    assert case["instances"] == 4
    values = [each["throughput_bps"] for each in again["trials"] if each["case"]["instances"] == 4]
    assert math.isclose(case["throughput_bps_mean"], sum(values) / 3)


def test_trial_rows_have_the_columns_csv_promises() -> None:
    rows = trial_rows(result(renumbered(demo_trials(), [failed(1, TCP, "gone")])).trials)
    assert {tuple(row) for row in rows} == {tuple(csv_columns(trials=True))}
    assert rows[-1]["throughput_bps"] is None


def test_rows_carry_the_marks_of_their_flags() -> None:
    made = table(*demo_trials())
    assert [row.marks for row in made.rows] == [("a", "b"), (), ()]


def test_flags_are_gathered_by_code_with_all_evidence() -> None:
    first, second, third = scaling_trials((1,), 3)
    other = replace(DISAGREE, evidence="mpstat counts 0.30 cores, the load 0.99")
    findings = gather_findings(
        [
            replace(first, flags=(DISAGREE, SHARED)),
            replace(second, flags=(DISAGREE,)),
            replace(third, flags=(other,)),
        ]
    )
    notes = finding_notes(findings)
    assert [(note.mark, note.code, note.count, note.trials) for note in notes] == [
        ("a", "cpu-accounting-disagrees", 1, (1, 2, 3)),
        ("b", "hosts-share-cpus", 1, (1,)),
    ]
    assert [(seen.evidence, seen.trials) for seen in notes[0].sightings] == [
        (DISAGREE.evidence, (1, 2)),
        (other.evidence, (3,)),
    ]
    assert notes[0].title == "CPU accounting disagrees"
    assert notes[1].title == "Hosts share CPUs"


def test_a_finding_is_told_once_at_its_scope_however_often_it_was_seen() -> None:
    trials = scaling_trials((1, 2), 3)
    layout = Flag("app-irq-share-cpu", "h2", "CPU 0 has both", "use others")
    busy = [Flag("host-not-idle", f"h{n}", "1 core was busy", "look") for n in (1, 2)]
    findings = gather_findings([replace(one, flags=(layout, *busy, DISAGREE)) for one in trials])
    assert [(one.code, len(one.trials)) for one in findings.every] == [
        ("host-not-idle", 6),
        ("host-not-idle", 6),
        ("cpu-accounting-disagrees", 3),
        ("cpu-accounting-disagrees", 3),
        ("app-irq-share-cpu", 6),
    ], "the gravest first, and one a campaign, a host, a case"
    assert findings.counted() == "5 (4 doubtful, 1 note)"


def test_what_a_rate_was_unsteady_by_stands_before_that_it_was() -> None:
    """A load in a quota of CPU time drifted, too, and that came first."""
    codes = ("throughput-drifts", "throughput-dips", "cpu-quota-throttled")
    flags = tuple(Flag(code, "h1", "seen", "look") for code in codes)
    (trial,) = scaling_trials((1,), 1)
    found = [one.code for one in gather_findings([replace(trial, flags=flags)]).every]
    assert found.index("cpu-quota-throttled") < found.index("throughput-drifts")
    assert found.index("throughput-drifts") < found.index("throughput-dips"), "as they were seen"


def test_a_doubtful_figure_carries_the_letter_and_no_other_figure_does() -> None:
    made = table(*(replace(one, flags=(DISAGREE,)) for one in scaling_trials((1, 2), 2)))
    doubted = {
        field
        for row in made.rows
        for field, cell in zip(fields(made), row.cells, strict=False)
        if cell.doubts
    }
    assert doubted == {
        "receiver_cpu_cores",
        "efficiency_receiver_bps_per_core",
        "efficiency_at_3ghz_bps_per_core",
        "scaling_factor",
        "receiver_cpu_cores_per_bps",
    }, "DISAGREE is about the CPU of h2, the receiver"


def test_marks_go_on_after_z() -> None:
    [each] = scaling_trials((1,), 1)
    flags = tuple(replace(DISAGREE, code=f"code-{n}") for n in range(28))
    findings = gather_findings([replace(each, flags=flags)])
    notes = finding_notes(findings)
    assert [note.mark for note in notes][24:] == ["y", "z", "aa", "ab"]
    assert marks_of(findings, notes).of(["code-27", "code-3", "code-3"]) == ("d", "ab")


def test_number_ranges_are_short() -> None:
    assert number_ranges([7, 1, 2, 3, 9, 10]) == "1–3, 7, 9–10"


def test_series_say_only_what_distinguishes_them() -> None:
    def labels(*cases: Case) -> list[str]:
        trials = renumbered([trial(1, case, 1e9, 1.0) for case in cases])
        return [series.label for series in series_of(digest_of(result(trials)).summaries)]

    assert labels(TCP) == ["h1 → h2"]
    assert labels(replace(TCP, family="ipv6")) == ["h1 → h2, IPv6"]
    assert labels(TCP, replace(TCP, network="vxlan")) == ["h1 → h2, bare", "h1 → h2, vxlan"]
    assert labels(TCP, replace(TCP, rate_bps=1e9, streams=8, zerocopy=True, direction="reverse")) == [
        "h1 → h2, forward, 1 stream, full rate, no zero-copy",
        "h1 → h2, reverse, 8 streams, 1.00 Gbps per instance, zero-copy",
    ]


def test_cases_are_described_in_few_words() -> None:
    view = digest_of(result(demo_trials()))
    cases = [summary.case for summary in view.summaries]
    assert view.describe(*cases[:3]) == "TCP, h1 → h2: 1, 2, 4 instances"
    assert (
        describe_cases(cases[3:], view.labels) == "UDP 1500, h1 → h2: 1 instance; UDP 60, h1 → h2: 1 instance"
    )


def test_role_table_has_both_ends_and_a_dash_where_a_role_is_unknown() -> None:
    [each] = scaling_trials((1,), 1)
    unknown = end("h2", "receiver", 1.5, 0.5, 0.9, irq_cpu=None, reasons={"irq_cpu": "no IRQ CPUs named"})
    roles = role_table(digest_of(result([replace(each, receiver=unknown)])).groups[0])
    assert roles is not None
    receiver, sender = roles.rows
    assert [cell.text for cell in receiver.cells[:5]] == ["5.0", "45.0", "0.0", "0.0", "50.0"]
    assert {cell.text for cell in receiver.cells[5:]} == {"–"}
    assert "no IRQ CPUs named" in (receiver.cells[5].reason or "")
    assert roles.said("absence") == ("IRQ CPU, CPU per throughput: h2: no IRQ CPUs named",)
    assert (sender.keys[1].text, sender.cells[8].text) == ("sender h1", "53.0")


def test_roles_on_the_same_cpus_share_their_columns() -> None:
    [each] = scaling_trials((1,), 1)
    both = (end("h2", "receiver", 1.5, 0.5, 0.9), end("h1", "sender", 1.5, 0.5, 0.9))
    same = [replace(one, irq_cpu=one.app_cpu) for one in both]
    roles = role_table(digest_of(result([replace(each, receiver=same[0], sender=same[1])])).groups[0])
    assert roles is not None
    assert [head.group for head in roles.heads] == ["App and IRQ CPU"] * 5 + [""]
    assert [cell.text for cell in roles.rows[0].cells[:5]] == ["5.0", "45.0", "0.0", "0.0", "50.0"]
    assert roles.title.endswith("CPU by role, % of one CPU; app and IRQ CPUs are the same")
    apart = role_table(digest_of(result([replace(each, receiver=same[0])])).groups[0])
    assert apart is not None
    assert {head.group for head in apart.heads} == {"App CPU", "IRQ CPU", ""}
    assert apart.title.endswith("CPU by role, % of one CPU")


def test_columns_that_few_need_are_folded_on_a_page() -> None:
    whole = table(*demo_trials())
    often, seldom = with_folded_columns(whole)
    assert not often.folded
    assert seldom.folded == "More columns: Efficiency receiver at 3 GHz (rough)"
    assert [head.title for head in seldom.heads] == ["Efficiency receiver at 3 GHz (rough)"]
    titles = [head.title for head in (*often.heads, *seldom.heads)]
    assert sorted(titles) == sorted(head.title for head in whole.heads)
    assert "Throughput" in titles
    place = [head.title for head in whole.heads].index("Efficiency receiver at 3 GHz (rough)")
    assert [row.cells for row in seldom.rows] == [(row.cells[place],) for row in whole.rows]
    plain = with_folded_columns(often)
    assert plain == (often,)


def test_a_heading_says_that_plus_minus_is_the_standard_deviation() -> None:
    headings = {head.title: head.lines for head in table(*demo_trials()).heads}
    assert headings["Throughput"] == "Throughput\n± SD"
    single = {head.title: head.lines for head in table(*demo_trials(trials=1)).heads}
    assert "±" not in single["Throughput"]


def test_no_role_table_without_roles() -> None:
    trials = [replace(each, sender=None, receiver=None) for each in scaling_trials((1, 2))]
    assert role_table(digest_of(result(trials)).groups[0]) is None


def test_columns_name_both_ends_as_the_field_does() -> None:
    def title(column: CaseMetric) -> str:
        return column.title

    assert title(COLUMN["receiver_cpu_cores"]) == "CPU receiver (remote)"
    assert title(COLUMN["sender_cpu_cores"]) == "CPU sender (local)"
    assert "rough" in title(COLUMN["efficiency_at_3ghz_bps_per_core"])


def test_an_unfinished_result_counts_what_is_missing() -> None:
    view: Digest = digest_of(result(demo_trials(), planned=30))
    document = digest_document(view)
    assert document["complete"] is False
    assert (document["trials_done"], document["trials_planned"]) == (15, 30)


def regimes(made: Table) -> list[str]:
    return [note.sentence for note in made.notes if note.lead.startswith("Regime")]


def test_each_case_has_its_regime_also_without_a_meter() -> None:
    trials = [
        trial(1, replace(TCP, instances=n), mbps * 1e6, cpu / 100) for n, (mbps, cpu) in PUBLISHED.items()
    ]
    (said,) = regimes(table(*renumbered(trials)))
    assert said.startswith("Regime: single 1; multi 2 and 4; saturated 8 and 16 instances (twice the ")


def test_one_number_of_instances_has_no_regime() -> None:
    assert regimes(table(trial(1, TCP, 1e9, 1.0))) == []


def test_regimes_of_cases_without_a_throughput_are_not_known() -> None:
    without = [replace(trial(n, replace(TCP, instances=n), 1e9, 1.0), throughput_bps=None) for n in (1, 2)]
    (said,) = regimes(table(*without))
    assert said == "Regime: not known, as no throughput is"
