# SPDX-License-Identifier: Apache-2.0
"""A calibration: a staircase run, or a stored result, and what two meters say of each other."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.campaign import Campaign
from linewatt.campaign.planning import plan_campaign, refuse_listed
from linewatt.campaign.reading import load_campaign
from linewatt.cli import can_be_stored, execute, print_json, put_lines, say
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.calibration.comparison_notes import lines
from linewatt.features.calibration.documents import Calibration
from linewatt.features.calibration.staircase import staircase
from linewatt.features.calibration.stored import calibrations
from linewatt.features.calibration.trial_comparison import Pair, compared
from linewatt.store import Result, find_result, load_result, numbered_files, reading_results, write_json
from linewatt.units import format_seconds

NOT_ENOUGH = 4
"""the exit code where gain and offset are not told"""


def calibrate_meters(  # noqa: PLR0913  one parameter an option
    *,
    file_or_id: str,
    reference: str | None,
    meter: str | None,
    host: str | None,
    tolerance: str,
    hosts: Path | None,
    results: Path,
    wait: bool,
    as_json: bool,
    allow_commands: bool,
) -> None:
    """Compare two meters of a host: gain, offset, delay."""
    tolerance_ratio = _ratio(tolerance)
    if Path(file_or_id).is_file():
        result, pair = _run(Path(file_or_id), hosts, results, (host, meter, reference), wait, allow_commands)
    else:
        result = _stored(file_or_id, results)
        pair = _pair(_sources_of(result), (host, meter, reference), result.id)
    calibration = _compared(result, pair, tolerance_ratio)
    if as_json:
        print_json({"id": result.id, **calibration.model_dump()})
    else:
        put_lines([f"{result.id} · {calibration.host}", *lines(calibration)])
    if calibration.gain is None:
        raise typer.Exit(NOT_ENOUGH)


def _ratio(text: str) -> float:
    number = text.strip().removesuffix("%").strip()
    try:
        percent = float(number)
    except ValueError:
        percent = -1.0
    if not 0 < percent < 100:
        raise InvalidInput(f"--tolerance {text!r}: must be a percentage above 0 and below 100, such as 5%")
    return percent / 100


_Asked = tuple[str | None, str | None, str | None]
"""host, meter, reference as they are named"""


def _run(
    file: Path, hosts: Path | None, results: Path, pair_options: _Asked, wait: bool, allow_commands: bool
) -> tuple[Result, Pair]:
    """Run the file's staircase. Raises InvalidInput before any host is touched."""
    full_campaign = load_campaign(file, hosts, will_connect=True)
    pair = _pair(_sources_in(full_campaign), pair_options, str(file))
    campaign = load_campaign(file, hosts, will_connect=True, edit=lambda value: staircase(value, pair.host))
    if not allow_commands:
        refuse_listed(campaign)
    can_be_stored(results)
    planned = plan_campaign(campaign, 0)
    say(
        f"{pair.meter} against {pair.reference} of {pair.host}: {len(list(planned.trials))} trials of "
        f"{format_seconds(campaign.load_s)}, up and down {len(campaign.load_levels)} levels of "
        f"{campaign.tests[0].test}, about {format_seconds(planned.duration_s)}"
    )
    ended, left_changed = execute(campaign, planned, None, results, as_json=False, wait=wait)
    if ended.failed or ended.pending or left_changed:
        say(
            f"linewatt: {ended.failed} trials failed, {ended.pending} are still to be run; what is there is "
            f"compared with: linewatt calibrate {ended.id} --host {pair.host} --meter {pair.meter} "
            f"--reference {pair.reference}"
        )
        raise typer.Exit(1)
    return load_result(Path(ended.path)), pair


def _stored(result_id: str, results: Path) -> Result:
    try:
        path = find_result(results, result_id)
    except StoreError as error:
        raise InvalidInput(f"no campaign file, and {error}") from None
    with reading_results(path):
        result = load_result(path)
    if result.is_soak or result.imported_from is not None:
        what = "a soak" if result.is_soak else "imported"
        raise InvalidInput(f"{result.id}: is {what}; two meters are compared over trials that linewatt ran")
    return result


def _sources_in(campaign: Campaign) -> dict[str, list[str]]:
    return {name: list(sources) for name, sources in campaign.power.items()}


def _sources_of(result: Result) -> dict[str, list[str]]:
    host_sources: dict[str, dict[str, None]] = {}
    for trial in result.trials:
        for end in trial.ends:
            host_sources.setdefault(end.host, {}).update(
                dict.fromkeys(reading.source for reading in end.power)
            )
    return {name: list(sources) for name, sources in host_sources.items()}


def _pair(sources: dict[str, list[str]], pair_options: _Asked, where: str) -> Pair:
    """Which two meters of which host. Raises InvalidInput."""
    host, meter, reference = pair_options
    named = {source_name.partition(":")[0] for source_name in (meter, reference) if source_name is not None}
    able = [
        name for name, source_names in sources.items() if len(source_names) > 1 and named <= {*source_names}
    ]
    if host is not None and host not in able:
        available = ", ".join(sources.get(host, [])) or "none"
        named_words = f" that are {' and '.join(sorted(named))}" if named else ""
        raise InvalidInput(f"{where}: {host} has not two sources of power{named_words}; it has: {available}")
    if not able:
        all_sources = "; ".join(
            f"{name}: {', '.join(source_names) or 'none'}" for name, source_names in sources.items()
        )
        raise InvalidInput(f"{where}: no host has two such sources of power to compare ({all_sources})")
    if host is None and len(able) > 1:
        raise InvalidInput(f"{where}: {', '.join(able)} have two sources each; name one with --host")
    host = host or able[0]
    host_sources = sources[host]
    if reference is None:
        raise InvalidInput(
            f"{where}: {host} has {', '.join(host_sources)}; name the one that is trusted with --reference"
        )
    others = [source_name for source_name in host_sources if source_name != reference.partition(":")[0]]
    if meter is None and len(others) > 1:
        raise InvalidInput(
            f"{where}: {host} has {', '.join(others)} beside {reference}; name one with --meter"
        )
    meter = meter or others[0]
    if meter == reference:
        raise InvalidInput(f"--meter {meter}: is the reference, too; name another one")
    return Pair(host, meter, reference)


def _compared(result: Result, pair: Pair, tolerance_ratio: float) -> Calibration:
    """Compare, and have it on record beside what it is from. Raises StoreError."""
    calibration = compared(result, pair, tolerance_ratio)
    if calibration not in calibrations(result.path):
        files = numbered_files(result.path, "calibration")
        write_json(next(file for file in files if not file.exists()), calibration.model_dump())
    return calibration
