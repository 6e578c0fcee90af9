# SPDX-License-Identifier: Apache-2.0
"""Other CPUs make what is kept of many results, and what is read is the same with them and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from linewatt.store import helpers as module
from linewatt.store.helpers import helpers

COUNT = 24
LIMIT_S = 60.0
SCRIPT = """
import json, os, sys
import numpy  # whose own threads keep nobody from helping
from pathlib import Path
from linewatt.store import each_result
each_result.ALONE_S = float(sys.argv[2])
def work(path):
    made = path / "made"
    if not made.exists():
        sum(range(400_000))
        if path.name.endswith("7") and os.getpid() != parent:
            raise RuntimeError("a helper's own trouble")
        made.write_text(str(os.getpid()))
    return path.name, made.read_text()
parent = os.getpid()
told = []
values, damaged = each_result.read_each(Path(sys.argv[1]), work, lambda *done: told.append(done))
try:
    os.waitpid(-1, os.WNOHANG)
    ended = False
except ChildProcessError:
    ended = True
print(json.dumps({"parent": parent, "values": values, "damaged": len(damaged), "told": told, "ended": ended}))
"""


def made(root: Path, alone_s: float) -> dict[str, Any]:
    """What a process of its own, with one thread, says of results that nothing is kept of."""
    for number in range(COUNT):
        folder = root / f"r{number:02}"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
    argv = [sys.executable, "-c", SCRIPT, str(root), str(alone_s)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has no other to help it")
def test_other_processes_help_with_many_results_and_are_gone_in_the_end(tmp_path: Path) -> None:
    alone, helped = made(tmp_path / "alone", LIMIT_S), made(tmp_path / "helped", 0.0)
    names = [f"r{number:02}" for number in range(COUNT)]
    for found in (alone, helped):
        assert [name for name, _ in found["values"]] == names
        assert found["told"] == [[number, COUNT] for number in range(1, COUNT + 1)]
        assert (found["damaged"], found["ended"]) == (0, True)
    makers = [{maker for _, maker in found["values"]} for found in (alone, helped)]
    assert makers[0] == {str(alone["parent"])}
    assert makers[1] > {str(helped["parent"])}


def test_a_process_with_threads_reads_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of it would lack them, and may wait for what they hold."""
    monkeypatch.setattr(module, "_start_helper", lambda *_: pytest.fail("a process was started"))
    results = [tmp_path / str(number) for number in range(COUNT)]
    over = threading.Event()
    waiting = threading.Thread(target=over.wait, args=(LIMIT_S,))
    waiting.start()
    try:
        with helpers(results, str):
            pass
    finally:
        over.set()
        waiting.join()


STUCK = """
import os, sys
from pathlib import Path
from linewatt.store import helpers as module
module.END_LIMIT_S = 0.2
never, _ = os.pipe()
begun, begin = os.pipe()
def work(path):
    os.write(begin, b".")
    os.read(never, 1)
with module.helpers([Path("a"), Path("b")], work):
    os.read(begun, 1)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("nobody is left")
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU has no other to help it")
def test_a_helper_that_is_stuck_is_ended_and_holds_nobody_up() -> None:
    argv = [sys.executable, "-c", STUCK]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert done.stdout == "nobody is left\n"
