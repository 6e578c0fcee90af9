# SPDX-License-Identifier: Apache-2.0
"""The leash: constant scripts that make what runs on a host end with its controller.

A leashed command runs under a small bash script whose standard input comes from the controller. ``go`` on it
opens the barrier of a held command, ``stop`` or end-of-file interrupts the command's process group (SIGINT,
which makes loads and sensors finish their output) and kills it when it does not end. sshd closes that input
when the connection ends, whatever the reason. A held command waits at a gate, forked and pinned already:
from ``go`` to its first instruction there is one exec. A short command has a leash of its own, which also
carries its input and ends it after its limit (SIGTERM, then SIGKILL).

What a load or a sensor starts in a session of its own (setsid(1) in a wrapper) is known by LINEWATT_LEASH in
its environment, and ends with the leash, too. It names the process of the leash, so that what outlived a
leash that was killed can be told from what is at work (:mod:`linewatt.engine.undo.strays`). A short command
has no such mark: it may start a service of the host again.

A connection that just goes silent (a pulled cable) ends nothing by itself, so one *anchor* per connection
waits for a heartbeat and ends the connection's own sshd process when none comes; it answers each beat with
the host's clock, which is also how clock offsets are measured. How long none may come is said by each beat:
a host that is seen to be slow is given longer (:mod:`linewatt.hosts.limits`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.errors import ParseError
from linewatt.foreign import number

Raises = Literal["", "self", "sudo"]
RAISED, REFUSED = "rr", "refused"
RR_PRIORITY = 1
"""the least of SCHED_RR: above whatever is not of a real-time class, below all that is"""
GRACE_S = 0.1
"""four of these lie between asking a command to end and killing it"""
MARK = "linewatt-leash:"
_ACTED_ON = re.compile(rb"[^A-Za-z0-9 _./:=,+@%-]")
"""bytes that a shell may act on in quotes"""
_DECODE = """for word; do printf -v word %b "$word"; words+=("$word"); done; exec "${words[@]}" """

# bash < 5 has no EPOCHREALTIME
_NOW = 'now() { if [ -n "$EPOCHREALTIME" ]; then t=${EPOCHREALTIME/,/.}; else t=$(date +%s.%N); fi; }'

# $1: how a command and its process group are asked to end; a grace later they are killed, and so is whatever
# else is in the session, such as what a `timeout` of a script started in a group of its own. sshd (and
# hosts/local.py) gives each command a session; where the leash cannot tell that it is its own, none but the
# group ends. A process in the kernel dies when it comes back from there: nobody waits for that here.
_END = r"""end_strays() {
  [ -n "$leash" ] || return
  for file in $(grep -lsF "LINEWATT_LEASH=$leash" /proc/[0-9]*/environ); do
    file=${file%/environ}
    [ "$file/ns/pid" -ef /proc/self/ns/pid ] && kill -KILL "${file#/proc/}"
  done
}
finish() {
  trap '' TERM; exec 4>&-
  kill "-$1" -- "-$child"
  for _ in 1 2 3 4; do kill -0 -- "-$child" || break; sleep "$grace"; done
  kill -KILL -- "-$child"
  read -r _ _ _ _ _ own _ </proc/self/stat
  if [ "$own" = "$$" ] || [ "$own" = "$PPID" ]; then
    for file in /proc/[0-9]*/stat; do
      read -r line <"$file" || continue
      pid=${line%% *}
      set -- ${line##*) }
      [ "$4" = "$own" ] || continue
      case $pid in "$$"|"$own"|"$BASHPID") ;; *) kill -KILL "$pid";; esac
    done
  fi
  end_strays
  for _ in 1 2; do kill -0 "$child" || return; sleep "$grace"; done
  kill -KILL "$$"
}"""

# what a login shell exports (set -eu and SHELLOPTS) is for no script
_PLAIN = "set +eu; export -n SHELLOPTS"

_LEASH = f"""{_PLAIN}
{_NOW}
{_END}
held=$1 grace=$2; shift 2
read -r line <"/proc/$$/stat"; fields=(${{line##*) }})
leash="$$-${{fields[19]}}."  # when it was started: numbers of processes are given anew
exec 3<&0 </dev/null
[ "$held" = 1 ] && exec 5<> <(:)
# job control gives the command a process group of its own; what bash says about jobs is nobody's business
set -m
exec 4>&2 2>/dev/null
[ "$held" = 1 ] || {{ now; printf '{MARK} start %s\\n' "$t" >&4; }}
LINEWATT_LEASH=$leash "$@" 2>&4 3<&- 4>&- & child=$!
[ "$held" = 1 ] || printf '{MARK} pid %s\\n' "$child" >&4
{{ while IFS= read -r word <&3 && [ "$word" != stop ]; do
    [ "$word" = go ] && {{ now; echo >&5; printf '{MARK} start %s\\n' "$t" >&4; }}
  done
  finish INT; }} >/dev/null & watcher=$!
wait "$child"; status=$?
now; printf '{MARK} end %s %s\\n' "$t" "$status" >&4
kill -KILL -- "-$child"; kill -TERM -- "-$watcher"; end_strays
exit "$status"
"""

# A bash script that bash is asked to run needs no bash of its own, which costs more than most of them do: a
# fork of the one that is there runs it. $$ is then not the script's own process; BASHPID is.
INLINE = r"""inline() { set +m; script=$3; set -- "${@:5}"; eval "$script"; }"""

# For a short command: its input comes first, $2 bytes of it, then nothing until it is to end. A pipe carries
# the input on, opened twice: what has it open for reading and writing would never see its end.
_BRIEF = f"""{_PLAIN}
{_END}
{INLINE}
limit=$1 size=$2 grace=$3 leash=; shift 3
[ "$1 $2" = "bash -c" ] && set -- inline "$@"
exec 3<&0 6</dev/null 7>/dev/null
[ "$size" = 0 ] || {{ exec 5<> <(:); exec 6</dev/fd/5 7>/dev/fd/5 5<&-; }}
set -m
exec 4>&2 2>/dev/null
"$@" <&6 2>&4 3<&- 4>&- 6<&- 7>&- & child=$!
{{ exec 6<&-
  [ "$size" = 0 ] || head -c "$size" <&3 >&7
  exec 7>&-; trap '' ALRM
  IFS= read -r -t "$limit" word <&3
  [ "$?" -gt 128 ] && printf '\\n{MARK} late 0\\n' >&4
  finish TERM; }} >/dev/null & watcher=$!
exec 6<&- 7>&-
wait "$child"; status=$?
kill -KILL -- "-$child"; kill -TERM -- "-$watcher"
exit "$status"
"""

# Between the leash and a held command: its number first, by which it is known to be held; the leash writes a
# line to descriptor 5 when the barrier opens.
_PID = f"""printf '{MARK} pid %s\\n' "$$" >&2
"""
_GATE = """IFS= read -r go <&5 && exec "$@" 5<&-"""

# How often the kernel has moved this process to another CPU by now (CONFIG_SCHED_DEBUG). exec keeps the
# count, so that of a command which was put on its CPUs before, only what comes later is a move.
_MIGRATIONS = rf"""mapfile -t lines 2>/dev/null <"/proc/$$/sched"
for line in "${{lines[@]}}"; do case $line in se.nr_migrations*)
  printf '{MARK} migrations %s\n' "${{line##*[[:blank:]]}}" >&2; break ;; esac; done
"""
_COUNTED = _MIGRATIONS + 'exec "$@"'

# bash 5.2 can be hit by its own alarm just after a read with a limit: let it be ignored then.
# The parent is asked for at the end: bash's PPID may be a number given anew by then. Once the connection's
# process has ended the parent is the first process, which in a container can be the sshd that listens.
# $2: nothing, or as whom the scheduling class of this connection's own process and of this script is raised;
# what they start is of the ordinary class (SCHED_RESET_ON_FORK, sched(7)). The answer is what was read back.
_ANCHOR = f"""{_PLAIN}
{_NOW}
trap '' ALRM
silence=$1 raised=
if [ -n "$2" ]; then
  as=(); [ "$2" = sudo ] && as=(sudo -n)
  IFS= read -r name <"/proc/$PPID/comm"
  case $name in sshd*) "${{as[@]}}" chrt -R -r -p {RR_PRIORITY} "$PPID"
    "${{as[@]}}" chrt -R -r -p {RR_PRIORITY} "$$";; esac
  case $(chrt -p "$PPID") in *SCHED_RR*RESET*) raised={RAISED};; *) raised={REFUSED};; esac
  case $(chrt -p "$$") in *SCHED_RR*RESET*) ;; *) raised={REFUSED};; esac
fi </dev/null >/dev/null 2>&1
while read -r -t "$silence" beat silence; do now; printf '%s %s %s\\n' "$beat" "$t" "$raised"; done
while read -r key parent; do [ "$key" = PPid: ] && break; done <"/proc/$$/status"
[ "$parent" -gt 1 ] || exit 0
IFS= read -r name <"/proc/$parent/comm"
case $name in sshd*) kill -TERM "$parent";; esac
"""


@dataclass(frozen=True, slots=True)
class Marks:
    """What a leash wrote about its command, host clock; and the command's own stderr without it.

    ``pid`` is that of the command itself, which the words before it (``taskset``) become. ``late``: it was
    ended because it did not end by itself within its limit. ``migrations``: how often the kernel had moved
    it when the wrapper had put it where it runs.
    """

    started_s: float | None
    ended_s: float | None
    stderr: str
    pid: int | None = None
    late: bool = False
    migrations: int | None = None


def leashed(argv: Sequence[str], *, held: bool, root: bool, wrapper: Sequence[str] = ()) -> list[str]:
    """Argument list that runs ``argv`` on a leash, as root through ``sudo -n`` if asked.

    ``wrapper`` is a command that runs the one after it (``taskset -c 3``); a held command waits inside it.
    """
    prefix = ["sudo", "-n", "--"] if root else []
    gate = ["bash", "-c", _PID + (_MIGRATIONS if wrapper else "") + _GATE, "linewatt"] if held else []
    if wrapper and not held:
        gate = ["bash", "-c", _COUNTED, "linewatt"]
    leash = ["bash", "-c", _LEASH, "linewatt", "1" if held else "0", str(GRACE_S)]
    return [*prefix, *leash, *wrapper, *gate, *argv]


def brief(argv: Sequence[str], *, limit_s: float, size: int, root: bool) -> list[str]:
    """Argument list that runs a short command within a limit, with ``size`` bytes of input."""
    prefix = ["sudo", "-n", "--"] if root else []
    return [*prefix, "bash", "-c", _BRIEF, "linewatt", f"{limit_s:g}", str(size), str(GRACE_S), *argv]


def anchor(first_s: float, raises: Raises = "") -> list[str]:
    """Argument list of the process that ends a silent connection and tells the host's time.

    ``first_s``: how long the first heartbeat is waited for; each says how long the next one is. ``raises``:
    it and its connection's process are to be of SCHED_RR, made so by themselves or through sudo; each answer
    then ends with RAISED or REFUSED.
    """
    return ["bash", "-c", _ANCHOR, "linewatt", f"{first_s:g}", raises]


def beat(stamp_s: float, silence_s: float) -> bytes:
    """A heartbeat: its time, and the silence after which the host ends the connection."""
    return b"%.6f %g\n" % (stamp_s, silence_s)


def shell_line(argv: Sequence[str]) -> str:
    """What the login shell is given: every word quoted, the shell replaced by the command."""
    return "exec " + shlex.join(argv)


def encoded_line(argv: Sequence[str]) -> str:
    """The same for a login shell that is not like sh: csh ends a word with its line, and acts on ``!``."""
    words = (_ACTED_ON.sub(lambda byte: b"\\x%02x" % byte[0][0], word.encode()).decode() for word in argv)
    quoted = " ".join(f"'{word}'" for word in words)
    return f"exec bash -c '{_DECODE}' linewatt {quoted}"


def read_marks(stderr: str) -> Marks:
    """Separate the leash's marks from what the command itself wrote to stderr."""
    stamps: dict[str, float] = {}
    unmarked = []
    for line in stderr.splitlines(keepends=True):
        before_mark, mark, marked = line.partition(MARK)  # the command's last line may have no end
        if mark and not line.endswith("\n"):
            unmarked.append(before_mark)
            continue
        try:
            name, word, *_ = marked.split()
            stamps[name] = number(word, "a mark")
            unmarked.append(before_mark)
        except (ParseError, ValueError):  # what the command wrote itself
            unmarked.append(line)
    pid, migrations = (_count(stamps.get(name)) for name in ("pid", "migrations"))
    return Marks(
        stamps.get("start"),
        stamps.get("end"),
        "".join(unmarked),
        pid,
        late="late" in stamps,
        migrations=migrations,
    )


def _count(stamp: float | None) -> int | None:
    return None if stamp is None else int(stamp)
