# SPDX-License-Identifier: Apache-2.0
"""Compare kernels on guests in one campaign."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from linewatt.campaign import Campaign
from linewatt.campaign.planning import plan_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli import can_be_made, compare, execute, put, say
from linewatt.errors import InvalidInput
from linewatt.features.lab import api as lab
from linewatt.features.lab.guests.spec import Guest, same_guests
from linewatt.features.lab.own_lab import own_lab
from linewatt.report.comparison import parse_factor

SHIPPED = Path(__file__).parents[1] / "kernels.yaml"
"""what is measured where no file says it, part of the package"""
_GENERATOR = "h1"


def compare_kernels(  # noqa: PLR0913  one parameter an option
    *,
    file: Path | None,
    kernel: list[str],
    nic: list[str],
    cpus: int,
    memory: int,
    rate: str,
    factor: str | None,
    results: Path,
) -> None:
    """Compare kernels on guests of this machine, in one campaign."""
    if len(set(kernel)) < max(2, len(kernel)):
        raise InvalidInput("lab kernels: give --kernel FILE at least twice, each with another kernel")
    if factor is not None:
        parse_factor(factor)
    guests = same_guests(len(kernel) + 1, nic, [kernel[0], *kernel], Guest(cpus=cpus, memory_mib=memory))
    can_be_made("--results", results)
    hosts = [f"h{number}" for number in range(2, len(guests) + 1)]
    _check_campaign(file, hosts, ports=len(guests[0].nics))
    summary = f"{len(guests)} guests boot, {_GENERATOR} to generate the load and one for each kernel"
    request = lab.LabRequest(hosts=len(guests), rate=rate, guests=guests)
    with own_lab("kernels", request, summary) as built:
        campaign = _load_campaign(file, hosts, built.inventory)
        planned = plan_campaign(campaign, campaign.seed or 0)
        state = built.inventory.parent / "state"  # guests are gone at the end, and what was changed on them
        ended, left_changed = execute(campaign, planned, None, results, as_json=False, state=state)
    for host in hosts[1:] if ended.done else ():
        put()
        compare([f"{ended.id}:{hosts[0]}", f"{ended.id}:{host}"], factor=factor, results=results)
    for host, image in zip(hosts, kernel, strict=True):
        say(f"{host} ran {Path(image).name.removeprefix('vmlinuz-')} ({image})")
    if ended.failed or ended.pending or left_changed:
        raise typer.Exit(1)


def _check_campaign(file: Path | None, hosts: Sequence[str], *, ports: int) -> None:
    """Check the campaign before guests are booted, which takes a minute. Raises InvalidInput."""
    data = [f"data{number}" for number in range(ports)]
    described = {
        name: {
            "ansible_host": f"198.18.0.{number}",
            "linewatt_data": data[0] if ports == 1 else data,
            "linewatt_lab": "kernels",
        }
        for number, name in enumerate([_GENERATOR, *hosts], start=1)
    }
    with tempfile.NamedTemporaryFile("w", prefix="linewatt-kernels-", suffix=".yaml") as inventory:
        json.dump({"all": {"hosts": described}}, inventory)
        inventory.flush()
        campaign = _load_campaign(file, hosts, Path(inventory.name))
    if not campaign.has_trials or campaign.feature_load is not None:
        raise InvalidInput(f"{campaign.path}: kernels are compared by trials of tests, not by soaks or users")


def _load_campaign(file: Path | None, hosts: Sequence[str], inventory: Path) -> Campaign:
    pairs = [f"{_GENERATOR} -> {host}" for host in hosts]
    return load_campaign(file or SHIPPED, inventory, edit=lambda document: {**document, "pairs": pairs})
