# SPDX-License-Identifier: Apache-2.0
"""96 hosts, 48 pairs at once from one controller: how far apart their loads start, and what a round costs.

A load starts when its client opens its first connection, as the lab's switch sees it: linewatt has no say
in that. Beside it stand the same clients started by hand in a loop, and what linewatt stored itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import byhand, wire
from bench.effort import Effort
from bench.rig import Finished, lab_of, namespaces, rig
from bench.rows import MeasurementFailed, Peer, Row, Target, quantile
from bench.trial_overhead import overheads
from linewatt.model import Trial
from linewatt.store.read import trial_dirs

ABOUT_S = 100
HOSTS = 96
_WINDOW = {"omit": 1, "seconds": 3, "tail": 2}
_LOAD_S = sum(_WINDOW.values())
_EARLY_S = 0.5
"""clocks are one and the same; this only keeps a round's first SYN from falling out by rounding"""


def measure(effort: Effort) -> list[Row]:
    """One campaign, every round of it 48 trials that start at one barrier."""
    rounds, hosts = effort.of((5, HOSTS), (2, HOSTS), (1, 4))
    pairs = [f"h{number} -> h{number + 1}" for number in range(1, hosts, 2)]
    with rig() as own, lab_of(hosts, "1gbit") as lab:
        campaign = own.campaign(
            lab.inventory, pairs=pairs, concurrent_pairs=True, rate="2M", trials=rounds, window=_WINDOW
        )
        (switch,) = set(lab.namespaces) - {host.namespace for host in lab.hosts}
        with wire.watching(switch) as watcher:
            finished = own.run(campaign, partial=True)
            whole = whole_rounds(finished, len(pairs))
            by_hand_s = time.time()
            spaces = namespaces(lab)
            byhand.run_at_once([byhand.commands_of(finished.path, spaces, one.number) for one in whole[0]])
        openings = watcher.openings()
        by_hand = wire.firsts(openings, by_hand_s, time.time())
        return [
            *_skew_rows([_seen(one, openings) for one in whole], by_hand, whole),
            *_other_rows(finished, whole, rounds * len(pairs)),  # it counts files, which go with the rig
        ]


def whole_rounds(finished: Finished, pairs: int) -> list[list[Trial]]:
    """The rounds whose trials, one a pair, are all done. Raises MeasurementFailed when there is none."""
    whole = [one for one in by_repetition(_done(finished)) if len(one) == pairs]
    if not whole:
        raise MeasurementFailed(
            f"no round is whole, {len(_done(finished))} trials are done: {_why(finished)}"
        )
    return whole


def _skew_rows(seen: list[list[float]], by_hand: list[float], whole: list[list[Trial]]) -> list[Row]:
    stored = [[trial.instances[0].sender_start_s for trial in one] for one in whole]

    def row(what: str, share: float, target: Target | None = None) -> Row:
        peer = Peer("by hand", (distance(by_hand, share),))
        values = tuple(distance(starts, share) for starts in seen)
        return Row(f"start behind the first of {len(whole[0])} clients, {what}", "s", values, target, peer)

    return [
        row("p95", 0.95, Target(at_most=0.05)),
        row("p50", 0.5),
        row("last", 1.0),
        Row("the same as stored, p95", "s", tuple(distance(starts, 0.95) for starts in stored)),
    ]


def _other_rows(finished: Finished, whole: list[list[Trial]], planned: int) -> list[Row]:
    done = _done(finished)
    lost = "" if len(done) == planned else f"why not all: {_why(finished)}"
    first_s = min(trial.started_s for trial in done) - finished.spawned_s
    last_s = finished.exited_s - max(trial.started_s for trial in done) - _LOAD_S
    per_round = tuple(overheads(tuple(one))[0] for one in whole)
    all_of_them = Target(at_least=planned, at_most=planned)
    return [
        Row(f"round of {len(whole[0])} trials beyond its load", "s", per_round, Target(at_most=0.5)),
        Row("trials stored and done", "count", (len(done),), all_of_them, note=lost),
        Row("files of a trial", "count", _files(finished.path), Target(at_most=4)),
        Row(f"campaign start to first load, {2 * len(whole[0])} hosts", "s", (first_s,)),
        Row(f"last load to prompt, {2 * len(whole[0])} hosts", "s", (last_s,)),
    ]


def _files(result: Path) -> tuple[float, ...]:
    """How many files each trial has."""
    folders = trial_dirs(result)
    return tuple(sum(path.is_file() for path in folder.rglob("*")) for folder in folders)


def _done(finished: Finished) -> list[Trial]:
    return [trial for trial in finished.trials if trial.status == "done"]


def _seen(trials: Sequence[Trial], openings: Sequence[wire.Opening]) -> list[float]:
    """When each client of a round opened its first connection. Raises MeasurementFailed."""
    released_s = min(trial.started_s for trial in trials)
    starts = wire.firsts(openings, released_s - _EARLY_S, released_s + _LOAD_S)
    if len(starts) != len(trials):
        raise MeasurementFailed(f"the switch saw {len(starts)} of {len(trials)} clients connect")
    return starts


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
