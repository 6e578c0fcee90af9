# SPDX-License-Identifier: Apache-2.0
"""Receive-side scaling: what is asked for is what ethtool makes of it, and what was there comes back."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import ChangeError
from linewatt.tuning.registry import TUNING_KNOBS

KNOB = TUNING_KNOBS["rss"]

# Stands for ethtool and a driver: $TABLE has the table, $RINGS are its queues, $OWN what the driver makes
ETHTOOL = """#!/bin/bash
shown() { echo "RX flow hash indirection table for eth0 with $RINGS RX ring(s):"; at=0
  for entry in $(<"$TABLE"); do (( at % 8 )) || printf '\\n%5d: ' "$at";
    printf ' %5d' "$entry"; (( ++at )); done; }
case "$1 $3" in
  "-x "*) shown; printf '\\nRSS hash key:\\nOperation not supported\\n' ;;
  "-X default") echo default >>"$LOG"; [[ $OWN ]] || exit 1; echo "$OWN" >"$TABLE" ;;
  "-X equal") echo "equal ${*:4}" >>"$LOG"; queues=$4 first=${6:-0}
    for (( at = 0; at < 16; at++ )); do echo $(( first + at % queues )); done >"$TABLE" ;;
  *) exit 1 ;;
esac"""


def table(entries: list[int], rings: int = 8) -> str:
    rows = [entries[at : at + 8] for at in range(0, len(entries), 8)]
    lines = [f"{8 * at:5}: " + "".join(f" {entry:5}" for entry in row) for at, row in enumerate(rows)]
    head = f"RX flow hash indirection table for eth0 with {rings} RX ring(s):"
    return "\n".join([head, *lines, "RSS hash key:", "Operation not supported"])


def filled(words: list[str], size: int) -> list[int]:
    """What ethtool makes of its words (ethtool.c, fill_indir_table)."""
    numbers = [int(word) for word in words if word.isdecimal()]
    if words[0] == "equal":
        queues, first = (*numbers, 0)[:2]
        return [first + at % queues for at in range(size)]
    entries, queue, partial = [], -1, 0
    for at in range(size):
        while at >= size * partial // sum(numbers):
            queue += 1
            partial += numbers[queue]
        entries.append(queue)
    return entries


sizes = st.sampled_from([16, 64, 128, 512])
evenly = st.builds("{} from {}".format, st.integers(1, 64), st.integers(0, 64))
weighted = (
    st.lists(st.integers(0, 9), min_size=1, max_size=8)
    .filter(any)
    .map(lambda all_of: "weight " + " ".join(map(str, all_of)))
)


@given(sizes, evenly | weighted)
def test_a_host_shows_what_was_asked_for_once_ethtool_has_made_it(size: int, value: str) -> None:
    before = KNOB.parse(table([0] * size))
    shared = KNOB.check(value)
    if shared.startswith("weight") and sum(map(int, shared.split()[1:])) > size:
        with pytest.raises(ChangeError, match=f"has {size} entries"):
            KNOB.wanted(before, value)
        return
    wanted = KNOB.wanted(before, value)
    assert KNOB.wanted(before, shared) == wanted
    words = list(KNOB.write("eth0", wanted).argv[5:])
    assert KNOB.parse(table(filled(words, size))) == wanted


@given(st.lists(st.integers(0, 7), min_size=16, max_size=16))
def test_any_table_that_may_be_changed_comes_back_entry_by_entry(entries: list[int]) -> None:
    before = KNOB.parse(table(entries))
    if before.startswith("other"):
        with pytest.raises(ChangeError, match="cannot write"):
            KNOB.wanted(before, "1")
        with pytest.raises(ChangeError, match="can write"):
            KNOB.write("eth0", before)
        return
    assert filled(list(KNOB.write("eth0", before).argv[5:]), 16) == entries


ROUND = [at % 8 for at in range(16)]
OVER_FOUR = [at % 4 for at in range(16)]


@pytest.mark.parametrize(
    ("own", "rings", "before", "written"),
    [
        (ROUND, 8, ROUND, ["default"]),
        (OVER_FOUR, 8, OVER_FOUR, ["equal 4"]),  # as a driver whose own table leaves queues out
        (OVER_FOUR, 8, ROUND, ["default", "equal 8"]),
        ([], 8, ROUND, ["default", "equal 8"]),  # as a driver that takes no default
        (ROUND, 8, [2 + at % 4 for at in range(16)], ["equal 4 start 2"]),
    ],
)
def test_what_the_driver_makes_by_itself_is_left_to_it_and_any_other_table_is_written(
    own: list[int], rings: int, before: list[int], written: list[str], tmp_path: Path
) -> None:
    shown, log, tool = tmp_path / "table", tmp_path / "log", tmp_path / "ethtool"
    tool.write_text(ETHTOOL)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    shown.write_text(" ".join(["3"] * 16))
    command = KNOB.write("eth0", KNOB.parse(table(before)))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TABLE": str(shown), "LOG": str(log)}
    environment |= {"RINGS": str(rings), "OWN": " ".join(map(str, own))}
    done = run(command.argv, env=environment, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(map(int, shown.read_text().split())) == before
    assert log.read_text().splitlines() == written
