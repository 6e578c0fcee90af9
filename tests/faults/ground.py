# SPDX-License-Identifier: Apache-2.0
"""A lab, a short campaign on it, and commands of linewatt as a user gives them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import forked, packed
from tests.faults import hosts

LIMIT_S = 240.0
"""for a command to end: one that has not by then hangs"""
LOOK_S = 0.02

SETTINGS = {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 7340032"}, "mtu": 1400}
FACTORS = {"gro": ["on", "off"]}


@dataclass
class Command:
    """A command of linewatt that was started; ``out`` and ``err`` are files."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it said with ``--json``; a last line that was cut off is none."""
        found = []
        for line in self.out.read_text(errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def end(self, limit_s: float = LIMIT_S) -> int | None:
        """Its exit status; None: it hung, and was killed."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


@dataclass
class Ground:
    """What one fault after the other is tried on. ``tmp`` is a directory of this ground's own."""

    lab: Any
    tmp: Path
    has_bmc: bool = False
    dead: list[tuple[float, float]] = field(default_factory=list)
    """times in which no data could pass between the hosts"""
    commands: list[Command] = field(default_factory=list)

    @property
    def namespaces(self) -> list[str]:
        return [host.namespace for host in self.lab.hosts]

    @property
    def store(self) -> Path:
        """Where results and the undo journal go."""
        return self.tmp / "store"

    @property
    def results(self) -> list[Path]:
        return sorted(
            path for path in (self.store / "results").glob("*") if (path / "manifest.json").exists()
        )

    def campaign(self, **keys: object) -> Path:
        document = {
            "name": "fault",
            "hosts": str(self.lab.inventory),
            "pairs": ["h1 -> h2"],
            "tests": ["tcp"],
            "trials": 2,
            "rate": "100M",
            "window": {"seconds": 0.4, "omit": 0.2, "tail": 0.2},
            "idle": {"seconds": 0.5},
            "settings": SETTINGS,
            "factors": FACTORS,
            **keys,
        }
        path = self.tmp / "campaign.yaml"
        path.write_text(json.dumps(document))
        return path

    def start(self, *words: str | Path, store: Path | None = None) -> Command:
        """A command of linewatt; ``store`` is where results and journal go in place of the ground's own."""
        at = store or self.store
        out, err = (self.tmp / f"command-{len(self.commands)}.{kind}" for kind in ("out", "err"))
        environment = {**os.environ, "LINEWATT_STATE": str(at / "state"), "NO_COLOR": "1"}
        environment["LINEWATT_RESULTS"] = str(at / "results")
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = forked.Forked(
                words,
                stdin=subprocess.DEVNULL,
                stdout=to_out,
                stderr=to_err,
                env=environment,
            )
        self.commands.append(Command(process, out, err))
        return self.commands[-1]

    def settled(self) -> dict[str, str]:
        """What the hosts show once their links are up, which a new lab's are soon. Raises TimeoutError."""
        seen = [self.state()]

        def steady() -> bool:
            seen.append(self.state())
            return seen[-1] == seen[-2] and not any("NO-CARRIER" in text for text in seen[-1].values())

        if not wait_until(steady, LIMIT_S):
            raise TimeoutError(f"waited {LIMIT_S:g} s for the links of the lab to be up")
        return seen[-1]

    def state(self) -> dict[str, str]:
        """What the hosts show."""
        return {f"{one}: {name}": text for one in self.namespaces for name, text in hosts.state(one).items()}

    def processes(self) -> dict[int, str]:
        """What runs on the hosts, without the servers of their connections."""
        found = {pid: argv for one in self.namespaces for pid, argv in hosts.processes(one).items()}
        return {pid: argv for pid, argv in found.items() if not argv.startswith("sshd")}

    def trials(self, result: Path) -> dict[int, tuple[dict[str, Any], str]]:
        """Number → a stored trial, and a digest of its file. Twice the same number raises ValueError."""
        found: dict[int, tuple[dict[str, Any], str]] = {}
        for path in sorted(result.glob("trials/[0-9]*/trial.json")):
            trial = json.loads(path.read_text())
            if trial["number"] in found:
                raise ValueError(f"trial {trial['number']} is there twice")
            found[trial["number"]] = trial, hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def tracebacks(self) -> list[str]:
        """What was raised, and from where in linewatt, by each command that ended in one."""
        said = (one.err.read_text(errors="replace").splitlines() for one in self.commands)
        return [
            " ".join([lines[-1], *[line.strip() for line in lines if "/linewatt/" in line][-1:]])
            for lines in said
            if any("Traceback" in line for line in lines)
        ]

    def outputs(self, result: Path, trial: Mapping[str, Any]) -> list[str]:
        """What the servers of a trial wrote."""
        directory = result / "trials" / f"{trial['number']:05d}"
        return packed.outputs(directory, trial["case"]["receiver"])


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Whether it came to be so in time."""
    until_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(LOOK_S)
    return True
