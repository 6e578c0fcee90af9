# SPDX-License-Identifier: Apache-2.0
"""Drops, overruns and retransmits of a host, from the kernel files that ``ip -s -s link`` and ``nstat`` read.

One bash process reads them with builtins only and prints one line a record. Measured on a 2-CPU VM, exact
accounting: 1.3 ms of CPU a record, 0.13 % of a core at 1 Hz; ``ip -j -s -s link``, ``nstat --json`` and
``cat`` run every second take 7 ms, most of it to start them, and nstat's JSON cuts values to 32 bits
(iproute2 6.1). One line, because 200 lines a host and second would cost sshd and the controller more than the
reading does.

Read are /proc/net/dev, softnet_stat, snmp, snmp6 and netstat, and carrier_changes and statistics of
/sys/class/net/DEVICE. Each file of statistics makes the driver count anew; those of errors are read only
after their columns of /proc/net/dev changed. Bytes and packets, whose ratio is the size of a frame, are of
one moment. All values are running totals; differences over a window come from
:mod:`linewatt.sensors.counters`.
/proc/schedstat is not read: its scheduling domains make it a megabyte on a large host.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from linewatt.errors import ParseError
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import (
    PACED,
    LineSensor,
    PacedConfig,
    SensorConfig,
    parts_of_record,
    sections_of_record,
)

MARK = "linewatt-netcounters"

_IP = """
InReceives InDelivers InDiscards InHdrErrors InAddrErrors OutRequests OutDiscards OutNoRoutes ReasmFails
FragFails
"""
_TCP = (
    "ActiveOpens PassiveOpens AttemptFails EstabResets InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors"
)
_UDP = (
    "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors"
)
_TCP_EXT = """
PruneCalled RcvPruned OfoPruned ListenOverflows ListenDrops DelayedACKs PFMemallocDrop TCPHPHits TCPPureAcks
TCPHPAcks TCPSackRecovery TCPSACKReorder TCPRenoReorder TCPTSReorder TCPLostRetransmit TCPFastRetrans
TCPSlowStartRetrans TCPTimeouts TCPLossProbes TCPLossProbeRecovery TCPRetransFail TCPSynRetrans
TCPSpuriousRTOs TCPRcvCollapsed TCPBacklogCoalesce TCPBacklogDrop TCPRcvCoalesce TCPRcvQDrop TCPOFOQueue
TCPOFODrop TCPOFOMerge TCPZeroWindowDrop TCPFromZeroWindowAdv TCPToZeroWindowAdv TCPWantZeroWindowAdv
TCPMemoryPressures TCPMemoryPressuresChrono TCPDSACKRecv TCPDSACKOldSent TCPAutoCorking TCPDelivered
TCPDeliveredCE TCPAckCompressed TCPAbortOnTimeout TCPAbortOnMemory
"""
_IP_EXT = "InNoRoutes InTruncatedPkts InOctets OutOctets InCsumErrors InCEPkts"

NSTAT_NAMES: tuple[str, ...] = tuple(
    f"{prefix}{name}"
    for prefix, names in (
        ("Ip", _IP),
        ("Tcp", _TCP),
        ("Udp", _UDP),
        ("TcpExt", _TCP_EXT),
        ("IpExt", _IP_EXT),
        ("Ip6", f"{_IP} InNoRoutes InTooBigErrors InOctets OutOctets"),
        ("Udp6", _UDP),
    )
    for name in names.split()
)
"""Counters by nstat's names; gauges, constants and ICMP are left out. A kernel may lack some."""

SOFTNET_COLUMNS = {
    0: "processed",
    1: "dropped",
    2: "time_squeeze",
    9: "received_rps",
    10: "flow_limit",
    12: "cpu",
}
"""Columns of softnet_stat that are kept: 9 and 10 came with 2.6.35 and 3.11, the CPU's number with 5.10."""

SOFTNET_BITS = 32

# $1 root of the file system, $2 interfaces, $3 interval in µs, then the nstat names.
_SCRIPT = (
    PACED
    + r"""
root=$1 device=$2 interval_us=$3; shift 3
declare -A wanted=() formats=()
for name; do wanted[$name]=1; done
devices=($device) error_columns=() errors=()
shopt -s extglob nullglob
for (( port = 0; port < ${#devices[@]}; port++ )); do
  declare -n files=files_$port error_files=error_files_$port extra_files=extra_files_$port
  of=$root/sys/class/net/${devices[port]}/statistics
  error_files=("$of/"!(@(rx|tx)_@(bytes|packets)|multicast|rx_nohandler)) extra_files=()
  for file in "$of/rx_nohandler" "$root/sys/class/net/${devices[port]}/carrier_changes"; do
    [[ -e $file ]] && extra_files+=("$file")  # from 4.6 and 3.15 on
  done
  files=("$of/"@(rx|tx)_@(bytes|packets) "$of/"@(multicast) "${error_files[@]}" "${extra_files[@]}")
  (( ${#files[@]} )) || files=("$of/rx_bytes")  # the device is gone: there is no sum over ports
done
set -f

nic() {
  [[ -e ${files_0[0]} ]] || return
  mapfile -t -n 64 rows <"$root/proc/net/dev" || rows=()
  for (( port = 0; port < ${#devices[@]}; port++ )); do
    declare -n files=files_$port error_files=error_files_$port extra_files=extra_files_$port
    if (( ${#devices[@]} > 1 )); then record+="|nic:${devices[port]}"; else record+='|nic'; fi
    from_row || { error_columns[port]=; from_files "${files[@]}"; }
  done
} 2>/dev/null

# Add the counters of a device by its row of /proc/net/dev. Its other columns hold those of error_files,
# some as sums (dev_seq_printf_stats in the kernel): these files are read only after a column changed.
from_row() {
  local row columns now_columns before
  for row in "${rows[@]}"; do [[ $row == *( )"${devices[port]}":* ]] && break; row=; done
  columns=(${row#*:})
  (( ${#columns[@]} == 16 )) || return
  now_columns="${columns[*]:2:5} ${columns[*]:10}"
  if [[ $now_columns != "${error_columns[port]}" ]]; then
    before=$record record=
    from_files "${error_files[@]}"
    errors[port]=$record error_columns[port]=$now_columns record=$before
  fi
  record+=" rx_bytes=${columns[0]} rx_packets=${columns[1]} tx_bytes=${columns[8]} tx_packets=${columns[9]}"
  record+=" multicast=${columns[7]}${errors[port]}"
  from_files "${extra_files[@]}"
}

from_files() {
  local file value
  for file; do value=; read -r value <"$file"; record+=" ${file##*/}=$value"; done
}

softnet() {
  mapfile -t rows <"$root/proc/net/softnet_stat" || return
  local first=(${rows[0]}) column
  if [[ ${#first[@]} != "$columns" ]]; then
    columns=${#first[@]} softnet_format=
    for (( column = 0; column < columns; column++ )); do
      case $column in 0|1|2|9|10|12) softnet_format+='%s ';; *) softnet_format+='%.0s';; esac
    done
  fi
  printf -v text "$softnet_format;" ${rows[*]}
  record+="|softnet $text"
} 2>/dev/null

# A row of names, then a row of values. The format prints the wanted ones of a row of values.
table() {
  mapfile -t rows <"$1" || return
  local row names name
  for (( row = 0; row + 1 < ${#rows[@]}; row += 2 )); do
    names=${rows[row]}
    if [[ ! ${formats[$names]+known} ]]; then
      formats[$names]=%.0s
      for name in ${names#*:}; do
        name=${names%%:*}$name
        if [[ ${wanted[$name]} ]]; then formats[$names]+=" $name=%s"; else formats[$names]+=%.0s; fi
      done
    fi
    printf -v text "${formats[$names]}" ${rows[row + 1]}
    record+=$text
  done
} 2>/dev/null

# A name and its value a row.
list() {
  mapfile -t rows <"$1" || return
  local name value format
  if [[ ! ${formats[list ${#rows[@]}]+known} ]]; then
    format=
    while read -r name value; do
      if [[ ${wanted[$name]} ]]; then format+=' %s=%s'; else format+='%.0s%.0s'; fi
    done < <(printf '%s\n' "${rows[@]}")
    formats[list ${#rows[@]}]=$format
  fi
  printf -v text "${formats[list ${#rows[@]}]}" ${rows[*]}
  record+=$text
} 2>/dev/null

columns=0
while :; do
  now; record="linewatt-netcounters 1 $now_us"
  nic
  softnet
  record+='|nstat'
  table "$root/proc/net/snmp"
  table "$root/proc/net/netstat"
  list "$root/proc/net/snmp6"
  emit
done
"""
)

_CHANNEL = re.compile(
    r"nic\.(?:[A-Za-z0-9_.-]{1,15}\.)?[a-z0-9_]+|softnet\.(?:cpu\d+\.)?(?:processed|dropped|time_squeeze|received_rps|flow_limit)"
    r"|nstat\.[A-Za-z0-9]+"
)


class NetcountersConfig(PacedConfig):
    """How often the counters are read."""


class Netcounters(LineSensor):
    """Running totals of the data interface, of the receive work of each CPU, and of the protocols."""

    name: ClassVar[str] = "netcounters"
    mark: ClassVar[str] = MARK
    Config: ClassVar[type[SensorConfig]] = NetcountersConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until it is signalled or nobody reads it."""
        return command(" ".join(host.interfaces), cfg.interval_s)

    def parse(self, record: str) -> dict[str, float | None]:
        """Totals since boot: ``nic.rx_bytes``, ``softnet.dropped``, ``softnet.cpu0.dropped``,
        ``nstat.TcpRetransSegs``. What the kernel does not have is absent; what could not be read is None.

        A sum over CPUs is again a counter of 32 bits. Of several data ports ``nic.rx_bytes`` is the sum, and
        ``nic.eth1.rx_bytes`` that of one. Raises ParseError.
        """
        sections = sections_of_record(record, MARK)
        values: dict[str, float | None] = {}
        ports = {name: text for name, text in sections.items() if name.startswith("nic:")}
        for section in ("nic", "nstat", *ports):
            for word in sections.get(section, "").split():
                name, _, value = word.partition("=")
                values[f"{section.replace(':', '.')}.{name}"] = _number(value, 10) if value else None
        values.update(_over_ports(values, ports))
        values.update(_softnet(sections.get("softnet", "")))
        return values

    def reasons(self, record: str) -> dict[str, str]:
        """Why ``nic``, ``softnet`` or ``nstat`` are absent. Raises ParseError."""
        sections = sections_of_record(record, MARK)
        missing = {
            "nic": "the data interface has no statistics; is it still there?",
            "softnet": "no /proc/net/softnet_stat",
            "nstat": "no /proc/net/snmp",
        }
        present = {name.partition(":")[0] for name, text in sections.items() if text.strip()}
        return {name: reason for name, reason in missing.items() if name not in present}

    def channel(self, name: str) -> Channel:
        """Unit, kind, scope and width of a channel. Raises ParseError for a name that cannot be."""
        if not _CHANNEL.fullmatch(name):
            raise ParseError(f"netcounters delivers no channel {name!r}")
        group, _, quantity = name.partition(".")
        port = quantity.rpartition(".")[0] if group == "nic" else ""
        cpu = quantity.partition(".")[0] if quantity.startswith("cpu") else ""
        return Channel(
            name=name,
            unit="B" if quantity.endswith(("_bytes", "Octets")) else "count",
            kind="counter",
            scope={
                "nic": f"nic:{port or 'data'}",
                "nstat": "host",
                "softnet": f"cpu:{cpu[3:]}" if cpu else "host",
            }[group],
            bits=SOFTNET_BITS if group == "softnet" else 64,
        )


def command(device: str, interval_s: float, root: str = "") -> list[str]:
    """The streaming process; ``root`` is put in front of /proc and /sys (for tests)."""
    interval_us = str(round(interval_s * 1e6))
    return ["bash", "-c", _SCRIPT, "linewatt-netcounters", root, device, interval_us, *NSTAT_NAMES]


def netcounters_time_s(record: str) -> float:
    """When the reading began, by the host's clock, Unix seconds. Raises ParseError."""
    head, _ = parts_of_record(record, MARK)
    return int(head[1]) / 1e6


def _over_ports(values: Mapping[str, float | None], ports: Collection[str]) -> dict[str, float | None]:
    """Sums over several data ports; ``None`` where the counter of a port could not be read."""
    sums: dict[str, float | None] = {}
    for name in {name.rpartition(".")[2] for name in values if name.startswith("nic.")} if ports else ():
        of_ports = [values.get(f"nic.{port.partition(':')[2]}.{name}") for port in ports]
        readable = [value for value in of_ports if value is not None]
        sums[f"nic.{name}"] = sum(readable) if len(readable) == len(of_ports) else None
    return dict(sorted(sums.items()))


def _softnet(text: str) -> dict[str, float | None]:
    """Columns of softnet_stat, hexadecimal, of each CPU and summed over all."""
    values: dict[str, float | None] = {}
    names = list(SOFTNET_COLUMNS.values())
    rows = [row.split() for row in text.split(";") if row.strip()]
    for number, row in enumerate(rows):
        readings = {name: int(_number(word, 16)) for name, word in zip(names, row, strict=False)}
        cpu = readings.pop("cpu", number)
        for name, value in readings.items():
            values[f"softnet.cpu{cpu}.{name}"] = value
            total = values.get(f"softnet.{name}") or 0
            values[f"softnet.{name}"] = (total + value) % 2**SOFTNET_BITS
    return values


def _number(text: str, base: int) -> float:
    try:
        return int(text, base)
    except ValueError as error:
        raise ParseError(f"netcounters: {text[:40]!r} is not a number") from error


SENSOR = Netcounters()
