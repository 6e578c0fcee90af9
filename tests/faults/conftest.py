# SPDX-License-Identifier: Apache-2.0
"""Labs of tests of faults are those of all lab tests."""

from __future__ import annotations

from tests.lab.conftest import _possible, make_lab

__all__ = ["_possible", "make_lab"]
