# SPDX-License-Identifier: Apache-2.0
"""One controller a host, and no undo beside a write: locks on the host itself, which leave no file there.

Both are advisory (flock(2)), on what every Linux host has once for each network namespace, so that hosts of a
lab, which share a file system, have their own:

- ``/sys/class/net`` is locked by a process of the controller that works on the host. It is on a leash: the
  lock is gone with the connection. Who holds it stands in that process's arguments.
- ``/proc/self/ns/net`` is locked by whatever changes the host (:mod:`linewatt.hosts.batch`) until the last
  process of it has ended, also when its controller is gone and the kernel keeps a tool for seconds.

A host without flock(1) of util-linux is worked on all the same, and that is said.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import platform
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from linewatt.errors import HostError, HostInUse, HostLost, WaitTimeout
from linewatt.foreign import shortened
from linewatt.hosts import Host, Line, Process, finish_before_cancel, now_s

OnText = Callable[[str], None]

GRACE_S = 3.0
"""what a holder whose controller was just killed may take to go; its leash promises two seconds"""
ENDS_S = 1.5
"""and what it may take beyond a silence that is longer, on a host that is known to be slow"""
AGAIN_S = 5.0
"""how often somebody who waits is told for whom"""
ANSWER_LIMIT_S = 10.0
WRITER_LIMIT_S = 60.0
"""how long an undo waits for a change that is still being made: a NIC's firmware can take tens of seconds"""
MOST_SHOWN = 60

# $1: whether a lock of our own may be a former connection's, $2: whether to wait without end, $3 and $4:
# limits in seconds, then what identifies the holder, token first. A process whose arguments say that it holds
# this lock is believed: anybody on the host can take it, or say so.
_TAKE = r"""stale=$1 endless=$2 grace=$3 again=$4; shift 4
{ exec 9</sys/class/net; } 2>/dev/null && type flock >/dev/null 2>&1 || { echo none; exit; }
here=$(stat -Lc %d:%i /sys/class/net)
busy() {
  local file words word
  for file in $(grep -slF linewatt-holds /proc/[0-9]*/cmdline); do
    words=()
    while IFS= read -r -d '' word; do words+=("${word//[[:cntrl:]]/?}"); done 2>/dev/null <"$file"
    [ "${words[3]}" = linewatt-holds ] && [ "${words[4]}" = "$here" ] || continue
    printf 'busy'; printf '\t%.200s' "${words[@]:5}"; echo
    [ "${words[5]}" = "$1" ] && return 1
    return 0
  done
  echo busy
}
if ! flock -n 9 && [ "$stale" = 0 ] && ! busy "$1" >/dev/null; then busy "$1"; exit; fi
while :; do
  flock -E 75 -w "$grace" 9
  case $? in 0) break;; 75) ;; *) echo none; exit;; esac
  busy "$1"
  [ "$endless" = 1 ] || exit
  grace=$again
done
exec bash -c 'exec 8<> <(:); echo held; read -r _ <&8' linewatt-holds "$here" "$@" """

# $1: limit in seconds. Says which processes hold the lock of writers; descriptor 9 is theirs
WRITERS = r"""{ exec 9</proc/self/ns/net; } 2>/dev/null && type flock >/dev/null 2>&1 || exit 0
flock -s -E 75 -w "$1" 9
[ "$?" = 75 ] || exit 0
for folder in /proc/[0-9]*; do
  [ "${folder##*/}" != "$BASHPID" ] && [ "$folder/fd/9" -ef /proc/self/ns/net ] || continue
  read -r name 2>/dev/null <"$folder/comm" && printf '%s %s\n' "${folder##*/}" "${name//[[:cntrl:]]/?}"
done
exit 75"""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a host, for what, since when: what another controller is told."""

    what: str
    user: str = field(default_factory=lambda: _user())
    controller: str = field(default_factory=platform.node)
    since: str = field(
        default_factory=lambda: datetime.fromtimestamp(now_s(), UTC).strftime("%F %H:%M:%S UTC")
    )
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def words(self) -> list[str]:
        return [self.token, self.user, self.controller, self.what, self.since]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.getuid()}"


@dataclass(frozen=True, slots=True)
class Held:
    """A host that no other linewatt works on until :meth:`release`, unless ``note`` says why not."""

    process: Process | None = None
    note: str | None = None

    async def release(self) -> None:
        if self.process is not None:
            with suppress(HostError):
                await self.process.stop()


async def take(host: Host, holder: Holder, on_busy: OnText | None = None, *, again: bool = False) -> Held:
    """Keep other controllers away from a host. Raises HostInUse naming who works there, HostError.

    ``on_busy``: wait for it as long as it takes, and say for whom. ``again``: what holds it may be left of a
    connection of our own that was lost; else it is another name of the same machine, which is ours then.
    """
    lines: asyncio.Queue[str] = asyncio.Queue()

    def heard(line: Line) -> None:
        lines.put_nowait(line.text)

    grace_s = max(GRACE_S, host.limits.silence_s + ENDS_S)
    flags = [str(int(again)), str(int(on_busy is not None)), f"{grace_s:g}", f"{max(grace_s, AGAIN_S):g}"]
    process = await host.start(["bash", "-c", _TAKE, "linewatt", *flags, *holder.words()], on_line=heard)
    held = Held(process)
    try:
        last_told = ""
        while True:
            answer = await _answer(host, process, lines, max(grace_s, AGAIN_S))
            if answer == "held":
                return held
            if answer == "none":
                await finish_before_cancel(held.release())
                name = host.spec.name
                return Held(
                    note=f"{name}: no flock there (util-linux), so nothing keeps other controllers away"
                )
            if answer.partition("\t")[0] != "busy":
                raise HostError(
                    f"answers {shortened(answer)!r} when asked for the lock on it; "
                    "are bash, stat and flock there what they should be?",
                    where=host.spec.name,
                )
            token, who = _who(answer)
            if token == holder.token or on_busy is None:
                await finish_before_cancel(held.release())
                if token == holder.token:
                    return Held()
                raise HostInUse(
                    f"in use by {who}; run, resume and restore wait for its end with --wait",
                    where=host.spec.name,
                )
            if who != last_told:
                on_busy(f"{host.spec.name}: waiting for {who}")
                last_told = who
    except BaseException:
        await finish_before_cancel(held.release())
        raise


async def _answer(host: Host, process: Process, lines: asyncio.Queue[str], quiet_s: float) -> str:
    """The next line of a process that asks for a lock, and may say nothing for so long.

    Raises HostLost, WaitTimeout.
    """
    line = asyncio.ensure_future(lines.get())
    limit_s = quiet_s + ANSWER_LIMIT_S + host.limits.late_s
    over = asyncio.ensure_future(process.wait(limit_s, "the lock on it"))
    try:
        await asyncio.wait({line, over}, return_when=asyncio.FIRST_COMPLETED)
        if line.done():
            return line.result()
        over.result()
        if lines.empty():
            raise HostLost("the lock on it could not be asked for: is bash there?", where=host.spec.name)
        return lines.get_nowait()
    finally:
        line.cancel()
        over.cancel()
        over.add_done_callback(
            lambda task: task.cancelled() or task.exception()
        )  # not waited for: told by then


def _who(answer: str) -> tuple[str, str]:
    """The holder's token, and a description for a message. The text comes from the host: untrusted."""
    fields = [
        "".join(c if c.isprintable() else "?" for c in word)[:MOST_SHOWN] for word in answer.split("\t")
    ]
    if len(fields) != 1 + len(Holder("").words()):
        return "", "somebody whose process cannot be seen there"
    _, token, user, controller, what, since = fields
    return token, f"{user}@{controller} ({what}, since {since})"


async def take_all(
    hosts: Sequence[Host], holder: Holder, on_busy: OnText | None = None
) -> list[tuple[Host, Held]]:
    """Take all of these hosts or none. Raises as :func:`take`.

    The first by address before the others, so that of two who want the same hosts one gets them; whoever
    waits holds nothing meanwhile.
    """
    first, *others = sorted(hosts, key=lambda host: (host.spec.address, host.spec.port, host.spec.name))
    while True:
        taken = await _tried([first], holder)
        if not _failures(taken):
            taken += await _tried(others, holder)
        failures = _failures(taken)
        if not failures:
            return [(host, held) for host, held in taken if isinstance(held, Held)]
        await finish_before_cancel(_release(held for _, held in taken))
        host, error = failures[0]
        if on_busy is None or not isinstance(error, HostInUse):
            raise error
        await (await take(host, holder, on_busy)).release()


async def _tried(hosts: Sequence[Host], holder: Holder) -> list[tuple[Host, Held | BaseException]]:
    trying = [asyncio.ensure_future(take(host, holder)) for host in hosts]
    try:
        return list(zip(hosts, await asyncio.gather(*trying, return_exceptions=True), strict=True))
    except asyncio.CancelledError:
        await finish_before_cancel(
            _release(task.result() for task in trying if not task.cancelled() and not task.exception())
        )
        raise


def _failures(taken: Iterable[tuple[Host, Held | BaseException]]) -> list[tuple[Host, BaseException]]:
    return [(host, outcome) for host, outcome in taken if isinstance(outcome, BaseException)]


async def _release(all_held: Iterable[object]) -> None:
    await asyncio.gather(*(outcome.release() for outcome in all_held if isinstance(outcome, Held)))


async def writers_ended(host: Host, say: OnText) -> None:
    """Wait until no change is being made on a host, also by a controller that is gone.

    Raises WaitTimeout naming what still writes, HostLost.
    """
    if not (writers := await _writers(host, 1.0)):
        return
    name = host.spec.name
    say(
        f"{name}: a change is still being made there ({writers}); "
        f"waiting up to {WRITER_LIMIT_S:g} s for its end"
    )
    if writers := await _writers(host, WRITER_LIMIT_S):
        raise WaitTimeout(
            f"waited {WRITER_LIMIT_S:g} s for a change that is still being made there ({writers}); "
            "run `linewatt restore` when it has ended",
            where=name,
        )


async def _writers(host: Host, limit_s: float) -> str:
    """Who writes still after a limit; nothing where nobody does."""
    argv = ["bash", "-c", WRITERS, "linewatt", f"{limit_s:g}"]
    done = await host.run(argv, timeout_s=limit_s + ANSWER_LIMIT_S, root=True)
    if done.status != 75:
        return ""
    writers = [
        line.split(" ", 1) for line in done.stdout.splitlines() if line[:1].isdecimal() and " " in line
    ]
    tools = [writer for writer in writers if writer[1] not in ("bash", "timeout", "sudo", "flock")] or writers
    return (
        ", ".join(f"{name[:MOST_SHOWN]}, process {pid}" for pid, name in tools[:2])
        or "its process is not seen"
    )
