# SPDX-License-Identifier: Apache-2.0
"""Host blocks that are pasted as text give the same trials as their table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.unit.conftest import Run

from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.block_text import is_block_text, table_of_blocks
from linewatt.features.tables.imported import import_table
from linewatt.model import Trial

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published" / "arm_vs_intel_all.csv"
TABLES = Path(__file__).resolve().parents[4] / "docs" / "tables.md"
SHARES = ("usr", "sys", "irq", "soft", "idle")
ROLES = {"receiver": "srv(rcv)", "sender": "clt(snd)"}


def pasted(rows: list[dict[str, str]], *, named: bool) -> str:
    """The rows as blocks of text: shares behind their names, or below a line of names."""
    lines = []
    for row in rows:
        if row["role"] == "receiver":
            lines += ["", f"{row['test']}  {row['sender']} -> {row['receiver']}"]
        lines.append(f"{row['host']} {ROLES[row['role']]}")
        lines.append(f"  {row['throughput']} {row['throughput_unit']}   power {row['power_w']} W")
        lines.append(f"  idle power: {row['idle_w']} W")
        lines += [] if named else [f"       {'  '.join(SHARES)}"]
        for part, title in (("app", "App"), ("irq", "IRQ")):
            values = [row[f"{part}_cpu_{share}_pct"] for share in SHARES]
            words = [f"%{share} {value}" for share, value in zip(SHARES, values, strict=True)]
            lines.append(f"  {title} CPU {' '.join(words)}" if named else f"  {title} {'  '.join(values)}")
        per = row["throughput_unit"].partition("/")[0]
        lines.append(
            f"  %CPU used {row['published_cpu_used_pct']}  CPU/tput {row['published_cpu_per_tput']} % per "
            f"{per}  W/tput {row['published_w_per_tput']}"
        )
    return "\n".join(lines)


def rows_of_table() -> list[dict[str, str]]:
    with SHIPPED.open(newline="") as file:
        return list(csv.DictReader(file))


def trials_of(text: str) -> tuple[Trial, ...]:
    assert is_block_text(text)
    return import_table(table_of_blocks(text, "t.txt"), "t.txt", 1e9).trials


@pytest.mark.parametrize("named", [True, False])
def test_pasted_blocks_give_the_trials_of_the_published_table(named: bool) -> None:
    table, _ = read_table(SHIPPED.read_bytes(), SHIPPED.name)
    expected = import_table(table, SHIPPED.name, 1e9).trials
    assert trials_of(pasted(rows_of_table(), named=named)) == expected


def test_what_show_detail_prints_can_be_imported_again(run: Run) -> None:
    run("import", str(SHIPPED), "--name", "published")
    code, detail, _ = run("show", "--detail")
    assert code == 0
    Path("blocks.txt").write_text(detail)
    code, _, err = run("import", "blocks.txt")
    assert (code, "36 rows of host blocks stored as 18 trials of 3 hosts" in err) == (0, True)
    documents = [
        json.loads(run("show", next(Path("results").glob(f"*-{name}")).name, "--detail", "--json")[1])[
            "detail"
        ]
        for name in ("published", "blocks")
    ]
    first, again = (
        {(one["test"], one["host"], one["receiver"], one["sender"]): one["shown"] for one in document}
        for document in documents
    )
    assert first == again


def test_the_example_of_the_docs_is_imported(run: Run) -> None:
    _, _, example = TABLES.read_text().partition(
        "as reports and `linewatt show --detail` print them:\n\n```\n"
    )
    (trial,) = trials_of(example.partition("```")[0])
    assert (trial.case.test, *trial.case.hosts) == ("udp-1500", "netdev19", "arm")
    assert (trial.throughput_bps, trial.offered_bps) == (5.97e9, 7.11e9)
    assert trial.receiver is not None
    assert trial.sender is not None
    assert trial.receiver.irq_cpu is not None
    assert trial.receiver.irq_cpu.soft_ratio == pytest.approx(0.4528)
    assert trial.sender.app_cpu is not None
    assert trial.sender.irq_cpu is None
    assert [power.power_w for end in (trial.receiver, trial.sender) for power in end.power] == [145, 105]


def test_two_ends_that_follow_one_another_are_a_pair_and_instances_are_read() -> None:
    (trial,) = trials_of("UDP 60, 4 instances\nb srv(rcv) 108 Mbits/sec\nclt(snd) a\n110 Mbits/sec\n")
    assert (trial.case.test, *trial.case.hosts, trial.case.instances) == ("udp-60", "a", "b", 4)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a srv(rcv)\n1 Gbps\n", "line 1: the block of a srv(rcv) has no heading above it that names a test"),
        ("tcp\na srv(rcv)\n1 Gbps\n", "line 2: the block of a srv(rcv) has neither a heading such as"),
        ("tcp b -> a\na srv(rcv)\n1 GB/s\n", "line 2: the block of a srv(rcv) has no throughput such as"),
        ("tcp b -> c\na srv(rcv)\n1 Gbps\n", "column host: a is not the receiver of this row"),
    ],
)
def test_a_block_that_lacks_something_is_named_by_its_line(run: Run, text: str, why: str) -> None:
    Path("t.txt").write_text(text)
    code, out, err = run("import", "t.txt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("linewatt: t.txt: ")
    assert why in err
    assert not Path("results").exists()


def test_a_table_with_such_roles_is_a_table() -> None:
    head = "test,receiver,sender,host,role,throughput,throughput_unit"
    assert not is_block_text(f"{head}\ntcp,a,b,a,srv(rcv),1,Gbps\n")
    assert not is_block_text("nothing of the kind\n")
    with pytest.raises(InvalidInput, match="names a test"):
        table_of_blocks("a srv(rcv) 1 Gbps", "t")
