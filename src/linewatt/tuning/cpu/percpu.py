# SPDX-License-Identifier: Apache-2.0
"""A setting that every CPU has of its own, written by value: ``performance@0-7 powersave@8-15``."""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.errors import InvalidInput, ParseError
from linewatt.hosts.facts import format_cpulist, parse_cpulist


def format_values(values: Mapping[int, str]) -> str:
    """CPU → value, as the words of the canonical text, in the order of the values."""
    cpus: dict[str, list[int]] = {}
    for cpu, value in values.items():
        cpus.setdefault(value, []).append(cpu)
    return " ".join(f"{value}@{format_cpulist(cpus[value])}" for value in sorted(cpus))


def parse_values(text: str) -> dict[int, str]:
    """CPU → value. Raises ParseError."""
    values: dict[int, str] = {}
    for word in text.split():
        value, at, cpus = word.rpartition("@")
        try:
            numbers = parse_cpulist(cpus)
        except InvalidInput as error:
            raise ParseError(f"{word!r} is not a value with its CPUs: {error}") from error
        if not at or not value or not numbers:
            raise ParseError(f"{word!r} is not a value with its CPUs, such as performance@0-7")
        values |= dict.fromkeys(numbers, value)
    return values
