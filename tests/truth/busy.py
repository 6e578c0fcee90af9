# SPDX-License-Identifier: Apache-2.0
"""A process that computes, for ``busy.py LIMIT_S SECONDS``, and has nothing to do with any load."""

from __future__ import annotations

import sys
import time


def main(limit_s: str, seconds: str) -> None:
    """Use a whole CPU until the time is over."""
    end_s = time.monotonic() + min(float(limit_s), float(seconds))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while time.monotonic() < end_s:
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
