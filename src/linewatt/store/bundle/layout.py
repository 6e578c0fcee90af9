# SPDX-License-Identifier: Apache-2.0
"""How a bundle is laid out: a tar archive in zstd frames, one a file, ``bundle.json`` first.

``bundle.json`` lists each file with its size and checksum, and those of its frame, so that whatever is not as
it was written is found before anything is unpacked, and named with the file that it is in. Behind the last
frame a skippable one (RFC 8878, 3.1.2) has size and checksum of the first; ``tar --zstd -xf`` passes over it.
A file's header is the one that :func:`header` makes: no other kind of member, and no other name, is read.
"""

from __future__ import annotations

import hashlib
import struct
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from linewatt import foreign
from linewatt.document import Part
from linewatt.foreign import MIB
from linewatt.store import sums

SCHEMA_VERSION = 1
KIND = "linewatt-bundle"
LIST = "bundle.json"
BUNDLE_SUFFIX = ".tar.zst"
MAGIC = b"\x28\xb5\x2f\xfd"
"""what a zstd frame begins with"""
ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,149}$"
BLOCK = 512
"""of a tar archive"""
END = bytes(2 * BLOCK)
"""of a tar archive, in the frame of its last file"""
MOST_FILES = 200_000
MOST_BYTES = 1 << 40
MOST_OF_LIST = 64 * MIB
MOST_WINDOW = 8 * MIB
"""of a frame: what unpacking it keeps in memory"""
MOST_RATIO = 1000
"""bytes that a byte of a bundle becomes, beyond the first MiB of them; of results it is 20 or less"""
LIMITS = foreign.Limits(MOST_OF_LIST, 8, 2.0**63, scrubs=False)
_SEAL = struct.Struct("<IIQ32s")
_SKIPPABLE = 0x184D2A50


def _plain(name: str) -> str:
    if not sums.is_name(name) or not name.isprintable() or any(p.startswith(".") for p in name.split("/")):
        raise ValueError("is not the name of a file below a result")
    return name


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Size = Annotated[int, Field(ge=0, le=MOST_BYTES)]


class Entry(Part):
    """A file: what it is, and the frame that it is packed in."""

    name: Annotated[str, AfterValidator(_plain)]
    bytes: Size
    sha256: Digest
    packed_bytes: Size
    packed_sha256: Digest


class Contents(Part):
    """What a bundle holds, in the order of its files."""

    schema_version: Literal[1]
    kind: Literal["linewatt-bundle"]
    id: Annotated[str, Field(pattern=ID)]
    linewatt_version: Annotated[str, Field(max_length=40)]
    files: Annotated[list[Entry], Field(min_length=1, max_length=MOST_FILES)]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Self:
        names = sorted(entry.name.split("/") for entry in self.files)
        for name, next_name in pairwise(names):
            if next_name[: len(name)] == name:
                raise ValueError(f"{'/'.join(name)} is there twice, or is a file and a folder")
        return self

    @model_validator(mode="after")
    def _is_of_a_size(self) -> Self:
        if self.total_bytes > MOST_BYTES:
            raise ValueError(f"unpacks to {self.total_bytes} bytes; no result has more than {MOST_BYTES}")
        for entry in self.files:
            if entry.bytes > MIB + MOST_RATIO * entry.packed_bytes:
                raise ValueError(
                    f"{entry.name} unpacks from {entry.packed_bytes} to {entry.bytes} bytes, "
                    "as no file of a result does"
                )
        return self

    @property
    def total_bytes(self) -> int:
        return sum(entry.bytes for entry in self.files)


def header(name: str, size: int) -> bytes:
    """What a tar archive has before the contents of a file; without time and owner."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def padding(size: int) -> bytes:
    """What it has behind them."""
    return bytes(-size % BLOCK)


def seal(first: bytes) -> bytes:
    """The skippable frame at the end of a bundle that begins with this frame."""
    return _SEAL.pack(_SKIPPABLE, _SEAL.size - 8, len(first), hashlib.sha256(first).digest())


def is_seal(data: bytes) -> bool:
    """Whether this is the end of a bundle, of whatever first frame."""
    return len(data) == SEAL_BYTES and data.startswith(struct.pack("<II", _SKIPPABLE, SEAL_BYTES - 8))


SEAL_BYTES = _SEAL.size


def is_bundle(path: Path) -> bool:
    """Whether a file is meant as a bundle: by its name, or by how it begins."""
    if path.name.endswith(BUNDLE_SUFFIX):
        return True
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
