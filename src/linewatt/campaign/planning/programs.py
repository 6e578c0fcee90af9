# SPDX-License-Identifier: Apache-2.0
"""Programs that a campaign names, to be run as they are: they are code, whoever wrote the file.

Sources of power of ``driver: command`` run on their host, hooks of labels on this machine. What its user
wrote into the campaign file is run. What came with an inventory or is stored in a result may be somebody
else's.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.campaign.campaign import Campaign
from linewatt.errors import InvalidInput
from linewatt.sensors.power import CommandConfig

ALLOW_COMMANDS = "--allow-commands"


@dataclass(frozen=True, slots=True)
class Program:
    """``name`` is that of the source of power or the label; ``host`` None: this machine."""

    name: str
    host: str | None
    argv: tuple[str, ...]
    root: bool = False

    @property
    def words(self) -> str:
        """As ``plan`` shows it."""
        return f"runs {shlex.join(self.argv)}{' as root' if self.root else ''}"


def programs_of_campaign(campaign: Campaign) -> tuple[Program, ...]:
    """In the order of the file: those on hosts, then those on this machine."""
    sources = (
        Program(name, host, tuple(source.cfg.argv), source.cfg.root)
        for host, host_sources in campaign.power.items()
        for name, source in host_sources.items()
        if isinstance(source.cfg, CommandConfig)
    )
    hooks = (
        Program(name, None, label.hook) for name, label in campaign.labels.items() if label.hook is not None
    )
    return (*sources, *hooks)


def refuse_programs(refused: Sequence[Program], written_in: Path | str) -> None:
    """Raises InvalidInput that names the first program and how to allow it."""
    if not refused:
        return
    first = refused[0]
    where = f"power of {first.host}: {first.name}" if first.host else f"factors.{first.name}.hook"
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    raise InvalidInput(
        f"{written_in}: {where}: {first.words}{more}; look at it, then say {ALLOW_COMMANDS} if it may"
    )


def refuse_listed(campaign: Campaign) -> None:
    """Programs that an inventory names; hooks are in the campaign file. Raises InvalidInput."""
    if campaign.inventory is not None:
        refuse_programs(
            [program for program in programs_of_campaign(campaign) if program.host is not None],
            campaign.inventory,
        )
