# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt check`` prints, and that its page says all that it checks."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.cli.actions import check as command
from linewatt.engine.readiness.checkup_fix import Fixed, Fixes
from linewatt.engine.readiness.readiness import Check, Status, check_titles
from linewatt.engine.readiness.readiness_cpu import PROFILE
from linewatt.tuning.base import Change

ROOT = Path(__file__).parents[3]
NAMES = [*check_titles(), "disk", "memory"]


@cache
def campaign(count: int = 2) -> Campaign:
    """A host of an example, as often as is wanted."""
    one = load_campaign(ROOT / "examples" / "two-hosts.yaml")
    spec = next(iter(one.hosts.values()))
    names = [f"h{number}" for number in range(1, count + 1)]
    return replace(one, name="t", hosts={name: replace(spec, name=name) for name in names})


def printed(checks: list[Check], count: int = 2) -> list[str]:
    return list(command.lines(campaign(count), checks))


def test_every_check_has_its_mark_below_its_name() -> None:
    statuses: dict[str, Status] = {"ssh": "ok", "tools": "fail", "root": "warn", "undo": "unknown"}
    lines = printed([Check("h1", name, status, "found") for name, status in statuses.items()])
    column = {
        name: max(line.find(f" {name} ") for line in (f" {line} " for line in lines[:2]))
        for name in check_titles()
    }
    row = lines[2].ljust(80)
    assert row.startswith("h1")
    assert {name: row[column[name]] for name in check_titles()} == {
        name: command.MARKS[statuses.get(name)] for name in check_titles()
    }
    assert lines[3] == "h2"


def test_the_worst_mark_of_a_check_counts_and_failures_come_first() -> None:
    lines = printed(
        [
            Check("h1", "tools", "ok", "all there"),
            Check("h1", "tools", "warn", "no lstopo", "install hwloc"),
            Check("h2", "tools", "fail", "no iperf3", "install it"),
        ]
    )
    said = [line for line in lines if line.startswith(("FAIL", "warning"))]
    assert said == ["FAIL  h2: tools: no iperf3", "warning  h1: tools: no lstopo"]
    assert "    do: install it" in lines
    assert lines[-1] == "t: not ready: 1 failure, 1 warning on 2 hosts"


def test_what_many_hosts_share_is_said_once() -> None:
    lines = printed([Check(f"h{i}", "tick", "warn", "by the tick") for i in range(1, 97)], count=96)
    assert [line for line in lines if "by the tick" in line] == [
        "warning  h1, h2, h3 and 93 more: CPU accounting: by the tick"
    ]
    assert lines[-1] == "t: ready: 96 warnings on 96 hosts"


words = st.lists(st.text("abc(),;", min_size=1, max_size=20), min_size=1, max_size=30).map(" ".join)
checks = st.builds(
    Check,
    host=st.sampled_from(["h1", "h2", "controller"]),
    name=st.sampled_from(NAMES),
    status=st.sampled_from(["ok", "warn", "fail", "unknown"]),
    found=words,
    advice=st.one_of(st.just(""), words),
)


@given(st.lists(checks, max_size=40))
def test_a_terminal_of_80_columns_has_room_for_it(found: list[Check]) -> None:
    lines = printed(found)
    assert all(
        len(line) <= 80 or " " not in line[:80].strip() or len(line.split()[-1]) > 60 for line in lines
    )
    failures = {check for check in found if check.status == "fail"}
    assert sum(line.startswith("FAIL") for line in lines) == len(
        {(check.name, check.found, check.advice) for check in failures}
    )
    assert ("not ready" in lines[-1]) == bool(failures)
    document = command.document(campaign(), found, Fixes())
    assert json.loads(json.dumps(document)) == document
    assert document["ready"] is not bool(failures)
    assert sum(document["counts"].values()) == len(found)


def test_a_fix_is_printed_with_the_setting_before_and_how_it_is_taken_back() -> None:
    change = Change("h1", "governor", "host", "performance", "why")
    lines = list(
        command.fixed_lines(
            Fixes(
                [Fixed(change, "powersave@0-3", "performance@0-3"), Fixed(change, problem="needs root")],
                "check-t-1",
            )
        )
    )
    assert lines[0] == "fixed: h1: governor host = performance@0-3 (was powersave@0-3)"
    assert lines[1] == "not fixed: h1: needs root"
    assert "linewatt restore" in lines[2]


def test_the_page_names_every_check_and_every_fix() -> None:
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []
    assert f"`{PROFILE}`" in page
