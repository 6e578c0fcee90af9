# SPDX-License-Identifier: Apache-2.0
"""The first screen: how fast, limited by what, at what cost, and whether to trust it; and it is short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from tests.effect_factories import SWEEP, experiment_result, experiment_trials
from tests.report_factories import (
    DISAGREE,
    demo_trials,
    end,
    failed,
    host,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    trial,
    watts,
)

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.metrics.of_trial import METRIC_BY_NAME
from linewatt.delimited import read_table
from linewatt.features.tables.imported import REQUIRED, SHARE_COLUMNS, import_table
from linewatt.model import Case, Flag, TestName, Trial
from linewatt.report.printing.markdown import screen as markdown
from linewatt.report.printing.screen import Block, Line, Screen, fitted
from linewatt.report.trials.answer.answer import MOST_SERIES, Answer, answer
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.answer.limits import limit_words
from linewatt.report.trials.caveats import caveats
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.settings.failed_settings import failed_settings

TCP = Case("tcp", "h1", "h2")


def answer_of(*trials: Trial) -> Answer:
    found = answer(digest_of(result(trials)))
    assert found is not None
    return found


def said(block: Block) -> list[Line]:
    """Each entry at its longest."""
    return [entry[0] for entry in block.entries]


def words(block: Block) -> str:
    return "; ".join(" ".join((line.name, *line.figures, line.prose)) for line in said(block))


def printed(trials: Sequence[Trial], width: int) -> list[str]:
    screen = first_screen_of_trials(digest_of(result(trials)))
    assert screen is not None
    return [line for line, _ in fitted(screen, width)]


def test_a_series_is_told_by_its_case_with_the_most_throughput() -> None:
    found = answer_of(*scaling_trials((1, 2, 4)))
    [line] = said(found.result)
    assert line.figures[:3] == ("79.96 Gbps", "(79.21 to 80.71)", "4 instances")
    assert found.result.remark == "mean (95 % CI) of 3 trials"
    assert found.cost.heading == "COST OF TCP"
    assert said(found.cost)[0].figures[1] == "11,863 Mbps/core"
    limit = "limited by the receiver's IRQ CPUs (h2, 99.5 %), not by h1, whose busiest CPU is at 56 %"
    assert line.prose == limit
    assert found.sentence == f"TCP: 79.96 Gbps (95 % CI 79.21 to 80.71); {limit}."
    assert found.result.entries[0][1].prose == "limited by the receiver's IRQ CPUs (h2, 99.5 %)"


def test_a_test_with_a_comma_in_its_name_is_named_whole() -> None:
    trials = [
        replace(one, case=replace(one.case, test="udp-16028")) for one in renumbered(scaling_trials((1,)))
    ]
    assert answer_of(*trials).cost.heading == "COST OF UDP 15,986 B datagrams"


def test_loss_stands_beside_what_arrived() -> None:
    tcp, udp, small = said(answer_of(*demo_trials()).result)[:3]
    assert udp.figures[0] == "3.737 Gbps"
    assert [line.figures[-1] for line in (udp, small)] == ["12.5 % lost"] * 2
    assert "lost" not in " ".join(tcp.figures)


def test_one_trial_has_no_interval_and_says_why() -> None:
    found = answer_of(*scaling_trials((1,), 1))
    [line] = said(found.result)
    assert line.figures[1] == "(one trial: its spread is not known)"
    assert found.doubts.remark == "throughput, CPU: one trial each, spread not known"


def test_trials_are_counted_at_each_series_where_some_failed() -> None:
    lost = failed(9, Case("udp-60", "h1", "h2"), "h2: no iperf3")
    trials = renumbered(demo_trials(), [lost])
    found = answer_of(*trials)
    assert found.result.remark == "mean (95 % CI)"
    assert [line.figures[3] for line in said(found.result)[:3]] == ["3 trials", "3 trials", "3/4 trials"]


def test_what_a_core_is_names_the_hosts_where_it_is_not_the_same() -> None:
    threads = {"cpu": {"threads_per_core": 2}}
    kinds: list[str] = []
    for own, theirs in ((threads, threads), ({}, threads), (threads, {"cpu": {"threads_per_core": 1}})):
        hosts = {"h1": host("h1", facts=own), "h2": host("h2", facts=theirs)}
        found = answer(digest_of(result(demo_trials(), hosts=hosts)))
        assert found is not None
        kinds.append(found.cost.remark.partition("core: ")[2])
    assert kinds == [
        "hardware thread",
        "hardware thread (h2), kind not known (h1)",
        "physical core (h2), hardware thread (h1)",
    ]


def test_a_cost_that_is_not_known_says_why() -> None:
    read = end("h2", "receiver", None, 0.5, 0.5, reasons={"cpu_cores": "mpstat ended early"})
    lost = replace(read, app_cpu=None, irq_cpu=None)
    found = answer_of(*(replace(each, receiver=lost, sender=None) for each in scaling_trials((1,))))
    assert "mpstat ended early" in words(found.cost)


def test_of_an_imported_table_nothing_is_said_that_it_cannot_know() -> None:
    """It has what the app and IRQ CPUs did, and nothing of the whole host or of runs."""
    row = "tcp,arm,gen,{},{},26.8,Gbits/sec,0.80,98.02,0.00,0.00,1.18,0.00,0.02,0.00,98.16,1.81\n"
    head = ",".join((*REQUIRED, *SHARE_COLUMNS)) + "\n"
    text = head + row.format("arm", "receiver") + row.format("gen", "sender")
    table, _ = read_table(text.encode(), "t.csv")
    found = answer(digest_of(result(import_table(table, "t.csv", 1e9).trials, imported_from="t.csv")))
    assert found is not None
    assert said(found.cost)[0].figures[0] == "7.35 % per Gbps on app and IRQ CPUs"
    assert "CPU, Per core: not in the imported table" in words(found.cost)
    assert said(found.result)[0].figures[1] == "(CI not known)"
    assert found.result.remark == "as t.csv has it"
    assert found.doubts.remark == "throughput: as t.csv has it"


def test_a_series_without_any_number_is_named_with_its_reason() -> None:
    trials = renumbered(scaling_trials((1,)), [failed(1, replace(TCP, test="udp-60"), "h2: no iperf3")])
    found = answer_of(*trials)
    reason = "UDP 60, h1 → h2: no number: trial 4: h2: no iperf3"
    assert said(block(screen_of(trials), "Result"))[-1].prose == reason
    assert [note.sentence for note in found.series.notes] == [reason]
    assert answer(digest_of(result([failed(1, TCP, "h2: no iperf3")]))) is None


def test_what_is_doubtful_is_said_with_evidence_and_remedy() -> None:
    grave = replace(DISAGREE, code="cpu-accounting-disagrees")
    found = answer_of(*(replace(each, flags=(grave,)) for each in scaling_trials((1,))))
    assert "CPU: doubtful (a)" in found.doubts.remark
    assert "throughput: no doubt found" in found.doubts.remark
    [full, short, _] = next(entry for entry in found.doubts.entries if entry[0].name == "(a)")
    assert DISAGREE.evidence in full.prose
    assert DISAGREE.advice in full.prose
    assert DISAGREE.evidence not in short.prose
    assert DISAGREE.advice in short.prose
    assert "(a)" in said(found.cost)[0].figures[0]


def test_a_check_that_was_not_possible_stands_beside_the_verdicts() -> None:
    evidence = "app CPU 0 98 % busy; the load is rate-limited"
    untested = Flag("limiting-cpu-not-tested", "h2", evidence, "measure without a rate")
    trials = [replace(trial, flags=(untested,)) for trial in scaling_trials((1,))]
    doubts = answer_of(*trials).doubts
    assert doubts.remark == ("throughput, CPU: no doubt found · not tested: other processes on a full CPU")
    assert "Not tested" not in words(doubts)
    [note] = digest_of(result(trials)).notes
    assert (note.title, note.sightings[0].evidence) == (
        "Not tested: other processes on a full CPU",
        evidence,
    )


def test_watts_are_marked_where_they_were_not_measured() -> None:
    found = answer_of(*powered(scaling_trials(), provenance="simulated"))
    receiver = said(found.cost)[0]
    assert [figure for figure in receiver.figures if " sim" in figure] == list(receiver.figures[2:])
    assert len(receiver.figures) >= 4
    assert "watts, watts above idle: simulated" in found.doubts.remark
    measured = answer_of(*powered(scaling_trials()))
    assert " sim" not in words(measured.cost)
    assert measured.doubts.remark == "throughput, CPU, watts, watts above idle: no doubt found"


def test_of_many_series_the_fastest_are_shown_and_the_rest_is_counted() -> None:
    hosts = [f"h{number}" for number in range(2, 2 + MOST_SERIES + 3)]
    trials = renumbered(*(scaling_trials((1,), receiver=host) for host in hosts))
    found = answer_of(*trials)
    assert len(found.series.rows) == MOST_SERIES
    assert sum(bool(line.figures) for line in said(found.result)) == MOST_SERIES
    assert found.result.left == 3
    assert found.series.notes[0].text.startswith("3 more series have less: ")


def test_a_limit_that_many_series_share_is_said_once() -> None:
    hosts = [f"h{number}" for number in range(2, 7)]
    slow = [
        replace(one, sender=end("h1", "sender", 1.0, 1.0, 0.2))
        for one in scaling_trials((1,), test="udp-1500")
    ]
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts[:2]), slow)
    shared = [replace(one, receiver=trials[0].receiver) for one in trials[:6]]
    spare = end("h2", "receiver", 1.0, 0.2, 0.2)
    lines = said(answer_of(*shared, *(replace(one, receiver=spare) for one in trials[6:])).result)
    assert sum("limited by the receiver's IRQ CPUs" in line.prose for line in lines) == 1
    assert any(line.prose.startswith("TCP, h1 → h2; TCP, h1 → h3: limited by") for line in lines)
    trials = renumbered(*(scaling_trials((4,), receiver=host) for host in hosts))
    every = said(answer_of(*(replace(one, receiver=trials[0].receiver) for one in trials)).result)
    assert every[-1].prose.startswith("each of the 5: limited by")
    assert [line.prose for line in every[:-1]] == [""] * 5


def test_what_is_withheld_is_not_called_doubtful_and_is_of_the_case_whose_cost_is_shown() -> None:
    drift = Flag("idle-drifted", "h2", "180 W before, 210 W after", "measure idle again")
    trials = powered(demo_trials(), idle_w=None)
    trust = answer_of(*(replace(one, flags=(drift,)) for one in trials)).doubts.remark
    assert trust == "throughput, CPU, watts: no doubt found · watts above idle: withheld (a)"
    some = [replace(one, flags=(drift,)) for one in powered(demo_trials())]
    assert "watts above idle: withheld in part (a)" in answer_of(*some).doubts.remark
    slow = [replace(one, flags=(drift,) if one.case.test == "udp-60" else ()) for one in trials]
    assert "withheld" not in answer_of(*slow).doubts.remark


def test_networks_are_followed_by_the_command_that_compares_them() -> None:
    both = renumbered(scaling_trials((1,)), scaling_trials((1,), network="vxlan"))
    hint = "linewatt compare 20260101-000000-x64-scaling --by network"
    assert hint in " ".join(printed(both, 120))
    assert hint not in " ".join(printed(scaling_trials((1,)), 120))


def test_a_toll_is_not_told_of_runs_that_are_too_few() -> None:
    both = renumbered(scaling_trials((1,), 2), scaling_trials((1,), 2, network="vxlan"))
    [line] = [line for line in printed(both, 500) if "vxlan: throughput" in line]
    assert "not enough trials" in line
    assert "%" not in line.partition("not enough trials")[0]


def test_a_line_that_is_full_is_not_called_a_limit_of_a_host() -> None:
    spare = end("h2", "receiver", 1.0, 0.5, 0.6)
    full = [replace(one, receiver=spare, line_goodput_bps=24.3e9) for one in scaling_trials((1,))]
    assert said(answer_of(*full).result)[0].prose.endswith(
        ", not by a host: the busiest CPU, of h2, is at 60 %"
    )


def test_a_ceiling_that_only_the_series_shows_is_said_with_its_evidence() -> None:
    """A limit inside the device or the path is no candidate of any trial."""
    [summary] = summarise(scaling_trials((1,)))
    hidden = Limit(
        ("device-or-path",), "a limit inside the device or the path", ("near 110 Gbps", "no CPU is full")
    )
    sentence = limit_words(replace(summary, limit=hidden))
    assert sentence == "limited by a limit inside the device or the path (near 110 Gbps)"


RISES = Flag("warm-up-in-window", "h1", "rate rises through the window", "lengthen omit")
BAD_CPU = Flag("cpu-accounting-disagrees", "h2", "/proc/stat and mpstat differ", "see both")
NO_WATTS = Flag("power-missing", "h2", "no answer within 5 s", "look at the BMC")


def screen_of(trials: Sequence[Trial], **manifest: Any) -> Screen:
    made = first_screen_of_trials(digest_of(result(trials, **manifest)))
    assert made is not None
    return made


def block(screen: Screen, title: str) -> Block:
    return next(one for one in screen.blocks if one.title == title)


def matrix_trials(*doubtful: tuple[str, str], test: TestName = "tcp", count: int = 3) -> list[Trial]:
    pairs = enumerate(permutations(("h1", "h2", "h3"), 2))
    return [
        trial(
            1,
            Case(test, *pair),
            80e9 * (1 - 0.05 * at) * (1 + 0.004 * number),
            3.2,
            repetition=number + 1,
            flags=(RISES,) if pair in doubtful else (),
        )
        for at, pair in pairs
        for number in range(count)
    ]


def test_trust_is_in_the_pairs_that_a_matrix_shows_not_in_the_fastest_alone() -> None:
    screen = screen_of(renumbered(matrix_trials(("h3", "h2"))))
    assert "throughput: doubtful (a) for TCP, h3 → h2" in screen.trust
    assert "CPU: no doubt found" in screen.trust
    [worst] = [line for line in said(block(screen, "Pairs of hosts")) if line.name == "TCP, worst"]
    assert worst.figures[1].endswith("Gbps (a)")
    [row] = [line for line in said(block(screen, "")) if line.name == "h3"]
    assert row.figures[1].endswith(" (a)")
    assert sum("(a)" in figure for line in said(block(screen, "")) for figure in line.figures) == 1
    assert said(block(screen, "Can I trust it"))[0].name == "(a)"


def test_both_directions_of_a_tunnel_are_told_apart() -> None:
    there, back = (
        [
            replace(one, case=replace(one.case, sender=sender, receiver=receiver))
            for network in ("bare", "vxlan")
            for one in scaling_trials((1,), 5, network=network)
        ]
        for sender, receiver in (("h1", "h2"), ("h2", "h1"))
    )
    screen = screen_of(renumbered(there, back))
    ways = ("TCP, h1 → h2", "TCP, h2 → h1")
    results = [line.name for line in said(block(screen, "Result")) if line.name]
    assert results == [f"{network}, {way}, 1 instance" for way in ways for network in ("bare", "vxlan")]
    toll = [line.name for line in said(block(screen, "Toll"))]
    assert len(toll) == len(set(toll))
    assert {f"vxlan, {way}: throughput" for way in ways} <= set(toll)


def test_trust_is_in_both_networks_whose_toll_is_told() -> None:
    slow = [
        replace(one, throughput_bps=(one.throughput_bps or 0) / 2, flags=(RISES,))
        for one in scaling_trials((1, 2), 5, network="vxlan")
    ]
    screen = screen_of(renumbered(scaling_trials((1, 2), 5), slow))
    assert "throughput: doubtful (a) for vxlan, 2 instances" in screen.trust
    toll = {line.name: line.figures for line in said(block(screen, "Toll"))}
    assert toll["vxlan: throughput"][0].endswith(" % (a)")
    assert "(a)" not in toll["vxlan: Mbps/core of receiver"][0]
    assert screen.sentence.startswith("vxlan: throughput against bare: slower by ")
    assert screen.sentence.endswith(" (a).")


def test_trust_is_in_every_point_of_a_curve_and_each_has_its_letters() -> None:
    trials = [
        replace(one, flags=(BAD_CPU,)) if one.case.load_level == 0.5 else one
        for one in level_trials(TCP, trials=3)
    ]
    screen = screen_of(trials)
    assert "CPU: doubtful (a) at the receiver" in screen.trust
    points = {line.name: line.figures for line in said(block(screen, "Curve of"))}
    assert points["50 %"][1] == "1.00 cores (a)"
    assert points["100 %"][1] == "1.00 cores"


def sweep(trials: Sequence[Trial]) -> Screen:
    factors = {name: list(levels) for name, levels in SWEEP.items()}
    return screen_of(trials, campaign={"factors": factors, "design": "one-at-a-time"})


def test_a_level_of_which_all_trials_failed_is_not_said_to_have_too_few() -> None:
    trials = [
        failed(one.number, one.case, "the path carries 1500")
        if dict(one.case.factors)["mtu"] == "9000"
        else one
        for one in experiment_trials(factors={"mtu": ("1500", "9000")}, trials=5)
    ]
    screen = screen_of(trials, campaign={"factors": {"mtu": ["1500", "9000"]}, "design": "one-at-a-time"})
    assert "to compare settings with the base (mtu=9000: no trial has a value);" in screen.sentence


def test_an_effect_has_the_letters_of_the_settings_it_is_of() -> None:
    trials = [
        replace(one, flags=(RISES,)) if dict(one.case.factors)["gro"] == "off" else one
        for one in experiment_trials(trials=5)
    ]
    screen = sweep(trials)
    effects = {line.name: line.figures[0] for line in said(block(screen, "Effects on"))}
    assert effects["gro on → off"].endswith(" % (a)")
    assert "throughput: doubtful (a)" in screen.trust


def test_only_an_interval_is_called_one_in_a_sentence() -> None:
    doubtful = [replace(one, flags=(RISES,)) for one in experiment_trials(trials=5)]
    assert " Gbps (a) (95 % CI 21.09 to 21.31) at mtu=9000" in sweep(doubtful).sentence
    assert "(one trial: its spread is not known)" in sweep(experiment_trials(trials=1)).sentence
    assert "95 % CI" not in screen_of(renumbered(matrix_trials(count=1))).sentence
    told = screen_of(renumbered(matrix_trials()), imported_from="t.csv")
    assert block(told, "Pairs of hosts").remark == "as t.csv has it"


def test_each_end_is_judged_by_what_is_shown_of_it() -> None:
    lost = (watts("psu-out:PSU1", None),)
    trials = [
        replace(one, receiver=replace(one.receiver, power=lost), flags=(NO_WATTS,))
        for one in powered(scaling_trials((1,)), ends=("sender",))
        if one.receiver
    ]
    trust = answer_of(*trials).doubts.remark
    assert "watts, watts above idle: withheld (a) at the receiver; no doubt found at the sender" in trust
    guess = Flag("rapl-as-system", "h2", "RAPL stands for the system", "read a meter")
    both = powered(scaling_trials((1,)), provenance="simulated", ends=("receiver", "sender"))
    trust = answer_of(*(replace(one, flags=(guess,)) for one in both)).doubts.remark
    assert "above idle: simulated, doubtful (a) at the receiver; simulated at the sender" in trust


def test_a_network_without_any_number_is_named_with_its_reason() -> None:
    gone = failed(1, replace(TCP, network="vxlan"), "no way to h2")
    screen = screen_of(renumbered(scaling_trials((1, 2)), [gone]))
    [line, why] = said(block(screen, "Result"))
    assert line.figures[0].endswith(" Gbps")
    assert why.prose.endswith("no number: trial 7: no way to h2")
    assert (
        block(screen, "Toll").remark == "no toll against bare: no case of it has a number in another network"
    )
    assert "Gbps" in screen.sentence
    base = screen_of(renumbered([failed(1, TCP, "no way to h2")], scaling_trials((1, 2), network="vxlan")))
    assert said(block(base, "Result"))[0].name == "vxlan, 2 instances"
    assert "no toll against bare: it has no number" in base.sentence
    both = [failed(1, TCP, "no way"), failed(2, gone.case, "no way")]
    assert first_screen_of_trials(digest_of(result(both))) is None


def test_a_page_names_a_series_without_a_number_once() -> None:
    of_networks = [*scaling_trials((1, 2)), *scaling_trials((1,), network="gre")]
    for trials, gone in (
        (of_networks, failed(1, replace(TCP, network="vxlan"), "no way to h2")),
        (matrix_trials(), failed(1, Case("udp-1500", "h1", "h2"), "port taken")),
        (experiment_trials(trials=5), failed(1, Case("udp-1500", "h1", "h2"), "port taken")),
    ):
        made = renumbered(trials, [gone])
        page = "\n".join(markdown(screen_of(made)))
        assert page.count(gone.reason or "?") == 1
        assert sum(gone.reason in line for line in printed(made, 200) if gone.reason) == 1


def test_what_failed_is_named_in_matrices_levels_and_experiments() -> None:
    gone = failed(1, Case("tcp", "h1", "h3"), "port taken")
    pairs = [one for one in matrix_trials() if one.case != gone.case]
    assert "port taken" in words(block(screen_of(renumbered(pairs, [gone])), "Pairs of hosts"))
    levels = [
        one if one.case.load_level != 0.5 else failed(one.number, one.case, "port taken")
        for one in level_trials(TCP)
    ]
    assert "trial 5: port taken" in words(block(screen_of(levels), "Curve of"))
    settings = [
        one if dict(one.case.factors)["gro"] == "on" else failed(one.number, one.case, "port taken")
        for one in experiment_trials()
    ]
    assert sweep(settings).caveats == ("gro=off: no trial succeeded, 3 failed: port taken",)


def test_a_setting_without_any_trial_that_succeeded_is_said_before_all_else_and_once() -> None:
    refused = "h2: cannot set mtu e0 to '9000': its driver refuses it"
    settings = [
        failed(one.number, one.case, refused if one.repetition == 1 else "no route")
        if dict(one.case.factors)["mtu"] == "9000"
        else one
        for one in experiment_trials("full")
    ]
    text = f"mtu=9000: no trial succeeded, 12 failed, the first: {refused}"
    screen = sweep(settings)
    assert screen.caveats[0] == text
    lines = [line for line, _ in fitted(screen, 200)]
    assert lines[1] == f"! {text}", "right below the name of the result"
    assert sum("refuses it" in line for line in lines) == 1
    assert caveats(digest_of(experiment_result(settings, "full")))[0] == f"{text}."


def test_a_setting_is_named_whole_where_each_of_its_levels_ran_elsewhere() -> None:
    factors = {"mtu": ("1500", "9000"), "gro": ("on", "off")}
    gone = (("gro", "off"), ("mtu", "9000"))
    settings = [
        failed(one.number, one.case, "no route") if one.case.factors == gone else one
        for one in experiment_trials("full", factors=factors)
    ]
    assert sweep(settings).caveats == ("gro=off mtu=9000: no trial succeeded, 3 failed: no route",)


def test_where_all_trials_failed_no_setting_is_told_from_the_others() -> None:
    settings = [failed(one.number, one.case, "no route") for one in experiment_trials()]
    assert failed_settings(settings) == ()


def test_a_heading_says_whether_the_best_setting_is_proven() -> None:
    proven = sweep(experiment_trials(trials=5))
    assert said(block(proven, "Best setting"))[0].prose.startswith("at mtu=9000: faster by 6.0 %")
    thin = sweep(experiment_trials(trials=2, cv=0.03))
    base, fastest = said(block(thin, "No setting proven better than the base"))
    assert base.figures[0] == "20.00 Gbps"
    assert base.prose.startswith("at the base gro=on mtu=1500 rps=off: ")
    assert (fastest.name, fastest.prose) == ("fastest so far", "at mtu=9000: not proven faster than the base")
    assert fastest.figures[0] == "21.20 Gbps"
    assert [one.of for one in thin.blocks if one.title == "Cost of"] == ["the base"]
    assert "at the base gro=on mtu=1500 rps=off" in thin.sentence


def test_a_base_that_all_others_are_worse_than_is_the_best_setting() -> None:
    def better_at_base(levels: Mapping[str, str]) -> float:
        return 1.0 if dict(levels) == {"mtu": "1500", "gro": "on", "rps": "off"} else 0.5

    [line] = said(block(sweep(experiment_trials(trials=5, effect=better_at_base)), "Best setting"))
    assert line.prose.startswith(
        "at the base gro=on mtu=1500 rps=off: all 3 other settings are worse beyond doubt"
    )


def test_the_error_bound_behind_watts_above_idle_is_named() -> None:
    power = (watts("psu-out", 250.0, idle_w=180.0, idle_uncertainty_w=4.0),)
    bounded = [
        replace(each, receiver=replace(each.receiver, power=power))
        for each in scaling_trials((1,))
        if each.receiver is not None
    ]
    cost = answer_of(*bounded).cost
    assert any("70.0 ± 6.4 W above idle" in line.figures for line in said(cost))
    assert cost.remark.startswith("watts: PSU DC out, ± error bound; ")
    assert "±" not in answer_of(*powered(scaling_trials((1,)))).cost.remark


def test_letters_are_explained_in_markdown() -> None:
    made = "\n".join(markdown(screen_of([replace(one, flags=(RISES,)) for one in scaling_trials((1,))])))
    assert (
        "- ! **(a)**: Warm up in window: h1: rate rises through the window (and 2 more: show --full); "
        "do: lengthen omit" in made
    )


def test_series_of_one_trial_are_named_where_others_have_more() -> None:
    one = [trial(1, Case("udp-1500", "h1", "h2"), 3e9, 1.0)]
    found = answer_of(*renumbered(scaling_trials((1,)), one))
    assert found.doubts.remark == "throughput: one trial of UDP 1500, spread not known · CPU: no doubt found"
    assert "1 trial" in said(found.result)[1].figures


def test_nothing_is_called_undoubted_that_no_check_looked_at() -> None:
    trials = powered(scaling_trials((1,)), provenance="simulated")
    found = answer(digest_of(result(trials, imported_from="t.csv")))
    assert found is not None
    assert found.doubts.remark == (
        "throughput, CPU: as t.csv has it · watts, watts above idle: simulated, as t.csv has it"
    )


def test_an_effect_of_users_on_a_knob_of_all_hosts_says_that_it_is_of_both_ends() -> None:
    factors = {"gro": ("on", "off"), "cpus_online": ("all", "0-1"), "users.users": ("2", "4")}

    def slower(levels: Mapping[str, str]) -> float:
        return 0.5 ** sum(levels[name] == others[-1] for name, others in factors.items())

    trials = experiment_trials("full", factors=factors, effect=slower, trials=5, test="ftp")
    asked = {"factors": {name: list(levels) for name, levels in factors.items()}, "design": "full"}
    prose = {line.name: line.prose for line in said(block(screen_of(trials, campaign=asked), "Effects on"))}
    assert prose == {
        "gro on → off": "server and clients",
        "cpus_online all → 0-1": "",
        "users.users 2 → 4": "",
    }


def test_levels_without_an_effect_that_matters_are_named() -> None:
    remark = block(sweep(experiment_trials(trials=5)), "Effects on").remark
    assert "none that matters: rps=irq" in remark


def test_letters_of_a_curve_are_explained_where_no_case_at_full_rate_has_a_number() -> None:
    trials = [
        failed(one.number, one.case, "port taken")
        if one.case.load_level is None
        else replace(one, flags=(BAD_CPU,))
        for one in level_trials(TCP, trials=3)
    ]
    screen = screen_of(trials)
    assert "1.00 cores (a)" in words(block(screen, "Curve of"))
    assert screen.trust == "throughput, watts: no doubt found · CPU: doubtful (a)"
    assert said(screen.blocks[-1])[0].name == "(a)"


def test_latency_of_a_closed_loop_is_called_so() -> None:
    """Beside streams of TCP on a queue of 300 Mbit/s: a p50 of 5 µs by ping-pong, of 8 ms in an open loop."""
    case = Case("udp-rr", "h1", "h2", load="sockperf")
    measured = [
        replace(trial(number, case, 1e8, 0.5), latency_s={"p50": 5e-6, "p99": 9e-6}) for number in (1, 2, 3)
    ]
    assert "5.00 µs median (closed loop) 9.00 µs at p99" in words(answer_of(*measured).result)
    assert "no latency under load" in METRIC_BY_NAME["latency_p50_s"].meaning
