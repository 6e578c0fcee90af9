# SPDX-License-Identifier: Apache-2.0
"""Stored profiles: ``profiles/<number>/profile.json``, and what perf said on each host, word for word.

What perf said is packed as that of trials is, and read again when somebody wants to see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from linewatt import durable
from linewatt.errors import ParseError, StoreError
from linewatt.features.profiles.perf.model import HostProfile, Profile
from linewatt.features.profiles.perf.parse import parse
from linewatt.foreign import understood
from linewatt.json_document import document_of
from linewatt.records import SCHEMA_VERSION
from linewatt.store import (
    RAW_FOLDER,
    further_folder,
    json_of,
    list_sums,
    pack_raw,
    raw_pack_of,
    raw_texts,
    read_document,
    sha256_of_data,
    stored_further_folders,
    unstored_text,
)

FOLDER = "profiles"
RECORDED = "perf.txt"
"""of a host: what perf recorded, folded"""


@cache
def _shape() -> TypeAdapter[Profile]:
    return TypeAdapter(Profile)


def write_profile(result: Path, profile: Profile, texts: Mapping[str, str]) -> None:
    """Store a profile whole or not at all, its stacks among ``texts`` (``<host>/perf.txt``).

    Raises StoreError.
    """
    final = further_folder(result, FOLDER, profile.number)
    slim = tuple(replace(host, functions=(), stacks=(), counts=()) for host in profile.hosts)
    files = {
        "profile.json": json_of(document_of(replace(profile, hosts=slim))),
        raw_pack_of(final / RAW_FOLDER).name: pack_raw(RAW_FOLDER, texts),
    }
    try:
        with ExitStack() as naming, durable.whole_folder(final) as partial:
            for name, data in files.items():
                durable.write_synced(partial / name, data)
            listed = {f"{FOLDER}/{final.name}/{name}": sha256_of_data(data) for name, data in files.items()}
            naming.enter_context(list_sums(result, listed))  # until the folder has its name
    except OSError as error:
        raise unstored_text(final, "the profile", error) from error


def profiles(result: Path) -> Iterator[Profile]:
    """The profiles of a result. Raises StoreError naming the damaged file."""
    for folder in stored_further_folders(result, FOLDER):
        header = _header(folder)
        texts = raw_texts(folder / RAW_FOLDER)
        try:
            hosts = tuple(_with_stacks(host, texts.get(f"{host.host}/{RECORDED}")) for host in header.hosts)
        except ParseError as error:
            raise StoreError(f"{raw_pack_of(folder / RAW_FOLDER)}: damaged: {error}") from error
        yield replace(header, hosts=hosts)


def _with_stacks(host: HostProfile, text: str | None) -> HostProfile:
    """Raises ParseError."""
    if host.reason is not None:
        return host
    if text is None:
        raise ParseError(f"what perf recorded on {host.host} is not there")
    recorded = understood(
        lambda: parse(text, replace(host, notes=()), host.slices, host.slice_s), "the profile"
    )
    return replace(recorded, start_s=host.start_s, end_s=host.end_s, notes=host.notes)


def _header(folder: Path) -> Profile:
    path = str(folder / "profile.json")
    profile = read_document(path, _shape())
    if profile.schema_version != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema_version {profile.schema_version!r}, this linewatt reads {SCHEMA_VERSION}"
        )
    return profile
