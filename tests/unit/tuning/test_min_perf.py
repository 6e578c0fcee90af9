# SPDX-License-Identifier: Apache-2.0
"""The least that CPUs of intel_pstate run at is read as it is and written back so, and set by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.tuning.test_knobs_captures import in_tree

from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.cpu.min_perf import MIN_PERF, MinPerf

PSTATE = "sys/devices/system/cpu/intel_pstate"


def test_the_least_performance_that_was_found_is_written_back(tmp_path: Path) -> None:
    file = tmp_path / PSTATE / "min_perf_pct"
    file.parent.mkdir(parents=True)
    file.write_text("100\n")
    found = MinPerf().parse(in_tree(MinPerf().read("host"), tmp_path).stdout)
    assert found == "100"
    file.write_text("61\n")
    assert in_tree(MinPerf().write("host", found), tmp_path).returncode == 0
    assert file.read_text() == "100\n"


def test_a_driver_that_has_none_is_not_read(tmp_path: Path) -> None:
    for folder in ("sys/devices/system/cpu", PSTATE):  # another driver; intel_pstate in passive mode
        (tmp_path / folder).mkdir(parents=True)
        done = in_tree(MinPerf().read("host"), tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_no_value_is_taken_and_no_other_target() -> None:
    knob = ALL_KNOBS[MIN_PERF]
    with pytest.raises(ChangeError, match="see turbo"):
        knob.wanted("100", "50")
    with pytest.raises(ChangeError, match="the target is 'host'"):
        knob.write("eth0", "100")
    with pytest.raises(ParseError, match="not a percentage"):
        knob.parse("100 $(reboot)")
