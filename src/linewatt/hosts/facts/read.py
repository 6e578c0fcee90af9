# SPDX-License-Identifier: Apache-2.0
"""The configuration that every result carries: one round trip to a host, one table of facts. Pure.

A fact is a command and a pure parser of what it prints. All commands run in one constant bash script, their
words passed as its arguments, with a mark in front of each. Files are read by the script itself (``files``),
without a process for each: 60 to 90 ms and 20 kB on a 2-CPU VM. A figure without its configuration is an
anecdote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import understood
from linewatt.hosts.facts import parsers as parse
from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.missing import Missing

Facts = Mapping[str, Mapping[str, Any]]
"""section → fact → value of a host"""
MARK = "linewatt-fact:"
MOST_LINE = 4096
"""characters of a line, as many as the script reads of a file's"""
_MOST_QUOTED = 120
"""characters of a tool's message"""
BOND_PORTS = "bonds.ports."
"""beginning of the facts on ports of bonds, as trials compare them"""
NOT_KNOWN = "not_known"
"""the section that says, by ``section.fact``, why something could not be learnt"""

FURTHER_NICS = "further_nics"
"""the section that has, by interface, what ``nic`` has of the first of several data ports"""

DATA = "{data}"
"""stands for the data interface in a fact's command"""

_SCRIPT = f"""PATH=$PATH:/usr/sbin:/sbin
files() {{ local IFS= file line count
  for file; do for file in $file; do
    [[ -f $file && -r $file ]] || continue
    count=0
    while {{ read -r -n 4096 line || [[ $line ]]; }} && (( count++ < 64 )); do
      printf '%s\\t%s\\n' "$file" "$line"
    done 2>/dev/null <"$file"
  done; done; }}
kernel_config() {{ local release file
  read -r release </proc/sys/kernel/osrelease
  for file in "/boot/config-$release" "/lib/modules/$release/config" /proc/config.gz; do
    [[ -r $file ]] && gzip -cdf "$file" | grep -E "$1" && return
  done; echo "no readable kernel configuration"; return 1; }}
pci_name() {{ local device
  device=$(readlink -f "/sys/class/net/$1/device") && lspci -s "${{device##*/}}"; }}
device_irqs() {{ local file count=0
  for file in "/sys/class/net/$1/device/msi_irqs/"* "/sys/class/net/$1/device/../msi_irqs/"*; do
    [[ -e $file ]] && (( ++count )); done; [[ -d /sys/class/net/$1 ]] && echo "$count"; }}
path_of() {{ type -P "$1" || return 127; }}
ssh_address() {{ local pid=$$ entry
  while (( pid > 1 )); do
    while IFS= read -r -d '' entry; do
      [[ $entry == SSH_CONNECTION=* ]] && {{ set -- ${{entry#*=}}; echo "$3"; return; }}
    done 2>/dev/null <"/proc/$pid/environ"
    read -r entry 2>/dev/null <"/proc/$pid/stat" || break
    set -- ${{entry##*) }}; pid=$2
  done; return 1; }}
is_running() {{ type -P grep >/dev/null || return 127
  local status=0; grep -qsE -- "^[0-9]+ [(]$1[)] [^ZX] " /proc/[0-9]*/stat || status=$?
  (( status <= 2 )) || return "$status"; echo "$(( status != 0 ))"; }}
nm_state() {{ type -P nmcli >/dev/null || {{ echo "no NetworkManager"; return; }}
  nmcli --get-values GENERAL.STATE device show "$1"; }}
firewall() {{ local rules
  if type -P nft >/dev/null; then rules=$(nft -s -t list ruleset) || {{ echo "$rules"; return 1; }}
  elif type -P iptables-save >/dev/null; then
    rules=$( (iptables-save; ip6tables-save) | sed -e '/^#/d' -e 's/\\[[0-9:]*\\]//') || return 1
  else return 127; fi
  [[ $rules ]] || {{ echo "0 none"; return; }}
  printf '%s %s\n' "$(grep -c . <<<"$rules")" "$(sha256sum <<<"$rules" | cut -c1-12)"; }}
conntrack() {{ local count=0 file=/proc/sys/net/netfilter/nf_conntrack_count
  [[ -r $file ]] && read -r count <"$file"
  (( count )) && echo on || echo off; }}
while (( $# )); do
  printf '\\n{MARK} begin %s\\n' "$1"; words=$2; shift 2
  "${{@:1:words}}" 2>&1 </dev/null
  printf '\\n{MARK} end %s\\n' "$?"; shift "$words"
done
"""

_INTERFACE = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9_.:@-]{1,15}")
_ANSWER = re.compile(rf"^{MARK} begin (\S+)\n(.*?)\n?^{MARK} end (\d{{1,3}})$", re.MULTILINE | re.DOTALL)
_CPU = "/sys/devices/system/cpu"
_RAPL = "/sys/class/powercap/intel-rapl:[0-9]"
_ALIKE = 1.05
"""Base clocks of CPUs of one kind differ by less: kinds of core, by a quarter and more."""
_FREQUENCY = f"{_CPU}/cpu0/cpufreq"
_BOND = (
    "bonding/slaves",
    *("bonding_slave/mii_status", "bonding_slave/state", "bonding_slave/link_failure_count"),
)
_DEVICE = f"/sys/class/net/{DATA}/device"
_CLOCKS_KHZ, _CLOCKS_MHZ = partial(parse.clocks, unit_hz=1e3), partial(parse.clocks, unit_hz=1e6)
_CONFIG = r"^CONFIG_(HZ|HZ_[0-9]+|NO_HZ\w*|(VIRT|TICK|IRQ)_\w*ACCOUNTING\w*|PREEMPT\w*|SCHEDSTATS)="

_SYSCTLS = re.findall(
    r"\S+",
    """
net/core/rmem_max net/core/wmem_max net/core/rmem_default net/core/wmem_default net/core/default_qdisc
net/core/netdev_max_backlog net/core/netdev_budget net/core/netdev_budget_usecs net/core/dev_weight
net/core/busy_poll net/core/busy_read net/core/rps_sock_flow_entries net/core/gro_normal_batch
net/core/optmem_max net/ipv4/tcp_rmem net/ipv4/tcp_wmem net/ipv4/tcp_mem net/ipv4/udp_mem
net/ipv4/udp_rmem_min net/ipv4/tcp_congestion_control net/ipv4/tcp_sack net/ipv4/tcp_timestamps
net/ipv4/tcp_window_scaling net/ipv4/tcp_mtu_probing net/ipv4/tcp_ecn net/ipv4/tcp_no_metrics_save
net/ipv4/tcp_slow_start_after_idle kernel/numa_balancing kernel/timer_migration
    """,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One command and what it tells: ``names`` in ``section``.

    ``parse`` gives the value, or a mapping of the names to values where there are several. ``root``: it
    tells nothing without root's rights.
    """

    section: str
    names: tuple[str, ...]
    argv: tuple[str, ...]
    parse: Callable[[str], Any]
    root: bool = False

    @property
    def key(self) -> str:
        """What marks its answer in the output."""
        return f"{self.section}.{self.names[0]}"


def _file(section: str, name: str, path: str, convert: Callable[[str], Any] = parse.file_text) -> Fact:
    return Fact(section, (name,), ("files", path), convert)


FACTS: tuple[Fact, ...] = (
    _file("system", "hostname", "/proc/sys/kernel/hostname"),
    Fact("system", ("uid",), ("id", "-u"), int),
    _file("system", "boot_id", "/proc/sys/kernel/random/boot_id"),
    _file("system", "os", "/etc/os-release", parse.os_release),
    _file("system", "vendor", "/sys/class/dmi/id/sys_vendor"),
    _file("system", "product", "/sys/class/dmi/id/product_name"),
    _file("system", "board", "/sys/class/dmi/id/board_name"),
    _file("system", "bios_vendor", "/sys/class/dmi/id/bios_vendor"),
    _file("system", "bios_version", "/sys/class/dmi/id/bios_version"),
    _file("system", "bios_date", "/sys/class/dmi/id/bios_date"),
    Fact("cpu", parse.LSCPU, ("lscpu", "--json"), parse.lscpu),
    Fact("cpu", ("microcode",), ("grep", "-m1", "^microcode", "/proc/cpuinfo"), parse.after_colon),
    _file("cpu", "base_frequency_hz", f"{_CPU}/cpu[0-9]*/cpufreq/base_frequency", _CLOCKS_KHZ),
    _file("cpu", "nominal_frequency_hz", f"{_CPU}/cpu[0-9]*/acpi_cppc/nominal_freq", _CLOCKS_MHZ),
    _file("cpu", "max_frequency_hz", f"{_FREQUENCY}/cpuinfo_max_freq", parse.khz),
    _file("cpu", "min_frequency_hz", f"{_FREQUENCY}/scaling_min_freq", parse.khz),
    _file("cpu", "governor", f"{_CPU}/cpu[0-9]*/cpufreq/scaling_governor", parse.distinct),
    _file(
        "cpu",
        "energy_preference",
        f"{_CPU}/cpu[0-9]*/cpufreq/energy_performance_preference",
        parse.distinct,
    ),
    _file("cpu", "frequency_driver", f"{_FREQUENCY}/scaling_driver"),
    _file("cpu", "boost", f"{_CPU}/cpufreq/boost"),
    _file("cpu", "no_turbo", f"{_CPU}/intel_pstate/no_turbo"),
    _file("cpu", "idle_driver", f"{_CPU}/cpuidle/current_driver"),
    Fact(
        "cpu",
        ("c_states",),
        ("files", f"{_CPU}/cpu0/cpuidle/state*/name", f"{_CPU}/cpu0/cpuidle/state*/disable"),
        parse.sleep_states,
    ),
    _file("cpu", "smt", f"{_CPU}/smt/control"),
    Fact(
        "cpu",
        ("package_limit_w",),
        ("files", f"{_RAPL}/name", f"{_RAPL}/constraint_0_power_limit_uw"),
        parse.package_limit_w,
    ),
    _file("cpu", "mitigations", f"{_CPU}/vulnerabilities/*", parse.by_name),
    _file("cpus", "online", f"{_CPU}/online", parse.cpus),
    _file("cpus", "isolated", f"{_CPU}/isolated", parse.cpus),
    _file("cpus", "nohz_full", f"{_CPU}/nohz_full"),
    Fact("cpus", ("allowed",), ("grep", "Cpus_allowed_list:", "/proc/self/status"), parse.allowed),
    _file("cpus", "of_node", "/sys/devices/system/node/node[0-9]*/cpulist", parse.by_node),
    Fact("cpus", parse.CPU_GROUPS, ("lscpu", "--parse=CPU,CORE,SOCKET,NODE,CACHE"), parse.cpu_groups),
    Fact(
        "cpus",
        ("slower",),
        (
            "files",
            *(f"/sys/devices/cpu_{kind}/cpus" for kind in ("core", "atom", "lowpower")),
            *(f"{_CPU}/cpu[0-9]*/{name}" for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq")),
        ),
        parse.slower_cores,
    ),
    Fact("memory", ("total_bytes", "hugepages_total"), ("files", "/proc/meminfo"), parse.meminfo),
    _file("memory", "transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled", parse.chosen),
    Fact("memory", ("modules",), ("dmidecode", "-t", "17"), parse.dmi_memory, root=True),
    _file("kernel", "release", "/proc/sys/kernel/osrelease"),
    _file("kernel", "version", "/proc/sys/kernel/version"),
    _file("kernel", "command_line", "/proc/cmdline", parse.boot_options),
    Fact("kernel", ("hz", "config"), ("kernel_config", _CONFIG), parse.kernel_config),
    _file("kernel", "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    _file("kernel", "tuned_profile", "/etc/tuned/active_profile"),
    Fact("kernel", ("tuned_running",), ("is_running", "tuned"), parse.running),
    Fact("kernel", ("irqbalance_running",), ("is_running", "irqbalance"), parse.running),
    Fact("nic", parse.IP_ADDRESS, ("ip", "-j", "-d", "addr", "show", "dev", DATA), parse.ip_address),
    Fact("nic", parse.ETHTOOL_LINK, ("ethtool", DATA), parse.ethtool_link),
    Fact("nic", parse.ETHTOOL_DRIVER, ("ethtool", "-i", DATA), parse.ethtool_driver),
    Fact("nic", ("model",), ("pci_name", DATA), parse.pci_name),
    _file("nic", "carrier_changes", f"/sys/class/net/{DATA}/carrier_changes", parse.integer),
    _file("nic", "pci_speed", f"{_DEVICE}/current_link_speed"),
    _file("nic", "pci_width", f"{_DEVICE}/current_link_width", parse.integer),
    _file("nic", "pci_max_speed", f"{_DEVICE}/max_link_speed"),
    _file("nic", "pci_max_width", f"{_DEVICE}/max_link_width", parse.integer),
    Fact("nic", ("numa_node",), ("files", f"{_DEVICE}/numa_node", f"{_DEVICE}/../numa_node"), parse.integer),
    Fact("nic", ("irqs",), ("device_irqs", DATA), int),
    Fact("nic", ("offloads",), ("ethtool", "-k", DATA), parse.ethtool_features),
    Fact("nic", ("rings",), ("ethtool", "-g", DATA), parse.ethtool_settings),
    Fact("nic", ("channels",), ("ethtool", "-l", DATA), parse.ethtool_settings),
    Fact("nic", ("coalescing",), ("ethtool", "-c", DATA), parse.ethtool_settings),
    Fact("nic", ("pause",), ("ethtool", "-a", DATA), parse.ethtool_settings),
    Fact("nic", parse.PAUSE_FRAMES, ("ethtool", "-I", "-a", DATA), parse.pause_frames),
    _file("nic", "rps_cpus", f"/sys/class/net/{DATA}/queues/rx-*/rps_cpus", parse.distinct),
    Fact("nic", ("qdisc",), ("tc", "qdisc", "show", "dev", DATA), parse.queueing),
    Fact("nic", ("networkmanager",), ("nm_state", DATA), parse.managed),
    Fact("bonds", ("ports",), ("files", *(f"/sys/class/net/*/{name}" for name in _BOND)), parse.bond_ports),
    Fact(
        "sysctl",
        tuple(key.replace("/", ".") for key in _SYSCTLS),
        ("files", *(f"/proc/sys/{key}" for key in _SYSCTLS)),
        parse.sysctls,
    ),
    Fact("firewall", ("rules", "digest"), ("firewall",), parse.firewall, root=True),
    Fact("firewall", ("conntrack",), ("conntrack",), parse.first_line),
    Fact("tools", ("mpstat",), ("mpstat", "-V"), parse.first_line),
    Fact("tools", ("iproute2",), ("ip", "-V"), parse.first_line),
    Fact("tools", ("ethtool",), ("ethtool", "--version"), parse.first_line),
    Fact("tools", ("nmstatectl",), ("nmstatectl", "--version"), parse.first_line),
    Fact("tools", ("numactl",), ("path_of", "numactl"), parse.first_line),
    Fact("tools", ("bash",), ("bash", "--version"), parse.first_line),
)

FACT_NAMES = frozenset(f"{fact.section}.{name}" for fact in FACTS for name in fact.names)
"""facts as a campaign names them, beside the versions of loads"""


SSH = "ssh"
"""the section about linewatt's own connection, which is none of the configuration"""
_SSH_ADDRESS = Fact(SSH, ("address",), ("ssh_address",), parse.ip_text)
"""to which of the host's addresses the connection came (sshd(8), SSH_CONNECTION); sudo hides it from its
command, but not from its own environment"""


def with_tool(name: str, version_command: tuple[str, ...]) -> tuple[Fact, ...]:
    """All facts, the first line that one more tool says of its version, and the section :data:`SSH`."""
    return (*FACTS, Fact("tools", (name,), version_command, parse.first_line), _SSH_ADDRESS)


def without_ssh(facts: Facts) -> Facts:
    """The facts that are kept of a host."""
    reasons = {name: why for name, why in facts.get(NOT_KNOWN, {}).items() if name != f"{SSH}.address"}
    kept_sections = {section: values for section, values in facts.items() if section != SSH}
    return {**kept_sections, NOT_KNOWN: reasons} if NOT_KNOWN in facts else kept_sections


_COMPARED = {
    "nic": ("mtu", "state", "speed_bps", "offloads", "qdisc", "carrier_changes", *parse.PAUSE_FRAMES),
    "cpu": ("governor", "boost", "no_turbo"),
    "bonds": ("ports",),
}
AGAIN: tuple[Fact, ...] = tuple(
    fact for fact in FACTS if fact.section == "sysctl" or {*_COMPARED.get(fact.section, ())} & {*fact.names}
)
"""what is read again in every trial: what can change while a campaign runs, and would change its figures"""


def command(data: str, some: Sequence[Fact] = FACTS) -> list[str]:
    """The one command that asks for facts; ``data`` is the interface that carries the load.

    Raises InvalidInput if ``data`` can be no interface.
    """
    if not _INTERFACE.fullmatch(data):
        raise InvalidInput(f"{data!r} is not an interface name; `ip link` on the host lists them")
    words = []
    for fact in some:
        argv = [word.replace(DATA, data) for word in fact.argv]
        words += [fact.key, str(len(argv)), *argv]
    return ["env", "LC_ALL=C", "bash", "-c", _SCRIPT, "linewatt", *words]


def parse_all(output: str, some: Sequence[Fact] = FACTS) -> dict[str, dict[str, Any]]:
    """Section → fact → value, from what :func:`command` printed for all of ``FACTS``, and more.

    What could not be learnt is None, and section :data:`NOT_KNOWN` says why, by ``section.fact``. Nothing
    is raised: a host without a tool still has its other facts.
    """
    values, reasons = _values_and_reasons(output, some)
    _base_frequency(values["cpu"], reasons)
    _single_threads(values["cpu"], values["cpus"])
    _tick_accounting(values["kernel"], reasons)
    return {**values, NOT_KNOWN: reasons}


def _values_and_reasons(
    output: str, some: Sequence[Fact]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Section → fact → value, and by ``section.fact`` why one is None."""
    facts: dict[str, dict[str, Any]] = {fact.section: {} for fact in some}
    reasons: dict[str, str] = {}
    answers = {match[1]: (int(match[3]), match[2]) for match in _ANSWER.finditer(output)}
    for fact in some:
        values = _read(fact, answers.get(fact.key))
        why = values.reason if isinstance(values, Missing) else f"{_tool(fact)} does not tell"
        for name in fact.names:
            value = None if isinstance(values, Missing) else values.get(name)
            facts[fact.section][name] = value
            if value is None:
                reasons[f"{fact.section}.{name}"] = why
    return facts, reasons


def again(facts: Facts) -> dict[str, str]:
    """Facts that are compared from trial to trial: name → text; missing ones are left out."""
    further = (of_further(interface, again({"nic": nic})) for interface, nic in further_nics(facts).items())
    compared = {fact: text for further_facts in further for fact, text in further_facts.items()}
    for section in dict.fromkeys(fact.section for fact in AGAIN):
        for name in _COMPARED.get(section, facts.get(section, {})):
            value = facts.get(section, {}).get(name)
            if isinstance(value, Mapping):
                compared |= {f"{section}.{name}.{key}": str(text) for key, text in value.items()}
            elif value is not None:
                compared[f"{section}.{name}"] = str(value)
    return compared


OF_NIC: tuple[Fact, ...] = tuple(fact for fact in FACTS if fact.section == "nic")
AGAIN_OF_NIC: tuple[Fact, ...] = tuple(fact for fact in AGAIN if fact.section == "nic")
_OF_FURTHER = re.compile(
    rf"{FURTHER_NICS}\.(.+?)\.((?:{'|'.join(name for fact in OF_NIC for name in fact.names)})(?:\..+)?)"
)


def parse_nic(output: str) -> dict[str, Any]:
    """Section ``nic``, from what :func:`command` printed for ``OF_NIC``."""
    return _values_and_reasons(output, OF_NIC)[0]["nic"]


def further_nics(facts: Facts) -> Facts:
    """Interface → section ``nic``, of the data ports behind the first."""
    return facts.get(FURTHER_NICS, {})


def facts_at_interface(facts: Facts, interface: str) -> Facts:
    """Facts of a host as they are at one of its data ports."""
    nic = further_nics(facts).get(interface)
    return facts if nic is None else {**facts, "nic": nic}


def of_further(interface: str, facts: Mapping[str, str]) -> dict[str, str]:
    """Those of section ``nic`` as they are named of a data port behind the first."""
    return {f"{FURTHER_NICS}.{interface}.{name.removeprefix('nic.')}": text for name, text in facts.items()}


class FactOfPort(NamedTuple):
    """A fact under the name that it has of the first data port; ``port`` is the one behind it whose it is."""

    name: str
    port: str | None = None


def fact_of_port(fact: str) -> FactOfPort:
    match = _OF_FURTHER.fullmatch(fact)
    return FactOfPort(fact) if match is None else FactOfPort(f"nic.{match[2]}", match[1])


def parse_again(output: str, further: Mapping[str, str]) -> dict[str, str]:
    """What the command for :data:`AGAIN` printed, and by interface that for :data:`AGAIN_OF_NIC`, as
    :func:`again` has it."""
    nics = {name: _values_and_reasons(text, AGAIN_OF_NIC)[0]["nic"] for name, text in further.items()}
    return again({**_values_and_reasons(output, AGAIN)[0], FURTHER_NICS: nics})


def _read(fact: Fact, answer: tuple[int, str] | None) -> Mapping[str, Any] | Missing:
    """Values by name; ``answer`` is exit status and output."""
    if answer is None:
        return Missing("the host's answer ends before it")
    status, output = answer
    if status in _NOT_STARTED:
        return Missing(_why_not_started(_tool(fact), status, output))
    try:
        value = understood(lambda: fact.parse(_with_short_lines(fact, output)), fact.key)
    except (ParseError, InvalidInput):
        return Missing(_why(fact, status, output))
    return value if len(fact.names) > 1 else {fact.names[0]: value}


_NOT_INSTALLED, _BROKEN = " is not installed", " is there and cannot be run: "
_NOT_STARTED = (126, 127)
"""exit status of a shell for a program that it cannot run, and for one that it does not find"""
_BY_BASH = re.compile(r"linewatt: line \d+: ")
"""before what bash says of a command of the script"""


def is_of_missing_tool(reason: str) -> bool:
    """Whether a fact is not known for want of its tool; facts are stored, and have reasons as text alone."""
    return reason.endswith(_NOT_INSTALLED)


def is_of_broken_tool(reason: str) -> bool:
    """Whether a fact is not known because its tool is there and does not start."""
    return _BROKEN in reason


def _why_not_started(tool: str, status: int, output: str) -> str:
    """``mpstat is not installed``, or ``mpstat is there and cannot be run: Permission denied``."""
    message = _BY_BASH.sub("", " ".join(output.split()))
    if not message or (status == 127 and message.endswith(f"{tool}: command not found")):
        return f"{tool}{_NOT_INSTALLED}"
    program, _, complaint = message.partition(": ")
    return f"{tool}{_BROKEN}{(complaint if program.endswith(tool) and complaint else message)[:_MOST_QUOTED]}"


def _with_short_lines(fact: Fact, output: str) -> str:
    """The output as a parser by lines gets it: what a pattern costs can grow with the square of a line."""
    if len(output) <= MOST_LINE or {"-j", "--json"} & {*fact.argv}:
        return output
    return "\n".join(line[:MOST_LINE] for line in output.split("\n"))


def _why(fact: Fact, status: int, output: str) -> str:
    """Why the output has no value, with the tool's message if there is one."""
    output_text = _BY_BASH.sub("", " ".join(output.split())[:_MOST_QUOTED])
    if fact.argv[0] == "files":
        path = fact.argv[1].replace(DATA, "*")
        return f"unknown content: {output_text}" if output_text else f"{path} is not there or not readable"
    if fact.root and status:
        return f"needs root: {output_text}"
    return output_text or f"{_tool(fact)} prints nothing"


def _tool(fact: Fact) -> str:
    """The tool behind a function of the script."""
    functions = {
        "pci_name": "lspci",
        "is_running": "grep",
        "nm_state": "nmcli",
        "kernel_config": "gzip",
        "files": "this host",
        "device_irqs": "sysfs",
        "firewall": "nft",
        "conntrack": "procfs",
    }
    return fact.argv[1] if fact.argv[0] == "path_of" else functions.get(fact.argv[0], fact.argv[0])


def _base_frequency(cpu: dict[str, Any], reasons: dict[str, str]) -> None:
    """Base clock from cpufreq, else ACPI CPPC, else the model's name; the source on record beside it.

    Of CPUs that differ in it (performance and efficiency cores, Intel's SST-BF) there is no one base clock.
    """
    in_name = parse.clock_in_name(cpu["model"] or "")
    sources: dict[str, list[float] | None] = {
        "cpufreq": cpu["base_frequency_hz"],
        "ACPI CPPC": cpu.pop("nominal_frequency_hz"),
        "model name": None if in_name is None else [in_name],
    }
    source, clocks = next(
        ((name, clocks_hz) for name, clocks_hz in sources.items() if clocks_hz), (None, [0.0])
    )
    reasons.pop("cpu.nominal_frequency_hz", None)
    reasons.pop("cpu.base_frequency_hz", None)
    reason = None
    if source is None:
        reason = "neither cpufreq nor ACPI CPPC nor the model's name tells it; name it in the campaign"
    elif max(clocks) > _ALIKE * min(clocks):
        slow, fast = (f"{clock_hz / 1e9:.2f}" for clock_hz in (min(clocks), max(clocks)))
        reason = f"its CPUs differ in it, from {slow} to {fast} GHz ({source}); name one in the campaign"
    cpu["base_frequency_hz"] = clocks[0] if reason is None else None
    cpu["base_frequency_source"] = source if reason is None else None
    if reason is not None:
        reasons["cpu.base_frequency_hz"] = reasons["cpu.base_frequency_source"] = reason


def _single_threads(cpu: Mapping[str, Any], cpus: dict[str, Any]) -> None:
    """Each CPU is a core on Arm if no core has two threads: lscpu gives cores of several kinds one number,
    and without their caches nothing else tells them apart."""
    on_arm = str(cpu["architecture"]).startswith(("aarch64", "arm"))
    if on_arm and cpu["threads_per_core"] == 1 and cpus["cores"] is not None:
        cpu_numbers = sorted(cpu_number for group in cpus["cores"] for cpu_number in parse_cpulist(group))
        cpus["cores"] = [str(cpu_number) for cpu_number in cpu_numbers]


def _tick_accounting(kernel: dict[str, Any], reasons: dict[str, str]) -> None:
    """Whether user and system time are charged by the tick.

    IRQ_TIME_ACCOUNTING makes only interrupts exact. VIRT_CPU_ACCOUNTING_GEN is exact only on the CPUs of
    ``nohz_full``: distributions build it in, and without that boot option their kernels charge by the
    tick all the same. Source: kernel, init/Kconfig and kernel/sched/cputime.c.
    """
    config = kernel["config"]
    if config is None:
        kernel["tick_accounting"] = None
        reasons["kernel.tick_accounting"] = reasons["kernel.config"]
        return
    everywhere = config.get("VIRT_CPU_ACCOUNTING_NATIVE") == "y"
    on_some = config.get("VIRT_CPU_ACCOUNTING_GEN") == "y" and "nohz_full=" in (kernel["command_line"] or "")
    kernel["tick_accounting"] = not (everywhere or on_some)
