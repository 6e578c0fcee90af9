# SPDX-License-Identifier: Apache-2.0
"""Settings of one host put back to what was found: an MTU as much as a tunnel.

No knob has an undo of its own. What the journal says was there before is written by the same ``Knob.write``
(``tuning/nic/mtu.py`` for an MTU) that made the change, and read back. ``restore.py`` asks for it at the end
of a run and for ``linewatt restore``, ``settings.py`` between rounds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence

from linewatt.errors import ChangeError, LinewattError
from linewatt.hosts import Host, batch
from linewatt.hosts.journal import Entry, Journal
from linewatt.tuning import (
    Behind,
    ChangeOutcome,
    Knobs,
    brief_target,
    look_at_settings,
    settings_apart,
    write_and_read_back,
)


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
    shown: list[ChangeOutcome] | None = None
    for number, together in enumerate(groups, start=1):
        following = [
            (knobs[entry.knob], entry.target) for group in groups[number : number + 1] for entry in group
        ]
        behind = Behind(following) if following else last
        yield (
            together,
            await put_back(host, knobs, together, journal, force=force, shown=shown, behind=behind),
        )
        shown = None if behind is None else behind.shown


async def put_back(
    host: Host,
    knobs: Knobs,
    entries: Sequence[Entry],
    journal: Journal,
    *,
    force: bool = False,
    shown: Sequence[ChangeOutcome] | None = None,
    behind: Behind | None = None,
) -> list[LinewattError | None]:
    """Put settings back as they were found, unless somebody else has changed them since.

    None of them may stand on another. For each the reason why it is not put back: it cannot be, or shows a
    value that linewatt did not set (``force`` puts that back all the same). ``shown`` is what they show, if
    that was just read. Raises nothing else: what goes wrong with one does not keep the others from being
    put back.
    """
    try:
        now = shown or await look_at_settings(
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
    what = f"{entry.knob} {brief_target(entry.target)}"
    problem = f"{what} cannot be put back: {type(error).__name__}: {str(error)[:120]!r}"
    return ChangeError(problem, where=entry.host)


async def _put_back(
    host: Host,
    knobs: Knobs,
    shown: Mapping[Entry, ChangeOutcome],
    journal: Journal,
    force: bool,
    behind: Behind | None,
) -> list[LinewattError | None]:
    outcomes = {entry.number: _refusal(entry, now, force) for entry, now in shown.items()}
    changed = {
        entry: entry.before
        for entry, now in shown.items()
        if outcomes[entry.number] is None and now.text != entry.before
    }
    for entry, written in (await write_and_read_back(host, knobs, changed, behind, back=True)).items():
        if written.text is None:
            outcomes[entry.number] = written.problem
        elif written.text != entry.before:
            outcomes[entry.number] = ChangeError(
                "{} {} reads {!r} after it was put back to {!r}; set it by hand".format(
                    entry.knob, brief_target(entry.target), *settings_apart(written.text, entry.before)
                ),
                where=entry.host,
            )
    for number, problem in outcomes.items():
        if problem is None:
            journal.undone(number)
    return list(outcomes.values())


def _refusal(entry: Entry, now: ChangeOutcome, force: bool) -> LinewattError | None:
    """Why a setting that reads ``now`` is left as it is."""
    if now.text is None:
        return now.problem
    if force or entry.after is None or now.text in (entry.before, entry.after):
        return None
    shown, before, after = settings_apart(now.text, entry.before, entry.after)
    return ChangeError(
        f"{entry.knob} {brief_target(entry.target)} reads {shown!r}, which linewatt did not set "
        f"({before!r} before, {after!r} by linewatt); left as it is, restore --force puts it back",
        where=entry.host,
    )
