# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt prepare`` runs on a client: constant scripts; whatever varies is an argument of theirs.

Everything lies in one folder of the login user, ``${XDG_CACHE_HOME:-~/.cache}/linewatt``: an environment of
Python packages, ``users-env-<pins>-<python>-<machine>``, and the users' code, ``users-code-<digest>``. Each
is whole once it has a file ``complete``, which is written last; the machine is in the name because a home
can be that of several. Who writes there holds the lock ``users.lock``, which ends with its process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.errors import HostError
from linewatt.foreign import last_line
from linewatt.hosts import Completed

LOCK = "users.lock"
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")
"""newest first; the last is the distribution's own"""

# $1: pins, $2: code. A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory Specification). An
# environment whose Python was taken away or became another version is none.
LOOK = r"""cache=$XDG_CACHE_HOME
case $cache in /*) ;; *) cache=${HOME:?is not set}/.cache;; esac
base=$cache/linewatt machine=$(uname -m)
printf 'base %s\nmachine %s\n' "$base" "$machine"
for found in "$base/users-env-$1-"cp*"-$machine"; do
  [ -e "$found/complete" ] || continue
  is=$("$found/venv/bin/python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])' 2>/dev/null)
  [ "$found" = "$base/users-env-$1-$is-$machine" ] && printf 'env %s\n' "$found"
done
[ -e "$base/users-code-$2/complete" ] && printf 'code %s\n' "$base/users-code-$2"
exit 0
"""

# $@: names. Until one will do. Debian keeps ensurepip, which fills an environment, in a package of its own
FIND_PYTHONS = r"""for name; do
  path=$(command -v "$name") || continue
  "$path" -I -S -c 'import sys
from importlib.util import find_spec
fills = find_spec("ensurepip") is not None
print("%d %d %d %s" % (sys.version_info[0], sys.version_info[1], fills, sys.argv[1]))
sys.exit(not fills or sys.version_info < (3, 11))' "$path" 2>/dev/null && break
done
exit 0
"""

# Runs a command under the lock. Who waited for a lock that was removed meanwhile takes the new one. Nothing
# may be said unless it fails: the first word means that the lock is held.
_LOCKED = r"""lock=$1 limit=$2; shift 2
base=${lock%/*}
while :; do
  mkdir -p -m 700 -- "$base" || exit 73
  { exec 9>>"$lock"; } 2>/dev/null || {
    [ -d "$base" ] || continue
    echo "it cannot be written" >&2; exit 73
  }
  [ -O "$lock" ] || [ ! -e "$lock" ] || { echo "it belongs to another user" >&2; exit 73; }
  flock -w "$limit" 9 || { echo "another linewatt works there since $limit s" >&2; exit 75; }
  [ "$lock" -ef "/proc/$BASHPID/fd/9" ] && break
done
exec "$@"
"""

CLEAR = r"""for folder; do rm -rf -- "$folder" && mkdir -m 700 -- "$folder" || exit 1; done"""

# Base64 on standard input goes to the end of the file $1
APPEND = r"""base64 -d >>"$1" """

# $1: code, $2: environment (none where Python is the user's own), $3: Python, then options of pip on where
# packages come from. What is whole is left as it is. The import proves both together; no cache is left.
_BUILD = r"""code=$1 env=$2 python=$3; shift 3
set -e
unset PYTHONPATH PYTHONHOME
cd "${code%/*}"
unpack() { tar -xf "$1/sent.tar" -C "$1"; rm -- "$1/sent.tar"; }
whole() { sync -f "$1" 2>/dev/null || sync; : >"$1/complete"; }
echo unpack
[ -e "$code/complete" ] || { unpack "$code"; whole "$code"; }
if [ -n "$env" ] && [ ! -e "$env/complete" ]; then
  unpack "$env"
  echo venv
  "$python" -m venv "$env/venv" >&2
  echo pip
  cd "$env"
  venv/bin/python -m pip --no-input --disable-pip-version-check --quiet install --no-cache-dir --retries 1 \
    --timeout 30 --progress-bar off --require-hashes --only-binary :all: "$@" -r requirements.txt >&2
  rm -rf wheels
fi
echo import
[ -z "$env" ] || python=$env/venv/bin/python
PYTHONPATH=$code "$python" -c 'import linewatt.features.users.worker.locustfile' >&2
[ -z "$env" ] || [ -e "$env/complete" ] || whole "$env"
echo done
"""

SIZE = r"""du -skc -- "$@" 2>/dev/null | tail -n 1"""

# Only folders of this user with names that linewatt gives; no link is followed
REMOVE = r"""base=$1 status=0
for one in "$base"/users-*; do
  name=${one##*/}
  [[ $name =~ ^users-(code-[0-9a-f]{16}|env-[0-9a-f]{16}-cp3[0-9]+-[a-z0-9_]+)$ ]] || continue
  [ -d "$one" ] && [ ! -L "$one" ] && [ -O "$one" ] || continue
  read -r kib _ < <(du -sk -- "$one" 2>/dev/null)
  rm -rf -- "$one" && printf '%s %s\n' "${kib:-0}" "$one" || status=1
done
rm -f -- "$base/users.lock"
rmdir -- "$base" 2>/dev/null
exit "$status"
"""

# Of a Python of the user's own: its version, what it lacks, and a digest of the users' code it has. The
# arguments are names of files. Must run on any Python, to say that one is too old.
GIVEN = r"""import sys
sys.path[:] = [entry for entry in sys.path if entry]
print("%d %d" % sys.version_info[:2])
if sys.version_info < (3, 11):
    sys.exit()
import hashlib, pathlib
from importlib.util import find_spec
print(*[name for name in ("locust", "hdrh") if find_spec(name) is None])
found = find_spec("linewatt")
above = pathlib.Path(found.origin).parent.parent if found and found.origin else None
whole = hashlib.sha256()
for name in sorted(sys.argv[1:]):
    try:
        content = (above / name).read_bytes()
    except (OSError, TypeError):
        break
    whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
else:
    print(whole.hexdigest()[:16])
"""


def locked(base: str, limit_s: int) -> list[str]:
    """Runs the command that follows, alone among all that write below ``base``."""
    return bash_command(_LOCKED, f"{base}/{LOCK}", str(limit_s))


def build(code: str, env: str, python: str, sources: Sequence[str] = ()) -> list[str]:
    """``env`` is empty where ``python`` has all packages."""
    return bash_command(_BUILD, code, env, python, *sources)


def bash_command(script: str, *words: str) -> list[str]:
    return ["bash", "-c", script, "linewatt", *words]


@dataclass(frozen=True, slots=True)
class Found:
    """What a client has: the folder of everything, its kind of machine, and what of ours is whole."""

    base: str
    machine: str
    env: str | None = None
    code: str | None = None

    @property
    def whole(self) -> tuple[str, str] | None:
        """Environment and code, where both are there."""
        return None if self.env is None or self.code is None else (self.env, self.code)


def found(host: str, done: Completed) -> Found:
    """From what :data:`LOOK` wrote. Raises HostError."""
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    if done.status or not {"base", "machine"} <= answers.keys():
        raise HostError(f"cannot look for its users' environment: {last_line(done.stderr)}", where=host)
    return Found(answers["base"], answers["machine"], answers.get("env"), answers.get("code"))


@dataclass(frozen=True, slots=True)
class Python:
    """A Python of a client; ``makes_venvs``: it has what fills an environment."""

    path: str
    version: tuple[int, int]
    makes_venvs: bool

    @property
    def tag(self) -> str:
        """As wheels name it: ``cp311``."""
        return f"cp{self.version[0]}{self.version[1]}"


def found_pythons(done: Completed) -> list[Python]:
    """From what :data:`FIND_PYTHONS` wrote, in its order."""
    rows = [line.split(" ", 3) for line in done.stdout.splitlines()]
    return [
        Python(row[3], (int(row[0]), int(row[1])), row[2] == "1")
        for row in rows
        if len(row) == 4 and all(word.isdecimal() for word in row[:3])
    ]
