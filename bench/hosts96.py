# SPDX-License-Identifier: Apache-2.0
"""96 hosts, 48 pairs at once from one controller: how far apart their loads start, and what a round costs.

The start of a load is when the kernel started its client's process (``/proc/PID/stat``, 10 ms apart at
best): linewatt has no say in it. Beside it stands what linewatt stored as the start of each sender.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.cgroup import command_line
from bench.rig import Finished, lab_of, rig
from bench.rows import MeasurementFailed, Peer, Row, Target, quantile
from bench.trial_overhead import overheads
from linewatt.lab import Lab
from linewatt.model import Trial

ABOUT_S = 60
HOSTS = 96
_WINDOW = {"omit": 1, "seconds": 3, "tail": 2}
_LOAD_S = sum(_WINDOW.values())
_LOOK_AFTER_S = 1.0
_START_TIME = 22 - 3  # proc(5): field 22, counted from the one behind the name in parentheses


def measure(*, quick: bool) -> list[Row]:
    """One campaign, every round of it 48 trials that start at one barrier."""
    rounds = 2 if quick else 5
    pairs = [f"h{number} -> h{number + 1}" for number in range(1, HOSTS, 2)]
    with rig() as own, lab_of(HOSTS, "1gbit") as lab:
        starts = ProcessStarts(lab)
        campaign = own.campaign(
            lab.inventory, pairs=pairs, concurrent_pairs=True, rate="2M", trials=rounds, window=_WINDOW
        )
        finished = own.run(campaign, on_event=starts.on_event, partial=True)
        starts.join()
    return _rows(finished, starts.whole_rounds(), rounds * len(pairs))


def _rows(finished: Finished, kernel: list[list[float]], planned: int) -> list[Row]:
    done = [trial for trial in finished.trials if trial.status == "done"]
    whole = [one for one in by_repetition(done) if len(one) == HOSTS // 2]
    if not whole or not kernel:
        raise MeasurementFailed(
            f"no round is whole, {len(done)} of {planned} trials are done: {_why(finished)}"
        )
    stored = [[trial.instances[0].sender_start_s for trial in one] for one in whole]
    skew = Target(at_most=0.05)

    def row(what: str, share: float, target: Target | None = None) -> Row:
        ours = Peer("as stored", tuple(distance(starts, share) for starts in stored))
        return Row(what, "s", tuple(distance(starts, share) for starts in kernel), target, ours)

    per_round = tuple(overheads(tuple(one))[0] for one in whole)
    lost = "" if len(done) == planned else f"why not all: {_why(finished)}"
    first_s = min(trial.started_s for trial in done) - finished.spawned_s
    last_s = finished.exited_s - max(trial.started_s for trial in done) - _LOAD_S
    all_of_them = Target(at_least=planned, at_most=planned)
    return [
        row("start behind the first of 48 clients, p95", 0.95, skew),
        row("start behind the first of 48 clients, p50", 0.5),
        row("start behind the first of 48 clients, last", 1.0),
        Row("round of 48 trials beyond its load", "s", per_round, Target(at_most=0.5)),
        Row("trials stored and done", "count", (len(done),), all_of_them, note=lost),
        Row("campaign start to first load, 96 hosts", "s", (first_s,)),
        Row("last load to prompt, 96 hosts", "s", (last_s,)),
    ]


def _why(finished: Finished) -> str:
    """The first reason of a failed trial, else what linewatt said first of a host."""
    reasons = [trial.reason for trial in finished.trials if trial.reason]
    return next(iter(reasons), " | ".join(finished.said.splitlines()[:2])) or "it did not say"


def by_repetition(trials: Iterable[Trial]) -> list[list[Trial]]:
    """Trials of a round together: with all pairs apart, a repetition is a round."""
    rounds: dict[int, list[Trial]] = {}
    for trial in trials:
        rounds.setdefault(trial.repetition, []).append(trial)
    return [rounds[repetition] for repetition in sorted(rounds)]


def distance(starts: list[float], share: float) -> float:
    """How far behind the first start the given share of all starts is."""
    first = min(starts)
    return quantile([start - first for start in starts], share)


class ProcessStarts:
    """Looks, a second into every round, at when the clients' processes were started."""

    def __init__(self, lab: Lab) -> None:
        self._servers = {host.data_ipv4 for host in lab.hosts}
        self._looks: list[threading.Timer] = []
        self._rounds: dict[int, list[float]] = {}

    def on_event(self, event: dict[str, Any]) -> None:
        """An event of linewatt: the first trial of a round that starts makes a look due."""
        repetition = event.get("repetition")
        if event["event"] == "trial_started" and repetition not in self._rounds:
            self._rounds[int(event["repetition"])] = []
            look = threading.Timer(_LOOK_AFTER_S, self._look, args=(int(event["repetition"]),))
            look.start()
            self._looks.append(look)

    def _look(self, repetition: int) -> None:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_client(int(entry.name)):
                started_s = process_start_s(int(entry.name))
                if started_s is not None:
                    self._rounds[repetition].append(started_s)

    def _is_client(self, process: int) -> bool:
        words = command_line(process)
        return words[:2] == ["iperf3", "--client"] and words[2] in self._servers

    def join(self) -> None:
        for look in self._looks:
            look.join()

    def whole_rounds(self) -> list[list[float]]:
        """Start times of every round in which all clients were seen running."""
        rounds = [self._rounds[repetition] for repetition in sorted(self._rounds)]
        return [starts for starts in rounds if len(starts) == HOSTS // 2]


def process_start_s(process: int) -> float | None:
    """When a process was started, seconds since boot; ``None`` once it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    ticks = int(text.rpartition(")")[2].split()[_START_TIME])
    return ticks / os.sysconf("SC_CLK_TCK")
