# SPDX-License-Identifier: Apache-2.0
"""Limits from outside the load: cpusets, affinity, priority, who runs first, ulimit, memory pressure."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.engine.test_throttling import UPTIME, written
from tests.wiring import APP, Change, both, cpu, early, rates, readback, story, told

from linewatt.analysis.limits.verdict import verdict
from linewatt.engine.live.confinement import Cpuset, ProcessLimits, ResourceUse
from linewatt.engine.live.readback import ReadBack, Thread, parse_threads, read_back
from linewatt.engine.live.throttling import parse
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.model import Flag, OtherProcess, OutsideLimits, Trial

# Linux 6.18, control groups of version 1, what the script wrote of three processes of sleep(1): at nice 10;
# in a cpuset with CPU 1 alone and `ulimit -n 8`; and of the class real-time (chrt -f 10)
CAPTURED = """35634.89
cpuset 402 0-1 /
cgroup 0 0 0 -1 100000 /
limits 402 5 20000 0 8388608 1 96365
cpuset 404 1 /lwh-probe
limits 404 7 8 0 8388608 1 96365
cpuset 406 0-1 /
limits 406 5 20000 0 8388608 1 96365
pressure memory some 0
"""
# The same machine, what the script of threads wrote of a process of the class real-time and of a niced one
CAPTURED_THREADS = """7448 7448 1 7 0-1 1795896037327033 77389842 0 2 0 2833413 0 1
7450 7450 1 0 0-1 1795896037327859 2400617 0 1 1 10182503 10 0
"""


def test_what_a_real_host_wrote_is_read() -> None:
    totals = parse(CAPTURED)
    assert totals.cpusets == (
        Cpuset(402, "/", (0, 1)),
        Cpuset(404, "/lwh-probe", (1,)),
        Cpuset(406, "/", (0, 1)),
    )
    assert totals.process_limits[1] == ProcessLimits(
        404,
        (
            ResourceUse("open files", 7, 8),
            ResourceUse("locked memory", 0, 8388608),
            ResourceUse("threads", 1, 96365),
        ),
    )
    assert totals.isolated_cpus == ()
    assert parse("1.0\nisolated 2-3,6\n").isolated_cpus == (2, 3, 6)


def test_threads_have_their_class_and_nice_value() -> None:
    first, niced = parse_threads(CAPTURED_THREADS)
    assert (first.scheduling, first.nice) == ("real-time", 0)
    assert (niced.scheduling, niced.nice) == ("normal", 10)
    (older,) = parse_threads("7 7 0 118 0 1763783000123456 1182345678 2 9120 44 2500000000\n")
    assert (older.scheduling, older.nice) == (None, None)


def test_what_is_unlimited_or_not_known_is_left_out_and_never_0() -> None:
    (limits,) = parse("1.0\nlimits 7 - 1024 4 unlimited - -\n").process_limits
    assert limits == ProcessLimits(7, ())
    (locked,) = parse("1.0\nlimits 7 - 1024 4 65536 - -\n").process_limits
    assert locked.resources == (ResourceUse("locked memory", 4096, 65536),)


@pytest.mark.parametrize("line", ["cpuset 7 0-1", "cpuset 7 x /", "limits 7 1 2", "isolated x", "limits a 1"])
def test_what_is_no_answer_of_the_script_is_an_error(line: str) -> None:
    with pytest.raises(ParseError):
        parse(f"1.0\n{line}\n")


V1 = (
    "31 25 0:27 / @/cpu rw - cgroup cgroup rw,cpu,cpuacct\n32 25 0:28 / @/sets rw - cgroup cgroup rw,cpuset\n"
)
V2 = "30 25 0:26 / @/fs rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.mark.parametrize(
    ("files", "cpuset"),
    [
        (
            {
                "proc/self/mountinfo": V1,
                "proc/7/cgroup": "4:cpuset:/a b/c\n3:cpu,cpuacct:/\n",
                "sets/a b/c/cpuset.effective_cpus": "2-3\n",
            },
            Cpuset(7, "/a b/c", (2, 3)),
        ),
        (
            {
                "proc/self/mountinfo": V2,
                "proc/7/cgroup": "0::/a.slice/b.service\n",
                "fs/a.slice/cpuset.cpus.effective": "0\n",
                "fs/cpuset.cpus.effective": "0-3\n",
            },
            Cpuset(7, "/a.slice", (0,)),
        ),
    ],
    ids=["version 1", "version 2, of the nearest parent with the controller"],
)
def test_the_cpuset_of_a_process_is_found(tmp_path: Path, files: Mapping[str, str], cpuset: Cpuset) -> None:
    assert written(tmp_path, {**UPTIME, **files}).cpusets == (cpuset,)


def test_the_read_back_reads_this_process() -> None:
    host = LocalHost(HostSpec("here", "local", "lo"))
    answer = asyncio.run(read_back(host, [os.getpid()], [], {}))
    (thread,) = [one for one in answer.threads if one.tid == os.getpid()]
    assert (thread.nice, thread.scheduling) == (os.nice(0), "normal")
    assert {*thread.allowed} <= {*answer.cpusets[0].cpus}
    files = answer.process_limits[0].resources[0]
    assert (files.resource, files.limit) == ("open files", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    assert files.used >= 3


def test_the_read_back_reads_a_niced_process() -> None:
    host = LocalHost(HostSpec("here", "local", "lo"))
    with subprocess.Popen(["nice", "-n", "5", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None
        try:
            cat.stdin.write(b"\n")
            cat.stdin.flush()
            cat.stdout.read(1)  # it is cat by now
            answer = asyncio.run(read_back(host, [cat.pid], [], {}))
        finally:
            cat.kill()
    assert [one.nice for one in answer.threads] == [os.nice(0) + 5]


def thread(pid: int = 1000, allowed: tuple[int, ...] = (APP,), **fields: Any) -> Thread:
    return replace(Thread(pid, pid, allowed[0], 1200, allowed, migrations=3), **fields)


def flags(change: Change) -> list[Flag]:
    return [flag for flag in told(change).trial().flags if flag.code != "placement-not-verified"]


def at_both(host: str, *threads: Thread) -> Change:
    return both(early(host, threads=threads), readback(host, threads=threads))


def test_a_cpuset_that_is_narrower_than_the_plan_is_named_with_its_group() -> None:
    narrowed = both(
        story(placed=(("0,3", "0"),)),
        at_both("h1", thread()),
        readback("h1", cpusets=(Cpuset(1000, "/load.slice", (0, 1)), Cpuset(1000, "/", (0, 1, 2, 3)))),
    )
    (flag,) = flags(narrowed)
    assert (flag.code, flag.where) == ("cpus-withheld", "h1: instance 0")
    assert flag.evidence == (
        "placed on CPU 0,3; process 1000 may run only on CPU 0: the cpuset of its cgroup /load.slice is 0-1"
    )


def test_an_affinity_that_is_narrower_is_no_fault_of_a_cpuset() -> None:
    (flag,) = flags(both(story(placed=((None, None),)), at_both("h2", thread(2000, (0, 1)))))
    assert flag.evidence == (
        "unpinned on a host with CPU 0-3; process 2000 may run only on CPU 0-1: its affinity (taskset, "
        "CPUAffinity=) is narrower"
    )


def test_threads_that_share_their_cpus_out_among_themselves_lack_none() -> None:
    threads = thread(allowed=(0,)), thread(allowed=(3,), tid=1001)
    found = flags(both(story(placed=(("0,3", "0"),)), at_both("h1", *threads)))
    assert [flag.code for flag in found if flag.code == "cpus-withheld"] == []


def test_a_process_that_is_on_other_cpus_altogether_was_moved() -> None:
    found = flags(both(story(placed=(("0,3", "0"),)), at_both("h1", thread(allowed=(2,)))))
    assert "process-moved" in [flag.code for flag in found]
    assert "cpus-withheld" not in [flag.code for flag in found]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"nice": 10, "scheduling": "normal"}, "at nice 10"),
        ({"nice": -5, "scheduling": "normal"}, "at nice -5"),
        ({"nice": 0, "scheduling": "real-time"}, "in scheduling class real-time"),
        ({"nice": 19, "scheduling": "batch"}, "in scheduling class batch at nice 19"),
        ({"nice": 0, "scheduling": "idle"}, "in scheduling class idle"),
    ],
)
def test_a_load_of_another_priority_is_a_note(fields: dict[str, Any], words: str) -> None:
    (flag,) = flags(at_both("h1", thread(**fields)))
    assert (flag.code, flag.evidence) == ("load-priority", f"process 1000 runs {words}")


def real_time(cores: float = 0.3, **fields: Any) -> OtherProcess:
    return replace(OtherProcess("control", 63, (APP,), cores, scheduling="real-time", nice=0), **fields)


def outranked(*others: OtherProcess, load: Change | None = None) -> list[Flag]:
    found = flags(both(*([load] if load else []), readback("h2", other_processes=others)))
    return [flag for flag in found if flag.code == "load-outranked"]


def test_a_real_time_process_on_the_loads_cpu_is_named_as_such() -> None:
    (flag,) = outranked(real_time(0.05), real_time(0.02, name="clock", tid=64))
    assert flag.where == "h2"
    assert flag.evidence == (
        "real-time control, real-time clock used 0.07 cores of app CPU 0; scheduling class "
        "real-time runs before the load"
    )


def test_who_does_not_run_first_or_elsewhere_is_not_named() -> None:
    assert outranked(real_time(0.01)) == [], "what quotas and hypervisors may take, too"
    assert outranked(real_time(cpus=(APP, 3))) == [], "how much of it ran there is not known"
    assert outranked(real_time(kernel=True, name="irq/24-eth0")) == []
    assert outranked(real_time(scheduling="normal", nice=-20)) == [], "a weight, no class"
    assert outranked(real_time(scheduling=None)) == []
    assert outranked(real_time(kernel=True, name="migration/0")) != []


def test_a_load_of_the_same_class_is_not_outranked_and_an_idle_one_by_real_time_alone() -> None:
    same = at_both("h2", thread(2000, nice=0, scheduling="real-time"))
    assert outranked(real_time(), load=same) == []
    assert outranked(real_time(scheduling="deadline"), load=same) != []
    batch = at_both("h2", thread(2000, nice=0, scheduling="batch"))
    assert outranked(real_time(), load=batch) != []
    idle = at_both("h2", thread(2000, nice=0, scheduling="idle"))
    assert outranked(real_time(), load=idle) != []


def limit_flags(*resources: ResourceUse, pid: int = 1000) -> list[str]:
    return [flag.evidence for flag in flags(readback("h1", process_limits=(ProcessLimits(pid, resources),)))]


def test_the_limit_that_is_nearest_is_told_from_nine_tenths_on() -> None:
    assert limit_flags(ResourceUse("open files", 922, 1024), ResourceUse("threads", 96000, 96365)) == [
        "process 1000 uses 96,000 of 96,365 threads (ulimit -u)"
    ]
    assert limit_flags(ResourceUse("locked memory", 60000, 65536)) == [
        "process 1000 uses 60,000 of 65,536 bytes of locked memory (ulimit -l)"
    ]
    assert limit_flags(ResourceUse("open files", 921, 1024)) == []
    assert limit_flags(ResourceUse("locked memory", 0, 0)) == []
    assert limit_flags(ResourceUse("open files", 1024, 1024), pid=4) == [], "no process of the load"


def test_memory_pressure_is_told_whatever_limits_the_case() -> None:
    assert flags(readback("h2", outside_limits=OutsideLimits(22.0, (), {"memory some": 1.0}))) == []
    (flag,) = flags(readback("h2", outside_limits=OutsideLimits(22.0, (), {"memory some": 2.2})))
    assert flag.evidence == "tasks waited for memory in 10.0 % of the time (/proc/pressure/memory)"


def full_and(**shares: float) -> Change:
    """The sender's app CPU is full, of what runs niced among it."""
    return cpu("h1", APP, **shares)


def limited(change: Change) -> tuple[Trial, str]:
    trial = told(change).trial()
    return trial, verdict([trial]).words


def test_a_niced_load_fills_its_cpu_as_any_other() -> None:
    """mpstat has its time in user mode as nice, which gives way only to who is not niced."""
    filled = both(full_and(nice=0.5, sys=0.48), story(load_cores={"h1": 0.98, "h2": 0.6}), rates(5e9))
    niced = both(filled, at_both("h1", thread(nice=10, scheduling="normal")))
    trial, words = limited(niced)
    assert trial.sender is not None
    assert trial.sender.load_nice == 10
    assert words.startswith("the sender's app CPU")
    assert "98.0 % busy" in words
    assert "the load runs at nice 10" in words
    assert limited(filled)[1].startswith("no limit found"), "niced others give way to it"


def test_others_that_run_before_the_load_and_cpus_kept_from_it_stand_beside_the_limit() -> None:
    crowded = both(full_and(usr=0.5, sys=0.48), readback("h1", other_processes=(real_time(),)))
    trial, words = limited(crowded)
    assert "others run before the load (load-outranked)" in words
    assert "real-time control" in words
    (shared,) = [flag for flag in trial.flags if flag.code == "limiting-cpu-shared"]
    assert "(at least real-time control)" in shared.evidence


def test_a_read_without_answers_of_the_script_tells_none() -> None:
    assert ReadBack(1.0).cpusets == ()
    assert flags(readback("h1", cpusets=(), process_limits=())) == []
