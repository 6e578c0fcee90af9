# SPDX-License-Identifier: Apache-2.0
"""Processes on a host that outlived the leash they were started on: ended, or named where they may not be.

A leash ends what it started, also what went into a session of its own. Strays are left where the leash itself
was killed. They have the mark of a leash in their environment (:mod:`linewatt.hosts.leash`) whose process is
no more; those of a leash that is at work are left alone, whoever's it is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from linewatt.engine.undo.host_lock import OnText
from linewatt.errors import HostError
from linewatt.foreign import one_line
from linewatt.hosts import Host

LIMIT_S = 10.0
MOST_NAMED = 3

# SIGTERM, and SIGKILL a second later. The mark is looked at once more before each: numbers are given anew.
_END_STRAYS = r"""mark_of() {
  mark=
  while IFS= read -r -d '' word; do
    case $word in LINEWATT_LEASH=*) mark=${word#*=};; esac
  done <"/proc/$1/environ"
}
is_stray() {
  [ "/proc/$1/ns/pid" -ef /proc/self/ns/pid ] || return  # elsewhere the leash has another number
  mark_of "$1"
  [[ $mark =~ ^([0-9]+)-([0-9]+)\.$ ]] || return
  leash=${BASH_REMATCH[1]} started=${BASH_REMATCH[2]}
  read -r line <"/proc/$leash/stat" || return 0
  fields=(${line##*) })
  [ "${fields[19]}" != "$started" ] || [ "${fields[0]}" = Z ]
}
runs() { read -r line <"/proc/$1/stat" && case ${line##*) } in Z*) false;; esac; }
exec 2>/dev/null 9<> <(:)
strays=()
for file in $(grep -lsF LINEWATT_LEASH= /proc/[0-9]*/environ); do
  file=${file#/proc/}; is_stray "${file%/environ}" && strays+=("${file%/environ}")
done
names=()
for pid in "${strays[@]}"; do
  read -r name <"/proc/$pid/comm"; names+=("$name"); kill -TERM "$pid"
done
for round in 1 2 3 4 5 6 7 8 9 10; do
  left=0
  for pid in "${strays[@]}"; do runs "$pid" && left=1; done
  [ "$left" = 1 ] || break
  read -r -t 0.1 _ <&9
done
for at in "${!strays[@]}"; do
  pid=${strays[at]} outcome=ended
  if runs "$pid" && is_stray "$pid"; then kill -KILL "$pid" || outcome=left; fi
  printf '%s %s %s\n' "$outcome" "$pid" "${names[at]//[[:cntrl:]]/?}"
done"""


@dataclass(frozen=True, slots=True)
class Stray:
    """A process that outlived its leash; ``ended``: it runs no more."""

    pid: int
    name: str
    ended: bool


def strays_command() -> list[str]:
    return ["bash", "-c", _END_STRAYS, "linewatt"]


def parse_strays(output: str) -> list[Stray]:
    """What the command says of each; other lines are left out."""
    lines = (line.split(" ", 2) for line in output.splitlines())
    return [
        Stray(int(words[1]), one_line(words[2])[:40], words[0] == "ended")
        for words in lines
        if len(words) == 3 and words[0] in ("ended", "left") and words[1].isdecimal()
    ]


async def end_strays(host: Host, say: OnText) -> None:
    """Say which processes had outlived their leash and what became of them; a host that is lost has none."""
    strays = []
    with suppress(HostError):
        if host.lost is None:
            done = await host.run(strays_command(), timeout_s=LIMIT_S, root=True)
            strays = parse_strays(done.stdout)
    if ended := [stray for stray in strays if stray.ended]:
        say(f"{host.spec.name}: ended {_named(ended)}, which a load or sensor had left running")
    if running := [stray for stray in strays if not stray.ended]:
        pids = " ".join(str(stray.pid) for stray in running)
        say(
            f"{host.spec.name}: {_named(running)} was started for a load and still runs; this login may not "
            f"end it, so end it there: kill {pids}"
        )


def _named(strays: list[Stray]) -> str:
    named = ", ".join(f"{stray.name} ({stray.pid})" for stray in strays[:MOST_NAMED])
    more = len(strays) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
