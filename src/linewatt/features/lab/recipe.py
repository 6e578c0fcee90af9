# SPDX-License-Identifier: Apache-2.0
"""The texts a lab is made of: ``ip`` batches, sshd's configuration, start script, inventory (pure)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from linewatt.features.lab import bmc_recipe
from linewatt.features.lab.layout import SSH_PORT, HostLayout, Layout
from linewatt.hosts.facts import cpu_mask, format_cpulist

INVENTORY_HEADER = "# Inventory of a linewatt lab; removed by: linewatt lab down --name "

# A bridge that only switches: nothing learned late, nothing sent of its own accord.
_QUIET_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"

_EMULATED_LIMITS = {"silence": "20 s", "answer": "30 s", "command": "180 s", "login": "120 s"}
"""of a guest whose CPUs are programs: it stands still for seconds where this machine has other work, too"""

_SHARED_QUEUE_MS = 40
"""TCP is held back here by what it has on its way, as in a switch with deep buffers, and not by drops"""

START_SWITCH = r"""
# Frames of the data network pass no firewall: a switch has none, and looking costs the sender CPU.
for setting in /proc/sys/net/bridge/bridge-nf-call-*; do
  [ ! -e "$setting" ] || echo 0 > "$setting"
done
exec ip -batch -
"""
"""Makes the switch inside its namespace, from :func:`switch_batch` on stdin."""

QUIET_LINKS = r"""
# Addresses count from the start: no duplicate detection to wait for, no router to listen to.
for link in /proc/sys/net/ipv6/conf/mgmt0 /proc/sys/net/ipv6/conf/data*; do
  echo 0 > $link/accept_dad
  echo 0 > $link/accept_ra
done
# Several ports on one switch: each speaks for its own address only.
if [ -e /proc/sys/net/ipv4/conf/data1 ]; then
  echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
  echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
fi
"""
"""What the links of a host are told before they have addresses; it has ``mgmt0``, and ``data0`` and so on."""

START_HOST = rf"""
set -eu
hostname=$1 addresses=$2 shape=$3 rps=$4 process=$5 log=$6 sshd=$7 config=$8
{QUIET_LINKS}
ip -batch - <<END
$addresses
END
[ -z "$shape" ] || tc -batch - <<END
$shape
END
for mask in /sys/class/net/data*/queues/rx-*/rps_cpus; do echo "$rps" > "$mask"; done
# stdin was the lab's lock: from here on nobody who stays holds it. Not in the background by &, which would
# make all that ever runs on the host deaf to SIGINT.
started=$(setsid -f sh -c '
  echo $$
  exec unshare --uts --pid --fork --kill-child --mount-proc "$@" >/dev/null
' "$hostname" sh -c '
  echo "$1" > /proc/sys/kernel/hostname
  exec "$2" -D -f "$3" -E "$4"
' "$hostname" "$hostname" "$sshd" "$config" "$log" </dev/null 2>>"$log")
echo "$started" > "$process"
shift 8
[ $# -gt 0 ] || exit 0
log=$1
shift
exec setsid -f "$@" </dev/null >/dev/null 2>>"$log"
"""
"""Turns a fresh namespace into a host; its arguments are what :func:`start_arguments` returns.

Behind them may follow the log and the command of its BMC, which runs outside the host's process ids.
In the file ``process`` stands the process that lives as long as the host's sshd, as this machine numbers it.

A host has process ids of its own: it sees only its own processes, as a real host does, and all of them
end with the first. Processes are kept on the host's CPUs by the affinity they inherit from whoever runs
the script, not by a cpuset: affinity works the same with cgroup v1, v2 and none, leaves nothing behind,
and needs no writable cgroup tree. It is a convention, not a wall: ``taskset`` on a host can leave it.
"""


def root_batch(layout: Layout) -> str:
    """For ``ip -batch -`` in the root namespace: the namespaces and the management network."""
    group = f"group {layout.link_group}"
    lines = [f"netns add {namespace}" for namespace in layout.namespaces]
    lines += [
        f"link add {layout.bridge} {group} address {layout.bridge_mac} {_QUIET_BRIDGE}",
        f"link set {layout.bridge} addrgenmode none up",
        f"addr add {layout.controller_address}/24 dev {layout.bridge}",
    ]
    for host in layout.hosts:
        lines += [
            f"link add {host.management_link} {group} master {layout.bridge}"
            f" type veth peer name mgmt0 netns {host.namespace}",
            f"link set {host.management_link} addrgenmode none up",
        ]
    return "\n".join(lines) + "\n"


def switch_batch(layout: Layout) -> str:
    """For :data:`START_SWITCH`: the data network."""
    mtu = f"mtu {layout.mtu}"
    lines = [f"link add br0 {mtu} {_QUIET_BRIDGE}", "link set br0 addrgenmode none up"]
    for number, host in enumerate(layout.hosts, start=1):
        bridge = "br0"
        if layout.shared_bps is not None:
            bridge = f"br{number}"
            lines += [
                f"link add {bridge} {mtu} {_QUIET_BRIDGE}",
                f"link add {_shared_link(number)} {mtu} master br0 type veth peer name up{number} {mtu}",
                f"link set {bridge} addrgenmode none up",
                f"link set {_shared_link(number)} addrgenmode none up",
                f"link set up{number} master {bridge} addrgenmode none up",
            ]
        for port in host.ports:
            lines += [
                f"link add {port.switch_port} {mtu} master {bridge}"
                f" type veth peer name {port.interface} {mtu} netns {host.namespace}",
                f"link set {port.switch_port} addrgenmode none up",
            ]
    return "\n".join(lines) + "\n"


def _shared_link(number: int) -> str:
    """Through which the switch forwards to all ports of a host."""
    return f"down{number}"


def switch_shape_batch(layout: Layout) -> str:
    """For ``tc -batch -`` inside the switch; empty where nothing is shared."""
    links = [_shared_link(number) for number in range(1, len(layout.hosts) + 1)]
    return shape_batch(layout.shared_bps, links, _SHARED_QUEUE_MS)


def host_batch(host: HostLayout) -> str:
    """For ``ip -batch -`` inside a host: addresses, links up. No default route: nothing is routed out."""
    return "\n".join(
        [
            "link set lo up",
            f"addr add {host.address}/24 dev mgmt0",
            *(
                line
                for port in host.ports
                for line in (
                    f"addr add {port.ipv4}/{port.ipv4_prefix} dev {port.interface}",
                    f"addr add {port.ipv6}/64 dev {port.interface} nodad",
                )
            ),
            "link set mgmt0 up",
            *(f"link set {port.interface} up" for port in host.ports),
        ]
    )


def shape_batch(rate_bps: int | None, links: Sequence[str] = ("data0",), queue_ms: int = 5) -> str:
    """For ``tc -batch -`` where the links are; empty where they are not shaped.

    The bucket holds 1 ms of the rate (and never less than two of TCP's 64 KiB segments, which tbf would
    otherwise take apart); the queue behind it holds 5 ms, as a switch port's might, or ``queue_ms``.
    """
    if rate_bps is None:
        return ""
    burst = max(rate_bps // 8 // 1000, 2 * 65536)
    limit = burst + rate_bps // 8 * queue_ms // 1000
    return "\n".join(
        f"qdisc add dev {link} root tbf rate {rate_bps}bit burst {burst} limit {limit}" for link in links
    )


def start_arguments(layout: Layout, host: HostLayout, sshd: str, directory: Path) -> list[str]:
    """Arguments of :data:`START_HOST`."""
    return [
        host.name,
        host_batch(host),
        shape_batch(layout.rate_bps, [port.interface for port in host.ports]),
        cpu_mask(host.irq_cpus),
        str(process_file(host, directory)),
        str(log_file(host, directory)),
        sshd,
        str(directory / f"{host.name}.conf"),
    ]


def process_file(host: HostLayout, directory: Path) -> Path:
    """Where :data:`START_HOST` says which process is the host's."""
    return directory / f"{host.name}.pid"


def log_file(host: HostLayout, directory: Path) -> Path:
    """What a host's sshd says, or a guest's console and its script."""
    return directory / f"{host.name}.log"


def sshd_config(host: HostLayout, directory: Path, *, source_penalties: bool) -> str:
    """Configuration of a host's sshd, listening on its management address only.

    HOME is an empty directory, because a ``~/.bashrc`` can cost 350 ms a command. With
    ``source_penalties`` (OpenSSH ≥ 9.8) its ban on callers who try and leave is off: here all callers
    have one address.
    """
    quoted = {
        "HostKey": directory / f"{host.name}.key",
        "AuthorizedKeysFile": directory / "authorized_keys",
        "SetEnv": f"HOME={directory / 'home' / host.name}",
    }
    lines = [f'{keyword} "{value}"' for keyword, value in quoted.items()]
    lines += [
        f"ListenAddress {host.address}:{SSH_PORT}",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "UseDNS no",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitUserRC no",
        "PrintMotd no",
        "PrintLastLog no",
        "MaxSessions 200",
        "MaxStartups 200:30:400",
        "Subsystem sftp internal-sftp",
    ]
    if source_penalties:
        lines.append("PerSourcePenalties no")
    return "\n".join(lines) + "\n"


def known_hosts(layout: Layout, public_keys: Mapping[str, str]) -> str:
    """One line a host: ``address key-type key``."""
    return "".join(f"{host.address} {public_keys[host.name]}\n" for host in layout.hosts)


def inventory(
    layout: Layout,
    directory: Path,
    bmc_password_file: Path | None = None,
    plugs: Mapping[str, Path] | None = None,
    *,
    emulated: bool = False,
) -> str:
    """An Ansible inventory in YAML that a campaign can name and that Ansible itself can use.

    With a file for their password, the hosts have BMCs; ``plugs`` are files of their plugs. ``emulated``:
    hosts are guests without KVM.
    """
    lines = [f"{INVENTORY_HEADER}{layout.name}", "all:", "  hosts:"]
    for host in layout.hosts:
        lines.append(f"    {host.name}:")
        # JSON is YAML too, and quotes what needs it.
        variables = _host_variables(layout, host, directory)
        if emulated:
            variables += [("linewatt_limits", _EMULATED_LIMITS), ("linewatt_emulated", True)]
        if bmc_password_file is not None:
            variables.append(
                ("linewatt_power", _power(host, bmc_password_file, (plugs or {}).get(host.name)))
            )
        lines += [f"      {key}: {json.dumps(value)}" for key, value in variables]
    return "\n".join(lines) + "\n"


def _power(host: HostLayout, password_file: Path, plug: Path | None) -> dict[str, object]:
    sources: dict[str, object] = {"bmc": _bmc(host, password_file)}
    if plug is not None:
        sources["plug"] = _plug(plug)
    if host.guest is not None and host.guest.acpi_meter:
        sources["acpi"] = {"driver": "hwmon", "channels": ["power_meter.power1"], "simulated": True}
    return sources


def _plug(file: Path) -> dict[str, object]:
    """A meter at the plug: no device, but a file that the host can read as long as it is a namespace."""
    return {
        "driver": "command",
        "argv": ["sh", "-c", bmc_recipe.READ_PLUG, "lab-plug", str(file)],
        "channels": {"wall": {"scope": "wall", "unit": "W", "step": 0.1}},
        "provenance": "simulated",
    }


def _bmc(host: HostLayout, password_file: Path) -> dict[str, object]:
    return {
        "driver": "ipmi",
        "address": host.bmc_address,
        "port": bmc_recipe.PORT,
        "user": bmc_recipe.USER,
        "password_file": str(password_file),
        "cipher_suite": bmc_recipe.CIPHER_SUITE,
        "simulated": True,
    }


def _one_or_list(values: list[str]) -> str | list[str]:
    """The value itself if there is only one, else the list."""
    return values[0] if len(values) == 1 else values


def _cpu_variables(host: HostLayout) -> list[tuple[str, object]]:
    """A guest says itself which CPUs it has and what is near its NICs, as any machine does."""
    if host.guest is not None:
        return []
    return [
        ("linewatt_cpus", format_cpulist(host.cpus)),
        ("linewatt_app_cpus", format_cpulist(host.app_cpus)),
        ("linewatt_irq_cpus", format_cpulist(host.irq_cpus)),
    ]


def _host_variables(layout: Layout, host: HostLayout, directory: Path) -> list[tuple[str, object]]:
    known_hosts_file = directory / "known_hosts"
    return [
        ("ansible_host", host.address),
        ("ansible_port", SSH_PORT),
        ("ansible_user", "root"),
        ("ansible_ssh_private_key_file", str(directory / "id_ed25519")),
        ("ansible_ssh_common_args", f"-o UserKnownHostsFile={shlex.quote(str(known_hosts_file))}"),
        ("linewatt_known_hosts", str(known_hosts_file)),
        ("linewatt_data", _one_or_list([port.interface for port in host.ports])),
        ("linewatt_data_ipv4", _one_or_list([port.ipv4 for port in host.ports])),
        ("linewatt_data_ipv6", _one_or_list([port.ipv6 for port in host.ports])),
        *_cpu_variables(host),
        ("linewatt_lab", layout.name),
        ("linewatt_shares_cpus_with", list(host.shares_cpus_with)),
    ]
