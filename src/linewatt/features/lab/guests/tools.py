# SPDX-License-Identifier: Apache-2.0
"""What guests need of this machine beside a lab's tools, and how to install what is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.errors import InvalidInput, LabError
from linewatt.extras import package_install_command
from linewatt.features.lab.guests.spec import Guest
from linewatt.features.lab.system import search_path

UNPACKED = Path("/var/lib/linewatt/kernels")
"""Where ``scripts/setup.sh vm`` unpacks a kernel on a machine that has none: nothing there is ever booted by
the machine itself."""

MODULES = Path("/lib/modules")
"""Where programs of a guest look for its kernel's modules, whichever kernel that is."""

_KERNEL_PACKAGE = "linux-image-amd64"
_OF_METERS = {"iasl": "acpica-tools", "ipmi_sim": "openipmi"}
TUN = Path("/dev/net/tun")
_KVM = Path("/dev/kvm")
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class GuestTools:
    """Paths of what makes a guest, the kernel of each guest, and whether this machine has KVM.

    ``iasl`` makes tables of firmware; None: no guest has one of its own.
    """

    virtme_run: str
    busybox: str
    kernels: tuple[Path, ...]
    kvm: bool
    iasl: str | None = None


def find_guest_tools(guests: Sequence[Guest]) -> GuestTools:
    """Raises LabError naming all that is missing and what installs it; InvalidInput for a kernel."""
    if platform.machine() != "x86_64":
        raise LabError(f"lab: guests are x86_64, this machine is {platform.machine()}; do without --vm")
    virtme_run, busybox, newest = _virtme_run(), _busybox(), newest_kernel()
    needs_kernel = any(guest.kernel is None for guest in guests)
    missing = _missing_packages(virtme_run, busybox, has_kernel=newest is not None or not needs_kernel)
    has_meter = any(guest.acpi_meter for guest in guests)
    if has_meter:
        missing |= {name: package for name, package in _OF_METERS.items() if _program_path(name) is None}
    if missing or virtme_run is None or busybox is None:
        raise LabError(_install_hint(missing))
    kernels = tuple(_kernel_of(guest, newest) for guest in guests)
    if not TUN.exists():
        raise LabError(
            f"lab: guests need {TUN}; modprobe tun, or give it to the container this is (--device {TUN})"
        )
    if not MODULES.is_dir():
        raise LabError(
            f"lab: guests need a place for their kernel's modules, even an empty one; mkdir {MODULES}"
        )
    return GuestTools(virtme_run, busybox, kernels, has_kvm(), _program_path("iasl") if has_meter else None)


def why_no_guests() -> str | None:
    """Why guests cannot run on this machine, in one line; None if they can."""
    try:
        find_guest_tools((Guest(),))
    except LabError as error:
        return str(error)
    return None


def newest_kernel(root: Path = Path("/"), unpacked: Path = UNPACKED) -> Path | None:
    """The image of the highest version that has its modules: the machine's, or an unpacked one."""
    return next(iter(kernels(root, unpacked)), None)


def kernels(root: Path = Path("/"), unpacked: Path = UNPACKED) -> list[Path]:
    """Images with their modules, one of each name, newest first; of one version the shortest name first."""
    images = [*root.glob("boot/vmlinuz-*"), *unpacked.glob("*/boot/vmlinuz-*")]
    with_modules = [image for image in images if os.access(image, os.R_OK) and modules_of(image) is not None]
    by_name = {image.name: image for image in reversed(with_modules)}
    return sorted(by_name.values(), key=lambda image: (_version(image), -len(image.name)), reverse=True)


def modules_of(image: Path) -> Path | None:
    """``lib/modules/VERSION`` beside the ``boot`` that an image is in; None where there is none."""
    modules = image.parent.parent / "lib" / "modules" / image.name.removeprefix("vmlinuz-")
    return modules if modules.is_dir() else None


def unpacked_modules(image: Path) -> Path | None:
    """Those of an image that is not this machine's own; None where they are in :data:`MODULES` anyway."""
    modules = modules_of(image)
    if modules is None or modules.parent.resolve() == MODULES.resolve():
        return None
    return modules


def _version(image: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", image.name))


def has_kvm(device: Path = _KVM, cpuinfo: Path = _CPUINFO) -> bool:
    """Whether guests run on the CPU itself: a device that is there without such a CPU is of no use."""
    try:
        flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        return False
    return flags is not None and os.access(device, os.R_OK | os.W_OK)


def _kernel_of(guest: Guest, newest: Path | None) -> Path:
    if guest.kernel is None and newest is not None:
        return newest
    image = Path(guest.kernel or "").absolute()
    if not image.is_file() or not os.access(image, os.R_OK):
        raise InvalidInput(f"--kernel {image}: no kernel image that can be read there")
    if modules_of(image) is None:
        version = image.name.removeprefix("vmlinuz-")
        modules = image.parent.parent / "lib" / "modules" / version
        raise InvalidInput(
            f"--kernel {image}: its modules are not in {modules}; unpack a kernel's package as a whole"
            " (dpkg -x FILE.deb DIRECTORY) and give DIRECTORY/boot/vmlinuz-VERSION"
        )
    return image


def _virtme_run() -> str | None:
    """Path of virtme-run: next to the running Python, where pip installs it, else from PATH."""
    python_folder = str(Path(sys.executable).parent)
    return shutil.which("virtme-run", path=f"{python_folder}:{search_path()}")


def _busybox() -> str | None:
    """Path of a static busybox: the guest runs it before it has libraries."""
    for name in ("busybox-static", "busybox"):
        path = shutil.which(name, path=search_path())
        if path is not None and _is_static(Path(path)):
            return path
    return None


def _is_static(program: Path) -> bool:
    """Whether an ELF program names no loader of libraries; the name is in its first page (System V ABI)."""
    try:
        with program.open("rb") as file:
            return b"/ld-" not in file.read(4096)
    except OSError:
        return False


def _missing_packages(virtme_run: str | None, busybox: str | None, *, has_kernel: bool) -> dict[str, str]:
    """Missing program → its package; empty for virtme-ng."""
    programs = {
        "qemu-system-x86_64": (_program_path("qemu-system-x86_64"), "qemu-system-x86"),
        "a busybox without libraries": (busybox, "busybox-static"),
        "modprobe": (_program_path("modprobe"), "kmod"),
        "a kernel image with its modules": (has_kernel or None, _KERNEL_PACKAGE),
        "virtme-run": (virtme_run, ""),
    }
    return {what: package for what, (path, package) in programs.items() if path is None}


def _program_path(program: str) -> str | None:
    return shutil.which(program, path=search_path())


def _install_hint(missing: dict[str, str]) -> str:
    packages = " ".join(package for package in missing.values() if package)
    commands = []
    if packages:
        commands.append(f"apt-get install --no-install-recommends {packages}")
    if "virtme-run" in missing:
        commands.append(package_install_command("virtme-ng"))
    return f"lab: for guests are missing: {', '.join(missing)}; {' && '.join(commands)}"
