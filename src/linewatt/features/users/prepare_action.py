# SPDX-License-Identifier: Apache-2.0
"""Client hosts given what scripted users need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from linewatt.campaign import Campaign, missing_packages
from linewatt.campaign.reading import load_campaign
from linewatt.cli import print_json, put_lines, say
from linewatt.errors import InvalidInput
from linewatt.features.users import prepare as engine
from linewatt.features.users.model import users_in
from linewatt.features.users.prepare import Prepared
from linewatt.features.users.prepare_parcel import Wheelhouse

SCHEMA_VERSION = 1
_WORDS = {
    "there": "was there",
    "installed": "installed",
    "removed": "removed",
    "nothing": "nothing was there",
}


def prepare_clients(
    *, file: Path, hosts: Path | None, wheelhouse: Path | None, remove: bool, as_json: bool
) -> None:
    """Install the software for scripted users on client hosts."""
    import asyncio

    if remove and wheelhouse is not None:
        raise InvalidInput("--remove needs no --wheelhouse; leave one out")
    campaign = load_campaign(file, hosts, will_connect=True)
    users = users_in(campaign)
    if users is None:
        raise InvalidInput(
            f"{file}: has no users, so its hosts need nothing of this; add users: or do not prepare"
        )
    specs = [campaign.hosts[name] for name in users.clients]
    wheels = None if wheelhouse is None else Wheelhouse(wheelhouse)
    act = engine.remove(specs) if remove else engine.prepare(specs, users.python, wheels)
    done = [*asyncio.run(act), *([] if remove else controller(campaign))]
    if as_json:
        print_json(document(campaign.name, done))
    else:
        put_lines(lines(done))
    for line in problems(done):
        say(line)
    if any(prepared.outcome == "failed" for prepared in done):
        raise typer.Exit(1)


def controller(campaign: Campaign) -> list[Prepared]:
    """The controller as a host that failed, where it lacks packages: linewatt installs nothing there."""
    return [
        Prepared("controller", "failed", 0.0, problem=f"{missing.problem}; run there: {missing.command}")
        for missing in missing_packages(campaign)
    ]


def document(campaign: str, done: Sequence[Prepared]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": campaign,
        "hosts": [asdict(prepared) for prepared in done],
    }


def lines(done: Sequence[Prepared]) -> Iterator[str]:
    """One for each host that is as was asked for."""
    for prepared in done:
        if prepared.outcome == "failed":
            continue
        outcome = [_WORDS[prepared.outcome]]
        if prepared.environment is not None:
            outcome.append(prepared.environment.python)
        outcome += prepared.removed
        if prepared.size_bytes is not None:
            outcome.append(f"{prepared.size_bytes / 1e6:.0f} MB")
        outcome.append(f"{prepared.took_s:.1f} s")
        yield f"{prepared.host}: {', '.join(outcome)}"


def problems(done: Sequence[Prepared]) -> Iterator[str]:
    """What failed; said once where several hosts failed alike."""
    alike: dict[str, list[str]] = {}
    for prepared in done:
        if prepared.problem is not None:
            alike.setdefault(prepared.problem, []).append(prepared.host)
    for problem, hosts in alike.items():
        shown = hosts if len(hosts) <= 4 else [*hosts[:3], f"{len(hosts) - 3} more"]
        yield f"{', '.join(shown)}: {problem}"
