# SPDX-License-Identifier: Apache-2.0
"""The largest packet of an interface, through ``ip link``. As every knob it is put back by
``engine/undo/put_back.py``, which writes what was read before.

Below 1280 bytes Linux takes IPv6 off an interface, and addresses set by hand do not come back with a larger
MTU (kernel, addrconf_notify): such a value is refused where the interface has any. VLANs and MAC-VLANs follow
the interface that they are on down and not up again (vlan_device_event, macvlan_device_event): a value below
theirs is refused, too. Checked with iproute2 6.1.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command, tool_command
from linewatt.tuning.setting_text import whole

IPV4_MINIMUM = 68
MAXIMUM = 65_535
"""of an IPv4 packet; a loopback interface's 65,536 is the only larger one"""

# $1: interface, $2: bytes
_WRITE = """PATH=$PATH:/usr/sbin:/sbin
if [ "$2" -lt 1280 ] && [ -n "$(ip -6 address show dev "$1" scope global)" ]; then
  echo "below 1280 bytes Linux takes the IPv6 addresses off $1, and they would not come back" >&2; exit 1
fi
read -r own 2>/dev/null <"/sys/class/net/$1/ifindex"
for upper in "/sys/class/net/$1/"upper_*; do
  read -r below <"$upper/iflink" && read -r mtu <"$upper/mtu" || continue
  [ "$below" = "$own" ] && [ "$mtu" -gt "$2" ] && ! grep -q DEVTYPE=vxlan "$upper/uevent" || continue
  echo "${upper##*/upper_} on $1 has $mtu bytes: it would be lowered with $1, and not come back" >&3; exit 1
done 3>&2 2>/dev/null
exec ip link set dev "$1" mtu "$2" """

_MTU = re.compile(r"\bmtu (\d+)\b")
_BOUNDS = re.compile(r"\bminmtu (\d+) maxmtu (\d+)\b")
_SETTING = re.compile(r"(\d+)(?:/(\d+)-(\d+))?", re.ASCII)


class Mtu:
    """Bytes, with the bounds where the device states them; the canonical text is ``1500/68-9978``."""

    name = "mtu"
    about = "largest packet of an interface"
    targets = "interface"
    values = "bytes from 68, such as `9000`, within what the device states"
    tool = "ip link"
    order = 70

    def check(self, value: str) -> str:
        return str(whole(value.strip(), IPV4_MINIMUM, MAXIMUM))

    def read(self, target: str) -> Command:
        return tool_command("ip", "-d", "link", "show", "dev", checked_interface(target))

    def parse(self, output: str) -> str:
        mtu, bounds = _MTU.search(output), _BOUNDS.search(output)
        if mtu is None:
            raise ParseError(f"ip link shows no MTU in {output[:80]!r}")
        # maxmtu 0 is how a driver says that it has no limit of its own
        if bounds is None or bounds[2] == "0":
            return mtu[1]
        return f"{mtu[1]}/{bounds[1]}-{bounds[2]}"

    def wanted(self, before: str, value: str) -> str:
        mtu = int(self.check(value))
        _, lowest, highest = _parts(before)
        if lowest is None or highest is None:
            return str(mtu)
        if not lowest <= mtu <= highest:
            raise ChangeError(f"{mtu} bytes are out of range; the device takes {lowest} to {highest}")
        return f"{mtu}/{lowest}-{highest}"

    def write(self, target: str, setting: str) -> Command:
        mtu = _parts(setting)[0]
        return script_command(_WRITE, checked_interface(target), str(mtu))


def _parts(setting: str) -> tuple[int, int | None, int | None]:
    match = _SETTING.fullmatch(setting)
    if match is None:
        raise ParseError(f"{setting!r} is not an MTU, such as 1500/68-9978")
    if match[2] is None:
        return int(match[1]), None, None
    return int(match[1]), int(match[2]), int(match[3])


LISTED_KNOB = Mtu()
