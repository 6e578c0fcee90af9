# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt check`` prints, and that its page says all that it checks."""

from __future__ import annotations

import json
import re
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


def printed(checks: list[Check], count: int = 2, width: int = 80) -> list[str]:
    return list(command.lines(campaign(count), checks, width))


def cells(lines: list[str], host: str, headings: dict[str, str]) -> dict[str, str]:
    """What stands in the row of a host below the last words of some headings, in any of the tables."""
    found = {}
    for at, line in enumerate(lines):
        if line.startswith("host "):
            row = next(row for row in lines[at:] if row.startswith(f"{host} "))
            for name, word in headings.items():
                place = f"{line} ".find(f" {word} ") + 1
                if place:
                    found[name] = row[place:].split("  ")[0]
    return found


def test_what_is_not_ok_has_a_column_with_its_full_title_and_a_word_for_each_host() -> None:
    statuses: dict[str, Status] = {
        "ssh": "ok",
        "tools": "fail",
        "tick": "warn",
        "mtu": "unknown",
        "irqs": "ok",
    }
    lines = printed([Check("h1", name, status, "found") for name, status in statuses.items()])
    assert lines[0] == "ok on every host: SSH, irqbalance"
    headings = {"tools": "tools", "tick": "accounting", "mtu": "size"}
    assert cells(lines, "h1", headings) == {"tools": "FAIL", "tick": "warning", "mtu": "not known"}
    assert cells(lines, "h2", headings) == dict.fromkeys(headings, "–")
    above = lines[next(at for at, line in enumerate(lines) if line.startswith("host ")) - 1]
    assert above.split() == ["CPU", "packet"]


def test_the_words_in_the_table_are_explained_below_it() -> None:
    lines = printed([Check(host, "tick", "warn", "by the tick") for host in ("h1", "h2")])
    assert "(warning: does not stop a run)" in lines
    lines = printed([Check("h1", "tools", "fail", "no iperf3")])
    assert "(FAIL: would spoil a result · –: does not apply, or was not checked)" in lines


def test_hosts_that_are_all_well_need_no_table() -> None:
    checks = [Check(host, name, "ok", "well") for host in ("h1", "h2") for name in check_titles()]
    lines = printed(checks)
    assert " ".join(" ".join(lines[:-2]).split()) == f"ok on every host: {', '.join(check_titles().values())}"
    assert lines[-2:] == ["", "t: ready on 2 hosts"]


def test_a_host_without_an_answer_is_not_among_those_that_are_well() -> None:
    lines = printed(
        [Check("h1", "ssh", "fail", "no route"), Check("h2", "ssh", "ok", ""), Check("h2", "tools", "ok", "")]
    )
    assert lines[0] == "ok on every host that answers: tools"
    assert cells(lines, "h1", {"ssh": "SSH"}) == {"ssh": "FAIL"}
    assert cells(lines, "h2", {"ssh": "SSH"}) == {"ssh": "ok"}


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


@given(st.lists(checks, max_size=40), st.sampled_from([60, 80, 100]))
def test_the_terminal_has_room_for_it(found: list[Check], width: int) -> None:
    lines = printed(found, width=width)
    assert all(
        len(line) <= width or " " not in line[:width].strip() or len(line.split()[-1]) > width - 20
        for line in lines
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


def test_changes_that_are_safe_are_offered_with_the_command_until_they_were_made() -> None:
    checks = [
        Check(
            name,
            "irqs",
            "warn",
            "irqbalance runs",
            "stop it",
            Change(name, "irqbalance", "host", "stopped", ""),
        )
        for name in ("h1", "h2")
    ]
    lines = list(command.lines(campaign(), checks, 80, "linewatt check t.yaml --fix"))
    assert lines[-3:] == [
        "safe changes: irqbalance stopped on h1, h2",
        "    do: linewatt check t.yaml --fix (linewatt restore undoes them)",
        "t: ready: 2 warnings on 2 hosts",
    ]
    assert not any("--fix" in line for line in command.lines(campaign(), checks, 80))
    by_the_tick = [Check("h1", "tick", "warn", "by the tick")]
    assert not any(
        "--fix" in line for line in command.lines(campaign(), by_the_tick, 80, "linewatt check t.yaml --fix")
    )


def test_the_page_names_every_check_and_every_fix() -> None:
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []
    table = page.partition("## What is checked")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)`(?:: ([^|]+?))? \|", table, re.MULTILINE))
    titles = {name: rows[name] or name for name in check_titles()}
    assert {name: title.lower() for name, title in titles.items()} == {
        name: title.lower() for name, title in check_titles().items()
    }
    assert f"`{PROFILE}`" in page
