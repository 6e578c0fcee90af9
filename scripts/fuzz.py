# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz for as long as is wanted, each round with inputs of its own; ``make fuzz ARGS=60`` is an hour.
A round that would not end in time is not begun.

What failed is printed with the seed of its round, which gives the same inputs again:
``LINEWATT_FUZZ=500 .venv/bin/python -m pytest tests/fuzz --hypothesis-seed=SEED``.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections import Counter

EACH = 500
"""inputs for each test and round"""
MINUTES = 10.0
_LINE = re.compile(r"fuzz: (.+): (\d+) inputs, (\d+) refused")


def round_of(seed: int) -> tuple[int, str]:
    """Exit code and output of one round."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/fuzz", "-q", "--no-header", f"--hypothesis-seed={seed}"],
        env={**os.environ, "LINEWATT_FUZZ": str(EACH)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def main(minutes: float) -> int:
    end_s = time.monotonic() + 60 * minutes
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    rounds = failed = 0
    longest_s = 0.0
    while rounds == 0 or time.monotonic() + longest_s < end_s:
        began_s = time.monotonic()
        seed = secrets.randbelow(2**32)
        code, said = round_of(seed)
        rounds += 1
        longest_s = max(longest_s, time.monotonic() - began_s)
        for name, count, no in _LINE.findall(said):
            tried[name] += int(count)
            refused[name] += int(no)
        if code:
            failed += 1
            print(f"seed {seed}:\n{said}")
        print(f"round {rounds}: {tried.total()} inputs so far, {failed} rounds failed", flush=True)
    for name in sorted(tried):
        print(f"{name}: {tried[name]} inputs, {refused[name]} refused")
    print(f"{tried.total()} inputs in {rounds} rounds, {refused.total()} refused, {failed} rounds failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES))
