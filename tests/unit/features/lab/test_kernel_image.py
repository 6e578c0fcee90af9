# SPDX-License-Identifier: Apache-2.0
"""Kernel images that are unpacked for emulated guests, and those that stay as they are."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from linewatt.features.lab.guests import recipe, start
from linewatt.features.lab.guests.kernel_image import unpack, unpacked_kernel
from linewatt.features.lab.guests.spec import Guest
from linewatt.features.lab.layout import LabRequest, lay_out

PVH = 18
Pack = Callable[[bytes], bytes]


def note(name: bytes, kind: int, content: bytes) -> bytes:
    padding = -len(content) % 4
    return struct.pack("<III", len(name), len(content), kind) + name + content + bytes(padding)


def elf(*notes: bytes) -> bytes:
    """An ELF-64 file with a loaded segment and a segment of notes."""
    content = b"".join(notes)
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    struct.pack_into("<Q", header, 0x20, 64)
    struct.pack_into("<HH", header, 0x36, 56, 2)
    loaded = struct.pack("<IIQQQQQQ", 1, 5, 64 + 112, 0, 0, len(content), len(content), 4)
    of_notes = struct.pack("<IIQQQQQQ", 4, 4, 64 + 112, 0, 0, len(content), len(content), 4)
    return bytes(header) + loaded + of_notes + content


def bz_image(payload: bytes, *, version: int = 0x20F, magic: bytes = b"HdrS") -> bytes:
    setup = bytearray(2 * 512)
    setup[0x1F1] = 1
    setup[0x202:0x206] = magic
    struct.pack_into("<H", setup, 0x206, version)
    struct.pack_into("<II", setup, 0x248, 16, len(payload))
    return bytes(setup) + bytes(16) + payload + b"behind the payload"


KERNEL = elf(note(b"GNU\0", 3, b"build"), note(b"Xen\0", PVH, bytes(8)))


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress, zstandard.ZstdCompressor().compress])
def test_the_kernel_of_an_image_is_unpacked_up_to_its_size(tmp_path: Path, pack: Pack) -> None:
    image, unpacked = tmp_path / "vmlinuz", tmp_path / "vmlinux"
    image.write_bytes(bz_image(pack(KERNEL) + struct.pack("<I", len(KERNEL))))
    assert unpack(image, unpacked)
    assert unpacked.read_bytes() == KERNEL


@pytest.mark.parametrize(
    "image",
    [
        bz_image(lzma.compress(elf(note(b"Xen\0", PVH - 1, bytes(8)), note(b"GNU\0", PVH, bytes(8))))),
        bz_image(lzma.compress(elf())),
        bz_image(lzma.compress(b"\x7fELF\x01" + KERNEL[5:])),
        bz_image(lzma.compress(KERNEL), version=0x207),
        bz_image(lzma.compress(KERNEL), magic=b"none"),
        bz_image(lzma.compress(KERNEL, format=lzma.FORMAT_ALONE)),
        bz_image(lzma.compress(KERNEL)[:12] + bytes(100)),
        bz_image(zstandard.ZstdCompressor().compress(KERNEL)[:6] + b"\xff" * 100),
        bz_image(lzma.compress(KERNEL[:70])),
        b"",
    ],
    ids=[
        *("no PVH note", "no notes", "32 bits", "old protocol", "no bzImage", "unknown compression"),
        *("damaged", "damaged zstd", "cut off", "empty"),
    ],
)
def test_an_image_that_qemu_cannot_boot_unpacked_stays_packed(tmp_path: Path, image: bytes) -> None:
    path, unpacked = tmp_path / "vmlinuz", tmp_path / "vmlinux"
    path.write_bytes(image)
    assert not unpack(path, unpacked)
    assert not unpacked.exists()


def test_without_room_for_the_unpacked_kernel_the_image_is_booted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, unpacked = tmp_path / "vmlinuz", tmp_path / "vmlinux"
    image.write_bytes(bz_image(lzma.compress(KERNEL)))
    write = Path.write_bytes

    def write_half(path: Path, data: bytes) -> int:
        write(path, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    assert not unpack(image, unpacked)
    assert not unpacked.exists()


def test_the_payload_alone_is_unpacked() -> None:
    image = bz_image(lzma.compress(KERNEL))
    assert unpacked_kernel(image) == KERNEL
    assert unpacked_kernel(image.replace(b"\xfd7zXZ", b"\xfd7zXY")) is None


def test_qemu_boots_the_unpacked_kernel_and_virtme_run_finds_modules_by_the_image() -> None:
    layout = lay_out(LabRequest(hosts=1, guests=(Guest(),)), 1, ((0,), (1,)))
    wires = start.wires_of(layout, layout.hosts[0], Guest())
    boot = recipe.Boot(
        "virtme-run", "busybox", "/boot/vmlinuz-1", kvm=False, unpacked="/lab/guests/vmlinux-1"
    )
    argv = recipe.command(Guest(), "h1", wires, Path("/lab/guests/h1"), boot)
    options = argv.index("--qemu-opts")
    assert argv[argv.index("--kimg") + 1] == "/boot/vmlinuz-1"
    assert argv[argv.index("-kernel", options) + 1] == "/lab/guests/vmlinux-1"


def test_guests_with_the_same_kernel_share_its_unpacked_file(tmp_path: Path) -> None:
    packed, other = tmp_path / "a" / "vmlinuz-1", tmp_path / "b" / "vmlinuz-1"
    for image in (packed, other):
        image.parent.mkdir()
        image.write_bytes(bz_image(lzma.compress(KERNEL)))
    plain = tmp_path / "vmlinuz-2"
    plain.write_bytes(b"unknown")
    unpacked = start._unpacked([packed, other, packed, plain], tmp_path)
    assert unpacked == {packed: str(tmp_path / "vmlinux-1"), other: str(tmp_path / "vmlinux-2")}
