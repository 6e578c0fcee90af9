# SPDX-License-Identifier: Apache-2.0
"""A process that is there all the time, in idle, too, and takes half of the receiver's CPU, on real hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import Bench

pytestmark = [
    pytest.mark.lab,
    pytest.mark.measures,  # it fills half of a CPU above whatever else runs there
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]
NAME = "intruder"
NAMED = re.compile(rf"\((real-time )?{NAME}\)")
"""of a real-time class where that is allowed"""
RECEIVERS_CPU = 1
_HALF = f"""
import ctypes, os, select, time
ctypes.CDLL(None).prctl(15, {NAME.encode()!r}, 0, 0, 0)
os.sched_setaffinity(0, {{{RECEIVERS_CPU}}})
try:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
except PermissionError:
    pass
print(flush=True)
end = time.monotonic() + 120
while time.monotonic() < end and not select.select([0], [], [], 0.005)[0]:
    begun = time.monotonic()
    while time.monotonic() - begun < 0.005: pass
"""
"""Above whatever is not of a real-time class, where that is possible. It ends with its standard input."""


@contextmanager
def intruder(bench: Bench) -> Iterator[None]:
    """A process of the receiver that runs half of the time, and that linewatt did not start."""
    words = bench.inside(2, sys.executable, "-c", _HALF)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        yield


def test_a_process_that_always_has_half_of_the_receivers_cpu_is_named_and_throughput_doubtful(
    make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    bench = Bench(make_lab(rate="100gbit", bmc=False), tmp_path)
    window = {"seconds": 3, "omit": 2.5, "tail": 2.5}
    path = bench.campaign(tests=["udp-1500"], instances=[2], trials=1, window=window, idle={"seconds": 2})
    document = json.loads(path.read_text())
    del document["rate"]
    path.write_text(json.dumps(document))
    with intruder(bench):
        bench.run("run", path)

    (trial,) = bench.trials()
    assert trial["receiver"]["app_cpu"]["cpus"] == [RECEIVERS_CPU]
    shared = {flag["where"]: flag for flag in trial["flags"] if flag["code"] == "limiting-cpu-shared"}
    assert NAME in shared["h2"]["evidence"]
    assert "a thread of the load waited for a CPU " in shared["h2"]["evidence"]
    assert trial["receiver"]["load_waited_ratio"] > 0.1, "the intruder has half of its CPU, at will"
    assert "host-not-idle" in {flag["code"] for flag in trial["flags"]}, "it was there in idle, too"
    (process,) = [one for one in trial["receiver"]["other_processes"] if one["name"] == NAME]
    assert process["cpus"] == [RECEIVERS_CPU]
    assert 0.25 < process["cores"] < 0.75, "half, by what the kernel counts for it on a busy machine"
    names = {one["name"] for end in ("sender", "receiver") for one in trial[end].get("other_processes", ())}
    assert not {"iperf3", "mpstat", "awk", "cat", "sshd"} & names, "neither the load nor linewatt's own"
    shown = bench.run("show", "last", "--full").stdout
    assert "[limiting-cpu-shared], doubtful: throughput" in shown
    assert NAMED.search(shown)
    (case,) = json.loads(bench.run("show", "last", "--json").stdout)["cases"]
    assert f"CPU {RECEIVERS_CPU}: load " in case["limited_by"]
    assert NAMED.search(case["limited_by"])
    bench.until_nothing_runs()
