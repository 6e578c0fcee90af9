# SPDX-License-Identifier: Apache-2.0
"""The configuration that every result carries: one round trip to a host, one table of facts.

A fact is a line of shell that prints something, and a pure parser of what it prints. The shell text is
constant; the only argument, the data interface, is passed as ``$1``. A figure without its configuration
is an anecdote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from linewatt.hosts import fact_parsers as parse

MARK = "linewatt-fact:"
NOT_KNOWN = "not_known"
"""the section that says, by ``section.fact``, why something could not be learnt"""

_PRELUDE = r"""export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"
files() {
  local path line
  for path; do
    [ -r "$path" ] && while IFS= read -r line || [ -n "$line" ]; do printf '%s\t%s\n' "$path" "$line"
    done 2>/dev/null <"$path"
  done
  return 0
}
kernel_config() {
  if [ -r /proc/config.gz ]; then gzip -dc /proc/config.gz
  else cat "/boot/config-$(uname -r)"; fi | grep -E '^CONFIG_(HZ|NO_HZ|.*_ACCOUNTING|VIRT_CPU|PREEMPT|RPS|BQL)'
}
device=/sys/class/net/$1
"""

_SYSCTLS = """
net/core/rmem_max net/core/wmem_max net/core/rmem_default net/core/wmem_default net/core/default_qdisc
net/core/netdev_max_backlog net/core/netdev_budget net/core/netdev_budget_usecs net/core/busy_poll
net/core/busy_read net/core/rps_sock_flow_entries net/core/optmem_max net/ipv4/tcp_rmem net/ipv4/tcp_wmem
net/ipv4/tcp_mem net/ipv4/udp_mem net/ipv4/udp_rmem_min net/ipv4/tcp_congestion_control net/ipv4/tcp_sack
net/ipv4/tcp_timestamps net/ipv4/tcp_window_scaling net/ipv4/tcp_mtu_probing net/ipv4/tcp_ecn
net/ipv4/tcp_no_metrics_save net/ipv4/tcp_slow_start_after_idle kernel/numa_balancing kernel/timer_migration
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """``name`` "*" : the parser gives a mapping whose entries are facts of the section."""

    section: str
    name: str
    shell: str
    parse: Callable[[str], Any]


FACTS = (
    Fact("system", "hostname", "files /proc/sys/kernel/hostname", parse.file_text),
    Fact("system", "os", "files /etc/os-release", parse.os_release),
    Fact("system", "vendor", "files /sys/class/dmi/id/sys_vendor", parse.file_text),
    Fact("system", "product", "files /sys/class/dmi/id/product_name", parse.file_text),
    Fact("system", "board", "files /sys/class/dmi/id/board_name", parse.file_text),
    Fact("system", "bios_version", "files /sys/class/dmi/id/bios_version", parse.file_text),
    Fact("cpu", "*", "lscpu --json", parse.lscpu),
    Fact("cpu", "microcode", "grep -m1 ^microcode /proc/cpuinfo | cut -d: -f2", parse.text),
    Fact("cpu", "base_frequency_hz", "files /sys/devices/system/cpu/cpu0/cpufreq/base_frequency", parse.khz),
    Fact("cpu", "max_frequency_hz", "files /sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", parse.khz),
    Fact(
        "cpu", "governor", "files /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor", parse.distinct
    ),
    Fact(
        "cpu",
        "frequency_driver",
        "files /sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
        parse.file_text,
    ),
    Fact(
        "cpu",
        "energy_preference",
        "files /sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference",
        parse.distinct,
    ),
    Fact("cpu", "idle_driver", "files /sys/devices/system/cpu/cpuidle/current_driver", parse.file_text),
    Fact(
        "cpu",
        "c_states",
        "files /sys/devices/system/cpu/cpu0/cpuidle/state*/name "
        "/sys/devices/system/cpu/cpu0/cpuidle/state*/disable",
        parse.sleep_states,
    ),
    Fact("cpu", "smt", "files /sys/devices/system/cpu/smt/control", parse.file_text),
    Fact("cpu", "mitigations", "files /sys/devices/system/cpu/vulnerabilities/*", parse.by_name),
    Fact("cpus", "online", "files /sys/devices/system/cpu/online", parse.cpus),
    Fact("cpus", "isolated", "files /sys/devices/system/cpu/isolated", parse.cpus),
    Fact("memory", "*", "files /proc/meminfo", parse.meminfo),
    Fact("memory", "modules", "dmidecode -t 17", parse.dmi_memory),
    Fact("kernel", "release", "files /proc/sys/kernel/osrelease", parse.file_text),
    Fact("kernel", "version", "files /proc/sys/kernel/version", parse.file_text),
    Fact("kernel", "command_line", "files /proc/cmdline", parse.file_text),
    Fact("kernel", "*", "kernel_config", parse.kernel_config),
    Fact(
        "kernel",
        "clocksource",
        "files /sys/devices/system/clocksource/clocksource0/current_clocksource",
        parse.file_text,
    ),
    Fact("kernel", "tuned_profile", "files /etc/tuned/active_profile", parse.file_text),
    Fact("kernel", "irqbalance_running", "pgrep -x irqbalance >/dev/null; echo $?", parse.running),
    Fact("nic", "*", 'ip -j -d addr show dev "$1"', parse.ip_address),
    Fact("nic", "link", 'ethtool "$1"', parse.ethtool_link),
    Fact("nic", "driver", 'ethtool -i "$1"', parse.ethtool_driver),
    Fact("nic", "pci_speed", 'files "$device/device/current_link_speed"', parse.file_text),
    Fact("nic", "pci_width", 'files "$device/device/current_link_width"', parse.file_text),
    Fact("nic", "numa_node", 'files "$device/device/numa_node"', parse.file_text),
    Fact("nic", "offloads", 'ethtool -k "$1"', parse.ethtool_features),
    Fact("nic", "rings", 'ethtool -g "$1"', parse.ethtool_settings),
    Fact("nic", "channels", 'ethtool -l "$1"', parse.ethtool_settings),
    Fact("nic", "coalescing", 'ethtool -c "$1"', parse.ethtool_settings),
    Fact("nic", "pause", 'ethtool -a "$1"', parse.ethtool_settings),
    Fact("nic", "rps_cpus", 'files "$device"/queues/rx-*/rps_cpus', parse.distinct),
    Fact("nic", "qdisc", 'tc qdisc show dev "$1" root', parse.queueing),
    Fact("sysctl", "*", f"cd /proc/sys && files {' '.join(_SYSCTLS.split())}", parse.sysctls),
    Fact("tools", "iperf3", "iperf3 --version", parse.first_line),
    Fact("tools", "mpstat", "mpstat -V", parse.first_line),
    Fact("tools", "iproute2", "ip -V", parse.first_line),
    Fact("tools", "ethtool", "ethtool --version", parse.first_line),
    Fact("tools", "bash", 'echo "$BASH_VERSION"', parse.first_line),
)


def command(data: str) -> list[str]:
    """Argument list that runs every fact on a host whose data interface is ``data``."""
    lines = [
        f"printf '\\n{MARK} {number}\\n'; {{ {fact.shell}; }} 2>/dev/null"
        for number, fact in enumerate(FACTS)
    ]
    return ["bash", "-c", _PRELUDE + "\n".join(lines) + f"\nprintf '\\n{MARK} end\\n'", "linewatt", data]


def parse_all(output: str) -> dict[str, dict[str, Any]]:
    """Section → fact → value, from what :func:`command` printed.

    What could not be learnt is ``None``, and :data:`NOT_KNOWN` says why by ``section.fact``.
    """
    known: dict[str, dict[str, Any]] = {fact.section: {} for fact in FACTS}
    reasons: dict[str, str] = {}
    texts = dict(_texts(output))
    for number, fact in enumerate(FACTS):
        try:
            value = fact.parse(texts.get(number, ""))
        except (ValueError, KeyError, IndexError, TypeError, StopIteration):
            said = texts.get(number, "").strip()
            reasons[f"{fact.section}.{fact.name}"] = "unknown output" if said else "not told by this host"
            value = {} if fact.name == "*" else None
        known[fact.section].update(value if fact.name == "*" else {fact.name: value})
    _derive(known)
    return {**known, NOT_KNOWN: reasons}


def _texts(output: str) -> Iterator[tuple[int, str]]:
    parts = re.split(rf"^{MARK} (\d+|end)\n?", output, flags=re.MULTILINE)
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        if number != "end":
            yield int(number), text.strip("\n") + "\n"


def _derive(known: dict[str, dict[str, Any]]) -> None:
    """What follows from other facts."""
    cpu, kernel = known["cpu"], known["kernel"]
    if cpu.get("base_frequency_hz") is None and cpu.get("model"):
        cpu["base_frequency_hz"] = parse.clock_in_name(cpu["model"])
    config = kernel.get("config")
    kernel["tick_accounting"] = None if config is None else not _exact_accounting(config)


def _exact_accounting(config: dict[str, str]) -> bool:
    """Whether CPU time is taken from timestamps (kernel, init/Kconfig: CPU time and interrupt accounting)."""
    exact = ("VIRT_CPU_ACCOUNTING_NATIVE", "IRQ_TIME_ACCOUNTING")
    return any(config.get(option) == "y" for option in exact)
