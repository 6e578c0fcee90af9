# SPDX-License-Identifier: Apache-2.0
"""What of a campaign file is rehearsed on guests, and what is cut for them. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.campaign.entries.networks import BARE, name_of
from linewatt.document import read_yaml
from linewatt.errors import InvalidInput
from linewatt.units import parse_rate

RATE, RATE_WORDS = "5M", "5 Mbit/s"
"""of an instance, which a guest without KVM carries beside all else"""
_MOST_INSTANCES = 2
_NOT_ON_GUESTS = ("sensors",)
_NOT_LOADED = (
    *("settings", "factors", "design", "load_levels", "search", "energy", "order", "concurrent_pairs"),
    "best_of",
)

Value = dict[str, Any]
Edit = Callable[[Value], Value]


def changes_of(value: Value) -> Value:
    """The file without what a guest cannot stand in for. Raises InvalidInput where it is not of trials."""
    for key in ("soak", "users"):
        if key in value:
            raise InvalidInput(f"{key}: only campaigns of trials are rehearsed; leave out {key}")
    kept = {key: one for key, one in value.items() if key not in _NOT_ON_GUESTS}
    if kept.get("placement") == "pinned":
        del kept["placement"]  # its CPUs are those of the host
    return kept


def loads_of(value: Value) -> Value:
    """Each test once, for seconds, at a rate that a guest carries, without settings and factors."""
    kept = {key: one for key, one in changes_of(value).items() if key not in _NOT_LOADED}
    kept |= {"trials": 1, "window": {"seconds": 2, "omit": 1}, "idle": {"seconds": 0}}
    kept["tests"] = [_cut(one) for one in _listed(value.get("tests") or ["udp-1500"])]
    if "instances" in kept:
        kept["instances"] = _few(kept["instances"])
    if "rate" in kept:
        kept["rate"] = _slow(kept["rate"])
    return kept


def said(value: Value) -> tuple[str, ...]:
    """What of the file is not rehearsed, or otherwise than it would run, in words."""
    lines = []
    if value.get("placement") == "pinned":
        lines.append(
            "placement: the CPUs that the file names are the host's; the guests' are chosen by policy"
        )
    lines.append(
        f"loads: once each, for 2 s, {RATE_WORDS} and {_MOST_INSTANCES} instances at most, "
        "without settings and factors"
    )
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Guests:
    """How guests call what documents of networks name: interfaces of each host, and everybody's addresses."""

    interfaces: Mapping[str, Mapping[str, str]]
    addresses: Mapping[str, str]

    def document(self, host: str, said: Any) -> Any:
        """The NMState document of a host for its guest: each name and address that is wholly one of these."""
        if isinstance(said, dict):
            return {key: self.document(host, one) for key, one in said.items()}
        if isinstance(said, list):
            return [self.document(host, one) for one in said]
        if not isinstance(said, str):
            return said
        address, slash, prefix = said.partition("/")
        return (
            self.interfaces.get(host, {}).get(said) or self.addresses.get(address, address) + slash + prefix
        )


def on_guests(value: Value, base: Path, guests: Guests) -> Value:
    """The file with its networks as guests are to show them, written into it. Raises InvalidInput."""
    if "networks" not in value:
        return value
    return {**value, "networks": [_network(one, base, guests) for one in _listed(value["networks"])]}


def _network(entry: Any, base: Path, guests: Guests) -> Any:
    if entry == BARE:
        return entry
    own = entry if isinstance(entry, dict) else {"name": name_of(entry), "file": entry}
    if "files" in own:
        documents = {host: read_yaml(base / path).value for host, path in own["files"].items()}
    elif "file" in own:
        documents = read_yaml(base / own["file"]).value["hosts"]
    else:
        documents = own["hosts"]
    hosts = {host: guests.document(host, said) for host, said in documents.items()}
    return {"name": own["name"], "hosts": hosts}


def _cut(test: Any) -> Value:
    own = dict(test) if isinstance(test, dict) else {"test": test}
    own["rate"] = _slow(own.get("rate"))
    if "instances" in own:
        own["instances"] = _few(own["instances"])
    return {key: one for key, one in own.items() if key not in ("trials", "search")}


def _slow(rate: Any) -> str:
    """A rate that is no more than :data:`RATE`."""
    every = [one for one in _listed(rate) if isinstance(one, str | int | float)]
    for one in every:
        try:
            if parse_rate(str(one)) <= parse_rate(RATE):
                return str(one)
        except InvalidInput:
            continue
    return RATE


def _few(instances: Any) -> list[int]:
    every = [one for one in _listed(instances) if isinstance(one, int)]
    return sorted({min(one, _MOST_INSTANCES) for one in every}) or [1]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
