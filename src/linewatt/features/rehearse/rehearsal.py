# SPDX-License-Identifier: Apache-2.0
"""One rehearsal: guests shaped like the hosts of a campaign, its changes and its loads on them.

The guests are a lab that is gone at the end (features/lab/api.py); ``changes.py`` makes the changes,
``edits.py`` turns the campaign file into what is rehearsed of it, ``document.py`` says what came of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linewatt.campaign import Campaign
from linewatt.campaign.planning import plan_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli import choose_progress, say, until_done
from linewatt.document import read_yaml
from linewatt.engine import CampaignRun, Ended, Event, LeftChanged, Phase, Places, Warned
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.lab import api as labs
from linewatt.features.rehearse.changes import Rehearsed, facts_of, rehearse_changes
from linewatt.features.rehearse.document import document
from linewatt.features.rehearse.edits import (
    Edit,
    Guests,
    changes_of,
    describe_cuts,
    loads_of,
    on_guests,
)
from linewatt.hosts.facts import Facts, further_nics
from linewatt.missing import Missing
from linewatt.store import load_manifest, reading_results

_FactsByHost = Mapping[str, Facts | Missing]
"""host → its facts, or why they are unknown"""


def rehearsal_of(file: Path, hosts: Path | None, stored: Path | None, *, connect: bool) -> dict[str, Any]:
    """The document of a rehearsal of a campaign file; ``hosts``: an inventory in place of its hosts.

    What the hosts are like is read from the result ``stored``, or asked of them if ``connect``. Raises
    InvalidInput, LabError.
    """
    campaign = load_campaign(file, hosts, edit=changes_of)
    facts_by_host = _read_facts(campaign, stored, connect=connect)
    kvm = labs.has_kvm()
    shapes = _shapes(campaign, facts_by_host, kvm=kvm)
    guests = tuple(shape.guest for shape in shapes.values())
    request = labs.LabRequest(hosts=len(guests), rate="1gbit", bmc=False, guests=guests)
    with labs.own_lab("rehearse", request, f"{len(guests)} guests shaped like {', '.join(shapes)}") as lab:
        rehearsed, loaded = _rehearse_on_guests(
            file, campaign, lab, guest_names(campaign, facts_by_host, lab)
        )
    otherwise = describe_cuts(read_yaml(file).value)
    return document(file, shapes, facts_by_host, rehearsed, loaded, otherwise=otherwise, kvm=kvm)


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
    with reading_results(place):
        manifest = load_manifest(place)
    return {name: host.facts for name, host in manifest.hosts.items() if host.facts}


def _shapes(campaign: Campaign, facts_by_host: _FactsByHost, *, kvm: bool) -> dict[str, labs.Shape]:
    if len(campaign.hosts) > labs.MAX_GUESTS:
        raise InvalidInput(
            f"{campaign.path}: {len(campaign.hosts)} hosts, but a lab has {labs.MAX_GUESTS} guests at most; "
            "rehearse a file with fewer pairs"
        )
    shapes = {}
    for name, spec in campaign.hosts.items():
        facts = facts_by_host[name]
        shapes[name] = labs.shape_of(spec.interfaces, None if isinstance(facts, Missing) else facts, kvm=kvm)
    return shapes


def guest_names(campaign: Campaign, facts_by_host: _FactsByHost, lab: labs.Lab) -> Guests:
    """The guests' names of the interfaces and addresses that the file and the facts of the hosts contain."""
    interfaces: dict[str, dict[str, str]] = {}
    addresses: dict[str, str] = {}
    for (name, spec), guest in zip(campaign.hosts.items(), lab.hosts, strict=True):
        facts = facts_by_host[name]
        host_facts = {} if isinstance(facts, Missing) else facts
        for number, (port, guest_port) in enumerate(zip(spec.data_ports, guest.ports, strict=False)):
            interfaces.setdefault(name, {})[port.data] = guest_port.interface
            nic = host_facts.get("nic", {}) if number == 0 else further_nics(host_facts).get(port.data, {})
            for family, host_address, guest_address in (
                ("ipv4", port.data_ipv4, guest_port.ipv4),
                ("ipv6", port.data_ipv6, guest_port.ipv6),
            ):
                for address in (host_address, *(nic.get(f"{family}_addresses") or ())):
                    if address is not None:
                        addresses[str(address)] = guest_address
    return Guests(interfaces, addresses)


def _rehearse_on_guests(
    file: Path, campaign: Campaign, lab: labs.Lab, guests: Guests
) -> tuple[Rehearsed, Ended | Missing]:
    """Rehearse the changes one by one, then the loads.

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
        return load_campaign(file, inventory, edit=lambda value: cut(on_guests(value, file.parent, guests)))

    rehearsed = until_done(rehearse_changes(edited(changes_of), scratch / "state", report))
    try:
        loads = edited(loads_of)
        return rehearsed, _run_loads(loads, scratch)
    except LinewattError as error:
        return rehearsed, Missing(str(error))


def _run_loads(loads: Campaign, scratch: Path) -> Ended:
    with choose_progress(False, passing=True) as progress:
        run = CampaignRun(
            loads, plan_campaign(loads, 0), Places(scratch / "results", scratch / "state"), progress
        )
        return until_done(run.start())


def _inventory_of_guests(lab: labs.Lab, campaign: Campaign) -> dict[str, Any]:
    """The lab's inventory, with each guest named like its host."""
    guests = read_yaml(lab.inventory).value["all"]["hosts"]
    by_host = dict(zip(campaign.hosts, guests.values(), strict=True))
    for variables in by_host.values():
        variables["linewatt_shares_cpus_with"] = []
    return {"all": {"hosts": by_host}}
