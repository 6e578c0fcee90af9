# SPDX-License-Identifier: Apache-2.0
"""Parsers of the field's tools, one text in, plain values out. Pure.

Each raises what it trips over on a text it does not know (its caller makes a reason of it); what a text does
not tell is left out.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sized
from typing import Any, TypeVar

from linewatt.foreign import read_json
from linewatt.hosts.facts.cpulist import format_cpulist, parse_cpulist
from linewatt.hosts.facts.kinds import Kind, faster_kinds

Values = TypeVar("Values", bound=Sized)

_TABLE_LINE = re.compile(r"^([^:]+?):\s+(.*?)\s*$")
_CLOCK_IN_NAME = re.compile(r"@\s*(\d{1,3}(?:\.\d{1,6})?)\s*GHz", re.ASCII)

_SECRET_OPTION = re.compile(r"([^\s=]*(?:passw|secret|token)[^\s=]*)=\S+", re.IGNORECASE)

OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "ntuple-filters",
    "receive-hashing",
    "tx-udp-segmentation",
    "tx-udp_tnl-segmentation",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "tx-nocache-copy",
)
"""Those that change what a packet costs; the others of ``ethtool -k`` are left out."""


def text(output: str) -> str:
    """The whole output as one line. Raises ValueError if it is empty."""
    line = " ".join(output.split())
    if not line:
        raise ValueError("empty")
    return line


def first_line(output: str) -> str:
    return text(output.strip().splitlines()[0])


def pairs(output: str) -> dict[str, str]:
    """``path<tab>line`` of the runner's ``files``; of several lines of a file the first."""
    values: dict[str, str] = {}
    for line in output.splitlines():
        path, tab, value = line.partition("\t")
        if tab:
            values.setdefault(path, value.strip())
    return values


def file_text(output: str) -> str:
    """The first line of the one file that was asked for."""
    return text(next(iter(pairs(output).values())))


def integer(output: str) -> int:
    return int(file_text(output))


def ip_text(output: str) -> str:
    """An address as other facts write it, without the zone of a link-local one."""
    return str(ipaddress.ip_address(output.strip().partition("%")[0]))


def khz(output: str) -> float:
    return 1e3 * int(file_text(output))


def clocks(output: str, unit_hz: float) -> list[float]:
    """The clock of each CPU in Hz, in the order of its files; firmware reports 0 where it has none."""
    return _some([unit_hz * int(value) for value in pairs(output).values() if int(value) > 0])


def clock_in_name(model: str) -> float | None:
    """Base clock in Hz that Intel writes into the model name (``… @ 2.60GHz``)."""
    match = _CLOCK_IN_NAME.search(model)
    return float(match[1]) * 1e9 if match else None


def by_name(output: str) -> dict[str, str]:
    """Last part of the path → content, for a directory of settings."""
    return _some({path.rpartition("/")[2]: value for path, value in pairs(output).items()})


def distinct(output: str) -> str:
    """The different contents of several files: one word where all agree, such as governors."""
    return text(", ".join(sorted(set(pairs(output).values()))))


def cpus(output: str) -> list[int]:
    """A CPU list; an empty file is no CPU."""
    return list(parse_cpulist(next(iter(pairs(output).values()))))


def sleep_states(output: str) -> dict[str, str]:
    """C-state name → ``on`` or ``off``, from cpuidle's ``name`` and ``disable`` files."""
    values = pairs(output)
    return {
        name: "off" if values.get(path.replace("/name", "/disable"), "0") != "0" else "on"
        for path, name in values.items()
        if path.endswith("/name")
    }


def os_release(output: str) -> str:
    return str(re.findall(r'\tPRETTY_NAME="?([^"\n]*)', output)[0])


def meminfo(output: str) -> dict[str, Any]:
    """Bytes of memory and huge pages."""
    lines = dict(re.findall(r"\t(\w+):\s+(\d+)", output))
    return {
        "total_bytes": 1024 * int(lines["MemTotal"]),
        "hugepages_total": int(lines.get("HugePages_Total", "0")),
    }


LSCPU = (
    "model",
    "architecture",
    "sockets",
    "cores_per_socket",
    "threads_per_core",
    "numa_nodes",
    "l3_cache",
    "hypervisor",
)
CPU_GROUPS = ("cores", "packages", "caches")
IP_ADDRESS = (
    "mtu",
    "state",
    "kind",
    "ipv4_addresses",
    "ipv6_addresses",
    "tx_queues",
    "rx_queues",
    "txqlen",
    "gso_max_bytes",
    "gro_max_bytes",
)
ETHTOOL_LINK = ("speed_bps", "duplex", "port_type")
ETHTOOL_DRIVER = ("driver", "driver_version", "firmware", "bus")


def lscpu(output: str) -> dict[str, Any]:
    """``lscpu --json``, with its fields nested (2.37 and later) or not.

    Of several kinds of core (2.37 and later have a model name for each, and below it what follows) the names
    in lscpu's order, the most threads, and the cores of all. ``-`` is what lscpu does not know. Where it
    counts cores by cluster (Arm), those of a socket are known only if sockets are.
    """
    table: dict[str, list[str]] = {}
    waiting = list(reversed(read_json(output, "lscpu")["lscpu"]))
    while waiting:
        field = waiting.pop()
        value = str(field.get("data") or "").strip()
        if value not in ("", "-"):
            table.setdefault(field["field"].rstrip(":"), []).append(value)
        waiting += reversed(field.get("children", []))
    sockets, per_socket = _sockets(table)
    first = {name: values[0] for name, values in table.items()}
    return {
        "model": _model(table),
        "architecture": first.get("Architecture"),
        "sockets": sockets,
        "cores_per_socket": per_socket,
        "threads_per_core": max(_integers(table.get("Thread(s) per core")), default=None),
        "numa_nodes": _integer(first.get("NUMA node(s)")),
        "l3_cache": first.get("L3 cache") or first.get("L3"),
        "hypervisor": first.get("Hypervisor vendor", "none"),
    }


_PLACEHOLDER = re.compile(
    r"(?:not specified|not set|unknown|none|n/a|to be filled by o\.?e\.?m\.?|default string|undefined"
    r"|virt-\S*|pc-\S*|qemu\S*|standard pc.*)?",
    re.IGNORECASE,
)


def _model(table: Mapping[str, list[str]]) -> str | None:
    """Name of the processor. On Arm lscpu names the design of its cores, which many processors share: there
    firmware's name, with the clock that lscpu (2.37 on) writes behind it, unless it says nothing."""
    names = list(dict.fromkeys(table.get("Model name", ())))
    firmware = [name for name in dict.fromkeys(table.get("BIOS Model name", ())) if _is_name(name)]
    on_arm = table.get("Architecture", [""])[0].startswith(("aarch64", "arm"))
    if len(firmware) == 1 and (on_arm or not names) and "QEMU" not in table.get("BIOS Vendor ID", ()):
        return firmware[0]
    return ", ".join(names) or None


def _is_name(text: str) -> bool:
    """Whether firmware names a processor: ``Not Specified CPU @ 2.4GHz`` and ``2.1`` do not."""
    name = (text.rpartition("CPU @ ")[0] or text).strip() if not text.startswith("CPU @ ") else ""
    return bool(re.search("[A-Za-z]", name)) and _PLACEHOLDER.fullmatch(name) is None


def _sockets(table: Mapping[str, list[str]]) -> tuple[int | None, int | None]:
    """Sockets, and cores of each. Kinds of core share the sockets."""
    sockets = max(_integers(table.get("Socket(s)")), default=None)
    per_socket = _integers(table.get("Core(s) per socket"))
    if per_socket:
        return sockets, sum(per_socket)
    clusters, per_cluster = (_integers(table.get(name)) for name in ("Cluster(s)", "Core(s) per cluster"))
    cores = sum(a * b for a, b in zip(clusters, per_cluster, strict=False))
    if sockets is None and clusters == [1]:
        sockets = 1
    return sockets, cores // sockets if sockets and cores % sockets == 0 and cores else None


def _integers(values: Iterable[str] | None) -> list[int]:
    return [number for value in values or () if (number := _integer(value)) is not None]


def cpu_groups(output: str) -> dict[str, list[str]]:
    """CPU lists of what belongs together, from ``lscpu --parse``: cores, packages, last-level caches.

    Caches are the columns behind the node's, split by commas or colons (util-linux 2.37 changed it to
    commas); the last that is filled is the last-level cache, of whatever level that is. Offline CPUs are
    not listed, what is not known of a CPU is empty, and the columns of a CPU without the last level are cut.

    lscpu counts the cores of each kind, and of each cluster, from 0: CPUs of one number are threads of a core
    only if they share its node and its L2 cache (L1, where there is no L2).
    """
    lines = [line for line in output.splitlines() if line.strip()]
    header = [re.split("[,:]", line.lstrip("# ")) for line in lines if line.startswith("# CPU,")][-1]
    cpus_by_group: dict[str, dict[tuple[str, ...], list[int]]] = {name: {} for name in CPU_GROUPS}
    for line in lines:
        if line.startswith("#"):
            continue
        cpu, core, package, node, *caches = re.split("[,:]", line)
        filled = [cache for cache in zip(header[4:], caches, strict=False) if cache[1]]
        shared_cache = next(
            (cache for level in ("L2", "L1") for cache in filled if cache[0].startswith(level)), ()
        )
        keys = {
            "cores": (package, core, node, *shared_cache) if core else (),
            "packages": (package,) if package else (),
        }
        for name, key in {**keys, "caches": filled[-1] if filled else ()}.items():
            if key:
                cpus_by_group[name].setdefault(key, []).append(int(cpu))
    return _some(
        {name: [format_cpulist(group) for group in groups.values()] for name, groups in cpus_by_group.items()}
    )


def slower_cores(output: str) -> dict[str, str]:
    """How many kinds of core are faster → CPU list; empty where all are alike.

    From Intel's ``/sys/devices/cpu_atom/cpus`` and its like, else ``cpu_capacity`` and ``cpuinfo_max_freq``.
    """
    read = pairs(output)
    named = {path: parse_cpulist(text) for path, text in read.items() if path.endswith("/cpus")}
    name_of = {cpu: path.split("/")[-2] for path, some in named.items() for cpu in some}
    speeds_by_cpu: dict[int, dict[str, int]] = {}
    for path, text in read.items():
        if of_cpu := re.search(r"/cpu([0-9]{1,4})/", path):
            speeds_by_cpu.setdefault(int(of_cpu[1]), {})[path.rpartition("/")[2]] = int(text)
    kinds = [
        Kind(
            frozenset([cpu]),
            name_of.get(cpu, ""),
            speeds_by_cpu.get(cpu, {}).get("cpu_capacity"),
            speeds_by_cpu.get(cpu, {}).get("cpuinfo_max_freq", 0) / 1e3 or None,
        )
        for cpu in sorted({*name_of, *speeds_by_cpu})
    ]
    cpus_by_count: dict[int, list[int]] = {}
    for cpu, count in faster_kinds(_some(kinds)).items():
        cpus_by_count.setdefault(count, []).append(cpu)
    return {str(count): format_cpulist(some) for count, some in sorted(cpus_by_count.items())}


def firewall(output: str) -> dict[str, Any]:
    """How many lines the rules of a firewall have, and a digest of them: they are only compared."""
    lines, digest = output.split()
    return {"rules": int(lines), "digest": digest}


def dmi_memory(output: str) -> list[dict[str, str]]:
    """Fitted DIMMs of ``dmidecode -t 17``: where, how large, how fast. Serial numbers stay out."""
    name_by_key = {
        "Locator": "locator",
        "Bank Locator": "bank",
        "Size": "size",
        "Type": "type",
        "Speed": "speed",
        "Configured Memory Speed": "configured_speed",
        "Configured Clock Speed": "configured_speed",
        "Rank": "ranks",
        "Manufacturer": "manufacturer",
        "Part Number": "part",
    }
    modules = []
    for block in output.split("Memory Device\n")[1:]:
        table = _table(block.split("\n\n")[0])
        if "No Module" not in table.get("Size", "No Module"):
            modules.append({name: table[key] for key, name in name_by_key.items() if key in table})
    return _some(modules)


def kernel_config(output: str) -> dict[str, Any]:
    """HZ and the options that say how CPU time is accounted for."""
    options = dict(re.findall(r"^CONFIG_(\w+)=(\S+)$", output, re.MULTILINE))
    hz = int(options.pop("HZ"))
    return {
        "hz": hz,
        "config": {name: value for name, value in sorted(options.items()) if name != f"HZ_{hz}"},
    }


def managed(output: str) -> bool:
    """Whether NetworkManager manages an interface, from ``GENERAL.STATE`` of ``nmcli``: ``100 (connected)``.

    10 is unmanaged (NMDeviceState). Without nmcli, or with NetworkManager down, there is nobody who would.
    """
    text = output.strip()
    if text == "no NetworkManager" or "NetworkManager is not running" in text:
        return False
    return int(text.split()[0]) > 10


def running(output: str) -> bool:
    """Whether ``grep`` found its name among those of all processes: 0 found, 1 not."""
    return {"0": True, "1": False}[output.strip()]


def ip_address(output: str) -> dict[str, Any]:
    """``ip -j -d addr show dev X``: link and addresses that are more than link-local."""
    link = read_json(output, "ip")[0]

    def addresses(family: str) -> list[str]:
        return [
            str(ipaddress.ip_address(info["local"]))
            for info in link.get("addr_info", [])
            if info.get("family") == family and info.get("scope") not in ("link", "host")
        ]

    return {
        "mtu": int(link["mtu"]),
        "state": _word(link.get("operstate")),
        "kind": _word(link.get("linkinfo", {}).get("info_kind", "physical")),
        "ipv4_addresses": addresses("inet"),
        "ipv6_addresses": addresses("inet6"),
        "tx_queues": _int_or_none(link.get("num_tx_queues")),
        "rx_queues": _int_or_none(link.get("num_rx_queues")),
        "txqlen": _int_or_none(link.get("txqlen")),
        "gso_max_bytes": _int_or_none(link.get("gso_max_size")),
        "gro_max_bytes": _int_or_none(link.get("gro_max_size")),
    }


def ethtool_link(output: str) -> dict[str, Any]:
    """Speed in bit/s, duplex and port type."""
    table = _table(output)
    speed = re.fullmatch(r"(\d+)Mb/s", table.get("Speed", ""))
    return {
        "speed_bps": 1e6 * int(speed[1]) if speed else None,
        "duplex": table.get("Duplex") if speed else None,
        "port_type": table.get("Port"),
    }


def ethtool_driver(output: str) -> dict[str, Any]:
    table = _table(output)
    return {
        "driver": table["driver"],
        "driver_version": table.get("version") or None,
        "firmware": table.get("firmware-version") or None,
        "bus": table.get("bus-info") or None,
    }


def ethtool_features(output: str) -> dict[str, str]:
    """``on`` or ``off`` of :data:`OFFLOADS`."""
    table = _table(output)
    return _some({name: table[name].split()[0] for name in OFFLOADS if name in table})


def ethtool_settings(output: str) -> dict[str, int | str]:
    """Current values of ``ethtool -g``, ``-l``, ``-c`` or ``-a``; maxima as ``max …``, n/a left out.

    ``Adaptive RX: on  TX: off`` is ``adaptive rx`` and ``adaptive tx``, and ``CQE mode RX: …`` (since ethtool
    5.14) is two of its own; ethtool 6.1 prints one name without its colon.
    """
    settings: dict[str, int | str] = {}
    prefix = ""
    for line in output.splitlines():
        if "maximums" in line or "Current hardware" in line:
            prefix = "max " if "maximums" in line else ""
        for name, value in _settings_of(line.strip()):
            if value in ("on", "off") or re.fullmatch("[0-9]+", value):
                settings[prefix + name.lower()] = int(value) if value.isdecimal() else value
    return _some(settings)


_BOTH_WAYS = re.compile(r"([A-Za-z][\w -]*) RX: +(\S+)\s+TX: +(\S+)", re.ASCII)
_SETTING = re.compile(r"([A-Za-z][\w -]*):\s+(\S+)|([a-z][a-z-]*)\s+(\d+)", re.ASCII)


def _settings_of(line: str) -> list[tuple[str, str]]:
    """Name and value, or two of them for a line of both directions."""
    if both_match := _BOTH_WAYS.fullmatch(line):
        return [(f"{both_match[1]} rx", both_match[2]), (f"{both_match[1]} tx", both_match[3])]
    match = _SETTING.fullmatch(line)
    return [] if match is None else [(match[1] or match[3], match[2] or match[4])]


PAUSE_FRAMES = ("pause_frames_received", "pause_frames_sent")


def pause_frames(output: str) -> dict[str, int]:
    """Pause frames since the driver was loaded, from ``ethtool -I -a`` (5.9 and newer)."""
    counts = re.findall(r"^\s*([rt]x)_pause_frames: (\d+)$", output, re.MULTILINE)
    count_by_way = {way: int(count) for way, count in counts}
    ways = zip(PAUSE_FRAMES, ("rx", "tx"), strict=True)
    return _some({name: count_by_way[way] for name, way in ways if way in count_by_way})


def package_limit_w(output: str) -> float:
    """The lowest of the long-term power limits of CPU packages, from the kernel's powercap tree; W."""
    read = {path: value.strip() for path, value in pairs(output).items()}
    packages = {path.rpartition("/")[0] for path, value in read.items() if value.startswith("package-")}
    limits_uw = [int(read[f"{package}/{_LIMIT}"]) for package in packages if f"{package}/{_LIMIT}" in read]
    return min(limit_uw for limit_uw in limits_uw if limit_uw > 0) / 1e6


_LIMIT = "constraint_0_power_limit_uw"


def bond_ports(output: str) -> dict[str, str]:
    """``bond0/eth1`` → ``up active, 0 link failures``, of every bond (kernel, bonding.rst: sysfs)."""
    read = pairs(output)
    ports = {}
    for path, names in read.items():
        bond, _, name = path.removeprefix("/sys/class/net/").partition("/")
        for port in names.split() if name == "bonding/slaves" else ():
            folder = f"/sys/class/net/{port}/bonding_slave"
            status, state, failures = (
                read[f"{folder}/{file_name}"] for file_name in ("mii_status", "state", "link_failure_count")
            )
            ports[f"{bond}/{port}"] = f"{status} {state}, {int(failures)} link failures"
    return ports


_QUEUES = ("mq", "mqprio", "taprio")
"""disciplines that only hand each transmit queue to one below them, which queues and drops"""
_ROOT = re.compile(r"qdisc (\S+) \S+ root\b *(?:refcnt \d+)? *(.*)")
_LEAF = re.compile(r"qdisc (\S+) \S+ parent (\S+) *(.*)")


def queueing(output: str) -> str:
    """The root queueing discipline, with a shaper's rate: ``tbf … rate 10Gbit``.

    Of several transmit queues those of the queues, where these are listed: ``mq: fq limit 10000p …``, and how
    many have which where they differ.
    """
    lines = [" ".join(line.split()) for line in output.splitlines()]
    roots = [match for line in lines if (match := _ROOT.fullmatch(line))]
    if not roots:
        return first_line(output)
    kind, options = roots[0].groups()
    if kind not in _QUEUES:
        return f"{kind} {options}".strip()
    leaves = Counter(
        f"{leaf[1]} {leaf[3]}".strip()
        for line in lines
        if (leaf := _LEAF.fullmatch(line)) and leaf[1] not in ("ingress", "clsact")
    )
    if len(leaves) < 2:
        return ": ".join([f"{kind} {options}".strip() if not leaves else kind, *leaves])
    leaf_texts = (f"{count} × {leaf}" for leaf, count in sorted(leaves.items()))
    return f"{kind}: {', '.join(leaf_texts)}"


def sysctls(output: str) -> dict[str, str]:
    """Key with dots → value, from files under /proc/sys."""
    return _some(
        {
            path.removeprefix("/proc/sys/").replace("/", "."): " ".join(value.split())
            for path, value in pairs(output).items()
        }
    )


def _table(output: str) -> dict[str, str]:
    matches = (_TABLE_LINE.match(f"{line.strip()} ") for line in output.splitlines())
    return {match[1]: match[2] for match in matches if match}


def _some(facts_read: Values) -> Values:
    """Raises ValueError for none."""
    if not facts_read:
        raise ValueError("none of the expected lines")
    return facts_read


def _integer(value: str | None) -> int | None:
    return int(value) if value and value.isdecimal() else None


def _int_or_none(value: Any) -> int | None:
    return None if value is None else int(value)


def _word(value: Any) -> str | None:
    return None if value is None else str(value)


def allowed(output: str) -> list[int]:
    """CPUs the process may use, from ``Cpus_allowed_list:`` of its status."""
    return list(parse_cpulist(output.split(":")[1]))


def by_node(output: str) -> dict[str, str]:
    """NUMA node → its CPU list."""
    named = {path.split("/")[-2]: cpulist for path, cpulist in pairs(output).items()}
    for name, cpulist in named.items():
        int(name.removeprefix("node"))
        parse_cpulist(cpulist)
    return _some(named)


def chosen(output: str) -> str:
    """The one in brackets of ``always [madvise] never``."""
    return str(re.findall(r"\[(.+?)\]", file_text(output))[0])


def boot_options(output: str) -> str:
    """The kernel command line; what looks like a secret is masked."""
    return _SECRET_OPTION.sub(r"\1=…", file_text(output))


def after_colon(output: str) -> str:
    """Value of a ``name : value`` line."""
    return text(output.partition(":")[2])


def pci_name(output: str) -> str:
    """Device of an ``lspci`` line, without its address and class."""
    line = first_line(output)
    _, colon, name = line.partition(": ")
    if not colon:
        raise ValueError(line)
    return name
