# SPDX-License-Identifier: Apache-2.0
"""The count of files that a command enters."""

from __future__ import annotations

import sys

from scripts.entered import Entered

from linewatt.units import bps_from_gbps


def test_a_file_is_entered_when_one_of_its_functions_runs() -> None:
    entered = Entered()
    sys.setprofile(entered)
    try:
        bps_from_gbps(1.0)
    finally:
        sys.setprofile(None)
    assert dict(entered.calls) == {"units.py": 1}
