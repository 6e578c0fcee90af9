# SPDX-License-Identifier: Apache-2.0
"""Factors that linewatt cannot set: a program of the user's sets them, or the user, and facts prove it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from linewatt.campaign import Campaign, Label
from linewatt.errors import InvalidInput, LinewattError
from linewatt.hosts.facts import Facts

Ask = Callable[[str], Awaitable[None]]
"""shows a text and returns once the user has done what it says"""
SAID_CHARACTERS = 300


def check(campaign: Campaign, ask: Ask | None) -> None:
    """Whether every label can be set. Raises InvalidInput, before any host is touched."""
    for name, label in campaign.labels.items():
        if label.hook is None and ask is None:
            raise InvalidInput(
                f"factors.{name}: is set by hand, and there is no terminal to ask on; run it on one, or name "
                "a hook that sets it"
            )


def label_levels(factors: Iterable[tuple[str, str]], label_names: Collection[str]) -> dict[str, str]:
    """The labels among a case's factors, with their levels."""
    return {name: level for name, level in factors if name in label_names}


class LabelError(LinewattError):
    """A label could not be set, or was not: nothing after it means what it says."""


class Labels:
    """The levels that are set now, and what the hosts showed with each."""

    def __init__(self, campaign: Campaign, ask: Ask | None) -> None:
        self._campaign = campaign
        self._ask = ask
        self._now: dict[str, str] = {}
        self._seen: dict[tuple[str, str], dict[str, Any]] = {}

    def missing(self, factors: tuple[tuple[str, str], ...]) -> dict[str, str]:
        """The labels among a case's factors that are not set yet, with their levels."""
        levels = label_levels(factors, self._campaign.labels)
        return {name: level for name, level in levels.items() if self._now.get(name) != level}

    async def set(self, levels: Mapping[str, str]) -> None:
        """Have each set, one after the other. Raises LabelError."""
        for name, level in levels.items():
            label = self._campaign.labels[name]
            if label.hook is not None:
                await _run(label, label.hook, self._environment(name, level))
            elif self._ask is not None:
                await self._ask(
                    f"Set {name} to {level} on {', '.join(self._campaign.hosts)}, then press Enter"
                )
            self._now[name] = level

    def _environment(self, name: str, level: str) -> dict[str, str]:
        return {
            **os.environ,
            "LINEWATT_FACTOR": name,
            "LINEWATT_LEVEL": level,
            "LINEWATT_HOSTS": " ".join(self._campaign.hosts),
        }

    def prove(self, facts: Mapping[str, Facts]) -> None:
        """Whether each label's fact tells its levels apart, host by host. Raises LabelError."""
        for name, level in self._now.items():
            fact = self._campaign.labels[name].fact
            if fact is None:
                continue
            value_by_host = {host: _value(host_facts, fact) for host, host_facts in facts.items()}
            for (seen_name, other_level), before in self._seen.items():
                if seen_name == name and other_level != level:
                    _must_differ(name, fact, (other_level, before), (level, value_by_host))
            self._seen[name, level] = value_by_host

    def now(self) -> list[dict[str, Any]]:
        """The levels that are set, and what each host's fact shows, for the result."""
        return [
            {
                "factor": name,
                "level": level,
                "fact": self._campaign.labels[name].fact,
                "hosts": self._seen.get((name, level)),
            }
            for name, level in self._now.items()
        ]


async def _run(label: Label, argv: tuple[str, ...], environment: dict[str, str]) -> None:
    """Run a hook to its end; it is ended when it takes too long, or when the campaign is."""
    what = f"the hook {argv[0]} for {environment['LINEWATT_FACTOR']}={environment['LINEWATT_LEVEL']}"
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise LabelError(f"{what} cannot be started: {error}") from error
    try:
        out, _ = await asyncio.wait_for(process.communicate(), label.timeout_s)
    except TimeoutError as error:
        raise LabelError(f"waited {label.timeout_s:g} s for {what} to end") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        output = " ".join(out.decode(errors="replace").split())[-SAID_CHARACTERS:]
        raise LabelError(f"{what} ended with status {process.returncode}: {output or 'it said nothing'}")


def _value(facts: Facts, fact: str) -> Any:
    section, _, name = fact.partition(".")
    return facts.get(section, {}).get(name)


def _must_differ(
    name: str, fact: str, before: tuple[str, dict[str, Any]], now: tuple[str, dict[str, Any]]
) -> None:
    (earlier_level, was), (level, is_now) = before, now
    same = [host for host, value in is_now.items() if host in was and was[host] == value]
    if same:
        raise LabelError(
            f"{same[0]}: {fact} is {is_now[same[0]]!r} with {name}={level} as it was with "
            f"{name}={earlier_level}: it "
            "has not been changed there"
        )
