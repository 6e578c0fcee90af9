# SPDX-License-Identifier: Apache-2.0
"""Tables of components beside a table of trials: what is declared of the parts of its hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linewatt.cli import read_bytes
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables import published
from linewatt.features.tables.imported import Imported
from linewatt.features.tables.kinds import RECOGNISED, Kind, kind_of
from linewatt.model import ENDS
from linewatt.records import Component

OPTION = "--components"


@dataclass(frozen=True, slots=True)
class DeclaredParts:
    """Host → its parts; and file name → text of the tables that they are from."""

    by_host: Mapping[str, Sequence[Component]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def as_document(self) -> dict[str, list[dict[str, Any]]]:
        """As the campaign in a manifest has them."""
        return {host: [asdict(part) for part in parts] for host, parts in self.by_host.items()}


def read_declared_parts(options: Sequence[str], source: str, kind: Kind, imported: Imported) -> DeclaredParts:
    """The parts that ``options`` (``FILE``, or ``HOST=FILE``) name for hosts of an imported table.

    Raises InvalidInput.
    """
    if options and not kind.trials:
        raise InvalidInput(
            f"{OPTION} {options[0]}: {source} is a table of {kind.name}, and components are declared for "
            "hosts of host blocks or scaling"
        )
    by_host: dict[str, list[Component]] = {}
    texts: dict[str, str] = {}
    for option in options:
        host, file = _host_and_file(option, imported)
        if host in by_host:
            raise InvalidInput(f"{OPTION} {option}: components of {host} are named twice; give one table")
        text, by_host[host] = _read(file)
        texts[f"{host}/{Path(file).name}"] = text
    return DeclaredParts(by_host, texts)


def _host_and_file(option: str, imported: Imported) -> tuple[str, str]:
    """Raises InvalidInput."""
    host, equals, file = option.partition("=")
    if equals and (host in imported.hosts or not Path(option).is_file()):
        if host not in imported.hosts:
            raise InvalidInput(
                f"{OPTION} {option}: there is no host {host}; hosts: {', '.join(imported.hosts)}"
            )
        return host, file
    with_watts = _hosts_with_watts(imported)
    if len(with_watts) != 1:
        hosts = f"the hosts with watts are {', '.join(with_watts)}" if with_watts else "no host has watts"
        raise InvalidInput(f"{OPTION} {option}: {hosts}; write HOST=FILE")
    return with_watts[0], option


def _hosts_with_watts(imported: Imported) -> list[str]:
    ends = (end for trial in imported.trials for role in ENDS if (end := trial.end(role)) is not None)
    return list(dict.fromkeys(end.host for end in ends if end.power))


def _read(file: str) -> tuple[str, list[Component]]:
    """The text of a table of components, and its parts. Raises InvalidInput."""
    source, data = read_bytes(file)
    table, _ = read_table(data, source, known=RECOGNISED)
    kind = kind_of(table, source)
    if kind.name != published.COMPONENTS:
        needed = ", ".join(published.COMPONENT_COLUMNS)
        raise InvalidInput(f"{source}: is a table of {kind.name}; {OPTION} needs the columns {needed}")
    published.refuse_no_figures(table, source)
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    return text, published.components(table, source).declared
