# SPDX-License-Identifier: Apache-2.0
"""What each host of a case is to show, and where its processes go. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from linewatt.campaign import factors
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.places import Place, Places
from linewatt.hosts import HostSpec
from linewatt.model import Case
from linewatt.network import HostNetwork, nmstate_change
from linewatt.records import PlaceLine
from linewatt.tuning import Change


class Layout:
    """The hosts of a campaign as its cases want them; ``first_ports``: rounds take turns with them."""

    def __init__(self, campaign: Campaign, places: Places, first_ports: tuple[int, int]) -> None:
        self.first_ports = first_ports
        self._campaign = campaign
        self._server = campaign.server_host
        self._places = places
        self._static = {name: tuple(self._settings(name)) for name in campaign.hosts}
        self._networks = {
            (network, name): Change(name, *self._change(name, described), f"network {network}")
            for network, hosts in campaign.described.items()
            for name, described in hosts.items()
            if described.interfaces or described.routes
        }
        self._shown = cache(self._show)

    def _change(self, host: str, described: HostNetwork) -> tuple[str, str, str]:
        """Knob, target and value. Raises ChangeError for what the tool of the host does not have."""
        return nmstate_change(described) if self._places.uses_nmstate(host) else described.change()

    def place(self, case: Case, host: str) -> Place:
        """Raises InvalidInput where a host's machine cannot give what the policy needs."""
        return self._places.of(case, host)

    def changes(self, case: Case, host: str) -> tuple[Change, ...]:
        """Placement, then what the file sets, then the case's factors: of one setting the last one counts."""
        place = self.place(case, host)
        rules = self._places.queue_rules(case, self.first_ports) if host == case.receiver else ()
        network = self._networks.get((case.network, host))
        placed = (*place.changes, *rules, *(() if network is None else (network,)))
        return self._shown(host, placed, place.irq_cpus, case.factors)

    def throughout(self, host: str, network: str) -> tuple[Change, ...]:
        """What a host shows in a network that takes part in no case."""
        change = self._networks.get((network, host))
        return (*(() if change is None else (change,)), *self._static[host])

    def _show(
        self, host: str, placed: tuple[Change, ...], irq_cpus: tuple[int, ...], setting: factors.Setting
    ) -> tuple[Change, ...]:
        spec = self._campaign.hosts[host]
        spec = replace(spec, irq_cpus=irq_cpus or spec.irq_cpus)
        factor_changes = (
            change
            for port in self._at_ports(spec)
            for change in factors.changes(
                factors.setting_at_host(setting, host, self._server), port, self._campaign.labels
            )
        )
        all_changes = (*placed, *self._static[host], *factor_changes)
        return tuple({(change.knob, change.target): change for change in all_changes}.values())

    def _at_ports(self, spec: HostSpec) -> Iterator[HostSpec]:
        """The host at each of its data ports, with the interrupt CPUs that are local to it."""
        for port in spec.data_ports:
            near = self._places.near(spec, port.data, spec.irq_cpus or ())
            yield replace(port, irq_cpus=near or None)

    def _settings(self, host: str) -> Iterator[Change]:
        """What the file sets on a host throughout."""
        why, campaign = "the campaign's settings ask for it", self._campaign
        for key, value in campaign.sysctl.items():
            yield Change(host, "sysctl", key, value, why)
        settings = factors.setting_at_host(campaign.settings.items(), host, self._server)
        for port in self._at_ports(campaign.hosts[host]):
            for change in factors.changes(settings, port):
                yield replace(change, why=why)

    def irq_cpus(self, case: Case, host: str) -> tuple[int, ...]:
        """The CPUs of the receive work; none where a factor steers it otherwise."""
        place = self.place(case, host)
        shown_changes = {(change.knob, change.target, change.value) for change in self.changes(case, host)}
        steered = all((change.knob, change.target, change.value) in shown_changes for change in place.changes)
        return place.irq_cpus if steered else ()

    def place_lines(self, cases: Iterable[Case]) -> tuple[PlaceLine, ...]:
        """What policies chose, a line for each host and number of instances."""
        lines: dict[str, PlaceLine] = {}
        for case in cases:
            for name in case.hosts:
                for line in self.place(case, name).lines(name):
                    lines.setdefault(str(line), line)
        return tuple(lines.values())
