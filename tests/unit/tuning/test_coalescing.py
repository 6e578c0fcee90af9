# SPDX-License-Identifier: Apache-2.0
"""Interrupt moderation that a driver adapts comes back, also where it takes no numbers beside it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.tuning.nic.coalescing import LISTED_KNOB as KNOB

# Stands for ethtool and i40e, ice or iavf: numbers of a direction that is adaptive behind a change are those
# from before, or nothing changes (i40e_ethtool.c, __i40e_set_coalesce). $STATE has "OPTION VALUE" a line
ETHTOOL = """#!/bin/bash
declare -A now new
while read -r option value; do now[$option]=$value; new[$option]=$value; done <"$STATE"
echo "${*:3}" >>"$LOG"
shift 2
while (( $# )); do new[$1]=$2; shift 2; done
for way in rx tx; do
  [[ ${new[adaptive-$way]} == on && ${new[$way-usecs]} != "${now[$way-usecs]}" ]] || continue
  echo "netlink error: Invalid argument" >&2; exit 1
done
(( ${new[rx-usecs]} <= 8160 )) || { echo "netlink error: Numerical result out of range" >&2; exit 1; }
for option in "${!new[@]}"; do echo "$option ${new[$option]}"; done >"$STATE"
"""


def written(folder: Path, shown: str, setting: str) -> tuple[int, str, str, list[str]]:
    """Status and words of a write on a host that shows a setting; what it shows then; what ethtool took."""
    state, log, tool = folder / "state", folder / "log", folder / "ethtool"
    tool.write_text(ETHTOOL)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    state.write_text(shown.replace(" ", "\n").replace("=", " ") + "\n")
    log.write_text("")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "STATE": str(state), "LOG": str(log)}
    argv = KNOB.write("eth0", setting).argv
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20, check=False)
    now = dict(line.split() for line in state.read_text().splitlines())
    text = " ".join(f"{option}={now[option]}" for option in sorted(now))
    return done.returncode, done.stderr, text, log.read_text().splitlines()


def test_moderation_that_was_adaptive_comes_back_from_a_fixed_time(tmp_path: Path) -> None:
    found = "adaptive-rx=on adaptive-tx=on rx-usecs=50 tx-usecs=50"
    fixed = "adaptive-rx=off adaptive-tx=on rx-usecs=8 tx-usecs=50"
    status, said, shown, _ = written(tmp_path, fixed, found)
    assert (status, shown) == (0, found), said


def test_what_a_driver_takes_at_once_is_written_at_once(tmp_path: Path) -> None:
    found = "adaptive-rx=on adaptive-tx=on rx-usecs=50 tx-usecs=50"
    fixed = "adaptive-rx=off adaptive-tx=on rx-usecs=8 tx-usecs=50"
    status, _, shown, took = written(tmp_path, found, fixed)
    assert (status, shown) == (0, fixed)
    assert took == [fixed.replace("=", " ")]


@pytest.mark.parametrize("adaptive", ["on", "off"])
def test_what_a_driver_takes_in_no_way_is_refused_in_its_words(adaptive: str, tmp_path: Path) -> None:
    found = "adaptive-rx=off adaptive-tx=off rx-usecs=50 tx-usecs=50"
    asked = f"adaptive-rx={adaptive} adaptive-tx=off rx-usecs=9000 tx-usecs=50"
    status, said, shown, _ = written(tmp_path, found, asked)
    assert (status, shown) == (1, found)
    assert "Numerical result out of range" in said


STATES = st.builds(
    "adaptive-rx={} adaptive-tx={} rx-usecs={} tx-usecs={}".format,
    *(st.sampled_from(["on", "off"]) for _ in range(2)),
    *(st.integers(0, 99) for _ in range(2)),
)


@settings(max_examples=inputs(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=STATES, level=STATES)
def test_any_moderation_is_reached_from_any_other(found: str, level: str, tmp_path: Path) -> None:
    assert written(tmp_path, found, level)[2] == level
    assert written(tmp_path, level, found)[2] == found
