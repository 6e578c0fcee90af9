# SPDX-License-Identifier: Apache-2.0
"""The rows of the x64 energy study."""

from __future__ import annotations

from scripts.gallery.rows.model import Column, Row

TABLE = "x64_scaling_ports"
DERIVE = f"linewatt derive docs/published/{TABLE}.csv --csv"
ANALYZE = "linewatt analyze x64-energy"
FULL = "linewatt show x64-energy --full"
REPORT = "linewatt report x64-energy -o x64-energy.html"
FLEET = "linewatt advise fleet --target-gbps 10000 --from x64-energy --price-kwh 0.15"
CORE_MISPRINT = "16 instances: 110,831.41 Mbps ÷ 13.4455 cores is 8,243.01, so the study has a misprint"
WATT_MISPRINT = "8 instances: 94,237.26 Mbps ÷ 99.98 W is 942.56; the study repeats the CPU % of that row"


def _derived(name: str, *columns: str, reason: str = "") -> Row:
    published = Column(TABLE, tuple(f"published_{column}" for column in columns))
    return Row(name, DERIVE, published, columns=columns, reason=reason)


def _raw(name: str, *columns: str) -> Row:
    return Row(name, DERIVE, Column(TABLE, columns), columns=columns)


ROWS = (
    _raw("Table 1 throughput, CPU per instances", "throughput_mbps", "remote_cpu_pct"),
    _derived("Table 1 Mbps/core", "mbps_per_core", reason=CORE_MISPRINT),
    _derived("Table 1 3 GHz figure and its formula", "mbps_per_core_3ghz"),
    _derived("Table 1 scaling factor", "scaling_factor"),
    Row(
        "Table 1 operating regime column",
        ANALYZE,
        Column(TABLE, ("regime",)),
        pattern=r"^ +\d+ +\S+ Gbps +(\w+)",
        reason="8 instances reach the line rate, which makes them saturated by the study's own definition",
    ),
    Row(
        "Fig 1 throughput v instances",
        REPORT,
        "24.3, 45.1, 80.0, 94.2, 110.8 Gbps",
        pattern=r"(\S+) Gbps",
        section=r"<title[^>]*>TCP: throughput</title>.*?</desc>",
    ),
    Row(
        "Fig 2 utilisation v instances, with linear ideal",
        REPORT,
        "168.66, 337.55, 673.33, 942.52, 1344.55 %, linear ideal",
        pattern=r"receiver (\S+) %|Dashed: (ideal linear) scaling",
        section=r"<h3>TCP: CPU of both ends</h3>.*?</desc>",
    ),
    Row(
        "Fig 3 efficiency v instances",
        REPORT,
        Column(TABLE, ("published_mbps_per_core",)),
        pattern=r"(\d+) Mbps/core",
        section=r"<title[^>]*>TCP: efficiency against instances</title>.*?</desc>",
    ),
    _derived(
        "Table 2 PSU out, CPU W, Mbps/W, CPU share",
        "system_mbps_per_w",
        "cpu_mbps_per_w",
        "cpu_power_pct",
        reason=WATT_MISPRINT,
    ),
    Row(
        "Fig 4 system power efficiency",
        REPORT,
        Column(TABLE, ("published_system_mbps_per_w",)),
        pattern=r"PSU DC out (\S+) Mbps/W",
        section=r"<title[^>]*>TCP, receiver: throughput per watt against instances</title>.*?</desc>",
    ),
    Row(
        "Fig 5 CPU power efficiency",
        REPORT,
        Column(TABLE, ("published_cpu_mbps_per_w",)),
        pattern=r"and CPU (\S+) Mbps/W",
        section=r"<title[^>]*>TCP, receiver: throughput per watt against instances</title>.*?</desc>",
    ),
    Row(
        "Table 3 components with provenance",
        FULL,
        Column("x64_components", ("power_w",)),
        pattern=r": (\d+) W, (?:measured|from datasheet|estimated)$",
        section=r"^Where the watts of receiver go.*?\n +Rest: ",
    ),
    Row(
        "Fig 6 components",
        REPORT,
        "249 W",
        pattern=r"; System (\d+ W)",
        section=r"<title[^>]*>Where the watts of receiver go: .*?</desc>",
    ),
    Row("Components joined to the measured result (live)", test="tests/unit/analysis/test_components.py"),
    Row(
        "Components joined to the imported scaling table",
        FULL,
        "16 instances, CPU 136 W of 249 W",
        r"^Where the watts of [^\n]*?(16 instances)|^ +(CPU: \d+ W), measured|^ +(System: \d+ W)",
    ),
    Row("Both-port 16-instance point in the same series", ANALYZE, "110.8 Gbps", r"^ +16 +(\S+ Gbps)"),
    Row("8 instances = line rate", FULL, "94.15 Gbps", r"^Line: (\S+ Gbps)"),
    Row("110 Gbps hidden ceiling", ANALYZE, "110 Gbps", r"Hidden ceiling near (\S+ Gbps)"),
    Row(
        "+42 % CPU for +17 % throughput",
        ANALYZE,
        "17, 42 %",
        r"^From 8 to 16 instances: throughput \+(\S+) %, receiver's CPU \+(\S+) %",
    ),
    Row("8 draws 90 W more than 16", ANALYZE, "−90 W", r"^From 8 to 16.*?receiver's power (\S+ W)"),
    Row("Fan hypothesis", ANALYZE, "fans", r"fan speed is not known: look at it first", is_answer=True),
    Row("4x system efficiency first to last", FLEET, "4 ×", r"(\S+ ×) the Mbps/W"),
    Row(
        "Trade-off Mbps/core against Mbps/W",
        FLEET,
        "14400.19 Mbps/core, 115.65 Mbps/W; 8243.06 Mbps/core, 445.11 Mbps/W",
        pattern=r"^ +(?:1|16) .*?(\d+,\d{3}) +(\d+\.\d\d)$",
        section=r"^Instances .*?instances:",
    ),
    Row(
        "Economics: more cores or more boxes",
        FLEET,
        "more cores in a box",
        r"\d+ servers with \S+ busy cores draw \S+ kW",
        is_answer=True,
    ),
    Row(
        "Single-core v multi-core prose",
        ANALYZE,
        "one instance, several",
        r"^ +[12] .*?(single|multi)",
        is_answer=True,
    ),
    Row(
        "RSS hashing collisions, repeats and statistics",
        "linewatt plan x64-ports.yaml",
        "10 runs",
        r"× (\d+) trials",
    ),
    Row(
        "NUMA-aware pinning of load and IRQ",
        "linewatt place topology.xml --nic ens2f0np0 --processes 2",
        "cores of the card's node",
        r"processes on \S+, interrupts on \S+",
        is_answer=True,
    ),
    _derived("Cross-machine 3 GHz comparison (desktop 30 Gbps/core)", "mbps_per_core_3ghz"),
)
