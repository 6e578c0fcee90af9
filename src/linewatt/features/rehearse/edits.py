# SPDX-License-Identifier: Apache-2.0
"""Edit a campaign file for a rehearsal on guests. Pure: values in, values out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.campaign.entries import BARE_NETWORK, network_name
from linewatt.document import read_yaml
from linewatt.errors import InvalidInput
from linewatt.units import parse_rate

RATE, RATE_WORDS = "5M", "5 Mbit/s"
"""rate per instance, low enough for a guest without KVM"""
_MOST_INSTANCES = 2
_NOT_ON_GUESTS = ("sensors",)
_NOT_LOADED = (
    *("settings", "factors", "design", "load_levels", "search", "energy", "order", "concurrent_pairs"),
    "best_of",
)

Value = dict[str, Any]
Edit = Callable[[Value], Value]


def changes_of(value: Value) -> Value:
    """The file without keys that a guest cannot rehearse. Raises InvalidInput for soak and users."""
    for key in ("soak", "users"):
        if key in value:
            raise InvalidInput(f"{key}: only campaigns of trials are rehearsed; leave out {key}")
    edited = {key: entry for key, entry in value.items() if key not in _NOT_ON_GUESTS}
    if edited.get("placement") == "pinned":
        del edited["placement"]  # it names CPUs of the host
    return edited


def loads_of(value: Value) -> Value:
    """The file with each test once, for seconds, at a low rate, without settings and factors."""
    edited = {key: entry for key, entry in changes_of(value).items() if key not in _NOT_LOADED}
    edited |= {"trials": 1, "window": {"seconds": 2, "omit": 1}, "idle": {"seconds": 0}}
    if "instances" in edited:
        edited["instances"] = _limit_instances(edited["instances"])
    tests = [_shorten_test(test) for test in _as_list(value.get("tests") or ["udp-1500"])]
    edited["tests"] = _merge_tests(tests, edited.get("instances", [1]))
    if "rate" in edited:
        edited["rate"] = _limit_rate(edited["rate"])
    return edited


def describe_cuts(value: Value) -> tuple[str, ...]:
    """Lines that say what is not rehearsed, or differs from a run."""
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
    """The guests' names of interfaces per host, and of addresses, in network documents."""

    interfaces: Mapping[str, Mapping[str, str]]
    addresses: Mapping[str, str]

    def document(self, host: str, content: Any) -> Any:
        """The NMState document of a host with its names and addresses replaced by those of the guest."""
        if isinstance(content, dict):
            return {key: self.document(host, part) for key, part in content.items()}
        if isinstance(content, list):
            return [self.document(host, part) for part in content]
        if not isinstance(content, str):
            return content
        address, slash, prefix = content.partition("/")
        return (
            self.interfaces.get(host, {}).get(content)
            or self.addresses.get(address, address) + slash + prefix
        )


def on_guests(value: Value, base: Path, guests: Guests) -> Value:
    """The file for guests: tests over all data ports, whose names differ there, and the network documents
    inlined and edited. Raises InvalidInput."""
    edited = dict(value)
    if "tests" in value:
        edited["tests"] = [_over_all_ports(test) for test in _as_list(value["tests"])]
    if "networks" in value:
        edited["networks"] = [_network(network, base, guests) for network in _as_list(value["networks"])]
    return edited


def _over_all_ports(test: Any) -> Any:
    return {key: entry for key, entry in test.items() if key != "data"} if isinstance(test, dict) else test


def _network(entry: Any, base: Path, guests: Guests) -> Any:
    if entry == BARE_NETWORK:
        return entry
    network = entry if isinstance(entry, dict) else {"name": network_name(entry), "file": entry}
    if "files" in network:
        documents = {host: read_yaml(base / path).value for host, path in network["files"].items()}
    elif "file" in network:
        documents = read_yaml(base / network["file"]).value["hosts"]
    else:
        documents = network["hosts"]
    hosts = {host: guests.document(host, content) for host, content in documents.items()}
    return {"name": network["name"], "hosts": hosts}


def _shorten_test(test: Any) -> Value:
    shortened = dict(test) if isinstance(test, dict) else {"test": test}
    shortened["rate"] = _limit_rate(shortened.get("rate"))
    if "instances" in shortened:
        shortened["instances"] = _limit_instances(shortened["instances"])
    return {key: entry for key, entry in shortened.items() if key not in ("trials", "search")}


def _merge_tests(tests: Iterable[Value], default_instances: list[int]) -> list[Value]:
    """The tests, those that differ in nothing but instances as one: with few instances they would repeat."""
    by_settings: dict[str, Value] = {}
    for test in tests:
        settings = {key: entry for key, entry in test.items() if key != "instances"}
        first = by_settings.setdefault(json.dumps(settings, sort_keys=True, default=str), test)
        if first is not test:
            counts = [entry.get("instances", default_instances) for entry in (first, test)]
            first["instances"] = sorted({*counts[0], *counts[1]})
    return list(by_settings.values())


def _limit_rate(rate: Any) -> str:
    """The first rate of at most :data:`RATE`, else :data:`RATE`."""
    rates = [entry for entry in _as_list(rate) if isinstance(entry, str | int | float)]
    for candidate in rates:
        try:
            if parse_rate(str(candidate)) <= parse_rate(RATE):
                return str(candidate)
        except InvalidInput:
            continue
    return RATE


def _limit_instances(instances: Any) -> list[int]:
    counts = [entry for entry in _as_list(instances) if isinstance(entry, int)]
    return sorted({min(count, _MOST_INSTANCES) for count in counts}) or [1]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
