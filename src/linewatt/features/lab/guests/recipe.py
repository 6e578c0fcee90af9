# SPDX-License-Identifier: Apache-2.0
"""The texts a guest is made of: its wires, QEMU's options, and what it runs when it is up (pure).

In the network namespace of a lab host the guest's wires are joined with those of the lab::

    mgmt0 ── bridge mgmt ── tap-m ── management NIC (virtio)
                 └ the BMC's address: a guest's BMC is beside it, as a real one is
    data0 ── bridge br0 ──── tap0 ── data NIC

The guest boots on this machine's own root file system, which QEMU shows it read-only, with the modules of its
kernel in their usual place. Checked with
virtme-ng 1.42, QEMU 7.2 and Linux 6.1.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.features.lab import bmc_recipe
from linewatt.features.lab.guests.spec import MODULES, Guest, Nic
from linewatt.features.lab.recipe import QUIET_LINKS

GUEST_DIRECTORY = Path("/run/linewatt")
"""Where a guest keeps its keys and its sshd's configuration: in memory, copied from what it was handed."""

READY = "linewatt: guest is up"

_HANDED = Path("/run/linewatt-handed")
_MODULES = Path("/run/linewatt-modules")
_QUIET_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"
_FIRST_BUS = 64
"""of the PCI bridges that are on a NUMA node: beyond what the rest of the machine needs"""
_BUSES = 16

# What is left out costs a guest without KVM most of its boot; none of it is about networks.
_KERNEL_OPTIONS = (
    "net.ifnames=0",
    "nokaslr",
    "mitigations=off",
    "audit=0",
    "cryptomgr.notests",
    "random.trust_cpu=on",
    "tsc=unstable",
    "module_blacklist=psmouse,pcspkr,serio_raw,evdev,iTCO_wdt,i6300esb,sr_mod,sg,ahci,lpc_ich,i2c_i801",
)
_DOES_NOTHING = Path(__file__).with_name("idle")
"""Where programs have namesakes that end at once: virtme-ng has systemd-tmpfiles make what no guest uses,
which without KVM is a quarter of a boot."""
_PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EMULATED_CPU = "Nehalem,+rdrand"
"""without KVM: an old one, because what programs use of newer ones to be fast is the slowest to emulate; of
Intel, because QEMU's other says nothing of hardware threads"""
_SYSTEM_INTERFACE = (
    "-chardev",
    "socket,id=ipmi,host={},port={},reconnect=1".format(*bmc_recipe.SYSTEM_INTERFACE),
    *("-device", "ipmi-bmc-extern,id=bmc,chardev=ipmi", "-device", "isa-ipmi-kcs,bmc=bmc"),
)
"""KCS at its usual port (IPMI 2.0, chapter 9), behind which is the simulator that also speaks over LAN"""
_PROGRAMS = "linewatt-usr"
"""``/usr`` once more, kept in the guest's memory: through the root file system each start of a program
reads it anew"""

START_GUEST = r"""
set -eu
batch=$1 shape=$2 process=$3 log=$4 command=$5
ip -batch - <<END
$batch
END
[ -z "$shape" ] || tc -batch - <<END
$shape
END
# stdin was the lab's lock: from here on nobody who stays holds it. A pipe, because QEMU opens its output anew
# and would begin each time at the start of a file.
started=$(setsid -f sh -c '
  echo $$
  exec >/dev/null
  sh "$1" </dev/null 2>&1 | cat >>"$2"
' linewatt-guest "$command" "$log" </dev/null 2>>"$log")
echo "$started" > "$process"
shift 5
[ $# -gt 0 ] || exit 0
log=$1
shift
exec setsid -f "$@" </dev/null >/dev/null 2>>"$log"
"""
"""Starts a guest in a fresh namespace. Its arguments: an ``ip`` batch, a ``tc`` batch, the file that says
which process lives as long as the guest, its log, and the script that is the guest. Behind them may follow
the log and the command of its BMC."""


@dataclass(frozen=True, slots=True)
class Boot:
    """What a guest is booted with: programs and an image by their paths; whether there is KVM, and a BMC.

    ``table``: one more table of its firmware.
    """

    virtme_run: str
    busybox: str
    kernel: str
    kvm: bool
    bmc: bool = False
    modules: Path | None = None
    """of a kernel that was unpacked, by version; None: the machine's own, which the guest sees anyway"""
    table: str | None = None
    unpacked: str | None = None
    """the kernel unpacked, which QEMU boots in place of ``kernel``"""
    in_turn: bool = False
    """without KVM: one thread emulates all CPUs of the guest in turn"""


@dataclass(frozen=True, slots=True)
class Wire:
    """An interface of a guest: the tap it ends in, its name and addresses inside, and its MAC."""

    tap: str
    interface: str
    mac: str
    addresses: tuple[str, ...]
    queues: int = 1


def mac(index: int, number: int, wire: int) -> str:
    """Of guest ``number`` of lab ``index``; wire 0 is management's. Locally administered."""
    return f"02:6c:77:{0x10 + wire:02x}:{index:02x}:{number:02x}"


def network_batch(wires: Sequence[Wire], bmc_address: str, mtu: int) -> str:
    """For ``ip -batch -`` inside the host's namespace, whose ``mgmt0``, ``data0`` … are there."""
    lines = ["link set lo up"]
    for number, wire in enumerate(wires):
        bridge = "mgmt" if number == 0 else f"br{number - 1}"
        size = "" if number == 0 else f" mtu {mtu}"
        several = " multi_queue" if wire.queues > 1 else ""
        lines += [
            f"link add {bridge}{size} {_QUIET_BRIDGE}",
            f"link set {bridge} addrgenmode none up",
            f"tuntap add dev {wire.tap} mode tap{several}",
            f"link set {wire.tap}{size} master {bridge} addrgenmode none up",
            f"link set {wire.interface} master {bridge} addrgenmode none up",
        ]
    return "\n".join([*lines, f"addr add {bmc_address}/24 dev mgmt"])


def command(guest: Guest, name: str, wires: Sequence[Wire], handed: Path, boot: Boot) -> list[str]:
    """The guest as one command that lives as long as it does."""
    # What the kernel does not know itself it hands to init as a variable.
    kernel_options = (*_KERNEL_OPTIONS, f"PATH={_DOES_NOTHING}:{_PROGRAM_PATH}")
    options = [option for kernel_option in kernel_options for option in ("-a", kernel_option)]
    return [
        *(boot.virtme_run, "--kimg", boot.kernel, "--mods", "auto", "--busybox", boot.busybox),
        *("--name", name, "--user", "root", "--empty-passwords"),
        # virtiofsd could write; 9p is QEMU's own, and read-only for whatever the guest does.
        *("--force-9p", "--disable-microvm", *(() if boot.kvm else ("--disable-kvm",))),
        *("--rodir", f"{_HANDED}={handed}"),
        *(() if boot.modules is None else ("--rodir", f"{_MODULES}/{boot.modules.name}={boot.modules}")),
        *("--no-dhcp", "--show-boot-console", *options),
        *("--memory", f"{guest.memory_mib}M", "--cpus", _processors(guest)),
        *("--script-sh", f"exec bash {_HANDED}/guest.sh"),
        *("--qemu-opts", *(() if boot.kvm else ("-cpu", _EMULATED_CPU)), *qemu_options(guest, wires)),
        # CPUs of a guest wait for each other in loops. With a thread for each on fewer CPUs, such loops take
        # half of the time: two guests on two CPUs boot in 38 CPU seconds, with one thread each in 25.
        *(("-accel", "tcg,thread=single") if boot.in_turn else ()),
        # The last -kernel counts; virtme-run looks for modules beside the one that it was given.
        *(() if boot.unpacked is None else ("-kernel", boot.unpacked)),
        *("-qmp", f"unix:{monitor(handed)},server=on,wait=off"),
        *(_SYSTEM_INTERFACE if boot.bmc else ()),
        *(() if boot.table is None else ("-acpitable", f"file={boot.table}")),
    ]


def monitor(handed: Path) -> Path:
    """Where QEMU's monitor (QMP) of the guest listens that is handed this directory.

    With it ``set_link`` of ``nic0``, ``nic1`` … takes the carrier of a data NIC away: what becomes of its tap
    a guest does not see. An e1000e's driver gets no interrupt of that (QEMU 7.2) and goes on.
    """
    return handed.with_name(f"{handed.name}.qmp")


def _processors(guest: Guest) -> str:
    cores = guest.cpus // guest.nodes // guest.threads
    return f"{guest.cpus},sockets={guest.nodes},cores={cores},threads={guest.threads}"


def qemu_options(guest: Guest, wires: Sequence[Wire]) -> list[str]:
    """Programs, NUMA nodes, and NICs on the buses that they are near to."""
    return [
        *(
            "-machine",
            "q35",
            "-fsdev",
            "local,id=usr,path=/usr,security_model=none,readonly=on,multidevs=remap",
        ),
        *("-device", f"virtio-9p-pci,fsdev=usr,mount_tag={_PROGRAMS}"),
        *_nodes(guest),
        # management
        *_tap("m", wires[0]),
        *("-device", f"virtio-net-pci,netdev=m,mac={wires[0].mac},romfile="),
        *_data(guest, wires[1:]),
    ]


def _nodes(guest: Guest) -> list[str]:
    if guest.nodes == 1:
        return []
    options = []
    each_mib, each_cpus = guest.memory_mib // guest.nodes, guest.cpus // guest.nodes
    for node in range(guest.nodes):
        first = node * each_cpus
        options += [
            *("-object", f"memory-backend-ram,id=node{node},size={each_mib}M"),
            *("-numa", f"node,nodeid={node},cpus={first}-{first + each_cpus - 1},memdev=node{node}"),
        ]
    return options


def _data(guest: Guest, wires: Sequence[Wire]) -> list[str]:
    options: list[str] = []
    for node in sorted({nic.node for nic in guest.nics if nic.node is not None}):
        bus = _FIRST_BUS + _BUSES * node
        options += ["-device", f"pxb-pcie,id=pxb{node},bus=pcie.0,bus_nr={bus},numa_node={node}"]
    for number, (nic, wire) in enumerate(zip(guest.nics, wires, strict=True)):
        where = ""
        if nic.node is not None:
            options += ["-device", f"pcie-root-port,id=port{number},bus=pxb{nic.node},chassis={number + 1}"]
            where = f",bus=port{number}"
        queues = _queues(nic)
        names = f"id=nic{number},netdev=d{number}"
        options += [
            *_tap(f"d{number}", wire),
            *("-device", f"{nic.model},{names},mac={wire.mac},romfile={queues}{where}"),
        ]
    return options


def _queues(nic: Nic) -> str:
    """A vector for each queue of a pair, one for changes and one for control. Source: QEMU's virtio-net."""
    if nic.queues is None or nic.queues == 1:
        return ""
    return f",mq=on,rss=on,hash=on,vectors={2 * nic.queues + 2}"


def _tap(identity: str, wire: Wire) -> list[str]:
    several = f",queues={wire.queues}" if wire.queues > 1 else ""
    return [
        "-netdev",
        f"tap,id={identity},ifname={wire.tap},script=no,downscript=no,vhost=off{several}",
    ]


def start_script(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    """``argv`` as a shell script: it shows whoever looks into the lab's directory how the guest is made."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return f"{exports}exec {shlex.join(argv)}\n"


def guest_script(guest: Guest, wires: Sequence[Wire], mtu: int, sshd: str, name: str) -> str:
    """What the guest runs when it is up: interfaces by their MAC, addresses, sshd until the end."""
    names = " ".join(f"[{wire.mac}]={wire.interface}" for wire in wires)
    batch = "\n".join(_addresses(wires, mtu))
    log = GUEST_DIRECTORY / f"{name}.log"
    drivers = "modprobe -a ipmi_devintf ipmi_si"
    if guest.acpi_meter:  # which asks through the other two
        drivers += " && modprobe acpi_ipmi && modprobe acpi_power_meter"
    return f"""set -eu
export PATH={_PROGRAM_PATH}
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose {_PROGRAMS} /usr ||
  echo "linewatt: /usr is not cached: programs start slowly"
[ ! -d {_MODULES} ] || mount --rbind {_MODULES} /lib/modules
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /run/sshd {GUEST_DIRECTORY}/home
cp -r {_HANDED}/. /etc/ld.so.cache {GUEST_DIRECTORY}/  # which every start of a program reads
mount --bind {GUEST_DIRECTORY}/ld.so.cache /etc/ld.so.cache
modprobe -a {" ".join(_modules_of(guest))} || true

# The interface with a MAC gets its name, as soon as its driver has made it. Without KVM a program takes a
# second to start, so that what bash can do itself it does.
declare -A name_of=({names})
for (( tries = 0; ; tries++ )); do
  declare -A missing=() link_of=()
  for link in /sys/class/net/*; do
    read -r mac <"$link/address" && link_of[$mac]=${{link##*/}}
  done
  for mac in "${{!name_of[@]}}"; do [ "${{link_of[$mac]:-}}" ] || missing[$mac]=1; done
  (( ${{#missing[@]}} )) || break
  if (( tries == 300 )); then
    echo "linewatt: no interface with the MAC ${{!missing[*]}} after 30 s: has this kernel its driver?"
    exit 1
  fi
  sleep 0.1
done
for mac in "${{!name_of[@]}}"; do
  link=${{link_of[$mac]}} name=${{name_of[$mac]}}
  [ "$link" = "$name" ] || echo "link set $link down name $name"
done >{GUEST_DIRECTORY}/names
ip -batch {GUEST_DIRECTORY}/names
{QUIET_LINKS}
ip -batch - <<END
{batch}
END
({drivers}) 2>/dev/null &  # which takes long where a BMC does not answer
echo "{READY}"
{shlex.quote(sshd)} -D -f {GUEST_DIRECTORY}/{name}.conf -E {log} || cat {log}
"""


def _modules_of(guest: Guest) -> list[str]:
    """Of its data NICs and of management's."""
    return sorted({MODULES[nic.model] for nic in guest.nics} | {MODULES["virtio-net-pci"]})


def _addresses(wires: Sequence[Wire], mtu: int) -> list[str]:
    lines = ["link set lo up"]
    for number, wire in enumerate(wires):
        if number:
            lines.append(f"link set {wire.interface} mtu {mtu}")
        for address in wire.addresses:
            quiet = " nodad" if ":" in address else ""
            lines.append(f"addr add {address} dev {wire.interface}{quiet}")
        lines.append(f"link set {wire.interface} up")
    return lines
