# SPDX-License-Identifier: Apache-2.0
"""Looking up the best setting of a stored experiment, for a soak that names it; no host is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from linewatt.analysis import gather_findings
from linewatt.analysis.cases import THROUGHPUT, summarise
from linewatt.analysis.comparison import GroupEffects, ResponseEffects, Setting, best_doubts, group_effects
from linewatt.campaign import Campaign, planning_of, stored_feature_values
from linewatt.core.feature import feature_loads
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.soak.best_setting import with_best
from linewatt.features.soak.model import BestOf, best_of_in
from linewatt.model import FTP
from linewatt.store import Result, find_result, load_manifest, load_result, newest_first, reading_results


def resolved(campaign: Campaign, results: Path, stored_best: Mapping[str, Any] | None = None) -> Campaign:
    """The campaign with the best setting of the experiment that it names, if it names one.

    ``stored_best``: what a result has stored of it, which is taken as it was. Raises InvalidInput: there is
    no such experiment, or none of its settings is told to be the best.
    """
    best_of = best_of_in(campaign)
    if best_of is None:
        return campaign
    if stored_best is not None:
        return with_best(campaign, TypeAdapter(BestOf).validate_python(stored_best))
    try:
        path = _path(results, best_of.result)
        with reading_results(path):
            result = load_result(path)
            trials = result.trials
    except StoreError as error:
        raise InvalidInput(f"{campaign.path}: best_of: {error}") from error
    written = result.manifest.asked
    levels = {name: tuple(factor_levels) for name, factor_levels in written.factors.items()}
    groups = group_effects(trials, levels, written.design or "one-at-a-time")
    group, throughput_effects = _throughput(groups, result.id)
    setting, words = _best(group, throughput_effects, result.id)
    _same_load(campaign, group, result.id)
    by_hand = tuple(name for name, _ in setting if name in (written.written.get("labels") or ()))
    doubts = tuple(best_doubts(group.base, throughput_effects.best))
    notes = (*doubts, *_notes(result, setting, by_hand), *_apart(campaign, result, setting))
    return with_best(campaign, BestOf(result.id, setting, words, notes, by_hand))


def _path(results: Path, result_name: str) -> Path:
    """Where the experiment is; ``last`` is the newest one, whatever ran since: its soak, too.

    Raises StoreError.
    """
    if result_name != "last" or not (newest := newest_first(results)):
        return find_result(results, result_name)
    experiment_path = next((path for path in newest if load_manifest(path).asked.factors), None)
    if experiment_path is None:
        raise StoreError(f"last: no result below {results} is an experiment: none varies a factor")
    return experiment_path


def _throughput(groups: tuple[GroupEffects, ...], result: str) -> tuple[GroupEffects, ResponseEffects]:
    """Raises InvalidInput."""
    if not groups:
        raise InvalidInput(f"best_of: {result} is not an experiment: its trials vary no factor")
    if len(groups) > 1:
        cases = f"{len(groups)} kinds of cases, each with a best setting of its own"
        raise InvalidInput(f"best_of: {result} has {cases}; name an experiment on one")
    throughput_effects = next(
        (response for response in groups[0].responses if response.response == THROUGHPUT), None
    )
    if throughput_effects is None:
        raise InvalidInput(f"best_of: {result}: none of its trials has a throughput to compare")
    return groups[0], throughput_effects


def _best(group: GroupEffects, response_effects: ResponseEffects, result: str) -> tuple[Setting, str]:
    """The setting with the most throughput, the base too where all others are slower; and in words how sure.

    Raises InvalidInput where it is not told from the others.
    """
    best = response_effects.best
    if best.setting is not None:
        return best.setting, f"throughput {best.words}"
    if best.is_proven or (best.compared and not best.undecided):
        return group.base, f"the base: {best.words}"
    raise InvalidInput(
        f"best_of: {result} has no best setting: {best.words}; take more trials, or name settings yourself"
    )


def _notes(result: Result, setting: Setting, by_hand: Sequence[str]) -> Iterator[str]:
    """What hands are to set, and what the experiment lacks."""
    yield from (f"{name}={level} is set by hand" for name, level in setting if name in by_hand)
    if not result.complete:
        yield f"{result.id} is not complete: its best setting is that of the trials there are"
    setting_trials = [trial for trial in result.trials if trial.case.factors == setting]
    if failed := [trial.reason or "no reason" for trial in setting_trials if trial.status == "failed"]:
        yield f"{len(failed)} of its {len(setting_trials)} trials failed: {failed[0]}"
    yield from _doubts(result, setting)


def _doubts(result: Result, setting: Setting) -> Iterator[str]:
    """What makes the throughput of the best setting doubtful, and that of what it was compared with."""
    findings = gather_findings(result.trials, summarise(result.trials))
    codes: dict[Setting, set[str]] = {}
    for case in dict.fromkeys(trial.case for trial in result.trials if trial.case.factors):
        codes.setdefault(case.factors, set()).update(findings.doubts(case, "throughput"))
    where = f"linewatt show {result.id} has why"
    best = codes.pop(setting, set())
    if best:
        yield f"its throughput is doubtful: {', '.join(sorted(best))}; {where}"
    if others := [case_codes - best for case_codes in codes.values() if case_codes - best]:
        named = ", ".join(sorted(set().union(*others)))
        count = f"{len(others)} of {len(codes)} other settings" if len(codes) > 1 else "the other setting"
        yield f"throughput of {count} is doubtful: {named}; {where}"


def _same_load(campaign: Campaign, group: GroupEffects, result: str) -> None:
    """Raises InvalidInput where the experiment's load is none of the soak's."""
    load = next((load for load in feature_loads() if load.test == group.case.test), None)
    if load is not None and load.name not in campaign.feature_values:
        raise InvalidInput(f"best_of: {result} is of {load.name} of a server, and this soak has none")
    if load is None and not campaign.tests:
        raise InvalidInput(
            f"best_of: {result} is of {group.case.test} tests, and this soak is of users alone"
        )


def _apart(campaign: Campaign, result: Result, setting: Setting) -> Iterator[str]:
    """What separates the soak from the experiment, as far as that is known before hosts are touched."""
    experiment = result.manifest.asked
    then = _kept(experiment.settings, experiment.written.get("sysctl") or {}, experiment.families, setting)
    families = campaign.families if experiment.families else None
    now = _kept(campaign.settings, campaign.sysctl, families, setting)
    yield from _differing("the soak differs", then, now)
    yield from _of_hosts(campaign, result)
    test = next((trial.case.test for trial in result.trials if trial.case.factors), None)
    if campaign.tests and test not in {FTP, *(test.test for test in campaign.tests)}:
        yield f"the experiment measured {test}, which the soak does not run"
    for load in feature_loads():
        value = campaign.feature_values.get(load.name)
        if value is None:
            continue
        if campaign.tests:
            yield f"the experiment had one kind of load, and this soak has {load.name} and tests at once"
        stored = stored_feature_values({load.name: experiment.written.get(load.name)}).get(load.name)
        if stored is not None:
            before, after = (planning_of(load).described(side, setting) for side in (stored, value))
            yield from _differing(f"{load.name} differ", before, after)


def _kept(
    settings: Mapping[str, Any],
    sysctl: Mapping[str, Any],
    families: Sequence[str] | None,
    setting: Setting,
) -> dict[str, str]:
    """What hosts show throughout, beside a setting."""
    return {
        **{name: str(level) for name, level in settings.items() if name not in dict(setting)},
        **{f"sysctl {name}": str(value) for name, value in sysctl.items()},
        **({"families": ", ".join(families)} if families else {}),
    }


def _of_hosts(campaign: Campaign, result: Result) -> Iterator[str]:
    """Which hosts are others, and the kernels of the experiment unless its factors say what they are."""
    hosts = result.manifest.hosts
    stood = {f"{name} ({host.said.get('address')}, {host.data})" for name, host in hosts.items()}
    stand = {f"{name} ({host.address}, {host.data})" for name, host in campaign.hosts.items()}
    if stood != stand:
        before, after = (
            ", ".join(sorted(host_names)) or "none other" for host_names in (stood - stand, stand - stood)
        )
        yield f"the soak differs in hosts from the experiment: {before} then, {after} now"
    labels = result.manifest.asked.written.get("labels") or {}
    if any(label.get("fact") == "kernel.release" for label in labels.values()):
        return
    kernels = {name: host.facts.get("kernel", {}).get("release") for name, host in sorted(hosts.items())}
    if kernel_words := ", ".join(f"{name} {release}" for name, release in kernels.items() if release):
        yield f"kernels in the experiment: {kernel_words}; those of the soak are not known before it runs"


def _differing(what: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            then_now = " then, ".join(str(settings.get(name, "not set")) for settings in (then, now))
            yield f"{what} in {name} from the experiment: {then_now} now"
