# SPDX-License-Identifier: Apache-2.0
"""What a stored result still lacks is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linewatt.campaign import (
    Campaign,
    campaign_from_dict,
    differences_from_stored,
    resolve_campaign,
    with_limits,
)
from linewatt.campaign.planning import plan_as_dict, plan_campaign, programs_of_campaign, refuse_programs
from linewatt.campaign.reading import load_campaign
from linewatt.cli.execution import check_plan, execute, finish, run_kind
from linewatt.cli.output import results_there, say
from linewatt.engine import lacking_trials, plan_kind
from linewatt.errors import InvalidInput, StoreError
from linewatt.foreign import one_line
from linewatt.store import Result, find_result, load_result, reading_results

MOST_DIFFERENCES = 5
"""of a campaign file from the stored campaign that are told"""
_OF_SEARCHES = ("search.", "search:", "instance_search.", "instance_search:")


def resume_result(*, result_id: str, results: Path, wait: bool, as_json: bool, allow_commands: bool) -> None:
    """Continue an interrupted campaign or soak."""
    results_there(results)
    path = find_result(results, result_id)
    with reading_results(path):
        result = load_result(path)
        if result.imported_from is not None:
            raise StoreError(
                f"{result.id}: imported from {result.imported_from}, so there is nothing to resume"
            )
        if result.is_passing and not result.complete:
            raise StoreError(
                f"{result.id}: its hosts were those of a lab that goes with the command that ran it, so "
                "nothing can continue it; give that command again"
            )
        campaign = campaign_from_dict(result.manifest.asked.written)
        if not allow_commands:
            refuse_programs(programs_of_campaign(campaign), f"{result.id}: its stored campaign")
        campaign = _with_edits(campaign, result, results)
        kind = plan_kind(campaign)
        if kind is None:
            planned = plan_campaign(campaign, result.manifest.seed or 0)
            check_plan(plan_as_dict(planned), result)
    if kind is not None:
        run_kind(campaign, kind.plan(campaign), result, results, as_json, wait=wait)
        return
    if result.complete and not lacking_trials(result.path, planned.further):
        say(f"{result.id}: nothing to do, all {len(result.trials)} trials are stored")
        return
    finish(*execute(campaign, planned, result, results, as_json, wait=wait), results, as_json)


def _with_edits(campaign: Campaign, result: Result, results: Path) -> Campaign:
    """The stored campaign as it is gone on with: hosts have the limits that its file says by now.

    What else that says otherwise is told.
    """
    if not campaign.path.is_file():
        return campaign
    used = f"{result.id} continues the campaign as it was stored; linewatt run begins one with the file"
    written = result.manifest.asked.written
    try:
        now = resolve_campaign(load_campaign(campaign.path, campaign.inventory), results, written)
    except InvalidInput as error:
        say(f"note: {'; '.join(str(error).splitlines())}; {used}")
        return campaign
    going_on = with_limits(campaign, now)
    if changed_hosts := [name for name, spec in going_on.hosts.items() if spec != campaign.hosts[name]]:
        say(one_line(f"note: limits of {', '.join(changed_hosts)} are those that {campaign.path} has now"))
    edits = differences_from_stored(written, with_limits(now, campaign))
    if not result.complete:
        _refuse_other_searches(result, campaign.path, edits)
    if edits:
        more = len(edits) - MOST_DIFFERENCES
        edit_words = "; ".join(edits[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        say(one_line(f"note: {campaign.path} was edited ({edit_words}); {used}"))
    return going_on


def _refuse_other_searches(result: Result, path: Path, edits: Sequence[str]) -> None:
    """What was searched until now would be no part of what the file asks for. Raises StoreError."""
    search_edits = [edit for edit in edits if edit.startswith(_OF_SEARCHES)]
    if search_edits:
        edit_words = "; ".join(search_edits[:MOST_DIFFERENCES])
        raise StoreError(
            one_line(
                f"{result.id}: its searches go on from stored steps, and {path} asks otherwise by now "
                f"({edit_words}); put that back to resume, or begin anew with linewatt run"
            )
        )
