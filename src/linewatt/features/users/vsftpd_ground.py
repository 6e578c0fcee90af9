# SPDX-License-Identifier: Apache-2.0
"""What a host must have before a vsftpd is started there, and the constant scripts that run it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linewatt.errors import HostError, HostLacks, ParseError
from linewatt.features.users.folder_knob import SERVER_PROCESSES
from linewatt.features.users.worker.server_vsftpd import LogTotals
from linewatt.foreign import contained, one_line
from linewatt.hosts import Completed, Host, now_s

LOG_AHEAD_BYTES = 4 * 1024 * 1024
"""of the disk, kept free for the log between two readings: some 30,000 transfers"""
MEMORY_SHARE = 0.8
"""of the memory that is free, files may take where they are in memory"""
_IN_MEMORY = {"tmpfs", "ramfs"}

# $1 folder, $2 port
LOOK = r"""PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
echo "uid $EUID"
echo "program $(type -P vsftpd)"
for name in ftp nobody; do id -u "$name" >/dev/null 2>&1 && { echo "user $name"; break; }; done
real=$(readlink -e -- "$1") && [ -d "$real" ] && {
  echo "folder $real"
  echo "disk $(stat -f -c '%T %a %S' -- "$real")"
}
while read -r name size _; do [ "$name" = MemAvailable: ] && echo "memory $size"; done </proc/meminfo
ss -Hltnp "sport = :$2" | while read -r line; do echo "listener $line"; done"""

# $1: the folder. Input: what the file of that name is to hold
KEEP = 'umask 077; exec cat >"$1"'

# $1: a file that is to be there, empty
TOUCH = 'umask 077; : >"$1"'

# $1 folder. Input: the next piece of the pattern in base64
PIECE = 'umask 077; exec base64 -d >>"$1/pattern"'

# $1 folder, $2 user, $3 SHA-256 of the pattern
LAY_OUT = r"""export LC_ALL=C; umask 022; cd -- "$1" || exit
[ "$(sha256sum <pattern)" = "$3  -" ] || { echo "the content of files did not arrive whole" >&2; exit 1; }
mkdir -m 0755 home home/get home/put empty && chown "$2" home/put"""

# $1 folder, $2 length of the pattern. Input: a size a line; empty lines are none
FILL = r"""export LC_ALL=C; umask 022; cd -- "$1" || exit
number=0
while read -r size; do
  [ "$size" ] || continue
  printf -v file 'home/get/%05d' "$number"; number=$((number + 1))
  for (( left = size; left > 0; left -= $2 )); do head -c "$left" pattern || exit; done >"$file"
  has=$(stat -c %s -- "$file")
  [ "$has" = "$size" ] || { echo "$file has $has B of $size" >&2; exit 1; }
done
rm -f pattern"""

# $1 program, $2 its configuration, $3 what ends its sessions. Whoever watches has a session of its own and
# waits for the end of this shell, however that comes: sessions of vsftpd are in no process group of the
# listener's and outlive it. It holds stderr until it is done, so the end of this command is that of all. It
# does not end with the leash (hosts/leash.py), whose mark it does not have.
SERVE = r"""exec 7> >(exec env -u LINEWATT_LEASH setsid bash -c "$3" linewatt "$2" >/dev/null)
"$1" "$2" 0>&2 7>&-
exit "$?" """

WATCH = (
    SERVER_PROCESSES
    + r"""trap '' INT TERM HUP
while IFS= read -r _; do :; done
end_server "$1" """
)

# $1 port, $2 configuration, $3 limit in seconds; says who has the port instead
LISTENS = (
    SERVER_PROCESSES
    + r"""PATH=$PATH:/usr/sbin:/sbin
listens() {
  found=$(ss -Hltnp "sport = :$1"); of_server "$2"
  for pid in $pids; do [[ $found = *"pid=$pid,"* ]] && return; done
  return 1
}
until listens "$1" "$2"; do
  [ "$SECONDS" -ge "$3" ] && { echo "$found"; exit 1; }
  sleep 0.05
done"""
)

# $1 configuration, $2 limit in seconds; says how many processes beside the listener are left
SETTLED = (
    SERVER_PROCESSES
    + r"""left() { of_server "$1"; set -- $pids; left=$(($# > 1 ? $# - 1 : 0)); }
left "$1"
while [ "$left" -gt 0 ] && [ "$SECONDS" -lt "$2" ]; do sleep 0.1; left "$1"; done
echo "$left" """
)

# $1 log, $2 its inode as known, $3 from where, $4 how much at most, $5 bytes kept free after it. Said first:
# from where and to where this reading goes, its size, what it takes of the disk, its inode. What was read
# before gives its place back: a hole, which moves nothing and loses nothing that is being written, unlike a
# file cut short or replaced (fallocate(2)).
READ_LOG = r"""PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
read -r size blocks block inode < <(stat -c '%s %b %B %i' -- "$1" 2>/dev/null) || { echo gone; exit; }
from=$3; [ "$inode" = "$2" ] && [ "$from" -le "$size" ] || from=0
end=$((size - from > $4 ? from + $4 : size))
echo "$from $end $size $((blocks * block)) $inode"
[ "$end" -gt "$from" ] && tail -c "+$((from + 1))" -- "$1" | head -c "$((end - from))"
{ [ "$from" -gt 0 ] && fallocate -p -o 0 -l "$from" -- "$1"
  fallocate -n -o "$size" -l "$5" -- "$1"; } 2>/dev/null
exit 0"""

_HOLDER = re.compile(r'users:\(\("([^"]+)",pid=(\d+)')


@dataclass(frozen=True, slots=True)
class Ground:
    """What was found: ``folder`` without symbolic links, ``free_bytes`` of it, who listens at the port."""

    program: str
    user: str
    folder: str
    free_bytes: int
    in_memory: bool


def ground(host: str, look_output: str, folder: str, port: int) -> Ground:
    """From what :data:`LOOK` said. Raises HostLacks."""
    values_by_key: dict[str, list[str]] = {}
    for line in look_output.splitlines():
        name, _, value_text = line.partition(" ")
        values_by_key.setdefault(name, []).append(value_text.strip())
    for what, advice in _missing(values_by_key, folder, port):
        raise HostLacks(host, what, advice)
    with contained(f"what it says of {folder}", where=host):
        kind, blocks, block_bytes = values_by_key["disk"][0].rsplit(" ", 2)
        free, in_memory = int(blocks) * int(block_bytes), kind in _IN_MEMORY
        if in_memory and "memory" in values_by_key:
            free = min(free, int(int(values_by_key["memory"][0]) * 1024 * MEMORY_SHARE))
        return Ground(
            values_by_key["program"][0], values_by_key["user"][0], values_by_key["folder"][0], free, in_memory
        )


def _missing(values_by_key: dict[str, list[str]], folder: str, port: int) -> Iterator[tuple[str, str]]:
    """What is missing, and what to do."""
    if values_by_key.get("uid") != ["0"]:
        yield "vsftpd is started by root", "set sudo for this host, or log in as root"
    if not values_by_key.get("program", [""])[0]:
        yield "no vsftpd", "install it (apt-get or dnf install vsftpd), its service is not needed"
    if "user" not in values_by_key:
        yield "there is neither a user ftp nor nobody for vsftpd to run as", "create one (useradd -r ftp)"
    if "disk" not in values_by_key:
        yield f"{folder} is not a directory there", "choose another with users.folder"
    if "listener" in values_by_key:
        yield (
            f"port {port} is taken by {holder(values_by_key['listener'][0])}",
            "stop it or choose another users.port",
        )


def holder(listener: str) -> str:
    """Who has a port, from a line of ``ss -p``."""
    match = _HOLDER.search(listener)
    return f"{match[1]} (process {match[2]})" if match else "another program"


def check_room(host: str, server_ground: Ground, get_bytes: int, put_bytes: int) -> None:
    """Raises HostError if the files to get and the most that users put at once do not fit."""
    needed = get_bytes + put_bytes + 2 * LOG_AHEAD_BYTES
    if needed <= server_ground.free_bytes:
        return
    memory = " (it is memory)" if server_ground.in_memory else ""
    raise HostError(
        f"{server_ground.folder}{memory} has {server_ground.free_bytes / 1e9:.2f} GB free, "
        f"and users need "
        f"{needed / 1e9:.2f} GB ({get_bytes / 1e9:.2f} to get, up to {put_bytes / 1e9:.2f} put at once); "
        "take smaller files or fewer users, or another users.folder",
        where=host,
    )


PIECE_BYTES = 512 * 1024
"""of one reading: heartbeats of the connection must not wait for long behind it on a slow line"""
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Piece:
    """What one reading brought: from where to where, the log's size, what of the disk it takes; its text."""

    start: int
    end: int
    size: int
    taken_bytes: int
    inode: str
    text: str


class FollowedLog:
    """``totals`` are what was read until ``read_s`` (controller's time line; ``None``: not yet)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.totals = LogTotals()
        self.read_s: float | None = None
        self.taken_bytes = 0
        self._inode, self._end = "-", 0

    async def read(self, host: Host) -> bool:
        """Read on to the end as it is now; whether there is one.

        Raises HostLost, WaitTimeout, ParseError; nothing counts twice.
        """
        while True:
            began_s = now_s()
            words = [
                "linewatt",
                self.path,
                self._inode,
                str(self._end),
                str(PIECE_BYTES),
                str(LOG_AHEAD_BYTES),
            ]
            done = await host.run(["bash", "-c", READ_LOG, *words], timeout_s=LIMIT_S, root=True)
            piece = parse_piece(host.spec.name, done)
            if piece is not None:
                self._take(piece)
            self.read_s = began_s
            if piece is None or not piece.start < piece.end < piece.size:
                return piece is not None

    def _take(self, piece: Piece) -> None:
        if piece.inode != self._inode or piece.start != self._end:
            self.totals.cut()
        self.totals.take(piece.text)
        self._inode, self._end, self.taken_bytes = piece.inode, piece.end, piece.taken_bytes


def parse_piece(host: str, done: Completed) -> Piece | None:
    """What :data:`READ_LOG` said; ``None``: there is no log. Raises ParseError."""
    head, _, text = done.stdout.partition("\n")
    if head == "gone":
        return None
    words = head.split()
    if done.status != 0 or len(words) != 5 or not all(word.isdecimal() for word in words):
        complaint = one_line((done.stderr.strip() or head)[:120])
        raise ParseError(f"{host}: vsftpd's log cannot be read: {complaint or f'status {done.status}'}")
    start, end, size, taken = (int(word) for word in words[:4])
    return Piece(start, end, size, taken, words[4], text)
