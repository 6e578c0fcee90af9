# SPDX-License-Identifier: Apache-2.0
"""Where a run stores what it measures: a result of its own, or the one that it goes on with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linewatt import __version__
from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.engine import events
from linewatt.engine.live.session import Facts, identity
from linewatt.errors import StoreError
from linewatt.hosts.clock import now_s
from linewatt.store import read, write

SCHEMA_VERSION = 1


def new_result(
    root: Path, campaign: Campaign, facts: Mapping[str, Facts], planned: Mapping[str, Any]
) -> Path:
    """Make the result with its manifest; ``planned`` are the parts of it that a plan makes.

    Raises StoreError.
    """
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "name": campaign.name,
        "linewatt_version": __version__,
        "created_s": now_s(),
        "campaign_text": campaign.text,
        "campaign": stored.as_dict(campaign),
        **planned,
        "hosts": {name: {**asdict(spec), "facts": facts[name]} for name, spec in campaign.hosts.items()},
    }
    return write.new_result(root, campaign.name, now_s(), manifest)


@contextmanager
def kept_if_measured(path: Path, say: events.OnEvent) -> Iterator[Path]:
    """A new result, which does not stay where something ended the run before anything was measured."""
    try:
        yield path
    except BaseException:
        if write.remove_if_empty(path):
            say(events.Phase(f"nothing was measured, so {path.name} is not kept"))
        raise


def same_hosts(campaign: Campaign, facts: Mapping[str, Facts], result: read.Result) -> Path:
    """The result that is gone on with. Raises StoreError if a host is not what it was."""
    for name, known in facts.items():
        if campaign.labels:  # what hands change is what such a campaign is about
            continue
        then, now = (identity(one, campaign.load) for one in (result.manifest["hosts"][name]["facts"], known))
        for what, value in then.items():
            if now[what] != value:
                raise StoreError(
                    f"{name}: {what} was {value!r} when {result.id} began and is {now[what]!r} now; "
                    "what was measured then and now does not belong together, start a new run"
                )
    return result.path
