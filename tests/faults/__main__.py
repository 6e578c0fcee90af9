# SPDX-License-Identifier: Apache-2.0
"""``make faults``: every fault at random moments, and docs/faults.md, which nobody writes by hand."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue

from tests.faults.ground import Ground
from tests.faults.kinds import FAULTS, Fault
from tests.faults.moment import Outcome, strike, undisturbed_s
from tests.faults.page import PAGE, written

from linewatt.features.lab import api as lab

MOMENTS = 20
MINUTES = 10.0


def main(arguments: Sequence[str]) -> int:
    """The exit status: 1 if any moment did harm."""
    asked = _asked(arguments)
    if asked.list:
        _say("\n".join(fault.name for fault in FAULTS))
        return 0
    faults = [
        fault for fault in FAULTS if not asked.only or any(fault.name.startswith(one) for one in asked.only)
    ]
    if not faults:
        _say(
            f"no fault is called {' or '.join(asked.only)}; there are "
            + ", ".join(fault.name for fault in FAULTS)
        )
        return 2
    outcomes = _all(faults, asked.moments, asked.seed, asked.jobs, asked.minutes)
    if not asked.dry:
        PAGE.write_text(written(PAGE.read_text() if PAGE.exists() else "", outcomes))
        _say(f"wrote {PAGE.name}")
    return int(any(one.harm for one in outcomes))


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make faults ARGS=…", description=__doc__)
    parser.add_argument("--moments", type=int, default=MOMENTS, help="of each fault, at most")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all moments together")
    parser.add_argument("--only", action="append", default=[], help="faults whose names begin so; repeatable")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 1, help="labs side by side")
    parser.add_argument("--dry", action="store_true", help="leave the page as it is")
    parser.add_argument("--list", action="store_true", help="the names of all faults")
    return parser.parse_args(arguments)


def _all(faults: Sequence[Fault], moments: int, seed: int, jobs: int, minutes: float) -> list[Outcome]:
    """The moments of every fault, on ``jobs`` labs at once, as many as fit into ``minutes``."""
    _say(f"seed {seed}: up to {moments} moments each of {', '.join(fault.name for fault in faults)}")
    end_s = time.monotonic() + 60 * minutes
    todo: SimpleQueue[tuple[Fault, int]] = SimpleQueue()
    for number in range(moments):  # a moment of each fault, then the next: all have about as many
        for fault in faults:
            todo.put((fault, number))
    with ThreadPoolExecutor(jobs) as pool:
        workers = [pool.submit(_work, worker, todo, seed, end_s) for worker in range(jobs)]
        try:
            outcomes = [outcome for worker in workers for outcome in worker.result()]
        except BaseException:  # Ctrl-C too: each ends the moment it is at, and takes its lab down
            while not todo.empty():
                todo.get()
            raise
    if missing := len(faults) * moments - len(outcomes):
        _say(f"{missing} moments did not fit into {minutes:g} minutes; --minutes allows more")
    return outcomes


def _work(worker: int, todo: SimpleQueue[tuple[Fault, int]], seed: int, end_s: float) -> list[Outcome]:
    """One worker with a lab of its own, made anew where a fault needs BMCs, or has broken it."""
    outcomes: list[Outcome] = []
    spans_s: dict[str, float] = {}
    longest_s = 0.0
    name = f"f{os.getpid()}-{worker}"
    with tempfile.TemporaryDirectory(prefix="linewatt-faults-") as tmp, ExitStack() as back:
        back.callback(lab.down, name)
        ground: Ground | None = None
        while (began_s := time.monotonic()) + longest_s < end_s:
            try:
                fault, number = todo.get_nowait()
            except Empty:
                break
            if ground is None or fault.bmc or ground.has_bmc:
                lab.down(name)
                ground = Ground(
                    lab.up(lab.LabRequest(name=name, bmc=fault.bmc)), Path(tmp), has_bmc=fault.bmc
                )
            if _key(fault) not in spans_s:
                spans_s[_key(fault)] = undisturbed_s(ground, fault)
            outcomes.append(strike(fault, ground, number, seed, spans_s[_key(fault)]))
            longest_s = max(longest_s, time.monotonic() - began_s)
            for line in outcomes[-1].lines or [f"{fault.name}, moment {number}: no harm"]:
                _say(line)
            if outcomes[-1].harm:
                ground = None  # the next one begins with hosts that nothing was done to
    return outcomes


def _key(fault: Fault) -> str:
    """Faults with one campaign take equally long when nothing happens."""
    return repr(sorted(fault.keys.items()))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
