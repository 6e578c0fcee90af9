# SPDX-License-Identifier: Apache-2.0
"""What measurements stand on: a lab of their own, a place for results, ``linewatt`` as users run it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rows import MeasurementFailed
from linewatt.features.lab import api as lab
from linewatt.features.lab.api import Lab, LabRequest
from linewatt.model import Trial
from linewatt.store import read

PREFIX = "bench-"
FIRST_PORT = 6201
_END_LIMIT_S = 15.0

COMMAND: tuple[str, ...] = (str(Path(sys.executable).with_name("linewatt")),)
"""linewatt as it was installed beside the Python that runs this"""


@dataclass(frozen=True, slots=True)
class Finished:
    """A campaign that has run; the times are Unix seconds, ``said`` is what it wrote to the terminal."""

    path: Path
    trials: tuple[Trial, ...]
    spawned_s: float
    exited_s: float
    said: str


@contextmanager
def lab_of(hosts: int, rate: str, *, bmc: bool = True) -> Iterator[Lab]:
    """A lab that is this process's own, and is gone afterwards whatever happens."""
    remove_left_behind()
    name = f"{PREFIX}{os.getpid()}"
    try:
        yield lab.up(LabRequest(name=name, hosts=hosts, rate=rate, bmc=bmc))
    finally:
        lab.down(name)


def remove_left_behind() -> None:
    """Take down the labs of benches that were killed."""
    for name in lab.names():
        owner = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and owner.isdigit() and not Path("/proc", owner).exists():
            lab.down(name)


def namespaces(up: Lab) -> dict[str, str]:
    """Namespace of each host."""
    return {host.name: host.namespace for host in up.hosts}


class Rig:
    """A directory for campaign files, results and linewatt's state, and runs of linewatt in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runs = 0
        self.running: int | None = None
        """the process of the campaign that runs"""

    def campaign(self, inventory: Path, **settings: Any) -> Path:
        """Write a campaign file for these hosts: TCP from h1 to h2 unless ``settings`` say otherwise."""
        document = {
            "name": "bench",
            "hosts": str(inventory),
            "pairs": ["h1 -> h2"],
            "tests": ["tcp"],
            "ports": f"{FIRST_PORT}-{FIRST_PORT + 63}",
            "idle": {"seconds": 0},
            **settings,
        }
        self._runs += 1
        path = self.directory / f"campaign-{self._runs}.yaml"
        path.write_text(json.dumps(document, indent=1))  # JSON is YAML
        return path

    def run(
        self,
        campaign: Path,
        *,
        on_event: Callable[[dict[str, Any]], None] | None = None,
        partial: bool = False,
    ) -> Finished:
        """Run a campaign with ``--json``.

        Raises MeasurementFailed unless every trial is done; with ``partial``, unless one is stored.
        """
        spawned_s = time.time()
        said = self.directory / f"{campaign.stem}.stderr"
        with said.open("w") as stderr:
            child = subprocess.Popen(
                self._argv(campaign, "--json"), stdout=subprocess.PIPE, stderr=stderr, **self._options()
            )
            self.running = child.pid
            with _ended_with_us(child):
                for line in child.stdout or ():
                    if on_event is not None:
                        on_event(json.loads(line))
                child.wait()
        times = spawned_s, time.time()
        return self._finished(campaign, 0 if partial else child.returncode, said.read_text(), times)

    def run_at_terminal(self, campaign: Path) -> Finished:
        """Run a campaign as someone at a terminal does: with the live display, and the table at the end."""
        ours, theirs = pty.openpty()
        said: list[bytes] = []
        spawned_s = time.time()
        child = subprocess.Popen(self._argv(campaign), stdout=theirs, stderr=theirs, **self._options())
        os.close(theirs)
        reader = threading.Thread(target=_drain, args=(ours, said))
        reader.start()
        with _ended_with_us(child):
            child.wait()
        exited_s = time.time()
        reader.join()
        os.close(ours)
        text = b"".join(said).decode(errors="replace")
        return self._finished(campaign, child.returncode, text, (spawned_s, exited_s))

    def _argv(self, campaign: Path, *options: str) -> list[str]:
        return [*COMMAND, "run", str(campaign), "--results", str(self._results(campaign)), *options]

    def _results(self, campaign: Path) -> Path:
        return self.directory / f"results-{campaign.stem}"

    def _options(self) -> Mapping[str, Any]:
        """A session of its own: Ctrl-C reaches this process, which then ends linewatt in good order."""
        state = {"LINEWATT_STATE": str(self.directory / "state")}
        return {"stdin": subprocess.DEVNULL, "start_new_session": True, "env": {**os.environ, **state}}

    def _finished(self, campaign: Path, status: int, said: str, times: tuple[float, float]) -> Finished:
        paths = sorted(self._results(campaign).glob("*/manifest.json"))
        result = read.load_result(paths[-1].parent) if paths else None
        if status != 0 or result is None or not result.trials:
            words = " | ".join(line for line in said.splitlines()[-4:] if line.strip())
            raise MeasurementFailed(f"linewatt run came to no result: {words or 'it said nothing'}")
        return Finished(result.path, result.trials, *times, said)


@contextmanager
def rig() -> Iterator[Rig]:
    """A rig in a temporary directory that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        yield Rig(Path(directory))


@contextmanager
def _ended_with_us(child: subprocess.Popen[Any]) -> Iterator[None]:
    """If this process is interrupted, so is ``child``, and it is waited for: it has changes to undo."""
    try:
        yield
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _drain(descriptor: int, into: list[bytes]) -> None:
    """Read what a terminal shows until its last writer is gone (then Linux says EIO)."""
    with suppress(OSError):
        while chunk := os.read(descriptor, 65536):
            into.append(chunk)
