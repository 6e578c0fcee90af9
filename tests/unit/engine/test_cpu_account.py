# SPDX-License-Identifier: Apache-2.0
"""Whose CPU time it was: the load's, the receive work's, others'. Tick figures: one CPU, HZ=250."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.wiring import (
    APP,
    CPUS,
    IRQ,
    Change,
    both,
    case,
    cpu,
    of_users,
    rates,
    readback,
    setup,
    spec,
    story,
    told,
)

from linewatt.analysis.limits.verdict import verdict
from linewatt.engine.live.readback import Thread
from linewatt.engine.measuring.accounts import surely_used
from linewatt.engine.measuring.checks import cpu as cpu_checks
from linewatt.engine.measuring.checks.cpu import background, stolen, unchecked
from linewatt.findings import kind_of
from linewatt.loads.iperf3.load import Iperf3
from linewatt.model import CpuShares, EndResult, Flag, OtherProcess, Trial, Window

END = EndResult("h1", "sender", 0.5, None, None, 0.5, None)
SHARES = CpuShares((0,), 0.1, 0.4, 0.0, 0.0, 0.5, 0.0)
ABOUT_CPU = ("cpu-accounting-disagrees", "foreign-load", "tick-accounting", "host-not-idle", "cpu-stolen")


def measured(*changes: Change) -> Trial:
    return told(both(*changes)).trial()


def flags(*changes: Change) -> list[Flag]:
    return [flag for flag in measured(*changes).flags if flag.code in ABOUT_CPU]


def codes(*changes: Change) -> list[str]:
    return [flag.code for flag in flags(*changes)]


def foreign_cores(*changes: Change) -> tuple[Any, Any]:
    trial = measured(*changes)
    assert trial.sender is not None
    assert trial.receiver is not None
    return trial.sender.foreign_cores, trial.receiver.foreign_cores


def load(sender: float, receiver: float = 0.6) -> Change:
    return story(load_cores={"h1": sender, "h2": receiver})


UNPINNED = story(placed=((None, None),))
QUIET = cpu("h1", IRQ)


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize(
    ("what", "mpstat_cores", "load_cores", "disagree"),
    [
        ("udp at 1 Gbit/s", 0.010, 0.281, True),
        ("udp at 1 Gbit/s with a pacing timer of 317 us", 0.269, 0.269, False),
        ("tcp at 5 Gbit/s", 0.003, 0.057, True),
        ("udp unlimited", 0.998, 0.999, False),
        ("half of three percent", 0.015, 0.03, False),
    ],
)
def test_measured_cases_of_tick_aliasing_are_told_from_sound_ones(
    what: str, mpstat_cores: float, load_cores: float, disagree: bool, pinned: bool
) -> None:
    changes = [QUIET, cpu("h1", APP, sys=mpstat_cores), load(load_cores)]
    found = codes(*changes, *([] if pinned else [UNPINNED]))
    assert found == (["cpu-accounting-disagrees"] if disagree else []), what


@pytest.mark.parametrize(
    ("mpstat_cores", "load_cores", "disagree"),
    [(0.0, 0.0097, False), (0.0, 0.0105, True), (2.85, 3.12, False), (2.85, 3.2, True)],
    ids=["0.01 cores of a small load", "more", "a tenth of a large one", "more of it"],
)
def test_what_a_load_may_have_used_beyond_what_is_shown_is_a_hundredth_of_a_core_or_a_tenth_of_it(
    mpstat_cores: float, load_cores: float, disagree: bool
) -> None:
    shown = both(UNPINNED, *(cpu("h1", one, sys=mpstat_cores / len(CPUS)) for one in CPUS))
    assert ("cpu-accounting-disagrees" in codes(shown, load(load_cores))) is disagree


@pytest.mark.parametrize(
    ("mpstat_cores", "idle_cores", "is_told"),
    [(3.27, 0.0, False), (3.33, 0.0, True), (3.43, 0.3, False), (3.47, 0.3, True)],
    ids=["a tenth above the load", "more", "5 % of the load above idle", "more above idle"],
)
def test_of_a_large_load_others_must_have_used_a_tenth_of_it_and_5_percent_above_idle(
    mpstat_cores: float, idle_cores: float, is_told: bool
) -> None:
    shown = both(UNPINNED, *(cpu("h1", one, usr=mpstat_cores / len(CPUS)) for one in CPUS))
    as_iperf3_says = readback("h1", threads=())
    found = codes(shown, load(3.0), as_iperf3_says, setup(idle_cores={"h1": idle_cores}))
    assert ("foreign-load" in found) is is_told


@pytest.mark.parametrize(
    ("host_cores", "disagree"), [(0.2, True), (0.5, False), (None, False)], ids=["less", "as much", "unknown"]
)
def test_where_cpus_are_not_told_apart_a_load_is_compared_with_the_whole_host(
    host_cores: float | None, disagree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody measured by hand may have the use of a host alone."""
    end = SimpleNamespace(host="h1", cpu_cores=host_cores)
    seen = SimpleNamespace(
        cut=None,
        ends=(),
        instances=(),
        window=Window(0.0, 60.0),
        load=Iperf3(),
    )
    monkeypatch.setattr(cpu_checks, "load_by_cpus", lambda *_: {None: [0.5]})
    found = list(cpu_checks.hidden(cast(Any, seen), cast(Any, end), {}))
    assert [one.code for one in found] == ["cpu-accounting-disagrees"] * disagree


def test_softirqs_on_another_cpu_do_not_make_up_for_what_ticks_hide() -> None:
    (flag,) = flags(cpu("h1", APP, sys=0.01), cpu("h1", IRQ, soft=0.9), load(0.281))
    assert flag.where == "h1"
    assert flag.evidence == "the load used 0.281 cores, mpstat shows 0.010 cores for CPU 0"
    assert "--pacing-timer" in flag.advice


def test_softirqs_that_hit_the_load_and_are_in_its_own_figure_hide_nothing() -> None:
    assert codes(cpu("h1", APP, sys=0.4, soft=0.3), load(0.69)) == []


@pytest.mark.parametrize(
    ("change", "found", "said"),
    [
        (cpu("h1", 3, usr=0.7, sys=0.07), 0.77, "0.77 of usr and sys on CPU 3, which has no load process"),
        (
            cpu("h1", IRQ, usr=0.7, soft=0.2),
            0.7,
            "0.70 of usr and sys on IRQ CPU 1, which has no load process",
        ),
        (
            cpu("h1", APP, usr=0.5, sys=0.45),
            0.45,
            "0.95 of usr and sys on app CPU 0, of these the load used 0.",
        ),
        (both(UNPINNED, cpu("h1", 3, usr=0.77)), 0.77, "1.27 of usr and sys on the whole host"),
    ],
    ids=["beside", "on the IRQ CPU", "on the load's CPU", "beside an unpinned load"],
)
def test_what_others_used_is_a_figure_and_a_finding(change: Change, found: float, said: str) -> None:
    (flag,) = flags(change)
    assert (flag.code, flag.where) == ("foreign-load", "h1")
    assert said in flag.evidence
    assert foreign_cores(change) == pytest.approx((found, 0.0), abs=0.06)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            (cpu("h2", IRQ, usr=0.6, sys=0.02, soft=0.36),),
            "IRQ CPU 1 98 % busy: the load 0.00, other processes 0.62, softirqs 0.36 cores",
        ),
        (
            (cpu("h1", APP, usr=0.5, sys=0.45), story(load_cores={"h1": 0.33, "h2": 0.6})),
            "app CPU 0 95 % busy: the load 0.33, other processes 0.62, softirqs 0.00 cores",
        ),
        (
            (
                UNPINNED,
                story(load_cores={"h1": 1.0, "h2": 0.6}),
                *(cpu("h1", one, usr=0.95) for one in CPUS),
            ),
            "app CPU 0-3 95 % busy: the load 1.00, other processes 2.80, softirqs 0.00 cores",
        ),
    ],
    ids=["of interrupts", "of the load", "every CPU of a host without placement"],
)
def test_others_on_a_full_cpu_of_a_role_make_throughput_doubtful(
    changes: tuple[Change, ...], said: str
) -> None:
    (flag,) = [one for one in measured(*changes).flags if one.code == "limiting-cpu-shared"]
    assert flag.evidence == said
    assert "throughput" in kind_of(flag.code).figures
    assert "limit" not in kind_of(flag.code).title  # full in this trial: in others it may not be


@pytest.mark.parametrize(
    "changes",
    [
        (cpu("h2", IRQ, usr=0.5, sys=0.02, soft=0.3),),
        (cpu("h1", 3, usr=0.99),),
        (cpu("h1", APP, usr=0.04, sys=0.95), story(load_cores={"h1": 0.9, "h2": 0.6})),
        (cpu("h2", IRQ, sys=0.97),),
    ],
    ids=["room left", "a CPU of nobody", "the load itself", "threaded NAPI"],
)
def test_a_cpu_that_has_room_or_is_filled_by_the_load_is_not_shared(changes: tuple[Change, ...]) -> None:
    assert "limiting-cpu-shared" not in [one.code for one in measured(*changes).flags]


def test_the_limit_says_who_filled_the_cpu() -> None:
    trial = measured(rates(6.4e9), cpu("h2", IRQ, usr=0.6, sys=0.02, soft=0.36))
    limit = verdict([trial])
    assert limit.kind == "receiver-irq-cpu"
    assert "CPU 1: load 0.0 %, other processes 62.0 %, softirqs 36.0 %" in limit.evidence
    assert limit.what == "the receiver's IRQ CPU, shared with other processes"
    own = verdict([measured(rates(6.4e9), cpu("h2", IRQ, soft=0.98))])
    assert own.kind == "receiver-irq-cpu"
    assert own.what == "the receiver's IRQ CPU"
    assert "other processes" not in own.evidence


ALSO_IN_IDLE = setup(idle_cores={"h2": 0.5})
"""whatever ran on the receiver in the window ran before it, too"""


def busy(name: str, cpu: int | tuple[int, ...], cores: float, *, kernel: bool = False) -> OtherProcess:
    cpus = cpu if isinstance(cpu, tuple) else (cpu,)
    return OtherProcess(name, 700 + cpus[0], cpus, cores, kernel)


def on_receiver(*processes: OtherProcess) -> Change:
    return readback("h2", other_processes=processes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            (
                cpu("h2", APP, usr=0.5, sys=0.5),
                load(0.5, 0.5),
                on_receiver(busy("stress-ng", APP, 0.38), busy("kworker/0:2", APP, 0.1, kernel=True)),
            ),
            "CPU 0: load 50.0 %, other processes 50.0 % (stress-ng, kworker/0:2), softirqs 0.0 %",
        ),
        (
            (
                cpu("h2", APP, usr=0.5, sys=0.5),
                load(0.5, 0.5),
                on_receiver(busy("stress-ng", APP, 0.1), busy("backup", 3, 0.9)),
            ),
            "CPU 0: load 50.0 %, other processes 50.0 % (at least stress-ng), softirqs 0.0 %",
        ),
        (
            (cpu("h2", IRQ, sys=0.5, soft=0.48), on_receiver(busy("kworker/1:2", IRQ, 0.5, kernel=True))),
            "CPU 1: load 0.0 %, other processes 50.0 % (kworker/1:2), softirqs 48.0 %",
        ),
        (
            (cpu("h2", APP, usr=0.12, sys=0.86), load(0.5, 0.86), on_receiver(busy("agent", APP, 0.12))),
            "CPU 0: load 86.0 %, other processes 12.0 % (agent), softirqs 0.0 %",
        ),
        (
            (
                cpu("h2", APP, usr=0.5, sys=0.48),
                UNPINNED,
                load(0.5, 0.48),
                on_receiver(busy("stress-ng", APP, 0.5)),
            ),
            "CPU 0: other processes 50.0 % (stress-ng), softirqs 0.0 %",
        ),
        (
            (
                case(rate_bps=9e9),
                cpu("h2", APP, usr=0.5, sys=0.48),
                load(0.5, 0.48),
                setup(tick_accounting={"h2": True}),
                on_receiver(busy("stress-ng", APP, 0.5)),
            ),
            "CPU 0: load 48.0 %, other processes 50.0 % (stress-ng), softirqs 0.0 %",
        ),
    ],
    ids=[
        "processes and threads of the kernel",
        "processes that were not seen",
        "a thread of the kernel on an IRQ CPU",
        "too little to be told by what the load used",
        "a load that may run anywhere",
        "a load that ticks may charge wrongly",
    ],
)
def test_who_shares_the_cpu_that_limits_is_told_also_where_it_ran_in_idle(
    changes: tuple[Change, ...], said: str
) -> None:
    trial = measured(rates(6.4e9), ALSO_IN_IDLE, *changes)
    assert [one.where for one in trial.flags if one.code == "limiting-cpu-shared"] == ["h2"]
    limit = verdict([trial])
    assert said in limit.evidence
    assert limit.what.endswith(", shared with other processes")


@pytest.mark.parametrize(
    "process",
    [
        busy("ksoftirqd/1", IRQ, 0.4, kernel=True),
        busy("napi/eth0-8193", IRQ, 0.5, kernel=True),
        busy("backup", 3, 0.9),
        busy("roams", (IRQ, 3), 0.9),
    ],
    ids=["softirqs", "threaded NAPI", "elsewhere", "on this CPU at times"],
)
def test_what_is_not_known_to_have_used_the_cpu_does_not_share_it(process: OtherProcess) -> None:
    trial = measured(rates(6.4e9), cpu("h2", IRQ, sys=0.5, soft=0.48), on_receiver(process))
    assert "limiting-cpu-shared" not in [one.code for one in trial.flags]
    assert verdict([trial]).what == "the receiver's IRQ CPU"


def test_a_thread_of_the_kernel_that_was_seen_on_an_irq_cpu_is_foreign_work() -> None:
    changes = cpu("h2", IRQ, sys=0.5, soft=0.2), on_receiver(busy("kworker/1:2", IRQ, 0.4, kernel=True))
    (flag,) = flags(*changes)
    assert (flag.code, flag.where) == ("foreign-load", "h2")
    assert "(kworker/1:2)" in flag.evidence
    assert foreign_cores(*changes)[1] == pytest.approx(0.4, abs=0.06)


def test_of_a_paced_load_that_ticks_may_charge_wrongly_others_must_have_been_seen() -> None:
    paced = both(case(rate_bps=9e9), rates(6.4e9), cpu("h2", APP, usr=0.5, sys=0.48), load(0.5, 0.48))
    told = [one.code for one in measured(paced, setup(tick_accounting={"h2": True})).flags]
    assert "limiting-cpu-shared" not in told
    exact = [one.code for one in measured(paced, setup(tick_accounting={"h2": False})).flags]
    assert "limiting-cpu-shared" in exact
    assert "limiting-cpu-not-tested" not in exact


@pytest.mark.parametrize(
    ("by_tick", "reason"),
    [
        (True, "the kernel charges CPU time by the tick"),
        (None, "how the kernel charges CPU time is unknown"),
    ],
)
def test_a_full_cpu_that_ticks_cannot_account_for_is_named_as_not_tested(
    by_tick: bool | None, reason: str
) -> None:
    paced = both(case(rate_bps=9e9), rates(6.4e9), cpu("h2", APP, usr=0.5, sys=0.48), load(0.5, 0.98))
    ticks = setup(tick_accounting={"h1": False, "h2": by_tick})
    trial = measured(paced, ticks)
    (flag,) = [flag for flag in trial.flags if flag.code == "limiting-cpu-not-tested"]
    assert (flag.where, kind_of(flag.code).rank) == ("h2", "note")
    assert flag.evidence == (
        f"app CPU 0 98 % busy; the load is rate-limited and {reason}, so mpstat cannot show whether other "
        "processes used part of it"
    )


@pytest.mark.parametrize(
    "change",
    [
        case(rate_bps=None),
        cpu("h2", APP, usr=0.5, sys=0.3),
        on_receiver(busy("stress-ng", APP, 0.5)),
    ],
    ids=["as fast as it goes", "room left", "others were seen there"],
)
def test_sharing_of_a_cpu_is_tested_where_ticks_or_what_was_seen_can_tell(change: Change) -> None:
    paced = both(case(rate_bps=9e9), rates(6.4e9), cpu("h2", APP, usr=0.5, sys=0.48), load(0.5, 0.98))
    trial = measured(paced, setup(tick_accounting={"h2": True}), change)
    assert "limiting-cpu-not-tested" not in [flag.code for flag in trial.flags]


def test_threads_that_take_packets_are_not_named_beside_a_stranger() -> None:
    shown = cpu("h2", IRQ, usr=0.3, sys=0.3, soft=0.36)
    seen = on_receiver(busy("ksoftirqd/1", IRQ, 0.36, kernel=True), busy("stress-ng", IRQ, 0.6))
    assert "other processes 60.0 % (stress-ng)" in verdict([measured(rates(6.4e9), shown, seen)]).evidence


def test_a_process_of_a_user_with_the_name_of_a_kernel_thread_is_named() -> None:
    shown = both(cpu("h2", APP, usr=0.5, sys=0.5), load(0.5, 0.5), on_receiver(busy("napi/eth0", APP, 0.5)))
    assert "(napi/eth0)" in verdict([measured(rates(6.4e9), shown)]).evidence


def test_the_limit_says_in_how_many_trials_others_used_its_cpu() -> None:
    shared = measured(
        rates(6.4e9), cpu("h2", IRQ, usr=0.6, sys=0.02, soft=0.36), on_receiver(busy("backup", IRQ, 0.6))
    )
    alone = measured(rates(6.4e9), cpu("h2", IRQ, soft=0.98))
    said = "CPU 1: load 0.0 %, other processes 62.0 % (backup), softirqs 36.0 % in 1 of 2 trials"
    assert said in verdict([shared, alone]).evidence
    assert "(backup), softirqs 36.0 %;" in verdict([shared, shared]).evidence


def test_of_hosts_that_share_cpus_the_shared_cpu_of_the_second_end_is_told() -> None:
    shown = both(SHARED, *(cpu(host, 2, usr=0.45, sys=0.55) for host in ("h1", "h2")), load(0.5, 0.5))
    (flag,) = [one for one in measured(shown).flags if one.code == "limiting-cpu-shared"]
    assert (flag.where, flag.evidence.partition(":")[0]) == ("h2", "app CPU 2 100 % busy")


def test_foreign_load_names_processes() -> None:
    (flag,) = flags(cpu("h2", 3, usr=0.5), on_receiver(busy("backup", 3, 0.5), busy("agent", 3, 0.001)))
    assert flag.evidence.endswith("0.50 of usr and sys on CPU 3, which has no load process (backup)")
    beside = cpu("h2", APP, usr=0.3, sys=0.5), load(0.5, 0.5), on_receiver(busy("backup", APP, 0.2))
    (flag,) = flags(*beside)
    assert flag.evidence.endswith("of these the load used 0.48 (at least backup)")


def test_who_filled_a_cpu_of_two_roles_is_told_once_and_a_least_value_is_called_one() -> None:
    """Softirqs interrupted the stranger: the kernel counts them for it, mpstat for softirqs."""
    shown = both(
        rates(6.4e9),
        story(placed=((str(APP), str(IRQ)),), load_cores={"h1": 0.5, "h2": 0.2}),
        cpu("h2", APP),
        cpu("h2", IRQ, usr=0.3, sys=0.15, soft=0.5),
        on_receiver(busy("stress-ng", IRQ, 0.5)),
    )
    limit = verdict([measured(shown)])
    assert limit.what == "the receiver's app and IRQ CPUs, shared with other processes"
    said = "CPU 1: load 20.0 %, other processes at least 25.0 % (stress-ng), softirqs 50.0 %"
    assert limit.evidence.count(said) == 1


SHARED = both(
    spec("h1", shares_cpus_with=("h2",)),
    spec("h2", shares_cpus_with=("h1",)),
    story(placed=(("0", "2"),)),
    *(cpu(host, 0, usr=0.05, sys=0.45) for host in ("h1", "h2")),
    *(cpu(host, 2, usr=0.05, sys=0.55) for host in ("h1", "h2")),
)


def test_the_other_ends_load_is_not_foreign_where_hosts_share_cpus() -> None:
    assert foreign_cores(SHARED) == pytest.approx((0.0, 0.0), abs=0.06)
    assert codes(SHARED) == []


def test_a_stranger_on_shared_cpus_is_told_once() -> None:
    (flag,) = flags(SHARED, cpu("h1", 3, usr=0.5), cpu("h2", 3, usr=0.5))
    assert (flag.code, flag.where) == ("foreign-load", "h1, h2")


def test_a_stranger_on_a_cpu_that_only_one_of_two_sharing_hosts_has_is_told() -> None:
    some = both(
        spec("h1", shares_cpus_with=("h2",), cpus=(0,), irq_cpus=(0,)),
        spec("h2", shares_cpus_with=("h1",), cpus=(0, 1), irq_cpus=(1,)),
        story(placed=(("0", "0"),), load_cores={"h1": 0.3, "h2": 0.2}),
        *(cpu(host, 0, usr=0.05, sys=0.45) for host in ("h1", "h2")),
    )
    assert codes(some) == []
    (flag,) = flags(some, *(cpu(host, 1, usr=0.9) for host in ("h1", "h2")))
    assert (flag.code, flag.where) == ("foreign-load", "h1, h2")
    assert "0.90 of usr and sys on IRQ CPU 1, which has no load process" in flag.evidence


def test_where_other_pairs_may_load_the_same_cpus_nothing_is_said() -> None:
    shared = spec("h1", shares_cpus_with=("h3",))
    busy = cpu("h1", 3, usr=0.5)
    assert codes(shared, busy, setup(concurrent_pairs=True)) == []
    assert foreign_cores(shared, busy, setup(concurrent_pairs=True))[0] is None
    assert codes(shared, busy) == ["foreign-load"]


@pytest.mark.parametrize(
    "change",
    [
        cpu("h1", IRQ, sys=0.9),
        both(cpu("h1", 3, usr=0.35), setup(idle_cores={"h1": 0.34})),
        cpu("h1", 3, usr=0.05, sys=0.04),
        cpu("h1", APP, usr=0.1, sys=0.5, soft=0.4),
        cpu("h1", APP, usr=0.05, sys=0.45, iowait=0.5),
        load(0.58),
    ],
    ids=[
        "threaded NAPI",
        "it was there in idle",
        "daemons",
        "softirqs",
        "waiting for a disk",
        "ticks",
    ],
)
def test_what_is_nobodys_work_raises_no_stranger(change: Change) -> None:
    assert "foreign-load" not in codes(change)


def test_a_process_that_moved_is_no_stranger_where_it_went() -> None:
    elsewhere = both(cpu("h1", APP), cpu("h1", 3, sys=0.5))
    moved = readback("h1", threads=(Thread(1000, 1000, 3, 1200, (3,)),))
    assert "foreign-load" in codes(elsewhere)
    assert codes(elsewhere, moved) == []


@pytest.mark.parametrize(
    ("idle", "used", "cpus", "is_told"),
    [
        (0.8, 0.5, 2, True),
        (0.02, 0.5, 2, False),
        (0.09, 0.5, 2, False),
        (0.11, 0.5, 2, True),
        (0.2, 4.2, 2, False),
        (0.2, 3.8, 2, True),
        (0.2, 2.0, 128, False),
        (0.3, 2.0, 128, True),
        (0.3, None, 2, True),
        (None, 0.5, 2, False),
    ],
)
def test_a_host_is_not_idle_by_its_size_and_by_what_the_case_used(
    idle: float | None, used: float | None, cpus: int, is_told: bool
) -> None:
    assert bool(list(background(replace(END, cpu_cores=used), idle, cpus))) is is_told


@pytest.mark.parametrize(
    ("taken", "used", "is_told"),
    [(0.1, 1.0, True), (0.019, 0.1, False), (0.1, 8.0, False), (None, 1.0, False)],
)
def test_stolen_time_is_told_by_what_it_is_of_what_was_wanted(
    taken: float | None, used: float, is_told: bool
) -> None:
    assert bool(list(stolen(replace(END, cpu_cores=used, steal_cores=taken)))) is is_told


@pytest.mark.parametrize(
    ("paced", "ticks", "end", "is_told"),
    [
        (True, True, replace(END, load_cpu_cores=None), True),
        (True, False, replace(END, load_cpu_cores=None), False),
        (True, None, replace(END, load_cpu_cores=None), False),
        (False, True, replace(END, load_cpu_cores=None), False),
        (True, True, END, False),
        (True, True, replace(END, cpu_cores=None, app_cpu=SHARES), True),
        (True, True, replace(END, cpu_cores=None), False),
    ],
)
def test_ticks_are_told_of_a_paced_figure_that_nothing_can_check_only(
    paced: bool, ticks: bool | None, end: EndResult, is_told: bool
) -> None:
    found = list(unchecked(end, paced, ticks))
    assert [flag.code for flag in found] == ["tick-accounting"] * is_told
    assert all("is missing" in flag.evidence for flag in found)


def test_a_paced_load_that_ticks_may_charge_too_much_is_no_stranger() -> None:
    paced = both(case(rate_bps=5e9), rates(5e9), load(0.1), cpu("h1", APP, sys=0.5))
    assert codes(paced, setup(tick_accounting={"h1": True})) == ["cpu-accounting-disagrees"]
    assert codes(paced) == ["foreign-load"]


def test_ticks_that_all_hit_a_load_leave_the_idle_time_that_is_counted_exactly() -> None:
    assert [surely_used(idle) for idle in (1.0, 0.5, 0.0)] == [0.0, 0.0, 1.0]
    assert surely_used(0.4 / 1.4) == pytest.approx(0.6), "40 % idle, and all ticks charged"
    beside = both(case(rate_bps=5e9), rates(5e9), load(0.1), cpu("h1", APP, sys=0.1, usr=0.85))
    assert codes(beside, setup(tick_accounting={"h1": True})) == ["foreign-load"]


def test_active_idle_has_no_load_to_compare_with() -> None:
    trial = told(both(story(placed=()), case(instances=1, load_level=0.0))).trial()
    assert trial.sender is not None
    assert trial.sender.foreign_cores is None
    assert trial.sender.reasons["foreign_cores"] == "no load ran"


def test_what_others_used_beside_users_is_told_where_the_users_ran() -> None:
    beside = both(of_users(cpu_s=0.45), cpu("h1", 3, usr=0.9), cpu("h2", 3, usr=0.9))
    (flag,) = flags(beside)
    assert (flag.code, flag.where) == ("foreign-load", "h1")
    assert "1.40 of usr and sys on the whole host, of these the load used 0.45" in flag.evidence
    trial = measured(beside)
    assert trial.sender is not None
    assert trial.receiver is not None
    assert trial.sender.foreign_cores == pytest.approx(0.95)
    assert "foreign_cores" not in trial.sender.reasons
    assert trial.receiver.foreign_cores is None
    assert "the server's sessions" in trial.receiver.reasons["foreign_cores"]


def test_users_on_the_cpus_of_their_server_are_not_told_apart_from_its_sessions() -> None:
    trial = measured(SHARED, of_users(), cpu("h1", 3, usr=0.9), cpu("h2", 3, usr=0.9))
    assert not [flag for flag in trial.flags if flag.code == "foreign-load"]
    for end in trial.ends:
        assert "the server's sessions" in end.reasons["foreign_cores"]


def test_of_two_cpus_that_hide_work_the_one_that_hides_more_is_told() -> None:
    two = story(placed=(("0", "0"), ("2", "2")), load_cores={"h1": 0.5, "h2": 0.3})
    receiver = both(cpu("h2", 0, sys=0.3), cpu("h2", 2, sys=0.3))
    for first, second in ((0.01, 0.2), (0.2, 0.01)):
        (flag,) = flags(two, receiver, cpu("h1", 0, sys=first), cpu("h1", 2, sys=second))
        assert "mpstat shows 0.010 cores for CPU" in flag.evidence


def test_where_both_ends_run_on_one_cpu_it_must_show_the_load_of_both() -> None:
    crowded = both(SHARED, story(placed=(("0", "0"),)), *(cpu(host, 0, sys=0.7) for host in ("h1", "h2")))
    idle = both(*(cpu(host, 2) for host in ("h1", "h2")))
    assert [(flag.code, flag.where) for flag in flags(crowded, idle)] == [
        ("cpu-accounting-disagrees", "h1"),
        ("cpu-accounting-disagrees", "h2"),
    ]


def test_what_is_hidden_on_the_other_ends_cpu_is_told_of_that_end() -> None:
    found = flags(SHARED, *(cpu(host, 2, sys=0.01) for host in ("h1", "h2")))
    assert [(flag.code, flag.where) for flag in found] == [("cpu-accounting-disagrees", "h2")]
