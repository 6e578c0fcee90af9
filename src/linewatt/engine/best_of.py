# SPDX-License-Identifier: Apache-2.0
"""Looking up the best setting of a stored experiment, for a soak that names it; no host is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.effects import GroupEffects, ResponseEffects, Setting, effects
from linewatt.campaign.best_of import with_best
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.soak import BestOf, Users
from linewatt.campaign.users_factors import applied, described
from linewatt.errors import InvalidInput, StoreError
from linewatt.findings import kind_of
from linewatt.store import read


def resolved(campaign: Campaign, results: Path, known: Mapping[str, Any] | None = None) -> Campaign:
    """The campaign with the best setting of the experiment that it names, if it names one.

    ``known``: what a result has stored of it, which is taken as it was. Raises InvalidInput: there is no such
    experiment, or none of its settings is told to be the best.
    """
    asked = campaign.best_of
    if asked is None:
        return campaign
    if known is not None:
        return with_best(campaign, TypeAdapter(BestOf).validate_python(known))
    try:
        path = read.find(results, asked.result)
        with read.readable(path):
            result = read.load(path)
            trials = result.trials
    except StoreError as error:
        raise InvalidInput(f"{campaign.path}: best_of: {error}") from error
    written = result.manifest.asked
    levels = {name: tuple(own) for name, own in written.factors.items()}
    groups = effects(trials, levels, written.design or "one-at-a-time")
    group, found = _throughput(groups, result.id)
    setting, words = _best(group, found, result.id)
    by_hand = tuple(name for name, _ in setting if name in (written.written.get("labels") or ()))
    notes = tuple(_notes(campaign, result, setting, by_hand))
    return with_best(campaign, BestOf(result.id, setting, words, notes, by_hand))


def _throughput(groups: tuple[GroupEffects, ...], result: str) -> tuple[GroupEffects, ResponseEffects]:
    """Raises InvalidInput."""
    if not groups:
        raise InvalidInput(f"best_of: {result} is no experiment: its trials vary no factor")
    if len(groups) > 1:
        cases = f"{len(groups)} kinds of cases, each with a best setting of its own"
        raise InvalidInput(f"best_of: {result} has {cases}; name an experiment on one")
    found = next((one for one in groups[0].responses if one.response == THROUGHPUT), None)
    if found is None:
        raise InvalidInput(f"best_of: {result}: none of its trials has a throughput to compare")
    return groups[0], found


def _best(group: GroupEffects, found: ResponseEffects, result: str) -> tuple[Setting, str]:
    """The setting with the most throughput, the base too where all others are slower; and in words how sure.

    Raises InvalidInput where it is not told from the others.
    """
    best = found.best
    if best.setting is not None:
        return best.setting, f"throughput {best.words}"
    if best.compared and best.worse == best.others:
        return group.base, f"the base: throughput of all {best.others} other settings is lower beyond doubt"
    raise InvalidInput(
        f"best_of: {result} has no best setting: {best.words}; take more trials, or name settings yourself"
    )


def _notes(
    campaign: Campaign, result: read.Result, setting: Setting, by_hand: Sequence[str]
) -> Iterator[str]:
    """What hands are to set, what the experiment lacks, and what of users is not as it was in it."""
    yield from (f"{name}={level} is set by hand" for name, level in setting if name in by_hand)
    if not result.complete:
        yield f"{result.id} is not complete: its best setting is that of the trials there are"
    doubts = {flag.code for one in result.trials if one.case.factors == setting for flag in one.flags}
    if codes := sorted(code for code in doubts if "throughput" in kind_of(code).figures):
        yield f"its throughput is doubtful: {', '.join(codes)}; linewatt show {result.id} has why"
    then = result.manifest.asked.written.get("users")
    if campaign.users is None or not then:
        return
    stored = TypeAdapter(Users).validate_python(then)
    before, now = (dict(described(applied(one, setting), ())) for one in (stored, campaign.users))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            told = " then, ".join(str(one.get(name, "not set")) for one in (before, now))
            yield f"users differ in {name} from the experiment: {told} now"
