# SPDX-License-Identifier: Apache-2.0
"""Changes on one host: read, journal, write, read back; ``engine/undo/put_back.py`` takes them back so, too.

What can go together goes together: a host is asked once for all of it (:mod:`linewatt.hosts.batch`). Whoever
has changes made or put back syncs the journal when all hosts are through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linewatt.errors import ChangeError, InvalidInput, LinewattError, ParseError
from linewatt.foreign import understood
from linewatt.hosts import Completed, Host, batch
from linewatt.hosts.journal import Entry, Journal
from linewatt.tuning.base import Change, Command, Knob
from linewatt.tuning.refusals import Drivers, drivers_of, otherwise, unread, unwritten, why
from linewatt.tuning.setting_text import brief_target

Knobs = Mapping[str, Knob]
LINE_S = 0.1
"""The kernel takes 20 ms to take an interface away, and longer while others change theirs."""


def wanted_setting(knob: Knob, change: Change, before: str) -> str:
    """What a host that shows ``before`` is to show. Raises ChangeError naming host, knob and target."""
    try:
        return understood(lambda: knob.wanted(before, change.value), "what it shows")
    except LinewattError as error:
        raise ChangeError(
            f"{change.knob} {brief_target(change.target)}: {error}", where=change.host
        ) from error


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """What a setting reads, in its canonical text; without one ``problem`` is what went wrong with it."""

    text: str | None = None
    problem: LinewattError | None = None

    def text_or_raise(self) -> str:
        if self.text is None:
            raise self.problem or ChangeError("a setting was not read")
        return self.text


@dataclass(slots=True)
class Behind:
    """What a host is asked in the same batch that changes it, behind the changes: a round trip less.

    ``shown`` are ``settings`` as :func:`look_at_settings` has them, ``done`` what became of ``further``; None
    where there was nothing to change, so that nobody was asked.
    """

    settings: Sequence[tuple[Knob, str]] = ()
    further: Sequence[Command] = ()
    shown: list[ChangeOutcome] | None = None
    done: list[Completed] | None = None


async def make(
    host: Host, knobs: Knobs, entries: Sequence[Entry], journal: Journal, behind: Behind | None = None
) -> list[ChangeOutcome]:
    """Write settings of a host in their order and read each back; they are in the journal already.

    What each reads then, or why it is not as asked: it cannot be written, or does not read back so.
    """
    outcomes = await write_and_read_back(
        host, knobs, {entry: entry.wanted for entry in entries}, behind, back=False
    )
    texts = {entry: outcome.text for entry, outcome in outcomes.items() if outcome.text is not None}
    for entry, text in texts.items():
        journal.applied(entry.number, text)
    others = {entry: text for entry, text in texts.items() if text != entry.wanted}
    drivers = await drivers_of(host, [(knobs[entry.knob], entry.target) for entry in others])
    outcomes |= {
        entry: ChangeOutcome(problem=otherwise(entry, knobs[entry.knob], text, drivers))
        for entry, text in others.items()
    }
    return list(outcomes.values())


async def reassert(host: Host, entries: Sequence[Entry], knobs: Knobs) -> None:
    """Make changes again that a host which went away and came back no longer shows. Raises ChangeError."""
    for entry in entries:
        if await read(host, knobs[entry.knob], entry.target) != entry.wanted:
            command = knobs[entry.knob].write(entry.target, entry.wanted)
            limit_s = batch.LIMIT_S + _input_s([command])
            (done,) = await batch.run_batch(host, [command], root=True, limit_s=limit_s, lock=batch.EXCLUSIVE)
            if done.status != 0:
                what = f"cannot set {entry.knob} {brief_target(entry.target)} again"
                raise ChangeError(f"{what}: {why(done)}", where=entry.host)


async def read(host: Host, knob: Knob, target: str) -> str:
    """A setting in its canonical text. Raises ChangeError naming host, knob and target."""
    (outcome,) = await look_at_settings(host, [(knob, target)])
    return outcome.text_or_raise()


async def look_at_settings(
    host: Host, settings: Sequence[tuple[Knob, str]], *, lock: str = ""
) -> list[ChangeOutcome]:
    """What settings read. Raises HostLost, WaitTimeout.

    ``lock``: ``batch.SHARED`` where no change may be under way, also one whose controller is gone.
    """
    questions = _questions(host.spec.name, settings)
    commands = [short for short in questions if isinstance(short, Command)]
    done = await batch.run_batch(host, commands, lock=lock)
    return await _shown(host, settings, questions, iter(done))


def _questions(host: str, settings: Sequence[tuple[Knob, str]]) -> list[Command | LinewattError]:
    """For each setting the command that reads it, or why there is none."""
    questions: list[Command | LinewattError] = []
    for knob, target in settings:
        try:
            questions.append(question(host, knob, target))
        except ChangeError as error:
            questions.append(error)
    return questions


async def _shown(
    host: Host,
    settings: Sequence[tuple[Knob, str]],
    questions: Sequence[Command | LinewattError],
    answers: Iterator[Completed],
) -> list[ChangeOutcome]:
    results = [
        command_or_error if isinstance(command_or_error, LinewattError) else next(answers)
        for command_or_error in questions
    ]
    failed = [
        setting
        for result, setting in zip(results, settings, strict=True)
        if isinstance(result, Completed) and result.status != 0
    ]
    drivers = await drivers_of(host, failed)
    return [
        ChangeOutcome(problem=result)
        if isinstance(result, LinewattError)
        else _try_answer(host.spec.name, knob, target, result, drivers)
        for result, (knob, target) in zip(results, settings, strict=True)
    ]


def question(host: str, knob: Knob, target: str) -> Command:
    """The command that reads a setting. Raises ChangeError naming host, knob and target."""
    try:
        return knob.read(target)
    except ChangeError as error:
        raise ChangeError(f"{knob.name} {brief_target(target)}: {error}", where=host) from error


def answer(host: str, knob: Knob, target: str, done: Completed, drivers: Drivers | None = None) -> str:
    """A setting in its canonical text, from what that command said. Raises ChangeError."""
    if done.status != 0:
        raise unread(host, knob, target, done, drivers or {})
    try:
        return understood(lambda: knob.parse(done.stdout), "its answer")
    except (ParseError, InvalidInput) as error:
        raise ChangeError(f"{knob.name} {brief_target(target)}: {error}", where=host) from error


def _try_answer(host: str, knob: Knob, target: str, done: Completed, drivers: Drivers) -> ChangeOutcome:
    try:
        return ChangeOutcome(answer(host, knob, target, done, drivers))
    except ChangeError as error:
        return ChangeOutcome(problem=error)


async def write_and_read_back(
    host: Host, knobs: Knobs, texts: Mapping[Entry, str], behind: Behind | None, *, back: bool
) -> dict[Entry, ChangeOutcome]:
    """Write a text for each entry; what it reads after that, or what went wrong."""
    commands = [
        short for entry, text in texts.items() for short in _write_and_read(knobs[entry.knob], entry, text)
    ]
    if not commands:
        return {}
    behind = behind or Behind()
    questions = _questions(host.spec.name, behind.settings)
    short_questions = [
        *(short for short in questions if isinstance(short, Command)),
        *behind.further,
    ]
    limit_s = batch.LIMIT_S * (len(texts) + bool(short_questions)) + _input_s(commands)
    answers = iter(
        await batch.run_batch(
            host, [*commands, *short_questions], root=True, limit_s=limit_s, lock=batch.EXCLUSIVE
        )
    )
    pairs = {entry: (next(answers), next(answers)) for entry in texts}
    outcomes = await _outcomes(host, knobs, pairs, back=back)
    outcomes |= await _shown_by_now(host, knobs, texts, outcomes)
    behind.shown = await _shown(host, behind.settings, questions, answers)
    behind.done = list(answers)
    return outcomes


async def _outcomes(
    host: Host, knobs: Knobs, pairs: Mapping[Entry, tuple[Completed, Completed]], *, back: bool
) -> dict[Entry, ChangeOutcome]:
    """What each setting reads once it was written, from what both commands said."""
    failed = [entry for entry, (written, shown) in pairs.items() if written.status or shown.status]
    drivers = await drivers_of(host, [(knobs[entry.knob], entry.target) for entry in failed])
    outcomes: dict[Entry, ChangeOutcome] = {}
    for entry, (written, shown) in pairs.items():
        knob = knobs[entry.knob]
        now = _try_answer(entry.host, knob, entry.target, shown, drivers)
        if written.status != 0:
            now = ChangeOutcome(problem=unwritten(entry, knob, written, now.text, drivers, back=back))
        outcomes[entry] = now
    return outcomes


async def _shown_by_now(
    host: Host, knobs: Knobs, texts: Mapping[Entry, str], outcomes: Mapping[Entry, ChangeOutcome]
) -> dict[Entry, ChangeOutcome]:
    """What did not show its text directly after it was written, and does since others were.

    A feature that needs another one (TSO needs transmit checksums) cannot be turned on before it, and is
    turned on by the kernel with it.
    """
    open_ones = [entry for entry, text in texts.items() if outcomes[entry].text != text]
    if not open_ones or len(texts) == 1:
        return {}
    now = await look_at_settings(host, [(knobs[entry.knob], entry.target) for entry in open_ones])
    return {
        entry: outcome for entry, outcome in zip(open_ones, now, strict=True) if outcome.text == texts[entry]
    }


def _input_s(commands: Iterable[Command]) -> float:
    """What commands may take longer for the lines of their input, each an object to make or take away."""
    return LINE_S * sum(short.stdin.count("\n") for short in commands)


def _write_and_read(knob: Knob, entry: Entry, text: str) -> Iterator[Command]:
    yield understood(lambda: knob.write(entry.target, text), entry.knob, where=entry.host)
    yield question(entry.host, knob, entry.target)
