# SPDX-License-Identifier: Apache-2.0
"""Profiles: how a host folds stacks, what is made of them, and how sure shares are."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.captured import CAPTURES
from tests.compare_factories import made as of_runs
from tests.compare_factories import numbered, runs
from tests.report_factories import stored as kept_result
from tests.unit.conftest import Run

from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.campaign.stored import campaign_as_dict, campaign_from_dict
from linewatt.errors import InvalidInput, ParseError
from linewatt.features.profiles import store
from linewatt.features.profiles.analysis.counters import bits_per_cycle, cycles_per_packet, place_counters
from linewatt.features.profiles.analysis.difference import difference
from linewatt.features.profiles.analysis.groups import GROUPS, IDLE, group_of
from linewatt.features.profiles.analysis.shares import (
    FEWEST_SAMPLES,
    PlaceProfile,
    half_width,
    hottest,
    place_profile,
    place_profiles,
    work_shares,
)
from linewatt.features.profiles.analysis.tree import call_graph, call_tree, folded
from linewatt.features.profiles.engine.run import places
from linewatt.features.profiles.perf import ability
from linewatt.features.profiles.perf.counters import parse_counts
from linewatt.features.profiles.perf.model import Count, Function, HostProfile, Profile, Stack
from linewatt.features.profiles.perf.parse import binary_of, parse
from linewatt.features.profiles.perf.recording import (
    FOLD,
    MARK,
    MOST_SAMPLES,
    MOST_STACKS,
    Recording,
    command,
)
from linewatt.model import Case
from linewatt.store.further import further_numbers
from linewatt.store.verify import verify_result
from linewatt.store.write import new_result

KERNEL = "([kernel.kallsyms])"
SCRIPTED = "perf-script.txt"
"""what perf script printed: an iperf3 receiver of UDP on CPU 0, sender and receive work on CPU 1"""
AWKS = [
    words for words in (["mawk"], ["gawk"], ["busybox", "awk"], ["original-awk"]) if shutil.which(words[0])
]


def fold(text: str, awk: list[str], slice_s: float = 0.1, most: int = MOST_STACKS) -> str:
    done = subprocess.run(
        [*awk, "-v", f"slice_s={slice_s}", "-v", f"most={most}", FOLD],
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def whole(folded_text: str) -> str:
    return f"{MARK}\ntimes 100.0 102.0\nbuild 48dc54 [kernel.kallsyms]\n{folded_text}ended 0 0\n"


def host(**values: object) -> HostProfile:
    return replace(HostProfile("h2", "receiver", {"app": (0,), "irq": (1,)}, "cpu-clock", 499), **values)  # type: ignore[arg-type]


def read(text: str, slices: int = 20) -> HostProfile:
    return parse(text, host(), slices, 0.1)


def made(shares: dict[str, float], samples: int = 4000, *, seed: int = 0, slices: int = 20) -> PlaceProfile:
    """A CPU of which functions have so many of so many samples, drawn slice by slice."""
    draw = random.Random(seed)  # noqa: S311  a simulation
    functions = tuple(Function(name, "kernel") for name in shares)
    stacks = tuple(Stack("iperf3", (at,)) for at in range(len(functions)))
    counted: dict[tuple[int, int], int] = {}
    for at in draw.choices(range(len(functions)), [*shares.values()], k=samples):
        key = draw.randrange(slices), at
        counted[key] = counted.get(key, 0) + 1
    counts = tuple(Count(slice_, 0, at, n) for (slice_, at), n in counted.items())
    made_of = host(
        functions=functions, stacks=stacks, counts=counts, slices=slices, slice_s=0.1, samples=samples
    )
    return place_profile(replace(made_of, cpus={"app": (0,)}), "app")


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_every_awk_folds_what_perf_printed_into_the_same_profile(awk: list[str]) -> None:
    text = (CAPTURES / "perf" / "6.1-udp-receiver" / SCRIPTED).read_text()
    samples = sum(not line.startswith("\t") and bool(line.strip()) for line in text.splitlines())
    found = read(whole(fold(text, awk)))
    assert found.samples == samples == sum(one.samples for one in found.counts)
    assert {one.cpu for one in found.counts} == {0, 1}
    first = read(whole(fold(text, AWKS[0])))
    assert sorted(map(str, call_graph(call_tree(found, "app"), 0.0))) == sorted(
        map(str, call_graph(call_tree(first, "app"), 0.0))
    )
    app, irq = place_profiles(found)
    assert app.work[:, GROUPS.index("copy")].sum() > 0
    assert any("udp_queue_rcv" in line for line in call_graph(call_tree(found, "irq"), 0.0))
    assert 0 < irq.busy < FEWEST_SAMPLES
    assert hottest(irq, 5) == []
    assert work_shares(irq) == []


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_lost_samples_names_with_blanks_and_broken_callers_are_counted(awk: list[str]) -> None:
    text = (
        f"tmux: server 1234 [003] 10.000000: \n\tffffffff81 copy_to_user {KERNEL}\n"
        "\t  f83 operator new(unsigned long) (/usr/lib/libstdc++.so.6 (deleted))\n"
        "\t16fa [unknown] ([unknown])\n\n"
        "iperf3 77 [000] 10.150000: PERF_RECORD_LOST lost 7\n\n"
        f"rm     0 [001] 10.250000: \n\tffffffff82 veth_poll ([veth])\n\n"
        "iperf3    -1 [001] 12.000000: \n\n"
    )
    found = read(whole(fold(text, awk)))
    assert (found.samples, found.lost_samples, found.cut_samples) == (3, 7, 1)
    assert found.functions == (
        Function("operator new(unsigned long)", "libstdc++.so.6"),
        Function("copy_to_user", "kernel"),
        Function("veth_poll", "kernel: veth"),
    )
    assert found.stacks[0] == Stack("tmux: server", (0, 1))
    assert [one.process for one in found.stacks[1:]] == ["[outside]", "[outside]"]
    assert (found.outside_samples, found.called(found.stacks[2])) == (
        2,
        (Function("[outside]", "[outside]"),),
    )
    assert sorted((one.slice, one.cpu) for one in found.counts) == [(0, 3), (2, 1), (19, 1)]


@pytest.mark.parametrize("awk", AWKS, ids=" ".join)
def test_stacks_beyond_those_told_apart_are_counted_and_said(awk: list[str]) -> None:
    samples = [f"p 7 [000] 1.0: \n\tff f{number} {KERNEL}\n\n" for number in range(5)]
    found = read(whole(fold("".join(samples), awk, most=2)))
    assert found.samples == 5
    assert found.stacks[-1].process == "[more]"
    assert "3 samples" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not there"),
        (f"{MARK}\ntotals 0 0 0 0\nended 141 1\n", "cut off"),
        (f"{MARK}\nS\tp\t 0\ntotals 1 0 0 0\nended 0 0\n", "line 2"),
        (f"{MARK}\nF\tf\tx\nS\tp\t 0\nC\t0\t0\t0\t2\ntotals 1 0 0 0\nended 0 0\n", "do not sum up"),
        (f"{MARK}\nC\t0\t0\t0\t-1\nended 0 0\n", "line 2"),
    ],
)
def test_what_is_no_whole_profile_is_none(text: str, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        read(text)


@pytest.mark.parametrize(
    ("path", "binary"),
    [
        ("[kernel.kallsyms]", "kernel"),
        ("[nf_tables]", "kernel: nf_tables"),
        ("/lib/modules/6.1.0/kernel/drivers/net/veth.ko.xz", "kernel: veth"),
        ("bpf_prog_6deef7357e7b4530_f", "kernel: bpf"),
        ("[vdso]", "[vdso]"),
        ("/usr/bin/iperf3", "iperf3"),
        ("", "[unknown]"),
    ],
)
def test_binaries_are_named_by_what_they_are(path: str, binary: str) -> None:
    assert binary_of(path) == binary


@pytest.mark.parametrize(
    ("stack", "group"),
    [
        ("entry_SYSCALL_64_after_hwframe tcp_recvmsg_locked __arch_copy_to_user", "copy"),
        ("do_idle handle_softirqs net_rx_action tcp_v4_rcv", "softirq"),
        ("do_idle pv_native_safe_halt", IDLE),
        ("entry_SYSCALL_64_after_hwframe do_syscall_64 udp_sendmsg", "system calls"),
        ("ret_from_fork kthread rcu_gp_kthread", "other kernel"),
        ("do_syscall_64 schedule __schedule", "scheduling"),
        ("handle_softirqs tcf_classify u32_classify", "filtering"),
        ("handle_softirqs veth_poll", "driver"),
        ("handle_softirqs csum_partial", "checksum"),
    ],
)
def test_a_stack_is_of_the_kind_of_its_innermost_function_else_of_its_context(stack: str, group: str) -> None:
    assert group_of([Function(name, "kernel") for name in stack.split()]) == group


def test_what_has_no_name_and_what_is_no_kernel_are_kinds_of_their_own() -> None:
    assert group_of([Function("[unknown]", "kernel")]) == "unresolved"
    assert group_of([Function("main", "iperf3")]) == "user space"
    assert group_of([Function("mlx5e_napi_poll", "kernel: mlx5_core")]) == "driver"
    assert group_of([Function("do_softirq", "kernel"), Function("vxlan_rcv", "kernel: vxlan")]) == "softirq"


def test_too_few_samples_are_not_ranked() -> None:
    few = made({"a": 0.9, "b": 0.1}, FEWEST_SAMPLES - 1)
    assert hottest(few, 5) == []
    assert "are the least" in (few.why_not_ranked or "")
    found = difference(few, made({"a": 0.9, "b": 0.1}))
    assert (found.reason or "").startswith("A: ")
    assert found.most_gained is None


def test_what_has_no_name_stands_behind_the_hottest_functions() -> None:
    found = made({"[unknown]": 0.6, "a": 0.25, "b": 0.15})
    assert [one.function.symbol for one in hottest(found, 1)] == ["a", "[unknown]"]


def test_the_interval_of_a_share_holds_it_in_19_of_20_profiles() -> None:
    truth = {"copy": 0.3, "rest": 0.7}
    held = 0
    for seed in range(100):
        found = made(truth, 1000, seed=seed)
        share = next(one for one in hottest(found, 2) if one.function.symbol == "copy")
        held += abs(share.ratio - 0.3) <= half_width(found, share.error)
    assert held >= 91


def test_a_function_that_was_planted_gained_most_and_the_others_gained_nothing() -> None:
    usual = {"copy": 0.3, "csum": 0.2, "lock": 0.1, "rest": 0.4}
    slowed = {name: ratio * 0.8 for name, ratio in usual.items()} | {"slow": 0.2}
    found = difference(made(usual), made(slowed, seed=1))
    assert found.most_gained is not None
    assert found.most_gained.name == "slow"
    assert found.most_gained.gain == pytest.approx(0.2, abs=0.03)
    assert [one.name for one in found.functions if one.certain and one.gain > 0] == ["slow"]
    assert [one.name for one in difference(made(slowed, seed=1), made(usual)).functions][-1] == "slow"


def test_two_profiles_of_the_same_differ_in_nothing_95_of_100_times() -> None:
    usual = {f"f{at}": 1.0 for at in range(20)}
    false = sum(
        any(one.certain for one in difference(made(usual, seed=seed), made(usual, seed=seed + 500)).functions)
        for seed in range(60)
    )
    assert false <= 6


def test_profiles_by_different_clocks_are_not_compared() -> None:
    one = made({"a": 1.0})
    other = replace(one, host=replace(one.host, event="cycles"))
    assert "do not compare" in (difference(one, other).reason or "")


def test_a_call_graph_has_a_chain_in_one_column_and_leaves_out_what_is_rare() -> None:
    functions = tuple(Function(name, "kernel") for name in ("recv", "copy", "check", "rare"))
    stacks = (Stack("iperf3", (0, 1)), Stack("iperf3", (0, 2)), Stack("iperf3", (3,)), Stack("swapper", (0,)))
    counts = tuple(Count(0, 0, at, samples) for at, samples in enumerate((600, 390, 4, 6)))
    made_of = host(functions=functions, stacks=stacks, counts=counts, slices=20, samples=1000)
    assert call_graph(call_tree(made_of, "app")) == [
        " 99.40%  iperf3",
        "         recv",
        "         |--60.00%--copy",
        "         |--39.00%--check",
    ]
    assert "iperf3;recv_[k];copy_[k] 600" in folded(made_of, "app")


def test_how_often_samples_are_taken_keeps_all_of_them_within_bounds() -> None:
    assert Recording((3,), 60, "cycles").frequency_hz == 499
    many = Recording(tuple(range(80)), 60, "cycles")
    assert many.frequency_hz * 80 * 60 <= MOST_SAMPLES
    assert many.room_kib < 80_000
    assert command(Recording((0, 2), 1.5, "cpu-clock"))[4:8] == ["cpu-clock", "499", "0,2", "1.5"]


ABLE = "version perf version 6.1.187\nuid 0\nparanoid 2\nkptr 0\naddress ffffffff81000000\nawk yes\n"


@pytest.mark.parametrize(
    ("text", "problem", "event"),
    [
        (
            ABLE + "clock 1.45,msec,cpu-clock,1450000,100.00,0.9,CPUs utilized\n"
            "cycles <not supported>,,cycles,0,100.00,,\n",
            "",
            "cpu-clock",
        ),
        (
            ABLE + "clock 1.4,msec,cpu-clock,1,100.00,,\ncycles 48433482,,cycles,1450000,100.00,,\n",
            "",
            "cycles",
        ),
        ("version bash: perf: command not found\nuid 0\n", "there is no perf", "cpu-clock"),
        ("version WARNING: perf not found for kernel 5.15.0-91\n", "not there for its kernel", "cpu-clock"),
        (
            ABLE.replace("uid 0", "uid 1000")
            + "clock Error:\nclock Access to performance monitoring is limited.\n",
            "perf_event_paranoid 2",
            "cpu-clock",
        ),
        (ABLE.replace("awk yes\n", ""), "no awk", "cpu-clock"),
    ],
)
def test_what_perf_can_do_on_a_host_is_told_with_its_remedy(text: str, problem: str, event: str) -> None:
    found = ability.parse(text)
    assert (problem in found.problem) if problem else not found.problem
    assert bool(found.advice) == bool(problem)
    assert found.event == event
    assert bool(found.no_counters) == (event == "cpu-clock" and not problem)


def test_kernel_addresses_that_are_hidden_are_told() -> None:
    hidden = ability.parse(
        ABLE.replace("ffffffff81000000", "0000000000000000") + "clock 1.4,msec,cpu-clock,1,1,,\n"
    )
    assert hidden.hidden
    assert any("kptr_restrict" in note for note in hidden.notes)


def campaign(tmp_path: Path, more: str = "") -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(
        "name: c\nhosts:\n  a: {address: 192.0.2.1, data: eth0, app_cpus: '0', irq_cpus: '0-1'}\n"
        "  b: {address: 192.0.2.2, data: eth0}\ntests: [tcp, udp-1500]\ntrials: 2\nprofile: true\n" + more
    )
    return path


def test_a_campaign_with_profiles_has_one_more_trial_a_case_beside_those_it_measures(tmp_path: Path) -> None:
    read_ = load_campaign(campaign(tmp_path))
    planned = plan_campaign(read_, 0)
    plain = plan_campaign(replace(read_, feature_values={}), 0)
    of_profiles = planned.further["profiles"]
    assert [one.trials[0].case.test for one in of_profiles] == ["tcp", "udp-1500"]
    assert planned.rounds == plain.rounds
    assert planned.duration_s > plain.duration_s
    (sender,) = {of_profiles[0].trials[0].case.sender}
    assert places(of_profiles[0].trials[0], sender, (0, 1, 2)) == {
        "irq": (1,),
        "app + irq": (0,),
    }
    assert places(of_profiles[0].trials[0], "b", (0, 1, 2)) == {"host": (0, 1, 2)}
    assert campaign_as_dict(read_)["profile"] is True
    assert campaign_from_dict(campaign_as_dict(read_)).feature_values == {"profile": True}
    assert "profile" not in campaign_as_dict(replace(read_, feature_values={}))


@pytest.mark.parametrize(
    ("more", "why"),
    [("soak: 1h\n", "a soak has none"), ("profile: maybe\n", "profile")],
)
def test_a_profile_of_what_has_no_cases_is_refused(tmp_path: Path, more: str, why: str) -> None:
    path = campaign(tmp_path, more)
    gone = "profile: true\n" if "maybe" in more else "trials: 2\n"
    path.write_text(path.read_text().replace(gone, ""))
    with pytest.raises(InvalidInput, match=why):
        load_campaign(path)


def test_what_is_searched_has_no_profile_and_the_plan_says_so(tmp_path: Path) -> None:
    path = campaign(tmp_path)
    path.write_text(path.read_text().replace("udp-1500", "{test: udp-1500, rate: auto}"))
    planned = plan_campaign(load_campaign(path), 0)
    assert [one.trials[0].case.test for one in planned.further["profiles"]] == ["tcp"]
    assert any("profile: 1 case has none" in note for note in planned.notes)


def stored(tmp_path: Path, text: str) -> Path:
    result = new_result(tmp_path, "p", 1e9, {"schema_version": 1, "name": "p", "trials_planned": 0})
    empty = host(slices=20, slice_s=0.1, start_s=1e9, end_s=1e9 + 2)
    case = Case("tcp", "h1", "h2")
    profile = Profile(1, 1, case, case.key, 1e9, (empty,), 9.4e9)
    store.write_profile(result, profile, {f"h2/{store.RECORDED}": text})
    return result


def test_a_profile_is_stored_as_perf_said_it_and_read_again(tmp_path: Path) -> None:
    text = whole(fold((CAPTURES / "perf" / "6.1-udp-receiver" / SCRIPTED).read_text(), AWKS[0]))
    result = stored(tmp_path, text)
    (found,) = store.profiles(result)
    assert found.hosts[0].counts == read(text).counts
    assert found.hosts[0].start_s == 1e9
    assert further_numbers(result, "profiles") == {1}
    document = json.loads((result / "profiles" / "00001" / "profile.json").read_text())
    assert document["hosts"][0]["counts"] == []
    assert not verify_result(result).problems


def test_a_name_from_a_host_is_text_on_a_page(tmp_path: Path) -> None:
    from linewatt.features.profiles.report.flame import flame_figure

    evil = made({"<script>alert(1)</script>": 0.5, 'x" onload="y': 0.5})
    drawn = flame_figure(evil, "TCP <b>", "flame-1")
    assert drawn is not None
    assert not [text for text in ("<script>", 'onload="y', "<b>") if text in drawn.svg]
    assert "&lt;script&gt;" in drawn.svg


def recorded(shares: dict[str, int]) -> str:
    """What a host says of a recording of 20 slices, in each of which functions have so many samples."""
    functions = [f"F\t{name}\t{KERNEL[1:-1]}" for name in shares]
    stacks = [f"S\tiperf3\t {at}" for at in range(len(shares))]
    counts = [
        f"C\t{slice_}\t0\t{at}\t{samples}"
        for slice_ in range(20)
        for at, samples in enumerate(shares.values())
    ]
    text = "\n".join([*functions, *stacks, *counts, f"totals {20 * sum(shares.values())} 0 0 0", ""])
    return whole(text)


def test_the_page_of_a_comparison_has_what_its_profiles_say_where_they_are_asked_for(run: Run) -> None:
    results = [of_runs("a", runs()), of_runs("b", runs(seed=2), day=2)]
    cpus = host(cpus={"app": (0,)}, slices=20, slice_s=0.1, start_s=1e9, end_s=1e9 + 2)
    for one, slow in zip(results, (10, 40), strict=True):
        path = kept_result(Path("results"), one)
        case = one.trials[0].case
        profile = Profile(1, 1, case, case.key, 1e9, (cpus,), 9.4e9)
        text = recorded({"<b>slow": slow, "copy_user_generic": 50})
        store.write_profile(path, profile, {f"h2/{store.RECORDED}": text})
    asked = ("compare", "20260101", "20260102", "--profile")
    code, out, err = run(*asked, "-o", "page.html")
    assert (code, err) == (0, "")
    assert "<b>slow gained most" in out
    page = Path("page.html").read_text()
    profiles = page[page.index('id="profiles"') :]
    assert "&lt;b&gt;slow gained most, 16.7 % in A, 44.4 % in B" in profiles
    assert "tcp, 1 inst.: receiver h2, app CPU 0: functions" in profiles
    assert "<b>slow" not in page
    assert 'id="verdicts-1"' in page
    assert run(*asked[:-1], "-o", "plain.html")[0] in (0, 4)
    assert 'id="profiles"' not in Path("plain.html").read_text()
    for words in (asked, ("show", "20260101", "--profile")):  # valid by its schema, as all that is run here
        assert json.loads(run(*words, "--json")[1])["schema_version"] == 1


def test_profiles_of_two_hosts_of_one_result_are_set_side_by_side(run: Run) -> None:
    cpus = host(cpus={"app": (0,)}, slices=20, slice_s=0.1, start_s=1e9, end_s=1e9 + 2)
    cases = [Case("tcp", "gen", receiver) for receiver in ("h2", "h3")]
    trials = numbered(*(runs(case, seed=at) for at, case in enumerate(cases)))
    path = kept_result(Path("results"), of_runs("v", trials, id="v"))
    for number, (case, copying) in enumerate(zip(cases, (10, 40), strict=True), 1):
        profile = Profile(1, number, case, case.key, 1e9, (replace(cpus, host=case.receiver),), 9.4e9)
        text = recorded({"copy_user_generic": copying, "tcp_recvmsg": 50})
        store.write_profile(path, profile, {f"{case.receiver}/{store.RECORDED}": text})
    code, out, err = run("compare", "v:h2", "v:h3", "--profile")
    assert (code, err) == (0, "")
    assert "copy_user_generic gained most, 16.7 % in A, 44.4 % in B" in out
    assert "receiver h3, app CPU 0 against receiver h2, app CPU 0" in out


def counted(folder: str, **values: object) -> HostProfile:
    lines = (CAPTURES / "perf" / folder / "perf-stat.csv").read_text().splitlines()
    known = tuple(parse_counts("app", lines))
    return host(cpus={"app": (0,)}, counted=known, slices=20, slice_s=0.2, base_frequency_hz=2.5e9, **values)


def test_counters_give_ipc_the_clock_really_run_and_cycles_per_packet() -> None:
    one = counted("composed-counters", packets_hz=450_000.0)
    (app,) = place_counters(one)
    assert app.cycles_hz.value == pytest.approx(2.25e9)
    assert app.ipc.value == pytest.approx(1.5)
    assert app.frequency_hz.value == pytest.approx(3.0e9)
    assert app.misses_per_kilo.value == pytest.approx(2.0)
    assert cycles_per_packet(one).value == pytest.approx(5000.0)
    assert bits_per_cycle(one, 4.5e9).value == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("packets_hz", "reason"),
    [(None, "the packets of its data interface are not known"), (0.0, "its data interface passed no packet")],
)
def test_cycles_without_packets_say_why_and_leave_what_else_is_known(
    packets_hz: float | None, reason: str
) -> None:
    one = counted("composed-counters", packets_hz=packets_hz)
    assert cycles_per_packet(one).reason == reason
    assert bits_per_cycle(one, 4.5e9).value == pytest.approx(2.0)
    assert bits_per_cycle(one, None).reason == "no throughput is known"


def test_a_cpu_without_counters_has_no_figures_but_reasons() -> None:
    one = counted("6.1-no-pmu", packets_hz=1e5)
    (app,) = place_counters(one)
    for found in (
        app.cycles_hz,
        app.ipc,
        app.frequency_hz,
        app.misses_per_kilo,
        cycles_per_packet(one),
        bits_per_cycle(one, 1e9),
    ):
        assert found.value is None
        assert found.reason == "the CPU has no such counter"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<not counted>,,cycles,0,0.00,,", "never free"),
        ("9e9,,cycles,1000,20.00,,", "20 % of the window"),
        ("nan,,cycles,1000,100.00,,", "perf stat says"),
        ("-5,,cycles,1000,100.00,,", "perf stat says"),
    ],
)
def test_a_count_of_too_little_is_none(line: str, reason: str) -> None:
    one = host(cpus={"app": (0,)}, counted=tuple(parse_counts("app", [line])), slices=20, slice_s=0.2)
    (app,) = place_counters(one)
    assert app.cycles_hz.value is None
    assert reason in (app.cycles_hz.reason or "")


def test_counts_of_two_kinds_of_cores_are_summed_up() -> None:
    lines = ["4,,cpu_core/cycles/,1,100.00,,", "3,,cpu_atom/cycles/,1,100.00,,"]
    assert [one.value for one in parse_counts("app", lines)] == [7.0]


def test_what_was_counted_comes_with_the_profile_by_place() -> None:
    text = whole("totals 0 0 0 0\n").replace(
        "ended", "N\t0\t1000,,cycles,1,100.00,,\nN\t1\t<not supported>,,cycles,0,100.00,,\nended"
    )
    assert [(one.place, one.value) for one in read(text).counted] == [("app", 1000.0), ("irq", None)]
