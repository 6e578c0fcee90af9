# SPDX-License-Identifier: Apache-2.0
"""A rehearsal: guests, a campaign's changes on them, its loads, and what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.plan import plan
from linewatt.campaign.reading.file import load
from linewatt.cli.output import print_json, put, say
from linewatt.cli.progress import chosen
from linewatt.cli.signals import until_done
from linewatt.document import read_yaml
from linewatt.engine.campaign import CampaignRun
from linewatt.engine.events import Ended, Event, LeftChanged, Phase, Warned
from linewatt.engine.run import Places
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.lab.api import Lab, LabRequest
from linewatt.features.lab.guests.shape import Shape, shape_of
from linewatt.features.lab.guests.spec import MAX_GUESTS
from linewatt.features.lab.guests.tools import has_kvm
from linewatt.features.lab.own_lab import own_lab
from linewatt.features.rehearse.changes import Rehearsed, facts_of, rehearse_changes
from linewatt.features.rehearse.document import document, lines
from linewatt.features.rehearse.edits import Edit, Guests, changes_of, describe_cuts, loads_of, on_guests
from linewatt.hosts.facts.read import Facts
from linewatt.missing import Missing
from linewatt.store.read import load_manifest, readable

REFUSED = 3
"""exit code if a change was refused, or did not work as requested"""
_FactsByHost = Mapping[str, "Facts | Missing"]
"""host → its facts, or why they are unknown"""


def rehearse_campaign(
    *, file: Path, hosts: Path | None, facts: Path | None, connect: bool, as_json: bool
) -> None:
    """Try a campaign's changes on guests shaped like its hosts."""
    campaign = load(file, hosts, edit=changes_of)
    facts_by_host = _read_facts(campaign, facts, connect=connect)
    shapes = _shapes(campaign, facts_by_host, kvm=has_kvm())
    guests = tuple(shape.guest for shape in shapes.values())
    request = LabRequest(hosts=len(guests), rate="1gbit", bmc=False, guests=guests)
    with own_lab("rehearse", request, f"{len(guests)} guests shaped like {', '.join(shapes)}") as lab:
        rehearsed, loaded = _rehearse_on_guests(
            file, campaign, lab, guest_names(campaign, facts_by_host, lab)
        )
    otherwise = describe_cuts(read_yaml(file).value)
    rehearsal = document(file, shapes, facts_by_host, rehearsed, loaded, otherwise=otherwise, kvm=has_kvm())
    if as_json:
        print_json(rehearsal)
    else:
        put("\n".join(lines(rehearsal)))
    if not rehearsal["as_asked"]:
        raise typer.Exit(REFUSED)


def _read_facts(campaign: Campaign, stored: Path | None, *, connect: bool) -> _FactsByHost:
    """Facts of each host, or why they are unknown. Raises InvalidInput for a file without facts."""
    if stored is not None:
        stored_facts = _stored_facts(stored)
        return {
            name: stored_facts.get(name) or Missing(f"{stored} has no facts of {name}")
            for name in campaign.hosts
        }
    if not connect:
        return dict.fromkeys(campaign.hosts, Missing("not asked (--no-connect)"))
    say(f"asking {', '.join(campaign.hosts)} what they are like; nothing on them is changed")
    return asyncio.run(facts_of(campaign))


def _stored_facts(path: Path) -> dict[str, Facts]:
    place = path.parent if path.name == "manifest.json" else path
    if not (place / "manifest.json").is_file():
        raise InvalidInput(f"--facts {path}: neither a stored result nor its manifest.json")
    with readable(place):
        manifest = load_manifest(place)
    return {name: host.facts for name, host in manifest.hosts.items() if host.facts}


def _shapes(campaign: Campaign, facts_by_host: _FactsByHost, *, kvm: bool) -> dict[str, Shape]:
    if len(campaign.hosts) > MAX_GUESTS:
        raise InvalidInput(
            f"{campaign.path}: {len(campaign.hosts)} hosts, but a lab has {MAX_GUESTS} guests at most; "
            "rehearse a file with fewer pairs"
        )
    shapes = {}
    for name, spec in campaign.hosts.items():
        facts = facts_by_host[name]
        shapes[name] = shape_of(spec.interfaces, None if isinstance(facts, Missing) else facts, kvm=kvm)
    return shapes


def guest_names(campaign: Campaign, facts_by_host: _FactsByHost, lab: Lab) -> Guests:
    """The guests' names of the interfaces and addresses that the file and the facts of the hosts contain."""
    interfaces: dict[str, dict[str, str]] = {}
    addresses: dict[str, str] = {}
    for (name, spec), guest in zip(campaign.hosts.items(), lab.hosts, strict=True):
        facts = facts_by_host[name]
        host_facts = {} if isinstance(facts, Missing) else facts
        for number, (port, guest_port) in enumerate(zip(spec.data_ports, guest.ports, strict=False)):
            interfaces.setdefault(name, {})[port.data] = guest_port.interface
            nic = (
                host_facts.get("nic", {})
                if number == 0
                else host_facts.get("further_nics", {}).get(port.data, {})
            )
            for family, host_address, guest_address in (
                ("ipv4", port.data_ipv4, guest_port.ipv4),
                ("ipv6", port.data_ipv6, guest_port.ipv6),
            ):
                for address in (host_address, *(nic.get(f"{family}_addresses") or ())):
                    if address is not None:
                        addresses[str(address)] = guest_address
    return Guests(interfaces, addresses)


def _rehearse_on_guests(
    file: Path, campaign: Campaign, lab: Lab, guests: Guests
) -> tuple[Rehearsed, Ended | str]:
    """Rehearse the changes one by one, then the loads; returns why the loads did not run, if so.

    All files are deleted with the lab.
    """

    def report(event: Event) -> None:
        if isinstance(event, Phase | Warned):
            say(event.text)
        if isinstance(event, LeftChanged):
            say("; ".join(event.problems))

    scratch = lab.inventory.parent / "rehearsal"
    scratch.mkdir(mode=0o700)
    inventory = scratch / "inventory.yaml"
    inventory.write_text(json.dumps(_inventory_of_guests(lab, campaign)))

    def edited(cut: Edit) -> Campaign:
        return load(file, inventory, edit=lambda value: cut(on_guests(value, file.parent, guests)))

    rehearsed = until_done(rehearse_changes(edited(changes_of), scratch / "state", report))
    try:
        loads = edited(loads_of)
        return rehearsed, _run_loads(loads, scratch)
    except LinewattError as error:
        return rehearsed, str(error)


def _run_loads(loads: Campaign, scratch: Path) -> Ended:
    with chosen(False, passing=True) as progress:
        run = CampaignRun(loads, plan(loads, 0), Places(scratch / "results", scratch / "state"), progress)
        return until_done(run.start())


def _inventory_of_guests(lab: Lab, campaign: Campaign) -> dict[str, Any]:
    """The lab's inventory, with each guest named like its host."""
    guests = read_yaml(lab.inventory).value["all"]["hosts"]
    by_host = dict(zip(campaign.hosts, guests.values(), strict=True))
    for variables in by_host.values():
        variables["linewatt_shares_cpus_with"] = []
    return {"all": {"hosts": by_host}}
