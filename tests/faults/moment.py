# SPDX-License-Identifier: Apache-2.0
"""One fault at one moment of a campaign, and what it did to hosts, processes and trials."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import hosts
from tests.faults.ground import Command, Ground, wait_until
from tests.faults.kinds import Fault

GONE_S = 2.0
"""in which everything on a host ends once its controller has"""
BUSY_GONE_S = 20.0
"""where others have the CPUs, too"""

GOLDEN = (5**0.5 - 1) / 2
"""steps of it, modulo 1, leave no large gap after however many (Weyl)"""

KINDS = (
    "hosts changed",
    "processes left",
    "trials lost",
    "trials doubled",
    "falsely done",
    "tracebacks",
    "hung",
)
"""what may come of a fault and never should"""


@dataclass(frozen=True)
class Answer:
    """How a command of linewatt ended, without what differs between runs: numbers, ids, paths, hosts."""

    command: str
    status: str
    sentence: str


@dataclass
class Outcome:
    """What one moment came to: for each kind of harm, in words, what was seen of it."""

    fault: str
    number: int
    seed: int
    at_s: float
    harm: dict[str, list[str]] = field(default_factory=dict)
    trials_done: int = 0
    trials_failed: int = 0
    answers: list[Answer] = field(default_factory=list)

    def tell(self, kind: str, *what: str) -> None:
        if what:
            self.harm.setdefault(kind, []).extend(what)

    @property
    def lines(self) -> list[str]:
        """A line for each harm."""
        where = f"{self.fault}, moment {self.number} of seed {self.seed} at {self.at_s:.2f} s"
        return [f"{where}: {kind}: {'; '.join(what)[:2000]}" for kind, what in self.harm.items()]


def undisturbed_s(ground: Ground, fault: Fault) -> float:
    """How long the campaign of a fault takes alone. Raises RuntimeError where it does not work."""
    clear(ground)
    began_s = time.monotonic()
    run = ground.start("run", ground.campaign(**fault.keys), "--json")
    if run.end() != 0:
        raise RuntimeError(f"the campaign fails by itself: {run.err.read_text()[-2000:]}")
    return time.monotonic() - began_s


def clear(ground: Ground) -> None:
    """Forget the campaign before: its results, its journal, its commands."""
    if os.path.ismount(ground.store):
        subprocess.run(["umount", str(ground.store)], check=True)
    for path in (ground.store, ground.tmp / "other"):
        shutil.rmtree(path, ignore_errors=True)
    ground.dead.clear()
    ground.commands.clear()


def strike(
    fault: Fault, ground: Ground, number: int, seed: int, span_s: float, *, gone_s: float = GONE_S
) -> Outcome:
    """Run a campaign, strike at a moment of its ``span_s`` that the seed draws, restore, resume, compare."""
    draw = random.Random(f"{seed} {fault.name} {number}")  # noqa: S311
    outcome = Outcome(fault.name, number, seed, _part(fault, number, seed) * span_s)
    clear(ground)
    before, there = ground.settled(), set(ground.processes())
    with ExitStack() as lasting:
        fault.prepare(ground, draw, lasting)
        run = ground.start("run", ground.campaign(**fault.keys), "--json")
        with ExitStack() as passing:
            if not wait_until(lambda: run.process.poll() is not None, outcome.at_s):
                fault.strike(ground, run, draw, passing)
            _ended(outcome, run)
        _look_at_processes(outcome, ground, there, gone_s)
        _restore(outcome, ground)
        outcome.tell("hosts changed", *hosts.changed(before, ground.state()))
    _resume(outcome, ground, run)
    _look_at_processes(outcome, ground, there, gone_s)
    outcome.tell("hosts changed", *hosts.changed(before, ground.state()))
    outcome.tell("tracebacks", *ground.tracebacks())
    outcome.answers += map(_answer, ground.commands)
    clear(ground)
    return outcome


SENTENCE_CHARACTERS = 200
_VARYING = (
    (re.compile(r"\d{8}-\d{6}-[\w-]+"), "ID"),
    (re.compile(r"(?<![\w/])/[^\s,;:]+"), "PATH"),
    (re.compile(r"\bh[12]\b"), "HOST"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "N"),
)


def without_values(text: str) -> str:
    """A sentence as it is the same in each run."""
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text


def _answer(command: Command) -> Answer:
    """How a command ended, and the last line of its messages."""
    lines = command.err.read_text(errors="replace").split("\n")
    sentence = next((line.strip() for line in reversed(lines) if line.strip()), "")
    words: list[str] = [*map(str, command.process.args)]  # type: ignore[arg-type]
    status = _status(command.process.returncode)
    return Answer(words[0], status, without_values(sentence)[:SENTENCE_CHARACTERS])


def _status(returncode: int) -> str:
    return str(returncode) if returncode >= 0 else signal.Signals(-returncode).name


def _part(fault: Fault, number: int, seed: int) -> float:
    """Where in a campaign a moment is, 0 to 1: drawn for the first, the others well spread from there on."""
    first = random.Random(f"{seed} {fault.name}").random()  # noqa: S311
    return (first + number * GOLDEN) % 1.0


def _ended(outcome: Outcome, *commands: Command) -> None:
    for command in commands:
        if command.end() is None:
            outcome.tell("hung", " ".join(map(str, command.process.args))[-200:])  # type: ignore[arg-type]


def _look_at_processes(outcome: Outcome, ground: Ground, there: set[int], gone_s: float) -> None:
    """What still runs on the hosts, once its controller has ended."""

    def left() -> list[str]:
        return [argv for pid, argv in ground.processes().items() if pid not in there]

    if not wait_until(lambda: not left(), gone_s):
        outcome.tell("processes left", *(argv[:200] for argv in left()))
        there |= ground.processes().keys()  # not to be told again


def _restore(outcome: Outcome, ground: Ground) -> None:
    """What users are told to do."""
    for store in (ground.store, ground.tmp / "other"):
        if (store / "state" / "journal").is_dir():
            restore = ground.start("restore", store=store)
            _ended(outcome, restore)
            if restore.process.returncode != 0:
                outcome.tell("hosts changed", f"restore: {restore.err.read_text()[-500:]}")


def _resume(outcome: Outcome, ground: Ground, run: Command) -> None:
    """The rest of the campaign, and whether all of it is there then, each trial once and true."""
    said = {event["trial"]["number"] for event in run.events if event["event"] == "trial_stored"}
    if not ground.results:
        outcome.tell("trials lost", *(f"{number} was said to be stored" for number in said))
        return
    result, wanted = ground.results[-1], _wanted(ground.results[-1])
    try:
        stored = ground.trials(result)
    except ValueError as error:
        outcome.tell("trials doubled", str(error))
        return
    outcome.tell("trials lost", *(f"{number} was said to be stored" for number in said - stored.keys()))
    if len(stored) < wanted:
        resume = ground.start("resume", result.name, "--json")
        _ended(outcome, resume)
    after = ground.trials(result)
    failed = [number for number, (trial, _) in after.items() if trial["status"] == "failed"]
    if sorted(after) != list(range(1, wanted + 1)):
        said_last = ground.commands[-1].err.read_text()[-500:]
        outcome.tell("trials lost", f"after resume there are {sorted(after)} of {wanted}: {said_last}")
    for number, (_, digest) in stored.items():
        if number not in after or after[number][1] != digest:
            outcome.tell("trials lost", f"{number} is not what it was before resume")
    for number, (trial, _) in after.items():
        why = hosts.false_results(trial, ground.outputs(result, trial), ground.dead)
        outcome.tell("falsely done", *(f"trial {number}: {one}" for one in why))
    outcome.trials_failed, outcome.trials_done = len(failed), len(after) - len(failed)


def _wanted(result: Path) -> int:
    """How many trials the campaign has."""
    return int(json.loads((result / "manifest.json").read_text())["trials_planned"])
