# SPDX-License-Identifier: Apache-2.0
"""The folder of a file server that linewatt starts for users. The target is its path.

No knob to turn: it is here so that the folder stands in the undo journal and goes with whatever else a
campaign changed. What is removed is a folder with a name of linewatt's own that belongs to root, and nothing
it links to or that is mounted in it; processes of its server that still run end first.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning import Command, script_command

KNOB = "users_folder"
PRESENT, ABSENT = "present", "absent"
PREFIX = "linewatt-users-"
CONFIGURATION = "vsftpd.conf"
"""within the folder: what tells the processes of its server from any other's"""

_TARGET = re.compile(rf"(?:/(?!\.{{1,2}}/)[A-Za-z0-9_.+@=,:-]+)*/{PREFIX}[0-9a-f]{{12}}", re.ASCII)

# Every process of a vsftpd keeps its arguments, whichever process it was left to. $1: its configuration
SERVER_PROCESSES = r"""of_server() {
  local folder program conf
  pids=
  for folder in /proc/[0-9]*; do
    { IFS= read -r -d '' program && IFS= read -r -d '' conf; } 2>/dev/null <"$folder/cmdline" || continue
    [ "$conf" = "$1" ] && [ "${program##*/}" = vsftpd ] && pids+=" ${folder#/proc/}"
  done
}
# Stopped first, so that none starts another, nor speaks for one that is gone
end_server() {
  local turn
  for (( turn = 0; turn < 200; turn++ )); do
    of_server "$1"; [ "$pids" ] || return 0
    kill -STOP $pids; of_server "$1"; kill -KILL $pids; sleep 0.02
  done 2>/dev/null
  return 1
}
"""

# Absent is only what can be looked for: where a login may not look, a folder would be forgotten
_READ = r"""at=${1%/*}
until [ -e "${at:-/}" ]; do at=${at%/*}; done
[ -x "${at:-/}" ] || { echo "this login may not look into $at; choose another folder" >&2; exit 1; }
if [ -L "$1" ]; then echo link
elif [ -d "$1" ]; then echo present
elif [ -e "$1" ]; then echo file
else echo absent; fi"""

_MAKE = r"""[ "$(readlink -f -- "$1")" = "$1" ] ||
  { echo "a part of $1 is a symbolic link; name the folder it leads to" >&2; exit 1; }
exec mkdir -m 0700 -- "$1" """

_REMOVE = (
    SERVER_PROCESSES
    + r"""end_server "$1/$2" || { echo "processes of $1/$2 do not end" >&2; exit 1; }
[ -e "$1" ] || [ -L "$1" ] || exit 0
[ "$(readlink -f -- "$1")" = "$1" ] && [ -d "$1" ] && [ -O "$1" ] ||
  { echo "$1 is not the folder that linewatt made; look at it and remove it by hand" >&2; exit 1; }
exec rm -rf --one-file-system -- "$1" """
)


class UsersFolder:
    """The canonical text is ``present`` or ``absent``."""

    name = KNOB

    def check(self, value: str) -> str:
        if value not in (PRESENT, ABSENT):
            raise InvalidInput(f"{value!r} is neither {PRESENT} nor {ABSENT}")
        return value

    def read(self, target: str) -> Command:
        return script_command(_READ, own_folder(target))

    def parse(self, output: str) -> str:
        shown = output.strip()
        if shown not in (PRESENT, ABSENT):
            raise ParseError(f"it is not a folder but a {shown[:20]!r}; look at it and remove it by hand")
        return shown

    def wanted(self, before: str, value: str) -> str:
        checked = self.check(value)
        if (before, checked) == (PRESENT, PRESENT):
            raise ChangeError("it is there already; run `linewatt restore`, or remove it by hand")
        return checked

    def write(self, target: str, setting: str) -> Command:
        if self.check(setting) == PRESENT:
            return script_command(_MAKE, own_folder(target))
        return script_command(_REMOVE, own_folder(target), CONFIGURATION)


def own_folder(target: str) -> str:
    """Raises ChangeError if ``target`` is not a path that linewatt gives to such a folder."""
    if not _TARGET.fullmatch(target):
        raise ChangeError(f"{target!r} is not a folder of linewatt's; nothing there is touched")
    return target


FOLDER_KNOB = UsersFolder()
