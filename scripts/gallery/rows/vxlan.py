# SPDX-License-Identifier: Apache-2.0
"""The rows of the study of VXLAN on Arm."""

from __future__ import annotations

from scripts.gallery.rows.model import Column, Row

FULL = "linewatt show vxlan-published --full"
ANALYZE = "linewatt analyze vxlan-published"
COMPARE = "linewatt compare vxlan-published --by kernel"
PLAN = "linewatt plan vxlan-arm.yaml"
SHARES = ("usr", "sys", "irq", "soft", "idle")
OF_A_CHART = 0.12
"""how far off a figure may be that was read from a chart (docs/published/README.md)"""
_MEANS = r"^Published mean ± SD\n.*?\n± is"
_NAMES = tuple(f"{role}_{share}" for role in ("app", "irq") for share in SHARES)

ROWS = (
    Row(
        "NMState YAML of the seed as it is",
        PLAN,
        "a VXLAN, its address and its route",
        r"^vary gen: network of (.*?) \(",
        is_answer=True,
    ),
    Row("VXLAN toll, bare v tunnel", test="tests/lab/test_network_matrix.py"),
    Row(
        "Tunnel rows told apart by direction",
        "linewatt show vxlan-published",
        "receive, send",
        r"eln136, tcp, (receive|send) +[\d.]+ ±",
        is_answer=True,
    ),
    Row("10 runs, 1 minute", PLAN, "10 runs, 60 s", r"× (\d+) trials.*?(\d+ s) window"),
    Row(
        "SD bars on throughput",
        reason="the published table has no SD of the throughput",
        test="tests/unit/features/tables/test_import_kinds.py",
    ),
    Row(
        "12 tables App/S-IRQ mean+-SD",
        FULL,
        Column("vxlan", tuple(part for name in _NAMES for part in (name, f"{name}_sd"))),
        pattern=r"(\d+\.\d) ± (\d+\.\d)",
        section=_MEANS,
    ),
    Row(
        "Shipped vxlan_eln.csv",
        FULL,
        "0.7 ± 0.1",
        pattern=r"eln136 +tcp +send +(\S+ ± \S+)",
        section=_MEANS,
    ),
    Row(
        "Shipped RHEL 9.4 table",
        FULL,
        Column("vxlan", ("app_usr",), (("kernel", "5.14.0-427.el9"),)),
        pattern=r"^5\.14\.0-427\.el9 +\S+ +\S+ +(\S+)",
        section=_MEANS,
    ),
    Row("runs = 10 in the shipped table", FULL, "10 runs", r"over (\d+ runs)\.$"),
    Row(
        "18 charts",
        reason="the published table has the 9 of the tunnel, not the 9 of the bare network",
        test="tests/unit/report/test_matrix.py",
    ),
    Row(
        "Receiver IRQ CPU is the limit",
        ANALYZE,
        "IRQ CPU of the receiver, 99.9 % soft",
        r"tcp, receive\n\s+\S+ Gbps: Limited by (the receiver's IRQ CPU)\n\s+\S+ % busy, (99.9 % soft)",
    ),
    Row("Two kernels compared", COMPARE, "ELN, RHEL 9.4", r"^kernel: A (\S+), B (\S+)", is_answer=True),
    Row(
        "compare --by kernel of one table with two kernels",
        COMPARE,
        "both kernels",
        r"^78 published means: ([^.]+)",
        is_answer=True,
    ),
    Row(
        "Kernel difference in throughput and CPU per Gbps",
        COMPARE,
        "24, 24 Gbps; 6.5, 7 % per Gbps",
        r"^tcp +receive +(?:published_throughput Gbps|cpu_pct_per_gbps) +(\S+) +(\S+)",
        within=OF_A_CHART,
    ),
    Row(
        "'results were the same' test",
        COMPARE,
        "the same",
        r"(\d+ B is higher), (\d+ B is lower)",
        reason="by Welch's t on the published means of 10 runs; the study states no test",
    ),
    Row("Kernel as factor", PLAN, "two kernels", r"^ +(?:1|13) +(\S+) ", is_answer=True),
    Row(
        "UDP scaling techniques (GRO, GSO, RPS, RFS, XPS)",
        "linewatt schema campaign",
        "GRO, GSO, RPS, RFS, XPS",
        r'^        "(gro|gso|rps|rfs|xps)": null',
        is_answer=True,
    ),
)
