# SPDX-License-Identifier: Apache-2.0
"""Several short commands of one host as one.

On a host, starting a command costs a channel, a login shell and a few processes, whatever the command does;
and sshd refuses more than ten channels at a time unless its ``MaxSessions`` says otherwise (sshd_config(5)).
A constant script runs the commands one after the other; their words and their input are its arguments.

Those that change a host do so under its lock of writers, which all that they start holds, too, until it has
ended: an undo waits for a change that goes on when its controller is gone
(:mod:`linewatt.engine.undo.host_lock`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.errors import ParseError, WaitTimeout
from linewatt.foreign import NUL
from linewatt.hosts.base import Completed, Host
from linewatt.hosts.leash import INLINE

LIMIT_S = 10.0
MOST_CHARACTERS = 60_000
"""of a batch as the login shell gets it: one argument of a program can be 131,072 bytes (execve(2))"""

LOCK_S = 8.0
"""how long a batch waits for changes that others make"""
EXCLUSIVE, SHARED = "-x", "-s"
"""locks of writers (flock(1)): of those that change a host, of those who wait for them"""
_BUSY = 75

# A lock or nothing, and for how many seconds it is waited for. For each command: the number of its words, its
# input, its words. NUL, which no text has, ends what each says
_SCRIPT = (
    rf"""{INLINE}
if [ -n "$1" ]; then
  {{ exec 9</proc/self/ns/net && flock "$1" -E {_BUSY} -w "$2" 9; }} 2>/dev/null
  [ $? = {_BUSY} ] && exit {_BUSY}
fi
shift 2
"""
    r"""one() { if [ "$1 $2" = "bash -c" ]; then (inline "$@"); else "$@"; fi; }
while [ $# -gt 0 ]; do
  count=$1 input=$2; shift 2
  if [ -n "$input" ]; then one "${@:1:count}" < <(printf %s "$input"); else one "${@:1:count}" </dev/null; fi
  printf '\0%s\0' "$?"; printf '\0' >&2
  shift "$count"
done"""
)


@dataclass(frozen=True, slots=True)
class ShortCommand:
    """A short command: an argument list with what goes to its standard input."""

    argv: tuple[str, ...]
    stdin: str = ""


async def run_batch(
    host: Host,
    commands: Sequence[ShortCommand],
    *,
    root: bool = False,
    limit_s: float = LIMIT_S,
    lock: str = "",
) -> list[Completed]:
    """Run commands in their order, each to its end; ``limit_s`` is for all of a batch.

    Raises HostLost, WaitTimeout, also where the lock was not free in time. Where answers cannot be told
    apart, the commands are run one by one, so that each says itself what is wrong: they must do no harm when
    they are run twice.
    """
    done: list[Completed] = []
    for batch in batches(commands):
        done += await _run_batch(host, batch, root, limit_s, lock)
    return done


async def _run_batch(
    host: Host, batch: Sequence[ShortCommand], root: bool, limit_s: float, lock: str
) -> list[Completed]:
    if len(batch) > 1:
        try:
            return answers(await _run_script(host, batch, root, limit_s, lock), batch)
        except ParseError:
            pass
    if lock:
        return [
            _answer_of_single(await _run_script(host, [short], root, limit_s, lock), short) for short in batch
        ]
    return [await host.run(short.argv, stdin=short.stdin, timeout_s=limit_s, root=root) for short in batch]


async def _run_script(
    host: Host, batch: Sequence[ShortCommand], root: bool, limit_s: float, lock: str
) -> Completed:
    """Raises HostLost, WaitTimeout."""
    done = await host.run(script(batch, lock), timeout_s=limit_s + (LOCK_S if lock else 0.0), root=root)
    if lock and done.status == _BUSY and not done.stdout:
        raise WaitTimeout(f"waited {LOCK_S:g} s for another change there to end", where=host.spec.name)
    return done


def _answer_of_single(done: Completed, short: ShortCommand) -> Completed:
    """The answer of a script's only command, whatever bytes it wrote; else the script's own result."""
    answer = re.fullmatch(rf"(.*){NUL}(\d{{1,3}}){NUL}", done.stdout, re.DOTALL | re.ASCII)
    if answer is None:
        return Completed(short.argv, done.status or 1, done.stdout, done.stderr)
    return Completed(short.argv, int(answer[2]), answer[1], done.stderr.removesuffix(NUL))


def batches(commands: Sequence[ShortCommand]) -> Iterator[list[ShortCommand]]:
    """Commands in their order, as many together as an argument list can hold."""
    batch: list[ShortCommand] = []
    held = 0
    for short in commands:
        size = len(shlex.join([*short.argv, short.stdin]).encode())
        if batch and held + size > MOST_CHARACTERS:
            yield batch
            batch, held = [], 0
        batch.append(short)
        held += size
    if batch:
        yield batch


def script(batch: Sequence[ShortCommand], lock: str = "") -> list[str]:
    """The argument list that runs a batch."""
    words = [word for short in batch for word in (str(len(short.argv)), short.stdin, *short.argv)]
    return ["bash", "-c", _SCRIPT, "linewatt", lock, f"{LOCK_S:g}", *words]


def answers(done: Completed, batch: Sequence[ShortCommand]) -> list[Completed]:
    """The answer of each command of a batch. Raises ParseError if the output is incomplete."""
    outputs, complained = done.stdout.split(NUL), done.stderr.split(NUL)
    statuses = outputs[1::2]
    if (len(outputs), len(complained)) != (2 * len(batch) + 1, len(batch) + 1) or outputs[-1]:
        raise ParseError(f"{len(batch)} commands gave {len(statuses)} answers, status {done.status}")
    if not all(status.isascii() and status.isdecimal() and len(status) < 4 for status in statuses):
        raise ParseError(f"statuses of {len(batch)} commands: {statuses!r}")
    return [
        Completed(short.argv, int(status), stdout, stderr)
        for short, status, stdout, stderr in zip(batch, statuses, outputs[::2], complained, strict=False)
    ]
