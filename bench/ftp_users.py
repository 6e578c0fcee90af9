# SPDX-License-Identifier: Apache-2.0
"""Gbit per CPU-second of the client for get and put: scripted users beside curl and lftp, on the same server.

``python -m bench.ftp_users`` is the client process: a job as JSON on standard input, what it moved as JSON on
standard output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests import ftp_server
from tests.users_jobs import USUAL

from bench.effort import Effort
from bench.rows import MeasurementFailed, Peer, Row, Target
from linewatt.features.users.worker.job import Discard, UsersJob, as_dict, from_dict

ABOUT_S = 300
USERS = 4
FILE_BYTES = 16 * 1024 * 1024
ROUNDS, QUICK_ROUNDS = 6, 2
ROUND_S, QUICK_ROUND_S = 4.0, 3.0
_LIMIT_S = 120.0
_FILE = "16m"

Kind = Literal["get", "put"]
Client = Callable[[ftp_server.Server, Kind, int, str, Path], tuple[list[str], str]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a client moved, and the CPU time of its processes from their start to their end."""

    transfers: int
    cpu_s: float

    @property
    def gbit_per_cpu_s(self) -> float:
        return self.transfers * FILE_BYTES * 8 / 1e9 / self.cpu_s


def measure(effort: Effort) -> list[Row]:
    """Raises MeasurementFailed, also where there is nothing to compare with."""
    if reason := ftp_server.why_not():
        raise MeasurementFailed(reason)
    missing = [tool for tool in ("curl", "lftp") if shutil.which(tool) is None]
    if missing:
        raise MeasurementFailed(f"not found: {', '.join(missing)}")
    rounds, round_s = effort.of((ROUNDS, ROUND_S), (QUICK_ROUNDS, QUICK_ROUND_S), (1, 0.5))
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(prefix="linewatt-bench-") as folder,
        ftp_server.vsftpd(Path(folder), {_FILE: FILE_BYTES}, memory="256m") as server,
    ):
        kinds: tuple[Kind, ...] = ("get", "put")
        for kind in kinds:
            found = [_round(server, kind, round_s) for _ in range(rounds)]
            rows += _rows(kind, found)
    return rows


def _rows(kind: Kind, rounds: Sequence[tuple[Cost, ...]]) -> list[Row]:
    users, copied, curl, lftp = (
        tuple(cost.gbit_per_cpu_s for cost in costs) for costs in zip(*rounds, strict=True)
    )
    least = tuple(own / max(others) for own, *others in zip(users, curl, lftp, strict=True))
    note = f"{USERS} users, files of 16 MiB; CPU time from the start of each process, Python's imports in it"
    rows = [] if kind == "put" else [Row("get, copied to the user first", "gbit_per_cpu_s", copied)]
    return [
        Row(f"{kind}, {USERS} users", "gbit_per_cpu_s", users, peer=Peer("curl", curl), note=note),
        Row(f"{kind}, {USERS} users, again", "gbit_per_cpu_s", users, peer=Peer("lftp", lftp)),
        Row(f"{kind}, users ÷ the better of both", "ratio", least, Target(at_least=1.0), by_interval=True),
        *rows,
    ]


def _round(server: ftp_server.Server, kind: Kind, round_s: float) -> tuple[Cost, ...]:
    """One after the other; curl and lftp move as many files as the users did, in whole files a user."""
    users = _users(server, kind, round_s, "kernel")
    copied = _users(server, kind, round_s, "copy") if kind == "get" else users
    each = max(1, users.transfers // USERS)
    return users, copied, _by_hand(server, kind, each, curl), _by_hand(server, kind, each, lftp)


def _users(server: ftp_server.Server, kind: Kind, round_s: float, discard: Discard) -> Cost:
    about = {"get_share": 1.0 if kind == "get" else 0.0, "spread_s": 0.0, "discard": discard}
    about["checked_share"] = 0.0  # nobody beside it looks at what it gets
    job = UsersJob(
        server.target(),
        USERS,
        round_s,
        files=(server.file(_FILE),),
        put_sizes=(FILE_BYTES,),
        **USUAL | about,
    )
    argv = [sys.executable, "-m", "bench.ftp_users"]
    (answer,), cpu_s = _run([(argv, json.dumps(as_dict(job)))])
    said = json.loads(answer)
    if said["failures"]:
        raise MeasurementFailed(f"{kind} by users: {said['failures'][0]}")
    return Cost(said["transfers"], cpu_s)


def _by_hand(server: ftp_server.Server, kind: Kind, each: int, client: Client) -> Cost:
    source = server.home / "get" / _FILE
    commands = [client(server, kind, each, f"put/by-hand-{user}", source) for user in range(USERS)]
    logged = len(server.logged())
    _, cpu_s = _run(commands)
    done = _awaited(server, logged + USERS * each)[logged:]
    if len(done) != USERS * each or any(
        one.transferred_bytes != FILE_BYTES or not one.complete for one in done
    ):
        raise MeasurementFailed(
            f"{kind} by {client.__name__}: {len(done)} files of {USERS * each} were moved"
        )
    return Cost(USERS * each, cpu_s)


def _awaited(server: ftp_server.Server, count: int) -> list[ftp_server.LoggedTransfer]:
    """The server writes its log after the client has gone."""
    end_s = time.monotonic() + ftp_server.LIMIT_S
    while len(server.logged()) < count and time.monotonic() < end_s:
        time.sleep(0.05)
    return server.logged()


def curl(server: ftp_server.Server, kind: Kind, each: int, path: str, source: Path) -> tuple[list[str], str]:
    """One curl with all its files on one login; what to do and the password come on standard input."""
    target = server.target()
    base = f"ftp://{target.host}:{target.port}/"
    one = f'url = "{base}get/{_FILE}"\noutput = "/dev/null"\n'
    if kind == "put":
        one = f'url = "{base}{path}"\nupload-file = "{source}"\n'
    return ["curl", "--disable", "--silent", "--show-error", "--fail-early", "--config", "-"], (
        f'user = "{target.user}:{target.password}"\n' + one * each
    )


def lftp(server: ftp_server.Server, kind: Kind, each: int, path: str, source: Path) -> tuple[list[str], str]:
    """One lftp with all its files on one login, without TLS, its own retries or a look at times of files."""
    target = server.target()
    one = f"get get/{_FILE} -o /dev/null\n" if kind == "get" else f"put {source} -o {path}\n"
    return ["lftp", "-f", "/dev/stdin"], (
        "set ftp:ssl-allow no\nset net:max-retries 1\nset cmd:fail-exit yes\nset xfer:clobber yes\n"
        "set ftp:use-mdtm no\nset xfer:use-temp-file no\n"
        f'open -u {target.user},"{target.password}" -p {target.port} {target.host}\n' + one * each
    )


def _run(commands: Sequence[tuple[list[str], str]]) -> tuple[list[str], float]:
    """Run all of them at once: their answers and CPU seconds (the scheduler's sum, not ticks)."""
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as folder, ExitStack() as ending:
        children = []
        for at, (argv, text) in enumerate(commands):
            children.append(_start(argv, text, Path(folder) / str(at)))
            ending.callback(_end, children[-1][0])
        cpu_s, answers = 0.0, []
        end_s = time.monotonic() + _LIMIT_S
        for child, out in children:
            cpu_s += _ended(child, end_s)
            answers.append(out.read_text())
            if child.returncode:
                said = f"{commands[0][0][0]} ended with {child.returncode}: {answers[-1][-200:]}"
                raise MeasurementFailed(said)
    return answers, cpu_s


def _ended(child: subprocess.Popen[bytes], end_s: float) -> float:
    """CPU seconds of a child, once it has ended. Raises MeasurementFailed where it does not."""
    while not (done := os.wait4(child.pid, os.WNOHANG))[0]:
        if time.monotonic() > end_s:
            raise MeasurementFailed(f"the client to end was awaited for {_LIMIT_S:g} s")
        time.sleep(0.005)
    child.returncode = os.waitstatus_to_exitcode(done[1])
    return done[2].ru_utime + done[2].ru_stime


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.returncode is None:
        child.kill()
        child.wait()


def _start(argv: list[str], text: str, folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    folder.mkdir(mode=0o700)
    given, out = folder / "in", folder / "out"
    given.write_text(text)
    environment = {**os.environ, "HOME": str(folder), "LC_ALL": "C"}
    with given.open("rb") as stdin, out.open("wb") as stdout:
        child = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=subprocess.STDOUT, env=environment, cwd=_ROOT
        )
    return child, out


_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run the job on standard input: the users of a Locust worker, begun without Locust."""
    from gevent import joinall, monkey, spawn

    monkey.patch_all()
    from tests.users_in_threads import live

    from linewatt.features.users.worker.content import MemoryFile
    from linewatt.features.users.worker.crew import Crew, Share

    job = from_dict(json.load(sys.stdin))
    crew = Crew(job, Share(0, 1, job.users), job.duration_s, MemoryFile() if job.get_share < 1 else None)
    joinall([spawn(live, crew.life()) for _ in range(job.users)], raise_error=True)
    total = crew.tally.total()
    print(json.dumps({"transfers": total.transfers, "failures": list(crew.tally.said.values())}))


if __name__ == "__main__":
    main()
