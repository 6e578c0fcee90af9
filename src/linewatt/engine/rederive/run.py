# SPDX-License-Identifier: Apache-2.0
"""Every trial of a result made again: raw files in, trials and differences out. Writes only when told to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from linewatt import __version__
from linewatt.campaign import Campaign, campaign_from_dict, feature_values_of
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.measure import measure
from linewatt.engine.measuring.run_record import Kept
from linewatt.engine.rederive import missing_run_records
from linewatt.engine.rederive.differences import Again, Told, changes, of_meters, told
from linewatt.engine.rederive.idle import IdleAgain, idle_again, readings_of
from linewatt.errors import InvalidInput, LinewattError
from linewatt.foreign import STORED, contained, read_json, understood
from linewatt.hosts import now_s
from linewatt.loads import LOADS
from linewatt.model import METHOD, Trial
from linewatt.power_source_keys import correct_trial
from linewatt.sensors.power import Dynamics
from linewatt.store import (
    ORIGINALS_FOLDER,
    RAW_FOLDER,
    TOO_SHORT_CODE,
    Key,
    Result,
    derived_files,
    known_meters,
    load_result,
    looked_too_slow,
    newest_derived,
    raw_pack_of,
    raw_text,
    raw_texts,
    read_trial,
    refuting_dynamics,
    text_of,
    trial_dirs,
    write_derived,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialAgain(Again[Trial]):
    """One trial, and the method that it is stored by."""

    number: int
    method: int
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Rederived:
    """A result made again."""

    result: Result
    trials: tuple[TrialAgain, ...]
    idle: tuple[IdleAgain, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether any document would be another one."""
        again = [(trial.after, trial.same) for trial in self.trials]
        idle = [(idle_window.after, idle_window.same) for idle_window in self.idle]
        return any(after is not None and not same for after, same in (*again, *idle))


def rederive(result: Result) -> Rederived:
    """Make every trial again. Raises InvalidInput where a result has no raw output, StoreError."""
    if result.imported_from is not None:
        where = raw_pack_of(result.path / RAW_FOLDER / ORIGINALS_FOLDER)
        kept_there = f" (its files are in {where})" if result.manifest.imported_files else ""
        raise InvalidInput(
            f"{result.id}: was imported from {result.imported_from}; import it again instead{kept_there}"
        )
    if result.is_soak:
        raise InvalidInput(f"{result.id}: is a soak, whose figures are computed again whenever it is shown")
    campaign = campaign_from_dict(result.manifest.asked.written)
    trials = _each(result, campaign, trial_dirs(result.path))
    return Rederived(result, trials, tuple(idle_again(result.path, campaign)))


def settle(path: Path) -> tuple[int, ...]:
    """Make the power again that a first load made a meter look too slow for; the trials that have it now.

    At the end of a campaign, whose later loads say so. Raises StoreError; DiskFull.
    """
    result = load_result(path)
    refuted = {trial.number for trial in result.trials if looked_too_slow(trial)}
    if not refuted:
        return ()
    if newest_derived(path) is not None:  # of a part before, which the next such folder must have, too
        rederived = rederive(result)
    else:
        campaign = campaign_from_dict(result.manifest.asked.written)
        folders = [folder for folder in trial_dirs(path) if int(folder.name) in refuted]
        rederived = Rederived(result, _each(result, campaign, folders))
    write_rederived(rederived)
    return tuple(
        trial.number for trial in rederived.trials if trial.number in refuted and _has_power_now(trial)
    )


def _has_power_now(again: TrialAgain) -> bool:
    power_changes = (change for change in again.changes if change.figure.endswith("].power_w"))
    return any(change.before is None and change.after is not None for change in power_changes)


def write_rederived(rederived: Rederived) -> Path | None:
    """Store all trials that were made again, if one is another now. Raises StoreError."""

    if not rederived.changed:
        return None
    about = {"method": METHOD, "linewatt_version": __version__, "derived_s": now_s()}
    trials = [trial.after for trial in rederived.trials if trial.after is not None]
    idle = {
        idle_window.name: idle_window.after for idle_window in rederived.idle if idle_window.after is not None
    }
    return write_derived(rederived.result.path, about, trials, idle)


def _each(result: Result, campaign: Campaign, directories: Sequence[Path]) -> tuple[TrialAgain, ...]:
    files = derived_files(result.path, [directory.name for directory in directories])
    pairs = zip(directories, files, strict=True)
    return tuple(_again(result, campaign, directory, Path(file)) for directory, file in pairs)


def _again(result: Result, campaign: Campaign, directory: Path, file: Path) -> TrialAgain:
    with contained(str(file)):
        before = read_json(raw_text(file), str(file), STORED)
        number, method = int(before["number"]), int(before.get("method", 1))
    learned = _refuting(result, directory)
    try:
        after = understood(lambda: _made(result, campaign, directory, learned), directory.name)
    except LinewattError as error:
        return TrialAgain(number=number, method=method, problem=str(error))
    now = json.loads(text_of(after))
    return TrialAgain(
        number=number,
        method=method,
        after=after,
        same=json.dumps(now) == json.dumps(before),  # whatever its lines were when it was stored
        changes=tuple(changes(number, before, now, list(of_meters(after, learned)))),
        told=tuple(told(number, before, now)),
    )


def _made(result: Result, campaign: Campaign, directory: Path, learned: Mapping[Key, Dynamics]) -> Trial:
    """A trial from its raw files, and what was learned since. Raises ParseError, StoreError."""
    files = raw_texts(directory / RAW_FOLDER)
    inputs_text = files.get(run_record.NAME)
    if inputs_text is None:
        trial = read_trial(directory)
        trial_inputs = missing_run_records.kept_of(result, campaign, trial, files, directory)
        again = _measured(trial_inputs, files, campaign)
        return missing_run_records.as_far_as_known(trial, again)
    trial_inputs = run_record.read(inputs_text, files, campaign.hosts, LOADS[campaign.load])
    return _measured(_with_meters(trial_inputs, learned), files, campaign)


def _refuting(result: Result, directory: Path) -> Mapping[Key, Dynamics]:
    """What later loads showed of the meters that a trial was wrongly called too short for."""
    if TOO_SHORT_CODE not in raw_text(directory / "trial.json"):
        return {}
    return refuting_dynamics(read_trial(directory), known_meters(result.meters))


def _with_meters(trial_inputs: Kept, learned: Mapping[Key, Dynamics]) -> Kept:
    dynamics_by_host = {host: dict(meters) for host, meters in trial_inputs.setup.meters.items()}
    for (host, source, channel), dynamics in learned.items():
        dynamics_by_host.setdefault(host, {})[source, channel] = dynamics
    return replace(trial_inputs, setup=replace(trial_inputs.setup, meters=dynamics_by_host))


def _measured(trial_inputs: Kept, files: Mapping[str, str], campaign: Campaign) -> Trial:
    readings = readings_of(trial_inputs.sources, files, campaign, trial_inputs.run.clocks)
    trial = measure(
        trial_inputs.run, readings, trial_inputs.setup, LOADS[campaign.load], trial_inputs.overhead_s
    ).trial
    return correct_trial(trial, feature_values_of(campaign))


def rederived_document(rederived: Rederived) -> dict[str, Any]:
    """Everything that differs, for ``--json``."""
    return {
        "schema_version": 1,
        "id": rederived.result.id,
        "method": METHOD,
        "trials": [
            {
                "number": trial.number,
                "method": trial.method,
                **trial.as_document(),
                "findings": [asdict(finding) for finding in trial.told],
            }
            for trial in rederived.trials
        ],
        "idle": [{"name": idle_window.name, **idle_window.as_document()} for idle_window in rederived.idle],
    }
