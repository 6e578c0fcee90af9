# SPDX-License-Identifier: Apache-2.0
"""The networks of a campaign file: ``bare``, or a name with what each host shows (NMState documents)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from linewatt.campaign.entries.fields import FilePath, HostName
from linewatt.document import KeyPath, Part
from linewatt.sensors.power import text_matching

BARE_NETWORK = "bare"
SUFFIXES = (".yaml", ".yml")
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"

NetworkName = text_matching(
    _NAME, "must be 1 to 64 letters, digits, dots, underscores and dashes, a letter or digit first", "vxlan"
)


def _bare_or_file(text: str) -> str:
    if text != BARE_NETWORK and not text.endswith(SUFFIXES):
        raise ValueError("must be bare, or a file with NMState documents such as vxlan.yaml")
    return text


class NetworkEntry(Part):
    """A network by name: in a file, in one file for each host, or here."""

    name: NetworkName = Field(  # type: ignore[valid-type]  # made at run time
        description="Its name in cases, tables and comparisons."
    )
    file: FilePath | None = Field(
        default=None, description="A file with `hosts:`, the NMState document of each below its name."
    )
    files: dict[HostName, FilePath] | None = Field(
        default=None, description="One file for each host, an NMState document each."
    )
    hosts: dict[HostName, Any] | None = Field(
        default=None, description="The NMState document of each host, written here."
    )

    @model_validator(mode="after")
    def _one_source(self) -> NetworkEntry:
        if sum(source is not None for source in (self.file, self.files, self.hosts)) != 1:
            raise ValueError("needs one of file, files and hosts: where what each host shows is written")
        if self.name == BARE_NETWORK:
            raise ValueError("bare is the network without any change; give this one another name")
        return self


def _kind(value: object) -> str:
    return "NetworkEntry" if isinstance(value, (dict, NetworkEntry)) else "file"


Network = Annotated[
    Annotated[FilePath, AfterValidator(_bare_or_file), Tag("file")]
    | Annotated[NetworkEntry, Tag("NetworkEntry")],
    Discriminator(_kind),
]


def as_entry(network: str | NetworkEntry) -> NetworkEntry | None:
    """A network with its name, which is that of its file; ``None`` for ``bare``."""
    if isinstance(network, NetworkEntry):
        return network
    return None if network == BARE_NETWORK else NetworkEntry(name=PurePath(network).stem, file=network)


def network_name(network: str | NetworkEntry) -> str:
    """How cases name a network."""
    entry = as_entry(network)
    return BARE_NETWORK if entry is None else entry.name


def check_network_names(networks: Sequence[str | NetworkEntry]) -> Iterator[tuple[KeyPath, str]]:
    """Networks of one name."""
    first: dict[str, int] = {}
    for index, network in enumerate(networks):
        name = PurePath(network).stem if isinstance(network, str) else network.name
        if first.setdefault(name, index) != index:
            yield ("networks", index), f"{name} is networks[{first[name]}] already; name each network once"
