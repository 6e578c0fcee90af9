# SPDX-License-Identifier: Apache-2.0
"""Blocks of one end: of that end's own rate, cut as they are in print, marked where not measured."""

from __future__ import annotations

import io
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.groups import CASE
from tests.report_factories import end, failed, powered, result, scaling_trials, shares, trial, watts

from linewatt.analysis.cases.detail import NOT_NAMED, SHARED, DetailBlock, detail_blocks
from linewatt.analysis.cases.shares import CPU_SHARES, share_spread
from linewatt.model import Case, Role, Trial
from linewatt.report.table import Table
from linewatt.report.trials.detail import SHOWN_SHARES, detail_documents, detail_groups, layout
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.terminal import detail_blocks as printed
from linewatt.units import MISSING, format_cut

UDP = Case("udp-1500", "gen", "dut")


def udp(number: int = 1, **changes: object) -> Trial:
    """5.97 Gbps of 7.11 received, one CPU a role, as one pair of the published matrix."""
    made = trial(number, UDP, 5.97e9, 1.3, offered_bps=7.11e9)
    return replace(
        made,
        receiver=end("dut", "receiver", 1.3, 0, 0, app_cpu=shares(0.8092), irq_cpu=shares(0.4529, cpus=(1,))),
        sender=end("gen", "sender", 1.3, 0, 0, app_cpu=shares(0.9988), irq_cpu=shares(0.28, cpus=(1,))),
        **changes,  # type: ignore[arg-type]
    )


def block(role: Role, *trials: Trial) -> DetailBlock:
    (found,) = (one for one in detail_blocks(trials) if one.role == role)
    return found


def test_each_end_is_charged_for_its_own_rate() -> None:
    receiver, sender = detail_blocks([udp()])
    assert receiver.throughput_bps
    assert sender.throughput_bps
    assert (receiver.throughput_bps.mean, sender.throughput_bps.mean) == (5.97e9, 7.11e9)
    assert layout(receiver).costs[1].cell.text == "21.140"
    assert layout(sender).costs[1].cell.text == "17.985"


def test_the_trial_is_the_unit_of_every_mean() -> None:
    slow = replace(udp(2), throughput_bps=2e9)
    found = block("receiver", udp(), slow).cpu_cores_per_bps
    assert found is not None
    cores = 0.8092 + 0.4529
    assert found.mean == pytest.approx((cores / 5.97e9 + cores / 2e9) / 2)
    assert found.n == 2


def test_parts_add_up_to_the_whole_where_roles_have_cpus_of_their_own() -> None:
    found = block("receiver", udp())
    assert found.app_cores_per_bps
    assert found.irq_cores_per_bps
    assert found.cpu_cores_per_bps
    parts = found.app_cores_per_bps.mean + found.irq_cores_per_bps.mean
    assert parts == pytest.approx(found.cpu_cores_per_bps.mean)


def test_roles_on_the_same_cpus_are_not_split() -> None:
    both = end("dut", "receiver", 1.0, 0, 0, app_cpu=shares(0.8), irq_cpu=shares(0.8))
    found = block("receiver", replace(udp(), receiver=both))
    assert found.app_cores_per_bps is None
    assert found.reasons["app_cores_per_bps"] == SHARED
    assert found.cpu_used_cores is not None
    assert found.cpu_used_cores.mean == pytest.approx(0.8)


def texts_of_rows(table: Table) -> dict[str, list[str]]:
    """What stands at both ends, by the title of the row; of several cases those of the last."""
    return {row.keys[0].text: [cell.text for cell in row.cells] for row in table.rows}


def test_the_same_cpus_in_both_roles_have_one_line_and_one_group_of_rows() -> None:
    both = end("dut", "receiver", 1.0, 0, 0, app_cpu=shares(0.8), irq_cpu=shares(0.8))
    assert [title for title, _ in layout(block("receiver", replace(udp(), receiver=both))).shares] == [
        "App and IRQ CPU"
    ]
    sender = replace(both, host="gen", role="sender")
    (group,) = detail_groups(digest_of(result([replace(udp(), receiver=both, sender=sender)])))
    shares_of_both = [title for title in texts_of_rows(group.table) if " CPU: " in title]
    assert shares_of_both == [f"App and IRQ CPU: {name}, %" for name in SHOWN_SHARES]
    (mixed,) = detail_groups(digest_of(result([replace(udp(), receiver=both)])))
    rows = texts_of_rows(mixed.table)
    for name in SHOWN_SHARES:
        app, irq = rows[f"App CPU: {name}, %"], rows[f"IRQ CPU: {name}, %"]
        assert app[0] == irq[0]
        assert (app[1] == irq[1]) is (name not in {"usr", "sys", "idle"})


def test_a_table_has_the_two_ends_of_a_case_side_by_side_with_the_spread() -> None:
    busier = replace(udp(2), receiver=end("dut", "receiver", 1.3, 0, 0, app_cpu=shares(0.9)))
    (group,) = detail_groups(digest_of(result([udp(), busier])))
    table = group.table
    assert [head.title for head in table.heads] == ["Receiver", "Sender"]
    assert [part.label for part in table.groups] == ["gen → dut (2 trials)"]
    rows = texts_of_rows(table)
    assert [rows["Host"], rows["Role"]] == [["dut", "gen"], ["srv(rcv)", "clt(snd)"]]
    assert rows["Throughput, Gbit/s"] == ["5.970", "7.110"]
    assert rows["CPU/tput, % per Gbit/s"][1] == "17.985"
    (idle,) = [row for row in table.rows if row.keys[0].text == "App CPU: idle, %"]
    assert [(cell.text, cell.sd) for cell in idle.cells] == [("14.54", "6.42"), ("0.12", "0.00")]


def test_an_end_whose_figures_are_those_of_another_case_is_an_empty_column() -> None:
    group_case = CASE["many-to-one"]
    (group,) = detail_groups(digest_of(result([replace(udp(), case=group_case, sender=None)])))
    together, *pairs = group.table.groups
    assert together.rows[0].cells[0].text == group_case.receiver
    assert {row.cells[1].text for row in together.rows} == {""}
    assert [pair.rows[0].cells[1].text for pair in pairs] == ["g1", "g2", "g3"]
    assert {row.cells[0].text for pair in pairs for row in pair.rows} == {""}


def test_watts_above_idle_are_of_the_end_s_own_rate() -> None:
    power = (watts("system", 105.0, idle_w=83.0),)
    made = udp()
    assert made.sender is not None
    found = block("sender", replace(made, sender=replace(made.sender, power=power)))
    assert layout(found).costs[2].cell.text == "3.094"


def test_a_load_that_draws_no_more_than_idle_has_no_cost_and_says_why() -> None:
    power = (watts("system", 83.0, idle_w=83.0),)
    made = udp()
    assert made.receiver is not None
    found = block("receiver", replace(made, receiver=replace(made.receiver, power=power)))
    assert found.dynamic_w_per_bps is None
    assert found.reasons["dynamic_w_per_bps"] == "the load drew no more than idle"
    assert found.power_w is not None


def test_missing_is_a_dash_with_its_reason() -> None:
    bare = end("dut", "receiver", None, 0, 0, app_cpu=None, irq_cpu=None, reasons={"app_cpu": "mpstat ended"})
    found = block("receiver", replace(udp(), receiver=bare))
    shown = layout(found)
    assert {cell.text for _, cells in shown.shares for cell in cells} == {MISSING}
    assert shown.shares[0][1][0].reason == "dut: mpstat ended"
    assert shown.rates[1].text == MISSING
    assert found.reasons["power_w"] == NOT_NAMED
    assert found.reasons["cpu_cores_per_bps"] == "dut: mpstat ended"


def test_a_value_that_some_trials_lack_says_how_many_have_it() -> None:
    lacking = replace(udp(2), offered_bps=None)
    found = block("sender", udp(), lacking)
    assert found.reasons["throughput_bps"] == "in 1 of 2 trials: not recorded"
    assert layout(found).rates[0].cell.note == "n=1"


def test_a_case_of_failures_only_has_blocks_without_numbers() -> None:
    receiver, _ = detail_blocks([failed(1, UDP, "gone")])
    assert receiver.throughput_bps is None
    assert receiver.reasons["throughput_bps"] == "no trial of this case is done"


@pytest.mark.parametrize(
    ("direction", "roles"), [("forward", ["srv(rcv)", "clt(snd)"]), ("reverse", ["clt(rcv)", "srv(snd)"])]
)
def test_the_direction_says_who_is_the_server(direction: str, roles: list[str]) -> None:
    case = replace(UDP, direction=direction)  # type: ignore[arg-type]
    assert [layout(one).role for one in detail_blocks([replace(udp(), case=case)])] == roles


def test_udp_60_is_in_mbit_and_the_others_in_gbit() -> None:
    small = replace(udp(), case=replace(UDP, test="udp-60"), throughput_bps=169e6)
    assert [figure.unit for figure in layout(block("receiver", small)).costs] == [
        "%",
        "% per Mbit/s",
        "W per Mbit/s",
    ]
    assert layout(block("receiver", udp())).rates[0].text == "5.970 Gbit/s"


def test_simulated_watts_are_marked_in_blocks_of_every_view() -> None:
    trials = powered(scaling_trials((1,)), provenance="simulated")
    view = digest_of(result(trials))
    (group,) = detail_groups(view)
    receiver = group.cases[0].ends[0]
    assert [one.cell.mark for one in (*receiver.rates[1:], receiver.costs[2])] == ["sim"] * 3
    assert "simulated" in group.table.said("legend")[0]
    out = io.StringIO()
    Console(file=out, width=200).print(printed(group))
    assert "W/tput 1.23" in out.getvalue()
    assert "sim W per Gbit/s" in out.getvalue()
    assert detail_documents(detail_blocks(trials))[0]["power_provenance"] == "simulated"


def test_the_terminal_fits_a_common_width_and_has_the_spread() -> None:
    (group,) = detail_groups(digest_of(result([udp(), udp(2)])))
    out = io.StringIO()
    Console(file=out, width=300).print(printed(group))
    lines = out.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines if not line.startswith(MISSING)) <= 100
    assert sum("±" in line for line in lines) == 4
    assert any(line.startswith(f"{MISSING} power, idle power, W/tput: {NOT_NAMED}") for line in lines)


def test_spread_of_shares_is_between_trials() -> None:
    found = share_spread([shares(0.5), shares(0.7)])
    assert found is not None
    assert found.share("idle").mean == pytest.approx(0.4)
    assert found.share("idle").sd == pytest.approx(0.2 / 2**0.5)
    assert found.cpus == (0,)
    assert share_spread([]) is None
    one = share_spread([shares(0.5)])
    assert one is not None
    assert all(one.share(name).sd is None for name in CPU_SHARES)


def test_the_table_of_roles_has_standard_deviations_where_there_are_several_trials() -> None:
    trials = [udp(), replace(udp(2), receiver=end("dut", "receiver", 1.0, 0.75, 0.5))]
    (group,) = digest_of(result(trials)).groups
    table = role_table(group, detail_blocks(trials))
    assert table is not None
    idle = [head.title for head in table.heads].index("idle")
    assert (table.rows[0].cells[idle].text, table.rows[0].cells[idle].sd) == ("22.0", "4.2")
    alone = role_table(group)
    assert alone is not None
    assert alone.rows[0].cells[idle].sd is None


def test_json_has_si_with_spread_and_what_people_see() -> None:
    document = detail_documents(detail_blocks([udp(), udp(2)]))[0]
    assert document["throughput_bps_mean"] == 5.97e9
    assert document["throughput_bps_sd"] == 0
    assert document["app_cpu_idle_ratio_mean"] == pytest.approx(0.1908)
    assert document["shown"]["CPU used, %"] == "126.21"
    assert document["power_w_mean"] is None


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (7.3519, 3, "7.351"),
        (0.8999, 3, "0.899"),
        (0.1 + 0.2, 1, "0.3"),
        (100 * 0.07, 2, "7.00"),
        (1234.5, 0, "1,234"),
        (-0.0004, 3, "0.000"),
        (1e300, 0, f"{10**300:,}"),
        (float("nan"), 3, MISSING),
        (None, 3, MISSING),
    ],
)
def test_figures_are_cut_not_rounded(value: float | None, decimals: int, text: str) -> None:
    assert format_cut(value, decimals) == text


@given(st.integers(0, 10**9), st.integers(0, 3))
def test_a_figure_that_has_no_more_decimals_is_printed_as_it_is(whole: int, decimals: int) -> None:
    exact = Decimal(whole).scaleb(-decimals)
    assert Decimal(format_cut(float(exact), decimals).replace(",", "")) == exact


@given(st.floats(0, 1e9), st.integers(0, 3))
def test_a_cut_is_never_above_and_less_than_one_place_below(value: float, decimals: int) -> None:
    shown = Decimal(format_cut(value, decimals).replace(",", ""))
    exact = Decimal(f"{value:.12g}")
    assert 0 <= exact - shown < Decimal(1).scaleb(-decimals)
