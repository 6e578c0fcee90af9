# SPDX-License-Identifier: Apache-2.0
"""The least that CPUs of intel_pstate run at, put back after what lowers it for good. The target is ``host``.

Without turbo the kernel takes ``min_perf_pct`` down to the base frequency, and leaves it there when turbo is
back (drivers/cpufreq/intel_pstate.c, store_no_turbo): of the 100 % that TuneD's throughput-performance sets,
as little as half would be left. With the driver passive, or another one, there is none.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import host_command

MIN_PERF = "min_perf_pct"

_READ = """cd /sys/devices/system/cpu/intel_pstate 2>/dev/null && read -r percent 2>/dev/null <min_perf_pct ||
  { echo "there is no intel_pstate/min_perf_pct: another driver or mode" >&2; exit 1; }
echo "$percent" """

# $1: percent
_WRITE = """cd /sys/devices/system/cpu/intel_pstate || exit 1
why=$( { echo "$1" >min_perf_pct; } 2>&1) || { echo "min_perf_pct takes no $1: ${why##*: }" >&2; exit 1; }"""

_PERCENT = re.compile(r"\d{1,3}", re.ASCII)


class MinPerf:
    """The canonical text is the percentage of the highest performance, ``100``."""

    name = MIN_PERF

    def read(self, target: str) -> Command:
        return host_command(target, _READ)

    def parse(self, output: str) -> str:
        return _checked(output.strip())

    def wanted(self, before: str, value: str) -> str:
        raise ChangeError(f"{value!r}: the least performance is put back as it was, not set; see turbo")

    def write(self, target: str, setting: str) -> Command:
        return host_command(target, _WRITE, _checked(setting))


def _checked(text: str) -> str:
    if not _PERCENT.fullmatch(text):
        raise ParseError(f"{text[:80]!r} is not a percentage of the highest performance")
    return text
