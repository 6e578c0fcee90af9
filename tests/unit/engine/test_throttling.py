# SPDX-License-Identifier: Apache-2.0
"""CPU quotas, run queues and pressure: the real script, what is made of it, and what it says of a limit."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests import cpu_weights
from tests.report_factories import end, shares, trial
from tests.wiring import both, cpu, early, readback, story, told

from linewatt.analysis.limits.quotas import throttled_ratio
from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.engine.live.host_queries import compared
from linewatt.engine.live.readback import ReadBack, Thread, parse_threads, read_back
from linewatt.engine.live.throttling import (
    MOST,
    SCRIPT,
    CgroupTotals,
    OutsideTotals,
    command,
    outside_limits,
    parse,
)
from linewatt.engine.measuring.accounts import waited_ratio
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.model import Case, CgroupThrottling, EndResult, OtherProcess, OutsideLimits, Role, Trial

# Linux 6.18, control groups of version 1: a loop of 2 s in a group with 10 % of a CPU
CAPTURED = """26374.82
cgroup 25 25 2010028 10000 100000 /lwa probe
cgroup 0 0 0 -1 100000 /
pressure cpu some 12311786395
pressure cpu full 0
pressure memory some 0
pressure memory full 0
"""
GROUP = CgroupTotals("/load", 100, 40, 1.0, 0.05, 0.1)
EARLY = OutsideTotals(100.0, (GROUP,), {"cpu some": 5.0, "memory some": 1.0})
LATE = OutsideTotals(
    110.0,
    (replace(GROUP, periods=200, throttled_periods=140, throttled_s=9.0),),
    {"cpu some": 7.5, "memory some": 1.0},
)


def test_what_a_real_host_wrote_is_read() -> None:
    totals = parse(CAPTURED)
    assert totals.uptime_s == 26374.82
    assert totals.cgroups == (
        CgroupTotals("/lwa probe", 25, 25, 2.010028, 0.01, 0.1),
        CgroupTotals("/", 0, 0, 0.0, None, 0.1),
    )
    assert totals.pressure_s["cpu some"] == pytest.approx(12311.786395)


@pytest.mark.parametrize(
    "text", ["", "x\n", "1.0\ncgroup 1 2 3 max 100000\n", "1.0\ncgroup 1 2 x max 1 /\n", "1.0\nother\n"]
)
def test_what_is_no_answer_of_the_script_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_missing_counts_are_missing_and_never_0() -> None:
    assert parse("1.0\ncgroup 5 - - max 100000 /a\n").cgroups == ()
    assert parse("1.0\n") == OutsideTotals(1.0)
    (unlimited,) = parse("1.0\ncgroup 5 0 0 - - /a\n").cgroups
    assert (unlimited.quota_s, unlimited.period_s) == (None, None)


def written(root: Path, files: Mapping[str, str]) -> OutsideTotals:
    """What the script makes of files in place of those of this machine."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@", str(root)))
    script = SCRIPT.replace("/proc/", f"{root}/proc/")
    done = subprocess.run(["bash", "-c", script, "linewatt", "7", "8"], capture_output=True, timeout=30)
    return parse(done.stdout.decode())


UPTIME = {"proc/uptime": "50.00 99.00\n", "proc/7/cgroup": "0::/a.slice/b c.service\n"}
V2 = "30 25 0:26 / @/fs rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
STAT = "usage_usec 9\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\n"


def test_version_2_is_read_of_the_process_and_every_parent(tmp_path: Path) -> None:
    files = {
        **UPTIME,
        "proc/self/mountinfo": V2,
        "proc/8/cgroup": "0::/a.slice\n",
        "fs/cpu.stat": "usage_usec 9\n",
        "fs/a.slice/cpu.stat": STAT.format(10, 4, 300000),
        "fs/a.slice/cpu.max": "150000 100000\n",
        "fs/a.slice/b c.service/cpu.stat": STAT.format(8, 0, 0),
        "fs/a.slice/b c.service/cpu.max": "max 100000\n",
        "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n",
    }
    totals = written(tmp_path, files)
    assert [cgroup.path for cgroup in totals.cgroups] == ["/a.slice/b c.service", "/a.slice"]
    assert totals.cgroups[0].quota_s is None
    assert totals.cgroups[1] == CgroupTotals("/a.slice", 10, 4, 0.3, 0.15, 0.1)
    assert totals.pressure_s == {"memory some": 0.25}


def test_version_1_is_read_where_a_part_of_the_tree_is_mounted(tmp_path: Path) -> None:
    files = {
        "proc/uptime": "50.00 99.00\n",
        "proc/self/mountinfo": "31 25 0:27 /docker/x @/fs rw - cgroup cgroup rw,cpuacct,cpu\n"
        "32 25 0:28 / @/sets rw - cgroup cgroup rw,cpuset\n",
        "proc/7/cgroup": "4:cpuset:/\n3:cpu,cpuacct:/docker/x\n0::/\n",
        "fs/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 300000000\n",
        "fs/cpu.cfs_quota_us": "50000\n",
        "fs/cpu.cfs_period_us": "100000\n",
    }
    (cgroup,) = written(tmp_path, files).cgroups
    assert cgroup == CgroupTotals("/", 10, 4, 0.3, 0.05, 0.1)


def test_a_host_without_control_groups_and_pressure_tells_none(tmp_path: Path) -> None:
    files = {**UPTIME, "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"}
    assert written(tmp_path, files) == OutsideTotals(50.0)


_LOOP = "while True: pass"


@pytest.fixture
def throttled_pid() -> Iterator[int]:
    """A process that computes in a control group with a tenth of a CPU, which it has before all others."""
    name = f"linewatt-quota-{os.getpid()}"
    v1, v2 = cpu_weights.V1 / name, cpu_weights.V2 / name
    group = cpu_weights.make_group(v1, 10_000) or cpu_weights.make_group(v2, 10_000)
    if group is None:
        pytest.skip("needs control groups of the controller cpu that can be written")
    with subprocess.Popen(cpu_weights.inside(group, [sys.executable, "-c", _LOOP])) as process:
        try:
            if (group / "cpu.max").exists():
                (group / "cpu.max").write_text("10000 100000")
            else:
                (group / "cpu.cfs_quota_us").write_text("10000")
            latest_s = time.monotonic() + 20
            while str(process.pid) not in (group / "cgroup.procs").read_text().split():
                assert time.monotonic() < latest_s, "waited 20 s for the loop to be in its control group"
                time.sleep(0.01)
            yield process.pid
        finally:
            process.kill()
            process.wait()
            cpu_weights.remove_group(group)


def test_the_read_back_tells_a_quota_that_was_used_up_between_two_reads(throttled_pid: int) -> None:
    host = LocalHost(HostSpec("here", "local", "lo"))
    first = asyncio.run(read_back(host, [throttled_pid], [], {}))

    def until_now() -> tuple[ReadBack, CgroupThrottling, OutsideLimits]:
        both_reads = compared(asyncio.run(read_back(host, [throttled_pid], [], {})), first)
        limits = both_reads.outside_limits
        assert limits is not None
        (cgroup,) = [one for one in limits.cgroups if "linewatt-quota" in one.path]
        return both_reads, cgroup, limits

    both_reads, cgroup, limits = until_now()
    while cgroup.throttled_periods < 2 or cgroup.throttled_s <= 0.3 * limits.between_s:
        assert limits.between_s < 20, f"a quota that keeps the loop from running: {cgroup}"
        both_reads, cgroup, limits = until_now()
    assert cgroup.quota_cores == pytest.approx(0.1)
    assert (both_reads.outside, first.outside is None) == (None, False)
    waited = waited_ratio(both_reads, [throttled_pid])
    assert waited is not None
    assert waited > 0.3, "a throttled thread is in a run queue"


def test_the_command_is_a_constant_script_with_numbers_as_arguments() -> None:
    words = command([3, 4])
    assert words[-2:] == ("3", "4")
    assert words[:4] == command([])


def test_what_lies_between_two_reads_is_kept() -> None:
    limits = outside_limits(EARLY, LATE)
    assert limits == OutsideLimits(
        10.0,
        (CgroupThrottling("/load", 100, 100, 8.0, 0.5, 0.1),),
        {"cpu some": 2.5, "memory some": 0.0},
    )
    assert outside_limits(None, LATE) is None
    assert outside_limits(EARLY, None) is None
    assert outside_limits(LATE, EARLY) is None, "the host was started again meanwhile"


def test_a_control_group_without_a_quota_or_that_is_another_one_is_not_told() -> None:
    def cgroups(before: CgroupTotals, after: CgroupTotals) -> tuple[CgroupThrottling, ...]:
        limits = outside_limits(replace(EARLY, cgroups=(before,)), replace(LATE, cgroups=(after,)))
        assert limits is not None
        return limits.cgroups

    unlimited = replace(GROUP, quota_s=None)
    assert cgroups(unlimited, unlimited) == ()
    assert cgroups(GROUP, replace(GROUP, path="/other")) == ()
    assert cgroups(GROUP, replace(GROUP, periods=3)) == (), "it was made again"
    (lifted,) = cgroups(GROUP, replace(unlimited, periods=150, throttled_periods=90, throttled_s=4.0))
    assert (lifted.quota_cores, lifted.throttled_periods) == (None, 50)


def test_so_many_control_groups_are_kept_the_most_throttled_first() -> None:
    before = tuple(replace(GROUP, path=f"/{number}") for number in range(40))
    after = tuple(replace(one, throttled_s=1.0 + at) for at, one in enumerate(before))
    limits = outside_limits(replace(EARLY, cgroups=before), replace(LATE, cgroups=after))
    assert limits is not None
    assert len(limits.cgroups) == MOST
    assert limits.cgroups[0].path == "/39"


def test_periods_in_which_nothing_ran_have_passed_all_the_same() -> None:
    limits = OutsideLimits(10.0)
    assert throttled_ratio(CgroupThrottling("/a", 20, 20, 1.0, 0.1, 0.1), limits) == pytest.approx(0.2)
    assert throttled_ratio(CgroupThrottling("/a", 20, 10, 1.0), limits) == 0.5
    assert throttled_ratio(CgroupThrottling("/a", 0, 0, 0.0), limits) == 0.0


def quota(throttled: int, throttled_s: float, path: str = "/load") -> OutsideLimits:
    return OutsideLimits(10.0, (CgroupThrottling(path, 100, throttled, throttled_s, 0.1, 0.1),))


def loaded(
    *, sender: OutsideLimits | None = None, receiver: OutsideLimits | None = None, at: int = 1
) -> Trial:
    """A trial on CPUs that have room, of which a quota may be used up at an end."""

    def one_end(host: str, role: Role, limits: OutsideLimits | None) -> EndResult:
        cpus = {"app_cpu": shares(0.1), "irq_cpu": shares(0.1, cpus=(1,), soft=0.1)}
        return end(host, role, 0.2, 0, 0, outside_limits=limits, **cpus)

    case = Case("tcp", "a", "b")
    ends = {"sender": one_end("a", "sender", sender), "receiver": one_end("b", "receiver", receiver)}
    return replace(trial(at, case, 3.4e9, 0.2, line_goodput_bps=9.5e9), **ends)  # type: ignore[arg-type]


def limit(*trials: Trial) -> Limit:
    return verdict(trials)


def test_a_quota_that_is_used_up_limits_and_the_sentence_has_the_figures() -> None:
    named = limit(loaded(sender=quota(100, 8.0)), loaded(sender=quota(90, 9.0), at=2))
    assert named.kinds == ("sender-cpu-quota",)
    assert named.words == (
        "the CPU quota of the sender's cgroup /load (throttled 8.5 s of 10.0 s, in 95.0 % of its periods; "
        "a quota of 0.1 CPUs)"
    )
    (candidate,) = named.named
    assert (candidate.capacity, candidate.used, candidate.unit) == (100, 95, "periods")
    assert "cpu.stat" in candidate.source
    assert limit(loaded(receiver=quota(100, 8.0))).kinds == ("receiver-cpu-quota",)


def test_a_quota_that_is_used_up_now_and_then_is_told_and_limits_nothing() -> None:
    named = limit(loaded(sender=quota(20, 1.0)))
    assert named.kinds == ("not-found",)
    assert "CPU quota of the sender's cgroup /load throttled 1.0 s of 10.0 s, in 20.0 %" in named.evidence
    assert "quota" not in limit(loaded(sender=quota(0, 0.0))).evidence


def test_memory_that_tasks_waited_for_is_told_where_no_limit_is_found() -> None:
    evidence = limit(loaded(sender=OutsideLimits(10.0, (), {"memory some": 2.0}))).evidence
    assert "tasks on a waited for memory 20.0 % of the time (/proc/pressure/memory)" in evidence
    assert "memory" not in limit(loaded(sender=OutsideLimits(10.0, (), {"memory some": 0.1}))).evidence
    assert "memory" not in limit(loaded(sender=OutsideLimits(10.0))).evidence


def test_the_parent_that_was_throttled_most_is_the_one_that_is_named() -> None:
    limits = quota(10, 0.5)
    limits = replace(limits, cgroups=(*limits.cgroups, *quota(100, 9.0, "/").cgroups))
    assert "cgroup / (" in limit(loaded(sender=limits)).words


def test_a_limiting_quota_makes_throughput_doubtful_and_says_how_much() -> None:
    limits = OutsideLimits(22.0, (CgroupThrottling("/load", 220, 220, 19.8, 0.1, 0.1),))
    (flag,) = told(readback("h1", outside_limits=limits)).trial().flags
    assert (flag.code, flag.where) == ("cpu-quota-throttled", "h1")
    assert flag.evidence == (
        "cgroup /load of the load was throttled 19.8 s of 22.0 s, in 100.0 % of its periods: "
        "a quota of 0.1 CPUs"
    )


@pytest.mark.parametrize(
    ("throttled_s", "used_cores", "is_told"),
    [(0.2, 0.1, False), (1.1, 0.5, True), (0.6, 2.0, False)],
    ids=["less than 0.02 cores", "0.05 cores", "less than 2 % of what was wanted"],
)
def test_a_quota_that_kept_the_load_from_little_raises_no_doubt(
    throttled_s: float, used_cores: float, is_told: bool
) -> None:
    limits = OutsideLimits(22.0, (CgroupThrottling("/load", 220, 20, throttled_s, 0.1, 0.1),))
    change = both(
        story(load_cores={"h1": used_cores, "h2": 0.6}),
        readback("h1", outside_limits=limits),
        cpu("h1", 0, usr=min(1.0, used_cores / 2)),
    )
    codes = {flag.code for flag in told(change).trial().flags}
    assert ("cpu-quota-throttled" in codes) == is_told


def waiting(wait_s: float | None, read_s: float, run_s: float = 1.0) -> Thread:
    return Thread(1000, 1000, 0, 100, (0,), read_s, run_s, 3, 9000, 20, wait_s)


def reads(before: Thread, after: Thread) -> ReadBack:
    return ReadBack(10.0, (after,), before=ReadBack(0.0, (before,)))


def test_how_long_a_thread_waited_for_a_cpu_is_of_the_time_between_the_reads() -> None:
    assert waited_ratio(reads(waiting(1.0, 0.0), waiting(4.0, 10.0)), [1000]) == pytest.approx(0.3)
    assert waited_ratio(reads(waiting(None, 0.0), waiting(None, 10.0)), [1000]) is None
    assert waited_ratio(reads(waiting(0.0, 0.0, 0.0), waiting(0.0, 10.0, 0.0)), [1000]) is None, (
        "a kernel that does not count shows 0 for all"
    )
    assert waited_ratio(None, [1000]) is None


def test_a_line_has_the_wait_and_older_ones_have_not() -> None:
    (thread,) = parse_threads("7 7 0 118 0 1763783000123456 1182345678 2 9120 44 2500000000\n")
    assert thread.wait_s == pytest.approx(2.5)
    (older,) = parse_threads("7 7 0 118 0 1763783000123456 1182345678 2 9120 44\n")
    assert older.wait_s is None


def test_that_the_load_waited_for_a_shared_cpu_is_evidence() -> None:
    threads = waiting(0.1, 1_700_000_000.7, 0.4), waiting(11.0, 1_700_000_022.7, 11.4)
    other = OtherProcess("rt", 63, (0,), 0.5)
    change = both(
        cpu("h1", 0, usr=0.5, sys=0.5),
        early("h1", threads=(threads[0],)),
        readback("h1", threads=(threads[1],), other_processes=(other,)),
    )
    found_trial = told(change).trial()
    assert found_trial.sender is not None
    assert found_trial.sender.load_waited_ratio == pytest.approx(10.9 / 22.0)
    (flag,) = [flag for flag in found_trial.flags if flag.code == "limiting-cpu-shared"]
    assert "a thread of the load waited for a CPU 49.5 % of the time" in flag.evidence
    named = limit(found_trial)
    assert "waited for a CPU 49.5 % of the time" in named.words
