# SPDX-License-Identifier: Apache-2.0
"""How many random inputs a test gets: a third of them in ``make test``, all in ``make test-all``."""

from __future__ import annotations

import math
import os

EVERYTHING = "LINEWATT_TEST_EVERYTHING"
"""is set for ``make test-all``"""
UNSHRUNK = "LINEWATT_TEST_UNSHRUNK"
"""is set by scripts/mutants.py: nobody reads with which random input a test failed"""
FEWEST = 8


def inputs(number: int, fewest: int = FEWEST) -> int:
    """Of ``number`` inputs, how many to try: ``fewest`` or more."""
    return number if EVERYTHING in os.environ else min(number, max(fewest, math.ceil(number / 3)))
