# SPDX-License-Identifier: Apache-2.0
"""Labels: set by hooks or hands, and believed only when facts say so."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.campaign.test_plan_order import campaign

from linewatt.campaign.campaign import Campaign, Label
from linewatt.engine.labels import LabelError, Labels, check
from linewatt.errors import InvalidInput


def labelled(hook: tuple[str, ...] | None = None, timeout_s: float = 5.0) -> Campaign:
    label = Label(hook, "kernel.release", timeout_s)
    return campaign(factors={"kernel": ("old", "new")}, labels={"kernel": label})


def facts(**releases: str) -> dict[str, dict[str, dict[str, Any]]]:
    return {host: {"kernel": {"release": release}} for host, release in releases.items()}


def level(text: str) -> tuple[tuple[str, str], ...]:
    return (("kernel", text), ("mtu", "1500"))


def test_what_is_missing_is_what_is_not_set_yet() -> None:
    asked: list[str] = []

    async def ask(text: str) -> None:
        asked.append(text)

    labels = Labels(labelled(), ask)
    assert labels.missing(level("old")) == {"kernel": "old"}
    asyncio.run(labels.set({"kernel": "old"}))
    assert asked == ["Set kernel to old on a, b, then press Enter"]
    assert labels.missing(level("old")) == {}
    assert labels.missing(level("new")) == {"kernel": "new"}


def test_a_label_for_hands_needs_somebody_to_ask() -> None:
    with pytest.raises(InvalidInput, match=r"factors\.kernel: is set by hand"):
        check(labelled(), None)
    check(labelled(("true",)), None)


def test_a_hook_gets_its_level_in_its_environment_and_no_shell(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import os, sys; e = os.environ; "
        "open(sys.argv[1], 'w').write('|'.join([e['LINEWATT_FACTOR'], e['LINEWATT_LEVEL'], "
        "e['LINEWATT_HOSTS'], *sys.argv[2:]]))"
    )
    labels = Labels(labelled((sys.executable, "-c", code, str(out), "$(id); x")), None)
    asyncio.run(labels.set({"kernel": "new"}))
    assert out.read_text() == "kernel|new|a b|$(id); x"


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (("sh", "-c", "echo no such kernel >&2; exit 3"), "ended with status 3: no such kernel"),
        (("/nowhere/hook",), "cannot be started"),
        (("false",), "ended with status 1: it said nothing"),
    ],
)
def test_a_hook_that_fails_ends_it_in_its_own_words(hook: tuple[str, ...], said: str) -> None:
    with pytest.raises(LabelError, match=said):
        asyncio.run(Labels(labelled(hook), None).set({"kernel": "new"}))


def test_a_hook_that_hangs_is_ended_and_named(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    hook = ("sh", "-c", 'echo $$ >"$0"; exec sleep 1000', str(note))
    with pytest.raises(LabelError, match=r"waited 2 s for the hook sh for kernel=new to end"):
        asyncio.run(Labels(labelled(hook, 2), None).set({"kernel": "new"}))
    assert not Path("/proc", note.read_text().strip()).exists()


def test_a_fact_must_tell_levels_apart_on_every_host() -> None:
    labels = Labels(labelled(("true",)), None)
    asyncio.run(labels.set({"kernel": "old"}))
    labels.prove(facts(a="6.1", b="6.1"))
    asyncio.run(labels.set({"kernel": "new"}))
    with pytest.raises(LabelError, match=r"b: kernel\.release is '6\.1' with kernel=new as it was"):
        labels.prove(facts(a="6.12", b="6.1"))


def test_a_level_that_comes_back_is_no_contradiction() -> None:
    labels = Labels(labelled(("true",)), None)
    for text, release in (("old", "6.1"), ("new", "6.12"), ("old", "6.1")):
        asyncio.run(labels.set({"kernel": text}))
        labels.prove(facts(a=release, b=release))
    assert labels.now() == [
        {"factor": "kernel", "level": "old", "fact": "kernel.release", "hosts": {"a": "6.1", "b": "6.1"}}
    ]
