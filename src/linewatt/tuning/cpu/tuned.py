# SPDX-License-Identifier: Apache-2.0
"""The profile of TuneD, through ``tuned-adm``. The target is ``host``.

A profile sets governor, preferences, sysctls and more: turn those after it. Whether the profile was chosen by
hand or by TuneD is put back too. Messages checked from TuneD 2.10 to 2.26.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command

# tuned-adm ends with 1 or 2 where no profile is active, and says so; with root's path for /usr/sbin
_READ = """PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
type tuned-adm >/dev/null 2>&1 || { echo "tuned-adm is not installed there" >&2; exit 127; }
tuned-adm active 2>&1
mode=; read -r mode 2>/dev/null </etc/tuned/profile_mode; echo "mode: $mode" """

# "off", "auto", or "profile" and its names
_WRITE = """PATH=$PATH:/usr/sbin:/sbin; export LC_ALL=C
case $1 in
  off) exec tuned-adm off ;;
  auto) exec tuned-adm auto_profile ;;
  *) shift; exec tuned-adm profile "$@" ;;
esac"""

_ACTIVE = re.compile(r"^Current active profile: (.+)$", re.MULTILINE)
_MODE = re.compile(r"^mode: (\w*)$", re.MULTILINE)
RAISED_BY_TUNED = "vm.min_free_kbytes"
"""The kernel raises it when transparent huge pages go on again, as profiles have them, and never lowers it
(mm/khugepaged.c, set_recommended_min_free_kbytes)."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NONE = "No current active profile"
_STOPPED = re.compile("daemon is not running|Cannot talk to", re.IGNORECASE)


class Tuned:
    """The canonical text is ``throughput-performance manual``, ``balanced auto`` or ``off``."""

    name = "tuned"
    about = "profile of TuneD"
    targets = "`host`"
    values = "profile such as `throughput-performance`, several apart by blanks; `off`"
    tool = "tuned-adm"
    order = 10

    def check(self, value: str) -> str:
        names = value.split()
        for name in names or [value]:
            if not _NAME.fullmatch(name):
                raise InvalidInput(f"{name!r} is not a profile; `tuned-adm list` on the host shows them")
        return " ".join(names)

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        if _STOPPED.search(output):
            raise ParseError(
                "TuneD does not run, so no profile is in force; start it (`systemctl start tuned`)"
            )
        active, mode = _ACTIVE.search(output), _MODE.search(output)
        if active:
            return f"{'+'.join(active[1].split())} {mode[1] if mode and mode[1] else 'manual'}"
        if _NONE in output:
            return "off"
        raise ParseError(f"tuned-adm shows no profile in {output[:80]!r}")

    def wanted(self, before: str, value: str) -> str:
        names = self.check(value).split(" ")
        return "off" if names == ["off"] else f"{'+'.join(names)} manual"

    def write(self, target: str, setting: str) -> Command:
        names, _, mode = setting.partition(" ")
        if setting == "off" or mode == "auto":
            return host_command(target, _WRITE, mode or "off")
        if mode != "manual":
            raise ChangeError(f"{setting!r} is not a profile with its mode; TuneD knows auto and manual")
        return host_command(target, _WRITE, "profile", *names.split("+"))


LISTED_KNOB = Tuned()
