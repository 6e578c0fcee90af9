# SPDX-License-Identifier: Apache-2.0
"""What placement has to know of a host: from a file of its topology, and from the host's facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.places import Site
from linewatt.errors import InvalidInput
from linewatt.foreign import contained
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import Facts, further_nics
from linewatt.network import uses_nmstate
from linewatt.placement import Topology, complete_topology, parse_lstopo_xml, topology_of_facts


def read_topologies(campaign: Campaign) -> dict[str, Topology]:
    """The topologies that the file names, by host. Raises InvalidInput naming the file."""
    topologies = {}
    for name, path in campaign.topologies.items():
        try:
            topologies[name] = parse_lstopo_xml(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}: cannot read the topology of {name}: {error}") from error
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}") from error
    return topologies


def sites_of_files(campaign: Campaign) -> dict[str, Site]:
    """Sites of the hosts whose topology is in a file. Raises InvalidInput."""
    return {
        name: Site(
            topology,
            has_irqs={*campaign.hosts[name].interfaces} <= {device.name for device in topology.devices},
        )
        for name, topology in read_topologies(campaign).items()
    }


def site_of_host(host: HostSpec, facts: Facts, topology: Topology | None) -> Site:
    """A host that has been asked; ``topology`` is that of its file, which facts complete.

    Raises InvalidInput when neither tells its CPUs, ParseError when they cannot be what the facts say.
    """
    with contained(f"{host.name}: what it shows of its CPUs"):
        machine = (
            topology_of_facts(facts, host.data)
            if topology is None
            else complete_topology(topology, facts, host.data)
        )
        further = further_nics(facts)
        for name, nic in further.items():
            machine = complete_topology(machine, {**facts, "nic": nic}, name)
        return Site(
            topology=machine,
            has_irqs=bool(facts["nic"].get("irqs")),
            queues=min(_queues(nic.get("channels") or {}) for nic in (facts["nic"], *further.values())),
            may_change=host.sudo or facts["system"].get("uid") == 0,
            irqbalance=facts["kernel"].get("irqbalance_running") is True,
            numactl=facts["tools"].get("numactl") is not None,
            nmstate=uses_nmstate(facts),
        )


def _queues(channels: Mapping[str, Any]) -> int:
    """Receive queues: combined ones, and those that only receive."""
    return sum(value for name in ("combined", "rx") if isinstance(value := channels.get(name), int))
