# SPDX-License-Identifier: Apache-2.0
"""The rows of the ARM study."""

from __future__ import annotations

from scripts.gallery.rows.model import Column, Row

TABLE = "arm_vs_intel_all"
DETAIL = "linewatt show arm-energy --detail"
FULL = "linewatt show arm-energy --full"
REPORT = "linewatt report arm-energy -o arm-energy.html"
COMPARE = "linewatt compare arm-energy:netdev19 arm-energy:arm"
PLAN = "linewatt plan arm-matrix.yaml"
SHARES = ("usr", "sys", "irq", "soft", "idle")
RECEIVER, SENDER = ("role", "receiver"), ("role", "sender")
UDP = ("test", "udp-1500")


def _column(*names: str, cells: tuple[tuple[str, str], ...] = ()) -> Column:
    """In the order of linewatt's tables: test by test."""
    return Column(TABLE, names, cells, order="test")


def _pairs(test: str) -> str:
    return rf"^{test}: every pair of hosts\n.*?\n\n"


_CPU_LINE = " +".join(f"{share} +(\\S+)" for share in SHARES)
_BLOCK = (
    r"Throughput, \w+ (\S+) .*?Power \(system\) (\S+) W +Idle power (\S+) W\n"
    rf" +App CPU +{_CPU_LINE} +%\n +IRQ CPU +{_CPU_LINE} +%\n"
    r" +CPU used (\S+) % +CPU/tput (\S+) .*? W/tput (\S+) "
)

ROWS = (
    Row(
        "36 host blocks, every line",
        DETAIL,
        _column(
            "throughput",
            "power_w",
            "idle_w",
            *(f"{role}_cpu_{share}_pct" for role in ("app", "irq") for share in SHARES),
            "published_cpu_used_pct",
            "published_cpu_per_tput",
            "published_w_per_tput",
        ),
        pattern=_BLOCK,
    ),
    Row(
        "TCP summary of six pairs",
        FULL,
        "31.8 4.704 2.302; 34.9 4.558 2.249; 34.2 4.697 3.448; 32.8 4.709 2.175; 26.8 7.351 3.919; "
        "26.0 7.052 2.094",
        pattern=r"^\w+ → \w+ +(\S+) +(\S+) +(\S+) ",
        section=_pairs("TCP"),
    ),
    Row(
        "UDP 1500 summary",
        FULL,
        "3.64 39.997 23.320; 5.52 29.481 21.978; 6.31 23.736 17.624; 5.69 27.110 21.793; "
        "5.97 21.140 17.985; 4.39 28.332 24.207",
        pattern=r"^\w+ → \w+ +(\S+) +\S+ +\S+ +(\S+) +(\S+) ",
        section=_pairs("UDP 1500"),
    ),
    Row(
        "UDP 60 summary",
        FULL,
        "108 1.318 1.041; 139 1.230 .977; 151 1.065 .743; 139 1.186 .976; 169 .866 .744; 108 .887 1.004",
        pattern=r"^\w+ → \w+ +(\S+) +\S+ +\S+ +(\S+) +(\S+) ",
        section=_pairs("UDP 60"),
    ),
    Row(
        "Shipped golden table covers the study",
        "linewatt import docs/published/arm_vs_intel_all.csv --json",
        "18 pairs of blocks",
        r'"trials": (\d+)',
    ),
    Row(
        "CPU/tput of receiver",
        DETAIL,
        _column("published_cpu_per_tput", cells=(RECEIVER,)),
        pattern=r"\w+\(rcv\)\n.*?CPU/tput (\S+)",
    ),
    Row(
        "CPU/tput of UDP sender in role tables",
        FULL,
        _column("published_cpu_per_tput", cells=(UDP, SENDER)),
        pattern=r"sender \w+ [^\n]* (\S+)$",
        section=r"^UDP 1500: CPU by role.*?\n\n",
    ),
    Row(
        "W/tput of UDP sender in power tables",
        FULL,
        _column("published_w_per_tput", cells=(UDP, SENDER)),
        pattern=r"^\w+ → \w+ (?: +\S+){7} +(\S+) +\S+ +\S+$",
        section=r"^UDP 1500: power of the sender.*?\n\n",
    ),
    Row(
        "W/tput summary of all pairs",
        FULL,
        ".691 .566; .630 .601; .760 .350; .762 .609; 1.119 .261; 1.153 .769",
        pattern=r"(\S+) +(\S+) +1$",
        section=_pairs("TCP"),
    ),
    Row(
        "%CPU used outside --detail",
        FULL,
        _column("published_cpu_used_pct"),
        pattern=r"(?:receiver|sender) \w+(?: +\S+){10} +(\S+) +\S+$",
    ),
    Row(
        "UDP loss of a pair",
        FULL,
        "7.11 sent, 5.97 received",
        pattern=r"^netdev19 → arm +(\S+) +(\S+) +(\S+)",
        section=_pairs("UDP 1500"),
        is_answer=True,
    ),
    Row(
        "Host block in two columns side by side",
        REPORT,
        _column("published_cpu_per_tput"),
        pattern=r">CPU/tput, % per \wbit/s</th><td>([^<]+)</td><td>([^<]+)</td>",
    ),
    Row(
        "Idle W and W above idle",
        FULL,
        _column("idle_w", cells=(("test", "tcp-tput"), RECEIVER)),
        pattern=r"^\w+ → \w+ (?: +\S+){5} +(\S+) ",
        section=r"^TCP: power of the receiver.*?\n\n",
    ),
    Row("All ordered pairs: pairs: all", PLAN, "18 cases", r"(\d+) cases"),
    Row(
        "IRQ and app CPU pinned (CPU2, CPU4)",
        PLAN,
        "CPU 4, CPU 2",
        r"^host arm: .*?app CPUs (\d+), IRQ CPUs (\d+)",
    ),
    Row(
        "isolcpus, tuned, P-states, C-states",
        PLAN,
        "throughput-performance",
        r"^change arm: tuned host = (\S+)",
    ),
    Row("udp-1500 and udp-60 tests", PLAN, "UDP 1500, UDP 60", r"^ +(?:7|13) +(udp-\d+)", is_answer=True),
    Row(
        "Is ARM more efficient? verdict by host",
        COMPARE,
        "ARM needs more CPU",
        r"not enough trials: [^;]+",
        reason="the published table has one run of each case; with ten trials the command gives a verdict",
    ),
    Row(
        "Which end limits: ARM receive",
        FULL,
        "ARM",
        r"^Limited by the receiver's app and IRQ CPUs: \S+ → (\w+)",
        is_answer=True,
    ),
    Row("Call graphs, perf, by role", test="tests/lab/test_profiles.py"),
    Row("Call graphs of two hosts side by side", test="tests/unit/features/profiles/test_profiles.py"),
    Row(
        "PSU efficiency change as caveat",
        "linewatt advise fleet --target-gbps 10000 --from x64-energy",
        "PSU loss changes with load",
        r"Watts are PSU DC output: what power supplies lose is not in energy and money",
        is_answer=True,
    ),
    Row(
        "Host blocks as text, pasted",
        "linewatt show pasted --detail",
        "126.21 %",
        r"srv\(rcv\)\n.*?CPU used (\S+ %)",
    ),
    Row(
        "Generated and received per pair",
        REPORT,
        "7.11, 5.97, 4.76, 4.39, 6.12, 5.52, 4.77, 3.64, 6.16, 5.69, 7.17, 6.31 Gbps",
        pattern=r"(?:generated|received) (\S+) Gbps",
        section=r"<title[^>]*>UDP 1500: generated and received</title>.*?</desc>",
    ),
)
