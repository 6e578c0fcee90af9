# SPDX-License-Identifier: Apache-2.0
"""Everything that can be set on a host, and put back: the knobs, networks, where interrupts go, the least
that CPUs run at, and what features set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from linewatt.core.feature import feature_knobs
from linewatt.hosts.journal import Entry
from linewatt.network import NETWORK_KNOB as NETWORK_KNOB
from linewatt.network import NETWORK_KNOBS as NETWORK
from linewatt.network import NMSTATE_KNOB as NMSTATE_KNOB
from linewatt.network import parse_network_key
from linewatt.tuning import TUNING_KNOBS as TUNING
from linewatt.tuning import Interrupts, Knob, MinPerf

ALL_KNOBS: dict[str, Knob] = {
    **TUNING,
    **NETWORK,
    Interrupts.name: Interrupts(),
    MinPerf.name: MinPerf(),
    **{knob.name: knob for knob in feature_knobs()},
}


_LAYERS = (
    {"cpus_online"},
    {"irqbalance", "tuned"},
    {"netem"},  # the discipline that comes back in its place takes its quantum from the MTU of that moment
    {"channels", "rings", "mtu", "governor", "offload"},
)
"""from the ground up; every other knob stands on these"""
TOP = len(_LAYERS)


GROUND = 1
"""the highest layer of what sets much of the rest itself: CPUs that go, a profile"""


def layer(knob: str) -> int:
    """From 0, the ground, to ``TOP``."""
    return next((i for i, layer_knobs in enumerate(_LAYERS) if knob in layer_knobs), TOP)


LRO = "large-receive-offload"
_FORWARDS = re.compile(r"net[./]ipv[46][./](ip_forward|conf[./].+[./]forwarding)")


def without_lro(entry: Entry, interfaces: Iterable[str]) -> Iterator[str]:
    """Interfaces on which the kernel turns LRO off with an entry, and leaves it off when that is put back.

    Those that interfaces of a network stand on, and on a host that forwards all: it would join packets that
    go further (net/core/dev.c, netdev_sync_lower_features and dev_disable_lro). ``interfaces`` are those of a
    host's data, where an entry does not say on which it stands.
    """
    keys = [parse_network_key(word) for word in entry.target.split()] if entry.knob == NETWORK_KNOB else []
    if any(key.kind in ("link", "master") for key in keys):
        yield from dict.fromkeys(key.interface for key in keys if key.kind == "need")
    elif entry.knob == NMSTATE_KNOB or (entry.knob == "sysctl" and _FORWARDS.fullmatch(entry.target)):
        yield from interfaces


_ROUTES = re.compile(r"net[./](ipv[46])[./](?:ip_forward|conf[./]all[./]forwarding)")


def beside_forwarding(entry: Entry, interfaces: Iterable[str]) -> Iterator[str]:
    """Kernel parameters that the kernel sets anew as a host is made to forward, or not to.

    Whether interfaces do each, and new ones; with IPv4 that redirects are taken where it does not
    (net/ipv4/devinet.c, inet_forward_change; net/ipv6/addrconf.c, addrconf_forward_change).
    """
    routes = _ROUTES.fullmatch(entry.target) if entry.knob == "sysctl" else None
    if routes is None:
        return
    if routes[1] == "ipv4":
        yield "net.ipv4.conf.all.accept_redirects"
    yield f"net.{routes[1]}.conf.default.forwarding"
    yield from (f"net/{routes[1]}/conf/{name}/forwarding" for name in interfaces)


def apart(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Entries of one host in their order, those that can be put back together in one list.

    None of a list stands on another, and none is about the same setting as another. What was only kept is
    looked at when what may have moved it is back.
    """
    together: list[Entry] = []
    for entry in entries:
        same = any((entry.knob, entry.target) == (earlier.knob, earlier.target) for earlier in together)
        if together and (same or _standing(entry) != _standing(together[0])):
            yield together
            together = []
        together.append(entry)
    if together:
        yield together


def _standing(entry: Entry) -> tuple[int, bool]:
    """Its layer, and whether it was only kept."""
    return layer(entry.knob), entry.wanted == entry.before
