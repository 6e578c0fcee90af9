# SPDX-License-Identifier: Apache-2.0
"""netem beside queueing disciplines: what comes back by itself is replaced, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.nic.netem import LISTED_KNOB as KNOB


def shown(*disciplines: dict[str, Any], default: str = "fq_codel") -> str:
    return KNOB.parse(f"{default}\n{json.dumps(disciplines)}")


def root(kind: str, handle: str = "0:", **options: Any) -> dict[str, Any]:
    return {"kind": kind, "handle": handle, "root": True, "refcnt": 3, "dev": "eth0", "options": options}


def below(kind: str, handle: str = "0:", parent: str = ":1") -> dict[str, Any]:
    return {"kind": kind, "handle": handle, "parent": parent, "options": {"limit": 10}}


@pytest.mark.parametrize(
    "disciplines",
    [
        (root("fq_codel"),),
        (root("noqueue"),),
        (root("mq"), below("fq_codel"), below("fq_codel", parent=":2"), below("pfifo_fast", parent=":3")),
        (root("fq_codel"), below("ingress", "ffff:", "ffff:fff1")),
    ],
    ids=["default", "noqueue", "mq", "ingress"],
)
def test_what_the_kernel_makes_by_itself_is_replaced_and_stands_in_the_setting(
    disciplines: tuple[dict[str, Any], ...],
) -> None:
    before = shown(*disciplines)
    assert KNOB.wanted(before, "loss 1%") == "loss 1% limit 100000"
    assert KNOB.wanted(before, "off") == before
    assert "refcnt" not in before


@pytest.mark.parametrize(
    "disciplines",
    [
        (root("fq", "8001:"),),
        (root("fq"),),
        (root("tbf", "1:"), below("netem", "10:", "1:1")),
        (root("mq"), below("fq", "8002:"), below("fq_codel", parent=":2")),
        (root("mq", "1:"), below("fq_codel", parent="1:1")),
        (root("netem", "1:", limit=1000, delay={"delay": 0.01, "jitter": 0.001, "correlation": 0}),),
        (root("netem", "1:", limit=1000, rate={"rate": 125000}),),
    ],
    ids=["by hand", "older default", "tbf", "queue by hand", "mq by hand", "jitter", "rate"],
)
def test_what_somebody_set_is_refused_with_its_name(disciplines: tuple[dict[str, Any], ...]) -> None:
    before = shown(*disciplines)
    with pytest.raises(
        ChangeError, match=f"is {disciplines[0]['kind']} {disciplines[0]['handle']}, and only"
    ):
        KNOB.wanted(before, "delay 10ms")
    with pytest.raises(ChangeError, match="not made by linewatt"):
        KNOB.write("eth0", before)


def test_none_is_there_wherever_nothing_delays() -> None:
    fine, inside = shown(root("fq", "8001:")), shown(root("tbf", "1:"), below("netem", "10:", "1:1"))
    assert KNOB.wanted(fine, "none") == fine
    with pytest.raises(ChangeError):
        KNOB.wanted(inside, "none")


def test_a_level_is_written_in_words_of_tc_and_none_takes_only_netem_away() -> None:
    setting = "delay 10ms loss 0.1% limit 100000"
    assert KNOB.write("eth0", setting).argv[-7:] == ("eth0", *setting.split())
    taken = KNOB.write("eth0", shown(root("fq_codel")))
    assert taken.argv[-1] == "eth0"
    assert '== "qdisc netem "*' in taken.argv[2]


# What iproute2 6.1 shows, and of tc what it was told to make
_TC = """#!/bin/bash
case $* in *show*) echo "$SHOWN" ;; *) echo "$@" ;; esac"""
_IP = """#!/bin/bash
echo "2: eth0: <UP> mtu 1400 qdisc mq state UP qlen 1000\\    link/$LINK 02:00:00:00:00:01 brd" """
_CODEL = "qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum {} target 5ms ecn drop_batch 64"
_FQ = "qdisc fq 0: parent :1 limit 10000p buckets 1024 quantum {}b initial_quantum 15140b low_rate 1b"


def written(tmp: Path, discipline: str, link: str) -> subprocess.CompletedProcess[str]:
    for name, text in (("tc", _TC), ("ip", _IP)):
        (tmp / name).write_text(text)
        (tmp / name).chmod(0o755)
    return subprocess.run(
        KNOB.write("eth0", "delay 10ms limit 100000").argv,
        env={"PATH": f"{tmp}:{os.environ['PATH']}", "SHOWN": discipline, "LINK": link},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("discipline", "link"),
    [
        (_CODEL.format(1414), "ether"),
        ("qdisc mq 0: root\n" + _FQ.format(2836), "ether"),
        (_CODEL.format(1514), "none"),
        ("qdisc pfifo_fast 0: root refcnt 2 bands 3", "ether"),
        ("qdisc netem 8001: root refcnt 2 limit 1000 delay 5ms", "ether"),
    ],
    ids=["fq_codel", "two frames with a tag", "no Ethernet", "no quantum", "another level"],
)
def test_a_discipline_of_the_mtu_of_now_is_replaced(tmp_path: Path, discipline: str, link: str) -> None:
    done = written(tmp_path, discipline, link)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "qdisc replace dev eth0 root netem delay 10ms limit 100000\n"


@pytest.mark.parametrize(
    ("discipline", "said"),
    [
        (_CODEL.format(1514), "its fq_codel has a quantum of 1514 bytes, as of another MTU than its 1400"),
        (_FQ.format(3028), "its fq has a quantum of 3028 bytes, as of another MTU than its 1400"),
        (_CODEL.format(914), "its fq_codel has a quantum of 914 bytes, as of another MTU than its 1400"),
    ],
    ids=["fq_codel", "fq", "of a smaller one"],
)
def test_a_discipline_of_another_mtu_would_not_come_back_and_stays(
    tmp_path: Path, discipline: str, said: str
) -> None:
    done = written(tmp_path, discipline, "ether")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


@pytest.mark.parametrize("output", ["", "fq\n", "fq\n[]", "fq\n{}", 'fq\n[{"kind":"fq"}]', "fq\nnothing"])
def test_an_answer_without_a_root_discipline_is_no_setting(output: str) -> None:
    with pytest.raises(ParseError):
        KNOB.parse(output)
