# SPDX-License-Identifier: Apache-2.0
"""The rows of the 48-hour soak."""

from __future__ import annotations

from scripts.gallery.rows.model import Row

FULL = "linewatt show ftp-published --full"
PLAN = "linewatt plan ftp-settings.yaml"

ROWS = (
    Row(
        "96 clients, 6 groups of 16", PLAN, "96 clients, 6 groups", r"users on (\d+ clients)|^group port(6):"
    ),
    Row(
        "Diagram 1 six switches",
        "linewatt report ftp-published -o ftp-published.html",
        "switches 1, 2, 3, 4, 5, 6",
        pattern=r"– (switch \d) –",
        section=r"<title[^>]*>Clients, ports and rates</title>.*?</desc>",
    ),
    Row("Alternate gets and puts", test="tests/lab/test_soak.py"),
    Row(
        "Synchronised or independent users",
        PLAN,
        "synchronised or independent",
        r"independent start",
        is_answer=True,
    ),
    Row(
        "48 h totals",
        FULL,
        "7885579 transfers, 136e9 packets, 1.058 Pbit",
        r"^(?:File transfers|Packets|Total data) +(.*?)$",
    ),
    Row("Dropped/overrun", FULL, "50", r"^Dropped or overrun +(\d+)"),
    Row(
        "6.5 v 6.12 Gbit/s",
        FULL,
        "6.5 Gbit/s",
        r"^Rate, mean +(.*?)$",
        reason="1.058 Pbit in 48 hours; 6.5 Gbit/s for 48 hours would be 1.123 Pbit",
    ),
    Row("Payload chart mean", test="tests/unit/features/soak/test_soak_report.py"),
    Row(
        "Preliminary factors",
        PLAN,
        "one factor at a time",
        r"(cpus_online) +(nic) +(rx_checksum) +(users\.\S+) +(users\.\S+) +(users\.\S+) +(users\.\S+) ",
        is_answer=True,
    ),
    Row(
        "Processor affinity v default",
        PLAN,
        "chosen CPUs, default",
        r"^ +[15] +all +on-board +on +16M +(any|0-1) ",
        is_answer=True,
    ),
    Row("best setting to soak", test="tests/lab/test_users_experiment.py"),
    Row("Interrupts and context switches", test="tests/lab/test_interrupts.py"),
    Row(
        "Checksum offload effect",
        PLAN,
        "on, off",
        r"^vary dut: offload \S+ rx = (\w+) \| (\w+)",
        is_answer=True,
    ),
    Row("zero-copy", PLAN, "on, off", r"^ +[14] [^\n]* 288  (on|off) ", is_answer=True),
    Row("2 CPUs 4.8, 4 CPUs 6.5", FULL, "4.8, 6.5 Gbit/s", r"^(?:two|four)_cpu_best +(.*?)$"),
    Row("users extra missing on controller", test="tests/unit/features/users/test_controller_packages.py"),
    Row("NIC, PCI-X, memory as labels", PLAN, "labels", r"^ +[18] +all +(\S+) ", is_answer=True),
)
