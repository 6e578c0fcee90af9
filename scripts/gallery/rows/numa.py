# SPDX-License-Identifier: Apache-2.0
"""The rows of the NUMA and PSU methodology."""

from __future__ import annotations

from scripts.gallery.rows.model import Column, Row
from scripts.gallery.rows.x64 import WATT_MISPRINT

PLACE = "linewatt place topology.xml --nic ens2f0np0 --processes"
PLAN = "linewatt plan numa-psu.yaml"
LAB = "linewatt show method-1 --full"
POWER = "linewatt show x64-energy --full"
PSU = "linewatt advise psu --from psu-load --rating-w 800 --level titanium"
_POWER_TABLE = r"^TCP, sender → receiver: power of the receiver.*?\n\* doubtful"

ROWS = (
    Row(
        "Max throughput, cores, efficiency",
        "linewatt show x64-energy",
        "110.8 Gbps, 13.4455 cores, 8243.06 Mbps/core",
        r"TCP  (\S+ Gbps)|receiver  (\S+ cores)  (\S+ Mbps/core)",
    ),
    Row(
        "Two half-loaded cores = one",
        "linewatt show arm-energy --detail",
        "149.61 %",
        pattern=r"CPU used (\S+ %)",
        section=r"^TCP, netdev89 → netdev19 .*?CPU/tput",
    ),
    Row("--parallel 8", PLAN, "8", r"^ +1 +auto +tcp +gen → dut +1 +(\d+) "),
    Row(
        "mpstat at both ends", LAB, "receiver and sender", r"^ +1  ((?:receiver|sender) h\d)", is_answer=True
    ),
    Row("30 s window", PLAN, "30 s", r"(\d+ s) window"),
    Row(
        "Regime: single, multi, saturated",
        "linewatt analyze x64-energy",
        "single, multi, saturated",
        r"^ +(?:1|2|16) .*?(single|multi|saturated)",
        is_answer=True,
    ),
    Row("lstopo as text", f"{PLACE} 2", "nodes with their cores", r"^node \d.*?$", is_answer=True),
    Row(
        "lstopo as a picture",
        f"{PLACE} 2 -o place.html",
        "nodes with their cores",
        r'<div class="node">\s*<p>([^<]*)</p>',
        is_answer=True,
    ),
    Row("NUMA rule 1", f"{PLACE} 2", "rule 1", r"^rule \d"),
    Row("NUMA rule 2", f"{PLACE} 4", "rule 2", r"^rule \d"),
    Row("NUMA rule 3", f"{PLACE} 100", "rule 3", r"^rule \d"),
    Row(
        "Pinning table of processes to cores and IRQ cores",
        f"{PLACE} 1,2,4",
        "cores of processes and IRQ cores",
        r"processes on \S+, interrupts on \S+$|the \d cores local [^:\n]*: they .*?$",
        is_answer=True,
    ),
    Row("Remote node penalty", PLAN, "local, remote node", r"^ +(?:1|4) +(auto|remote)", is_answer=True),
    Row(
        "IRQ pinning (tuna)",
        "linewatt plan arm-matrix.yaml",
        "IRQs on CPU 2",
        r"^change arm: irq_affinity \S+ = (\d+)",
    ),
    Row(
        "taskset of processes",
        "linewatt plan arm-matrix.yaml",
        "process on CPU 4",
        r"^ +1 [^\n]* unlimited +(\d+) ",
    ),
    Row("External meter", PLAN, "a meter at the plug", r"wall \(modbus\)", is_answer=True),
    Row("Vendor tools", test="tests/unit/sensors/test_rapl.py"),
    Row("ipmitool PSU1/2 In/Out, CPU, Memory", test="tests/lab/test_ipmi.py"),
    Row("Reading validated within 5 %", test="tests/lab/test_calibrate.py"),
    Row("Settling of power over a run", test="tests/lab/test_slow_meters.py"),
    Row(
        "CPU efficiency Mbit/s/W",
        POWER,
        Column("x64_scaling_ports", ("published_cpu_mbps_per_w",)),
        pattern=r"^ +\d+ (?: +\S+){5} +([\d.]+)",
        section=_POWER_TABLE,
        reason=WATT_MISPRINT,
    ),
    Row(
        "System efficiency on DC side",
        POWER,
        Column("x64_scaling_ports", ("published_system_mbps_per_w",)),
        pattern=r"^ +\d+ (?: +\S+){4} +([\d.]+)",
        section=_POWER_TABLE,
    ),
    Row("20 to 90 % load, 320 W threshold", PSU, "320 W, 20 %", r"need (\S+ W) to reach (\S+ %)"),
    Row(
        "Below 20 %: efficiency",
        "linewatt advise psu --count 1 --rating-w 400 --in-w 88 --out-w 72 --tolerance-percent 1",
        "18 %, 82 %",
        r"at (\S+ %) load: (\S+ %),",
    ),
    Row("Smaller PSUs", PSU, "400 W units", r"- (two \d+ W units in their place): ", is_answer=True),
    Row(
        "Hot standby",
        PSU,
        "one unit on standby",
        r"- (one of the two units on hot standby): ",
        is_answer=True,
    ),
    Row(
        "Both mitigations at once",
        PSU,
        "smaller units and standby",
        r"- (two \d+ W units in their place, one of them on hot standby): ",
        is_answer=True,
    ),
    Row("PSU advice from a stored result", PSU, "249 W", r"^receiver draws (\S+ W)"),
    Row(
        "CAPEX/OPEX",
        f"{PSU} --price-per-kwh 0.15 --unit-price 200 --currency EUR",
        "price of units, money saved",
        r"(worth \S+ EUR a year); (the units cost \S+ EUR), (paid after \S+ years)",
        section=r"^- two 500 W units.*?years",
        is_answer=True,
    ),
)
