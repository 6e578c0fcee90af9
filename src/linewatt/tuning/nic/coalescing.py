# SPDX-License-Identifier: Apache-2.0
"""When a device interrupts, through ``ethtool -c`` and ``-C``.

Every driver has some of the options of ethtool(8); the others read ``n/a`` (5.8 and later) or 0. The label of
four of them is not the option (``rx-frame-low`` is set as ``rx-frames-low``), and ethtool 6.1 prints one
without its colon. Formats checked from ethtool 4.8 to 6.7.

i40e, ice and iavf take no other time of a direction that is adaptive, also where it becomes so by the same
request (EINVAL): what is refused in one go is set with that direction fixed, which is made adaptive then.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command, tool_command
from linewatt.tuning.setting_text import asked, choices, format_words, parse_words, switch, whole

_SWITCHES = ("adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx")
_LEVELS = tuple(
    f"{way}-{kind}-{level}"
    for level in ("low", "high")
    for way in ("rx", "tx")
    for kind in ("usecs", "frames")
)
_NUMBERS = (
    "rx-usecs", "rx-frames", "rx-usecs-irq", "rx-frames-irq",
    "tx-usecs", "tx-frames", "tx-usecs-irq", "tx-frames-irq",
    "stats-block-usecs", "sample-interval", "pkt-rate-low", "pkt-rate-high",
    *_LEVELS,
    "tx-aggr-max-bytes", "tx-aggr-max-frames", "tx-aggr-time-usecs",
)  # fmt: skip
_PAIR = re.compile(r"(Adaptive|CQE mode) RX: (\S+)\s+TX: (\S+)")
_PAIRS = {"Adaptive": "adaptive", "CQE mode": "cqe-mode"}
_LINE = re.compile(r"([a-z-]+):?\s+(\d+)", re.ASCII)

# $1: interface, then options with their values
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type ethtool >/dev/null 2>&1 || { echo "ethtool is not installed there" >&2; exit 127; }
device=$1; shift
ethtool -C "$device" "$@" && exit
status=$? fixed=() adaptive=()
while (( $# )); do
  if [[ "$1 $2" == adaptive-?x" on" ]]; then adaptive+=("$1" on); fixed+=("$1" off)
  else fixed+=("$1" "$2"); fi
  shift 2
done
(( ${#adaptive[@]} )) || exit "$status"
ethtool -C "$device" "${fixed[@]}" && exec ethtool -C "$device" "${adaptive[@]}" """


class Coalescing:
    """All that a driver has; the canonical text is ``adaptive-rx=on rx-usecs=8 …``."""

    name = "coalescing"
    about = "packets or time before a device interrupts"
    targets = "interface"
    values = "options of `ethtool -C`: `adaptive-rx=off rx-usecs=8`"
    tool = "ethtool -C"
    order = 100

    def check(self, value: str) -> str:
        return format_words(_options(value))

    def read(self, target: str) -> Command:
        return tool_command("ethtool", "-c", checked_interface(target))

    def parse(self, output: str) -> str:
        settings: dict[str, str] = {}
        for line in output.splitlines():
            if pair := _PAIR.fullmatch(line.strip()):
                way = _PAIRS[pair[1]]
                settings |= {f"{way}-rx": pair[2], f"{way}-tx": pair[3]}
            elif match := _LINE.fullmatch(line.strip()):
                settings[match[1].replace("-frame-", "-frames-")] = match[2]
        supported = {
            option: settings[option]
            for option in (*_SWITCHES, *_NUMBERS)
            if settings.get(option, "n/a") != "n/a"
        }
        if "Coalesce parameters for" not in output or not supported:
            raise ParseError(f"ethtool shows no coalescing in {output[:80]!r}")
        return format_words(supported)

    def wanted(self, before: str, value: str) -> str:
        setting = parse_words(before)
        for option, text in _options(value).items():
            if option not in setting:
                raise ChangeError(f"the driver has no {option}; {choices(setting, option)}")
            setting[option] = text
        return format_words(setting)

    def write(self, target: str, setting: str) -> Command:
        words = (word for pair in parse_words(setting).items() for word in pair)
        return script_command(_WRITE, checked_interface(target), *words)


def _options(value: str) -> dict[str, str]:
    options = {}
    for option, text in asked(value, "adaptive-rx=off rx-usecs=8").items():
        if option in _SWITCHES:
            options[option] = switch(text)
        elif option in _NUMBERS:
            options[option] = str(whole(text))
        else:
            raise InvalidInput(
                f"{option!r} is not an option of ethtool -C; {choices((*_SWITCHES, *_NUMBERS), option)}"
            )
    return options


LISTED_KNOB = Coalescing()
