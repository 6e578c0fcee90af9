# SPDX-License-Identifier: Apache-2.0
"""Changes on one host, and taking them back: read, journal, write, read back.

What can go together goes together: a host is asked once for all of it (:mod:`linewatt.hosts.batch`). Whoever
has changes made or put back syncs the journal when all hosts are through.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linewatt.errors import ChangeError, InvalidInput, LinewattError, ParseError
from linewatt.foreign import shortened, understood
from linewatt.hosts import batch
from linewatt.hosts.base import Completed, Host
from linewatt.hosts.journal.journal import Entry, Journal
from linewatt.tuning.base import Change, Command, Knob
from linewatt.tuning.words import apart, brief

Knobs = Mapping[str, Knob]
LINE_S = 0.1
"""The kernel takes 20 ms to take an interface away, and longer while others change theirs."""


def wanted_setting(knob: Knob, change: Change, before: str) -> str:
    """What a host that shows ``before`` is to show. Raises ChangeError naming host, knob and target."""
    try:
        return understood(lambda: knob.wanted(before, change.value), "what it shows")
    except LinewattError as error:
        raise ChangeError(f"{change.host}: {change.knob} {brief(change.target)}: {error}") from error


@dataclass(slots=True)
class Behind:
    """What a host is asked in the same batch that changes it, behind the changes: a round trip less.

    ``texts`` are those of ``settings`` as :func:`look` has them, ``done`` what became of ``further``; None
    where there was nothing to change, so that nobody was asked.
    """

    settings: Sequence[tuple[Knob, str]] = ()
    further: Sequence[batch.Short] = ()
    texts: list[str | LinewattError] | None = None
    done: list[Completed] | None = None


async def make(
    host: Host, knobs: Knobs, entries: Sequence[Entry], journal: Journal, behind: Behind | None = None
) -> list[str | LinewattError]:
    """Write settings of a host in their order and read each back; they are in the journal already.

    What each reads then, or why it is not as asked: it cannot be written, or does not read back so.
    """
    outcomes = await _written(host, knobs, {entry: entry.wanted for entry in entries}, "set", behind)
    for entry, text in outcomes.items():
        if isinstance(text, str):
            journal.applied(entry.number, text)
    return [
        text
        if isinstance(text, LinewattError) or text == entry.wanted
        else ChangeError(
            "{}: {} {} was set to {!r} but reads {!r}; the kernel does not take this value".format(
                entry.host, entry.knob, brief(entry.target), *apart(entry.wanted, text)
            )
        )
        for entry, text in outcomes.items()
    ]


async def put_back_in_turn(
    host: Host,
    knobs: Knobs,
    groups: Sequence[Sequence[Entry]],
    journal: Journal,
    *,
    force: bool = False,
    last: Behind | None = None,
) -> AsyncGenerator[tuple[Sequence[Entry], list[LinewattError | None]], None]:
    """Put groups of settings back, each as :func:`put_back` does, and what became of each.

    What the next one shows is read in the batch that writes the one before it; ``last`` goes with the last.
    """
    shown: list[str | LinewattError] | None = None
    for number, together in enumerate(groups, start=1):
        following = [
            (knobs[entry.knob], entry.target) for own in groups[number : number + 1] for entry in own
        ]
        behind = Behind(following) if following else last
        yield (
            together,
            await put_back(host, knobs, together, journal, force=force, shown=shown, behind=behind),
        )
        shown = None if behind is None else behind.texts


async def put_back(
    host: Host,
    knobs: Knobs,
    entries: Sequence[Entry],
    journal: Journal,
    *,
    force: bool = False,
    shown: Sequence[str | LinewattError] | None = None,
    behind: Behind | None = None,
) -> list[LinewattError | None]:
    """Put settings back as they were found, unless somebody else has changed them since.

    None of them may stand on another. For each the reason why it is not put back: it cannot be, or shows a
    value that linewatt did not set (``force`` puts that back all the same). ``shown`` is what they show, if
    that was just read. Raises nothing else: what goes wrong with one does not keep the others from being
    put back.
    """
    try:
        now = shown or await look(
            host, [(knobs[entry.knob], entry.target) for entry in entries], lock=batch.SHARED
        )
        return await _put_back(host, knobs, dict(zip(entries, now, strict=True)), journal, force, behind)
    except Exception as error:  # noqa: BLE001  whatever an answer does to a knob, others' settings come back
        if len(entries) == 1:
            return [unexpected(error, entries[0])]
    return [
        problem for entry in entries for problem in await put_back(host, knobs, [entry], journal, force=force)
    ]


def unexpected(error: Exception, entry: Entry) -> LinewattError:
    """What kept a setting from being put back, in one line that names it."""
    if isinstance(error, LinewattError):
        return error
    what = f"{entry.host}: {entry.knob} {brief(entry.target)}"
    return ChangeError(f"{what} cannot be put back: {type(error).__name__}: {str(error)[:120]!r}")


async def _put_back(
    host: Host,
    knobs: Knobs,
    shown: Mapping[Entry, str | LinewattError],
    journal: Journal,
    force: bool,
    behind: Behind | None,
) -> list[LinewattError | None]:
    outcomes = {entry.number: _refusal(entry, now, force) for entry, now in shown.items()}
    changed = {
        entry: entry.before
        for entry, now in shown.items()
        if outcomes[entry.number] is None and now != entry.before
    }
    for entry, text in (await _written(host, knobs, changed, "put back", behind)).items():
        if isinstance(text, LinewattError):
            outcomes[entry.number] = text
        elif text != entry.before:
            outcomes[entry.number] = ChangeError(
                "{}: {} {} reads {!r} after it was put back to {!r}; set it by hand".format(
                    entry.host, entry.knob, brief(entry.target), *apart(text, entry.before)
                )
            )
    for number, problem in outcomes.items():
        if problem is None:
            journal.undone(number)
    return list(outcomes.values())


def _refusal(entry: Entry, now: str | LinewattError, force: bool) -> LinewattError | None:
    """Why a setting that reads ``now`` is left as it is."""
    if isinstance(now, LinewattError):
        return now
    if force or entry.after is None or now in (entry.before, entry.after):
        return None
    shown, before, after = apart(now, entry.before, entry.after)
    return ChangeError(
        f"{entry.host}: {entry.knob} {brief(entry.target)} reads {shown!r}, which linewatt did not set "
        f"({before!r} before, {after!r} by linewatt); left as it is, restore --force puts it back"
    )


async def undo(host: Host, knob: Knob, entry: Entry, journal: Journal, *, force: bool = False) -> None:
    """Put one setting back. Raises what :func:`put_back` says of it."""
    (problem,) = await put_back(host, {entry.knob: knob}, [entry], journal, force=force)
    if problem is not None:
        raise problem


async def reassert(host: Host, entries: Sequence[Entry], knobs: Knobs) -> None:
    """Make changes again that a host which went away and came back no longer shows. Raises ChangeError."""
    for entry in entries:
        if await read(host, knobs[entry.knob], entry.target) != entry.wanted:
            command = knobs[entry.knob].write(entry.target, entry.wanted)
            limit_s = batch.LIMIT_S + _input_s([_short(command)])
            (done,) = await batch.run_all(
                host, [_short(command)], root=True, limit_s=limit_s, lock=batch.EXCLUSIVE
            )
            _output(host.spec.name, done, f"set {entry.knob} {brief(entry.target)} again")


async def read(host: Host, knob: Knob, target: str) -> str:
    """A setting in its canonical text. Raises ChangeError naming host, knob and target."""
    (text,) = await look(host, [(knob, target)])
    if isinstance(text, LinewattError):
        raise text
    return text


async def look(
    host: Host, settings: Sequence[tuple[Knob, str]], *, lock: str = ""
) -> list[str | LinewattError]:
    """Settings in their canonical texts, or why one cannot be read. Raises HostLost, WaitTimeout.

    ``lock``: ``batch.SHARED`` where no change may be under way, also one whose controller is gone.
    """
    questions = _questions(host.spec.name, settings)
    asked = [one for one in questions if isinstance(one, batch.Short)]
    return _texts(host.spec.name, settings, questions, iter(await batch.run_all(host, asked, lock=lock)))


def _questions(host: str, settings: Sequence[tuple[Knob, str]]) -> list[batch.Short | LinewattError]:
    """For each setting the command that reads it, or why there is none."""
    questions: list[batch.Short | LinewattError] = []
    for knob, target in settings:
        try:
            questions.append(question(host, knob, target))
        except ChangeError as error:
            questions.append(error)
    return questions


def _texts(
    host: str,
    settings: Sequence[tuple[Knob, str]],
    questions: Sequence[batch.Short | LinewattError],
    answers: Iterator[Completed],
) -> list[str | LinewattError]:
    return [
        one if isinstance(one, LinewattError) else _try_answer(host, knob, target, next(answers))
        for one, (knob, target) in zip(questions, settings, strict=True)
    ]


def question(host: str, knob: Knob, target: str) -> batch.Short:
    """The command that reads a setting. Raises ChangeError naming host, knob and target."""
    try:
        return _short(knob.read(target))
    except ChangeError as error:
        raise ChangeError(f"{host}: {knob.name} {brief(target)}: {error}") from error


def answer(host: str, knob: Knob, target: str, done: Completed) -> str:
    """A setting in its canonical text, from what that command said. Raises ChangeError."""
    output = _output(host, done, f"read {knob.name} {brief(target)}")
    try:
        return understood(lambda: knob.parse(output), "its answer")
    except (ParseError, InvalidInput) as error:
        raise ChangeError(f"{host}: {knob.name} {brief(target)}: {error}") from error


def _try_answer(host: str, knob: Knob, target: str, done: Completed) -> str | LinewattError:
    try:
        return answer(host, knob, target, done)
    except ChangeError as error:
        return error


async def _written(
    host: Host, knobs: Knobs, texts: Mapping[Entry, str], what: str, behind: Behind | None
) -> dict[Entry, str | LinewattError]:
    """Write a text for each entry; what it reads directly after it, or what went wrong."""
    commands = [
        one for entry, text in texts.items() for one in _write_and_read(knobs[entry.knob], entry, text)
    ]
    if not commands:
        return {}
    behind = behind or Behind()
    questions = _questions(host.spec.name, behind.settings)
    asked = [*(one for one in questions if isinstance(one, batch.Short)), *behind.further]
    limit_s = batch.LIMIT_S * (len(texts) + bool(asked)) + _input_s(commands)
    answers = iter(
        await batch.run_all(host, [*commands, *asked], root=True, limit_s=limit_s, lock=batch.EXCLUSIVE)
    )
    outcomes: dict[Entry, str | LinewattError] = {}
    for entry in texts:
        written, shown = next(answers), next(answers)
        try:
            _output(entry.host, written, f"{what} {entry.knob} {brief(entry.target)}")
            outcomes[entry] = answer(entry.host, knobs[entry.knob], entry.target, shown)
        except ChangeError as error:
            outcomes[entry] = error
    behind.texts = _texts(host.spec.name, behind.settings, questions, answers)
    behind.done = list(answers)
    return outcomes


def _input_s(commands: Iterable[batch.Short]) -> float:
    """What commands may take longer for the lines of their input, each an object to make or take away."""
    return LINE_S * sum(one.stdin.count("\n") for one in commands)


def _write_and_read(knob: Knob, entry: Entry, text: str) -> Iterator[batch.Short]:
    yield _short(understood(lambda: knob.write(entry.target, text), f"{entry.host}: {entry.knob}"))
    yield question(entry.host, knob, entry.target)


def _short(command: Command) -> batch.Short:
    return batch.Short(command.argv, command.stdin)


def _output(host: str, done: Completed, what: str) -> str:
    if done.status != 0:
        raise ChangeError(f"{host}: cannot {what}: {_why(done)}")
    return done.stdout


def _why(done: Completed) -> str:
    """A tool's own words in one line: what matters may stand before its last line."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    complaint = "; ".join(dict.fromkeys(line.strip() for line in lines[-3:]))
    return shortened(complaint) or f"status {done.status}"
