# SPDX-License-Identifier: Apache-2.0
"""Whether irqbalance runs, which moves interrupts from CPU to CPU. The target is ``host``.

Through ``systemctl``. One that runs and is no service (started by hand, in a container, without systemd) is
not ours to stop, and that is said. A host that does not have it shows ``absent``, as good as stopped.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command, whole_host

# One that has ended and was not waited for (Z in proc_pid_stat(5)) does not run.
# /run/systemd/system is how a program knows that systemd runs the machine: sd_booted(3)
_READ = """how="no service there, without systemd"
shown="LoadState=not-found
ActiveState=inactive"
if [ -d /run/systemd/system ]; then
  how="not its systemd service"
  shown=$(systemctl show --property=LoadState,ActiveState irqbalance.service) || exit
fi
case $shown in
  *ActiveState=inactive* | *ActiveState=failed*)
    for name in /proc/[0-9]*/comm; do
      read -r program 2>/dev/null <"$name" && [ "$program" = irqbalance ] || continue
      read -r _ _ state _ 2>/dev/null <"${name%comm}stat" && [ "$state" != Z ] || continue
      pid=${name%/comm}; pid=${pid##*/}
      echo "irqbalance runs as process $pid and is $how; stop it as it was started, or with kill $pid" >&2
      exit 1
    done ;;
esac
echo "$shown" """

_STATE = re.compile(r"^(LoadState|ActiveState)=(\S+)$", re.MULTILINE)
_STATES = ("running", "stopped", "absent")
_ASKED = {
    "running": "running",
    "on": "running",
    "true": "running",
    "stopped": "stopped",
    "off": "stopped",
    "false": "stopped",
}


class Irqbalance:
    """The canonical text is ``running``, ``stopped`` or ``absent``."""

    name = "irqbalance"
    about = "the service that moves interrupts between CPUs"
    targets = "`host`"
    values = "`running` (`on`), `stopped` (`off`)"
    tool = "systemctl"
    order = 20

    def check(self, value: str) -> str:
        try:
            return _ASKED[value.strip().lower()]
        except KeyError:
            raise InvalidInput(f"{value!r} is not a state of a service; write running or stopped") from None

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        states = dict(_STATE.findall(output))
        if states.keys() != {"LoadState", "ActiveState"}:
            raise ParseError(f"systemctl shows no state of irqbalance in {output[:80]!r}")
        if states["ActiveState"] in {"active", "reloading"}:
            return "running"
        if states["ActiveState"] in {"activating", "deactivating"}:
            raise ParseError(f"irqbalance is {states['ActiveState']}; try again when it has settled")
        return "absent" if states["LoadState"] in {"not-found", "masked"} else "stopped"

    def wanted(self, before: str, value: str) -> str:
        checked = self.check(value)
        if before == "absent":
            if checked == "running":
                raise ChangeError("irqbalance is not there, or masked; install or unmask it")
            return before
        return checked

    def write(self, target: str, setting: str) -> Command:
        whole_host(target)
        if setting not in _STATES[:2]:
            raise ChangeError(f"irqbalance cannot be made {setting!r}")
        return Command(("systemctl", "start" if setting == "running" else "stop", "irqbalance.service"))


LISTED_KNOB = Irqbalance()
