# SPDX-License-Identifier: Apache-2.0
"""Receive flow steering: packets go to the CPU where their reader runs.

A value is the number of flows of the whole interface, shared out over its receive queues as the kernel's
guide says; the kernel keeps powers of two. It needs the sysctl ``net.core.rps_sock_flow_entries`` as well,
at least as large. Source: kernel, Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from linewatt.errors import ChangeError, InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.setting_text import whole
from linewatt.tuning.steering.queues import format_queues, parse_queues, read_queues, write_queues

_FILE = "rps_flow_cnt"
MAX_FLOWS = 1 << 29
"""the kernel's own limit of the table of all sockets"""


class Rfs:
    """Flows of all receive queues; the canonical text is ``rx-0=4096 rx-1=4096``."""

    name = "rfs"
    about = "flows whose packets follow their reader from CPU to CPU (receive flow steering)"
    targets = "interface"
    values = "flows of the whole interface, a power of two such as `32768`; `off`"
    tool = "/sys/class/net/…/queues/rx-*/rps_flow_cnt"
    order = 160

    def check(self, value: str) -> str:
        flows = 0 if value.strip() == "off" else whole(value.strip(), 0, MAX_FLOWS)
        if flows & (flows - 1):
            below = 1 << flows.bit_length() - 1
            raise InvalidInput(
                f"{flows} flows: the kernel keeps only powers of two; write {below} or {2 * below}"
            )
        return str(flows or "off")

    def read(self, target: str) -> Command:
        return read_queues(target, "rx", _FILE)

    def parse(self, output: str) -> str:
        return format_queues(parse_queues(output, "rx", 10), 10)

    def wanted(self, before: str, value: str) -> str:
        queues = parse_queues(before, "rx", 10)
        checked = self.check(value)
        if checked == "off":
            return format_queues(dict.fromkeys(queues, 0), 10)
        flows_per_queue = int(checked) // len(queues)
        if not flows_per_queue:
            raise ChangeError(
                f"{checked} flows are too few for {len(queues)} receive queues; give each one at least"
            )
        return format_queues(dict.fromkeys(queues, 1 << flows_per_queue.bit_length() - 1), 10)

    def write(self, target: str, setting: str) -> Command:
        counts = parse_queues(setting, "rx", 10)
        return write_queues(target, _FILE, {queue: str(count) for queue, count in counts.items()})


LISTED_KNOB = Rfs()
