# SPDX-License-Identifier: Apache-2.0
"""Campaigns: read, planned, run. Hosts are touched by a run alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from linewatt import durable
from linewatt.api.results import Result
from linewatt.campaign import Campaign as Checked
from linewatt.campaign import planning
from linewatt.campaign.reading import load_campaign
from linewatt.engine import Event, LeftChanged, OnEvent, plan_kind
from linewatt.errors import ChangeError, InvalidInput
from linewatt.model import Case
from linewatt.tuning import Change

File = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign file that was read and checked; :meth:`load` makes one."""

    name: str
    path: Path
    hosts: tuple[str, ...]
    is_soak: bool
    _checked: Checked = field(repr=False)
    _inventory: Path | None = field(default=None, repr=False)

    @classmethod
    def load(cls, file: File, hosts: File | None = None) -> Campaign:
        """Read a file; ``hosts`` is an Ansible inventory in place of its own. Touches no host.

        Raises InvalidInput with one line, ``file:line:column: path: what, and what is right``.
        """
        inventory = None if hosts is None else Path(hosts)
        checked = load_campaign(Path(file), inventory)
        named = tuple(checked.hosts)
        return cls(checked.name, Path(file), named, not checked.has_trials, checked, inventory)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign would do. ``duration_s`` is an estimate, of the longest where cases may stop early.

    ``changes`` are what hosts show throughout, ``notes`` what one should know before.
    """

    cases: tuple[Case, ...]
    trials: int
    duration_s: float
    changes: Sequence[Change]
    notes: tuple[str, ...]
    _checked: Checked = field(repr=False)
    _planned: planning.Plan = field(repr=False)

    def document(self) -> dict[str, Any]:
        """The document of ``plan --json``."""
        from linewatt.campaign.planning import plan_as_dict, plan_document_of

        return plan_document_of(self._checked, plan_as_dict(self._planned))


def plan(campaign: Campaign) -> Plan:
    """What a campaign would do, from its file alone; touches no host. Raises InvalidInput, and for a soak."""
    from linewatt.campaign.reading import sites_of_files

    checked = campaign._checked
    if kind := plan_kind(checked):
        raise InvalidInput(
            f"{campaign.path}: is {kind.noun}, which has no cases; linewatt plan says what it would do"
        )
    planned = planning.plan_campaign(checked, planning.seed_of_campaign(checked), sites_of_files(checked))
    trials = sum(1 for _ in planned.trials)
    return Plan(planned.cases, trials, planned.duration_s, planned.changes, planned.notes, checked, planned)


def run(
    campaign: Campaign,
    *,
    results: File = "results",
    on_event: OnEvent | None = None,
    wait: bool = False,
    allow_commands: bool = False,
) -> Result:
    """Run a campaign or a soak to its end, and what came of it; as :func:`run_async`.

    Ctrl-C undoes every change, keeps what was measured, and is raised as KeyboardInterrupt. Raises
    InvalidInput where a loop runs already, as in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work = run_async(
            campaign, results=results, on_event=on_event, wait=wait, allow_commands=allow_commands
        )
        return asyncio.run(work)
    raise InvalidInput("run: an event loop runs here already, as in a notebook: await run_async(…) instead")


async def run_async(
    campaign: Campaign,
    *,
    results: File = "results",
    on_event: OnEvent | None = None,
    wait: bool = False,
    allow_commands: bool = False,
) -> Result:
    """Run a campaign or a soak; each trial is stored before the next begins.

    ``on_event`` gets each event (:mod:`linewatt.engine.events`) as it happens, and must be quick: a load may
    be running. What it raises ends the run, with every change undone. ``wait``: for other controllers on the
    hosts. ``allow_commands``: run programs that an inventory names. Trials that failed are in the result.

    Raises InvalidInput before a host is touched; HostError, StoreError; ChangeError where hosts could not be
    put back, also after an interrupt: ``linewatt restore`` does it later.
    """
    root = Path(results)
    checked = _to_run(campaign, root, allow_commands=allow_commands)
    heard = _Heard(on_event)
    try:
        path = await _run(checked, root, heard, wait=wait)
    except BaseException as error:
        if heard.problems:  # worse news than whatever ended it
            raise ChangeError(f"{heard.words}; and {str(error) or 'it was interrupted'}") from error
        raise
    if heard.problems:
        raise ChangeError(f"{heard.words}; the result is {path}")
    return Result(path)


class _Heard:
    """Passes events on, and remembers what could not be put back."""

    def __init__(self, on_event: OnEvent | None) -> None:
        self._on_event = on_event
        self.problems: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, LeftChanged):
            self.problems += event.problems
        if self._on_event is not None:
            self._on_event(event)

    @property
    def words(self) -> str:
        return f"hosts are not as they were found, run linewatt restore: {'; '.join(self.problems)}"


def _to_run(campaign: Campaign, results: Path, *, allow_commands: bool) -> Checked:
    """The campaign with all that is checked before hosts are touched. Raises InvalidInput."""
    from linewatt.campaign import resolve_campaign
    from linewatt.campaign.planning import refuse_listed
    from linewatt.hosts.journal import state_dir

    checked = load_campaign(campaign.path, campaign._inventory, will_connect=True)
    if checked.text != campaign._checked.text:
        raise InvalidInput(f"{campaign.path}: was edited since it was loaded; load it again")
    checked = resolve_campaign(checked, results)
    if not allow_commands:
        refuse_listed(checked)
    durable.can_be_made("results", results)
    durable.can_be_made("LINEWATT_STATE", state_dir())
    return checked


async def _run(checked: Checked, results: Path, heard: OnEvent, *, wait: bool) -> Path:
    from linewatt.engine import Places
    from linewatt.hosts.journal import state_dir

    places = Places(results, state_dir())
    if kind := plan_kind(checked):
        return Path((await kind.plan(checked).run(places, heard, waits=wait).start()).path)
    from linewatt.engine import CampaignRun

    planned = planning.plan_campaign(checked, planning.seed_of_campaign(checked))
    return Path((await CampaignRun(checked, planned, places, heard, waits=wait).start()).path)
