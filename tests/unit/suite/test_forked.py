# SPDX-License-Identifier: Apache-2.0
"""Commands that tests start come from one server, whichever process of a run asks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import forked

ROOT = Path(__file__).parents[3]
WHOSE = "import os\nprint(os.getppid(), flush=True)"
ELSEWHERE = f"""
from tests import forked

class Whose(forked.Forked):
    before = {WHOSE!r}

print(forked.run(["--version"], kind=Whose).stdout)
"""


class Whose(forked.Forked):
    """A command that says first which process it was forked from."""

    before = WHOSE


def test_processes_of_a_run_have_their_commands_from_one_server() -> None:
    here = forked.run(["--version"], kind=Whose)
    assert here.returncode == 0
    server, version = here.stdout.splitlines()
    assert version.startswith("linewatt ")
    assert int(server) != os.getpid()
    offered = os.environ.get(forked.OFFERED) or str(forked.offer())
    there = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=ROOT,
        env={**os.environ, forked.OFFERED: offered, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert there.stdout.split() == here.stdout.split()
    again = forked.run(["--version"], kind=Whose)
    assert again.stdout == here.stdout, "it goes on when one who asked has ended"
