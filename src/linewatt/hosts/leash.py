# SPDX-License-Identifier: Apache-2.0
"""The leash: constant scripts that make what runs on a host end with its controller.

A leashed command runs under a small bash script whose standard input comes from the controller. ``go`` on it
opens the barrier of a held command, ``stop`` or end-of-file interrupts the command's process group (SIGINT,
which makes iperf3 and mpstat finish their output) and kills it when it does not end. sshd closes that input
when the connection ends, whatever the reason. A held command waits at a gate, forked and pinned already:
from ``go`` to its first instruction there is one exec.

A connection that just goes silent (a pulled cable) ends nothing by itself, so one *anchor* per connection
waits for a heartbeat and ends the connection's own sshd process when none comes; it answers each beat with
the host's clock, which is also how clock offsets are measured.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.errors import ParseError
from linewatt.foreign import number

BEAT_S = 0.3
SILENCE_LIMIT_S = 1.5
KILL_AFTER_S = 0.4
MARK = "linewatt-leash:"

# bash < 5 has no EPOCHREALTIME
_NOW = 'now() { if [ -n "$EPOCHREALTIME" ]; then t=${EPOCHREALTIME/,/.}; else t=$(date +%s.%N); fi; }'

_LEASH = f"""{_NOW}
held=$1 grace=$2; shift 2
exec 3<&0 </dev/null
[ "$held" = 1 ] && exec 5<> <(:)
# job control gives the command a process group of its own; what bash says about jobs is nobody's business
set -m
exec 4>&2 2>/dev/null
[ "$held" = 1 ] || {{ now; printf '{MARK} start %s\\n' "$t" >&4; }}
"$@" 2>&4 3<&- 4>&- & child=$!
[ "$held" = 1 ] || printf '{MARK} pid %s\\n' "$child" >&4
{{ while IFS= read -r word <&3 && [ "$word" != stop ]; do
    [ "$word" = go ] && {{ now; echo >&5; printf '{MARK} start %s\\n' "$t" >&4; }}
  done
  kill -INT -- "-$child"; sleep "$grace"; kill -KILL -- "-$child"; }} >/dev/null & watcher=$!
wait "$child"; status=$?
now; printf '{MARK} end %s %s\\n' "$t" "$status" >&4
kill -KILL -- "-$child" "-$watcher"
exit "$status"
"""

# Between the leash and a held command: the leash writes a line to descriptor 5 when the barrier opens.
_GATE = f"""printf '{MARK} pid %s\\n' "$$" >&2; IFS= read -r go <&5 && exec "$@" 5<&-"""

# bash 5.2 can be hit by its own alarm just after a read with a limit: let it be ignored then.
# The parent is asked for at the end: bash's PPID may be a number given anew by then. Once the connection's
# process has ended the parent is the first process, which in a container can be the sshd that listens.
_ANCHOR = f"""{_NOW}
trap '' ALRM
while IFS= read -r -t "$1" beat; do now; printf '%s %s\\n' "$beat" "$t"; done
while read -r key parent; do [ "$key" = PPid: ] && break; done <"/proc/$$/status"
[ "$parent" -gt 1 ] || exit 0
IFS= read -r name <"/proc/$parent/comm"
case $name in sshd*) kill -TERM "$parent";; esac
"""


@dataclass(frozen=True, slots=True)
class Marks:
    """What a leash wrote about its command, host clock; and the command's own stderr without it.

    ``pid`` is that of the command itself, which the words before it (``taskset``) become.
    """

    started_s: float | None
    ended_s: float | None
    stderr: str
    pid: int | None = None


def leashed(argv: Sequence[str], *, held: bool, root: bool, within: Sequence[str] = ()) -> list[str]:
    """Argument list that runs ``argv`` on a leash, as root through ``sudo -n`` if asked.

    ``within`` is a command that runs the one after it (``taskset -c 3``); a held command waits inside it.
    """
    prefix = ["sudo", "-n", "--"] if root else []
    gate = ["bash", "-c", _GATE, "linewatt"] if held else []
    leash = ["bash", "-c", _LEASH, "linewatt", "1" if held else "0", str(KILL_AFTER_S)]
    return [*prefix, *leash, *within, *gate, *argv]


def anchor() -> list[str]:
    """Argument list of the process that ends a silent connection and tells the host's time."""
    return ["bash", "-c", _ANCHOR, "linewatt", str(SILENCE_LIMIT_S)]


def shell_line(argv: Sequence[str]) -> str:
    """What the login shell is given: every word quoted, the shell replaced by the command."""
    return "exec " + shlex.join(argv)


def read_marks(stderr: str) -> Marks:
    """Separate the leash's marks from what the command itself wrote to stderr."""
    stamps: dict[str, float] = {}
    rest = []
    for line in stderr.splitlines(keepends=True):
        own, mark, said = line.partition(MARK)  # the command's last line may have no end
        if mark and not line.endswith("\n"):
            rest.append(own)
            continue
        try:
            name, word, *_ = said.split()
            stamps[name] = number(word, "a mark")
            rest.append(own)
        except (ParseError, ValueError):  # what the command wrote itself
            rest.append(line)
    pid = stamps.get("pid")
    return Marks(stamps.get("start"), stamps.get("end"), "".join(rest), None if pid is None else int(pid))
