# SPDX-License-Identifier: Apache-2.0
"""netem beside queueing disciplines: what comes back by itself is replaced, and nothing else is."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("output", ["", "fq\n", "fq\n[]", "fq\n{}", 'fq\n[{"kind":"fq"}]', "fq\nnothing"])
def test_an_answer_without_a_root_discipline_is_no_setting(output: str) -> None:
    with pytest.raises(ParseError):
        KNOB.parse(output)
