# SPDX-License-Identifier: Apache-2.0
"""What threads did between two reads, and configuration that changed between rounds."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict, replace

import pytest

from linewatt.engine.live.host_queries import Configuration
from linewatt.engine.live.readback import _THREADS, Difference, ReadBack, Thread, parse_threads, read_back
from linewatt.engine.measuring.accounts import cores_between
from linewatt.engine.measuring.checks import configuration, placement
from linewatt.engine.measuring.cut import PlacedProcess
from linewatt.engine.measuring.run_record import readbacks
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost

# Linux 6.18, bash 5.2: an iperf3 3.12 server on CPU 0
CAPTURED = "4711 4711 0 118 0 1763783000123456 1182345678 2 9120 44\n"
CUBIC = {"sysctl.net.ipv4.tcp_congestion_control": "cubic", "nic.mtu": "1500", "nic.carrier_changes": "2"}


def thread(run_s: float | None, read_s: float | None = 0.0, tid: int = 7, migrations: int = 1) -> Thread:
    return Thread(7, tid, 0, 10, (0,), read_s, run_s, migrations)


def seen(before: tuple[Thread, ...], after: tuple[Thread, ...]) -> ReadBack:
    return ReadBack(110.0, after, before=ReadBack(100.0, before))


def test_a_line_has_what_the_scheduler_counted_and_older_ones_have_not() -> None:
    (one,) = parse_threads(CAPTURED)
    assert one.run_s == pytest.approx(1.182345678)
    assert one.read_s == pytest.approx(1763783000.123456, abs=1e-5)
    assert (one.migrations, one.switches, one.preemptions) == (2, 9120, 44)
    (old,) = parse_threads("4711 4711 0 118 0 - - - - -\n")
    assert (old.run_s, old.migrations) == (None, None)


TURNS = 600
BY_TURNS = """
import time
while True:
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.0003: pass
    time.sleep(0.0003)
"""
"""runs and sleeps: the text of its state has another length each time"""


def test_a_thread_whose_state_changes_while_it_is_read_is_read_whole() -> None:
    """One or two of a hundred were said to be unreadable: bash read lines that the kernel had moved."""
    with subprocess.Popen([sys.executable, "-c", BY_TURNS]) as busy:
        try:
            asked = ["bash", "-c", _THREADS, "linewatt", *[str(busy.pid)] * TURNS]
            said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout
        finally:
            busy.kill()
    threads = parse_threads(said)
    assert len(threads) == TURNS
    assert {one.allowed for one in threads} == {tuple(sorted(os.sched_getaffinity(0)))}
    assert all(one.switches is not None and one.preemptions is not None for one in threads)


def test_cpu_use_is_that_between_the_reads() -> None:
    assert cores_between(seen((thread(2.0, 50.0),), (thread(7.0, 60.0),)), [7]) == pytest.approx(0.5)
    late = (thread(7.0, 60.0), thread(1.0, 60.0, tid=8))
    assert cores_between(seen((thread(2.0, 50.0),), late), [7]) == pytest.approx(0.6), "one began meanwhile"
    unstamped = seen((thread(2.0, None),), (thread(7.0, None),))
    assert cores_between(unstamped, [7]) == pytest.approx(0.5), "bash before 5.0: by when it was asked"


def test_cpu_use_that_is_not_known_is_a_reason() -> None:
    ended = seen((thread(2.0, 50.0), thread(1.0, 50.0, tid=8)), (thread(7.0, 60.0),))
    assert "not present at both reads" in str(cores_between(ended, [7]))
    assert "CONFIG_SCHED_INFO" in str(cores_between(seen((thread(None),), (thread(None),)), [7]))
    assert "omit leaves no time" in str(cores_between(ReadBack(1.0, (thread(1.0),)), [7]))
    assert "not present" in str(cores_between(seen((), (thread(1.0),)), [7]))


def moved(readback: ReadBack, cpus: str | None = "0", start_migrations: int | None = None) -> list[str]:
    placed = PlacedProcess(0, cpus, 7, start_migrations)
    return [flag.code for flag in placement.processes("h1", readback, [placed])]


def test_migrations_give_away_a_process_that_was_put_back() -> None:
    back = seen((thread(1.0, migrations=1),), (thread(2.0, migrations=3),))
    assert moved(back) == ["process-migrated"]
    assert moved(seen((thread(1.0),), (thread(2.0),))) == []
    wide = replace(back, threads=(replace(thread(2.0, migrations=9), allowed=(0, 1)),))
    wide = replace(wide, before=ReadBack(1.0, (replace(thread(1.0), allowed=(0, 1)),)))
    assert moved(wide, "0-1") == [], "on several CPUs the scheduler itself moves it"


def test_a_process_that_was_put_back_is_seen_without_a_read_before_the_window() -> None:
    """Measured: moved and put back within a window behind a short omit, 2 migrations on record."""
    once = ReadBack(110.0, (thread(2.0, migrations=3),))
    (flag,) = placement.processes("h1", once, [PlacedProcess(0, "0", 7, 1)])
    assert (flag.code, flag.where) == ("process-migrated", "h1: instance 0")
    assert "since its placement the kernel moved process 7 2 times" in flag.evidence
    assert moved(once, start_migrations=3) == [], "all of them put it there"
    worker = replace(once, threads=(thread(2.0, migrations=1), thread(2.0, tid=8, migrations=2)))
    assert moved(worker, start_migrations=1) == ["process-migrated"], "a thread begins with none"


def test_a_move_and_back_before_the_window_counts_too() -> None:
    twice = seen((thread(1.0, migrations=3),), (thread(2.0, migrations=3),))
    assert moved(twice, start_migrations=1) == ["process-migrated"]
    assert moved(twice) == [], "of what was before the first read nothing is known"


def test_a_check_of_migrations_that_could_not_be_made_is_told() -> None:
    once = ReadBack(110.0, (thread(2.0, migrations=2),))
    (flag,) = placement.processes("h1", once, [PlacedProcess(0, "0", 7)])
    assert (flag.code, flag.where) == ("placement-not-verified", "h1: instance 0")
    assert "moved process 7 2 times since its start" in flag.evidence
    assert "window.omit" in flag.advice
    uncounted = ReadBack(110.0, (replace(thread(2.0), migrations=None),))
    (flag,) = placement.processes("h1", uncounted, [PlacedProcess(0, "0", 7, 1), PlacedProcess(1, "0", 7, 1)])
    assert (flag.code, flag.where) == ("placement-not-verified", "h1: instances 0-1")
    assert "CONFIG_SCHED_DEBUG" in flag.evidence
    assert moved(replace(uncounted, threads=(replace(uncounted.threads[0], allowed=(0, 1)),)), "0-1") == []


def test_a_process_elsewhere_before_the_window_is_told() -> None:
    early = replace(thread(1.0), cpu=3, allowed=(3,))
    (flag,) = placement.processes("h1", seen((early,), (thread(2.0),)), [PlacedProcess(0, "0", 7)])
    assert flag.code == "process-moved"
    assert "before the window may run on CPU 3" in flag.evidence


def test_what_is_stored_is_read_again() -> None:
    one = replace(
        seen((thread(2.0),), (thread(7.0),)),
        facts=CUBIC,
        differences=(Difference("nic.mtu", "1500", "9000", 5.0),),
    )
    files = {"h1/readback.json": json.dumps(asdict(replace(one, sockets=""))), "h1/ss.txt": "0 0 a:1 b:2\n"}
    assert readbacks(files, ["h1", "h2"]) == {"h1": replace(one, sockets="0 0 a:1 b:2\n")}
    old = {"time_s": 1.0, "threads": [{"pid": 1, "tid": 1, "cpu": 0, "ticks": 3, "allowed": [0]}]}
    assert readbacks({"h1/readback.json": json.dumps(old)}, ["h1"])["h1"].threads[0].allowed == (0,)


def test_this_host_tells_its_threads_and_facts() -> None:
    stop = threading.Event()
    extra = threading.Thread(target=stop.wait)
    extra.start()
    try:
        host = LocalHost(HostSpec("here", "local", "lo"))
        found = asyncio.run(read_back(host, [os.getpid()], [], {}, ports=[1]))
    finally:
        stop.set()
        extra.join()
    own = found.of(os.getpid())
    assert len(own) >= 2
    assert all(one.read_s is not None and abs(one.read_s - found.time_s) < 10 for one in own)
    assert found.facts["nic.mtu"]
    assert "sysctl.net.ipv4.tcp_congestion_control" in found.facts


def test_a_fact_that_changed_by_itself_is_a_difference_with_its_time() -> None:
    book = Configuration()
    book.begin("h1", CUBIC)
    assert book.differences("h1", [], CUBIC) == []
    (one,) = book.differences("h1", [], {**CUBIC, "sysctl.net.ipv4.tcp_congestion_control": "reno"})
    assert (one.before, one.found) == ("cubic", "reno")
    assert one.as_before_s is not None
    assert book.differences("h1", [], {**CUBIC, "nic.carrier_changes": "4"}) == [], "linewatt resets links"
    assert book.differences("h2", [], {"nic.mtu": "9000"}) == [], "nothing is known of it"


def test_what_a_setting_of_the_campaign_changes_is_compared_under_the_same_settings() -> None:
    book = Configuration()
    book.begin("h1", CUBIC)
    jumbo, plain = [("mtu", "eth0", "9000")], [("mtu", "eth0", "1500")]
    large = {**CUBIC, "nic.mtu": "9000"}
    assert book.differences("h1", jumbo, large) == []
    assert book.differences("h1", plain, CUBIC) == []
    assert book.differences("h1", jumbo, large) == []
    assert [one.fact for one in book.differences("h1", jumbo, CUBIC)] == ["nic.mtu"]
    own = [("sysctl", "net.ipv4.tcp_congestion_control", "reno")]
    reno = {**CUBIC, "sysctl.net.ipv4.tcp_congestion_control": "reno"}
    assert book.differences("h1", own, reno) == []
    assert [one.fact for one in book.differences("h1", [], reno)] == [*reno][:1]


def test_a_host_set_up_anew_is_compared_with_its_new_state() -> None:
    book = Configuration()
    book.begin("h1", CUBIC)
    book.begin("h1", {**CUBIC, "nic.mtu": "9000"})
    assert book.differences("h1", [], {**CUBIC, "nic.mtu": "9000"}) == []


def test_differences_are_told_by_the_names_of_the_tools() -> None:
    readback = ReadBack(1.0, facts={"nic.offloads.gro": "on"}, before=ReadBack(0.5, facts={}))
    assert list(configuration.changed("h1", readback)) == []
    changed = replace(readback, before=ReadBack(0.5, facts={"nic.offloads.gro": "off"}))
    (flag,) = configuration.changed("h1", changed)
    assert flag.evidence == "gro was off before the window and on after it"
    since = replace(readback, differences=(Difference("sysctl.a.b", "1", "2", 3600.0),))
    (flag,) = configuration.changed("h1", since)
    assert flag.evidence == "a.b is 2, was 1 until at least 01:00:00 UTC"
