# SPDX-License-Identifier: Apache-2.0
"""Delay and loss of what an interface sends, as the kernel's netem makes them, through ``tc qdisc``.

netem takes the place of the root queueing discipline, so only one that comes back by itself is replaced: the
kernel's default, whose handles are ``0:`` and which it makes of ``net.core.default_qdisc`` once netem is
gone (kernel, attach_default_qdiscs). tc's own limit of 1000 packets would drop what a fast sender has on its
way: at 10 ms, all above 1.2 Gbit/s of full frames. Checked with iproute2 6.1, tc-netem(8).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.foreign import read_json
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command
from linewatt.tuning.setting_text import whole

NONE = "none"
LIMIT_PACKETS = 100_000
"""that wait in it at most, unless a level says otherwise"""
MOST_LIMIT_PACKETS = 10_000_000
MOST_DELAY_US = 400_000
"""Both ends delay what they send, and what tries whether a path carries data waits a second for an echo."""
MOST_LOSS_PERCENT = 50
_EXAMPLE = "delay 10ms loss 0.1%"
LEAST_LOSS_PERCENT = Decimal("0.001")
_LOSS_DIGITS = 4
"""The kernel has 32 bits for a loss of 100 %."""
_STEP_US = 10
"""of a delay: the kernel's ticks are 64 ns, and tc shows the microsecond below (1us reads as none)"""

_READ = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type tc >/dev/null 2>&1 || { echo "tc is not installed there" >&2; exit 127; }
read -r default 2>/dev/null </proc/sys/net/core/default_qdisc
echo "$default"
exec tc -j qdisc show dev "$1" """

# $1: interface, then words of netem; without any it is taken away, and nobody else's discipline is.
# fq_codel's quantum is a frame of the MTU it was made under, fq's are two; the kernel's header of a frame
# has 14 bytes, with tags some more.
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
device=$1; shift
if (( ! $# )); then
  [[ $(tc qdisc show dev "$device" root) == "qdisc netem "* ]] || exit 0
  exec tc qdisc del dev "$device" root
fi
made="qdisc (fq|fq_codel|fq_pie) 0: .* quantum ([0-9]+)"
if [[ $(tc qdisc show dev "$device") =~ $made ]]; then
  kind=${BASH_REMATCH[1]} quantum=${BASH_REMATCH[2]} link=" mtu ([0-9]+) .* link/ether "
  frame=$quantum; [ "$kind" != fq ] || frame=$(( quantum / 2 ))
  if [[ $(ip -o link show dev "$device") =~ $link ]]; then
    mtu=${BASH_REMATCH[1]}
    if (( frame < mtu + 14 || frame > mtu + 32 )); then
      echo "its $kind has a quantum of $quantum bytes, as of another MTU than its $mtu: it is not what the" \
        "kernel makes once netem goes; have it made anew first (tc qdisc replace dev $device root pfifo &&" \
        "tc qdisc del dev $device root)" >&2
      exit 1
    fi
  fi
fi
exec tc qdisc replace dev "$device" root netem "$@" """

_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)", re.ASCII)
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", re.ASCII)
_US = {"us": 1, "ms": 1_000, "s": 1_000_000}
_IDLE = {"ecn": (False,), "gap": (0,)}
"""what tc shows of a netem that does not do it"""


class Netem:
    """The canonical text is ``delay 10ms loss 0.1% limit 100000``; of anything else what tc shows of it, as
    JSON: behind ``none`` what the kernel makes by itself, behind ``other`` what somebody made."""

    name = "netem"
    about = "delay and loss of what an interface sends (the kernel's netem)"
    targets = "interface"
    values = (
        f"`{_EXAMPLE}`, or one of them: delay in `us` or `ms`, {_STEP_US}us to {MOST_DELAY_US // 1000}ms; "
        f"loss in `%`, {LEAST_LOSS_PERCENT}% to {MOST_LOSS_PERCENT}%; `limit` in packets ({LIMIT_PACKETS}); "
        "`none` (`off`)"
    )
    tool = "tc qdisc"
    order = 175

    def check(self, value: str) -> str:
        text = value.strip().lower()
        if text in (NONE, "off"):
            return NONE
        words = text.split()
        if len(words) % 2 or not words:
            raise InvalidInput(f"{value!r} is not understood; write it like {_EXAMPLE}, or none")
        options = dict(zip(words[::2], words[1::2], strict=True))
        strange = [name for name in options if name not in _SPELLED]
        if strange or 2 * len(options) < len(words):
            why = f"{strange[0]!r} is not set by linewatt" if strange else f"{value!r} names one twice"
            raise InvalidInput(f"{why}; write delay, loss and limit once each, like {_EXAMPLE}")
        if options.keys() == {"limit"}:
            raise InvalidInput(
                f"{value!r} neither delays nor loses anything; write it like {_EXAMPLE}, or none"
            )
        return " ".join(
            f"{name} {spell(options[name])}" for name, spell in _SPELLED.items() if name in options
        )

    def read(self, target: str) -> Command:
        return script_command(_READ, checked_interface(target))

    def parse(self, output: str) -> str:
        default, _, shown = output.partition("\n")
        try:
            disciplines = [
                _without_counters(discipline)
                for discipline in read_json(shown, "tc")
                if discipline["kind"] not in ("ingress", "clsact")
            ]
            if not any(discipline.get("root") for discipline in disciplines):
                raise ParseError(f"tc shows no root discipline in {shown[:80]!r}")
            netem = _netem(disciplines)
            if netem is not None:
                return netem
            origin = NONE if _comes_back(disciplines, default.strip()) else "other"
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ParseError(f"tc says {shown.strip()[:80]!r}") from error
        return f"{origin} {json.dumps(disciplines, sort_keys=True, separators=(',', ':'))}"

    def wanted(self, before: str, value: str) -> str:
        checked = self.check(value)
        kind, _, disciplines_text = before.partition(" ")
        if checked == NONE and kind in (NONE, "other") and '"netem"' not in disciplines_text:
            return before
        setting = checked if " limit " in f" {checked} " else f"{checked} limit {LIMIT_PACKETS}"
        if setting == before:
            return before
        if kind == NONE:
            return setting
        if kind == "other":
            root = next(discipline for discipline in json.loads(disciplines_text) if discipline.get("root"))
            raise ChangeError(
                f"its root queueing discipline is {root['kind']} {root['handle']}, and only the kernel's own "
                "default comes back when netem goes; take it off by hand first (tc qdisc del dev … root)"
            )
        raise ChangeError(
            f"it has netem {before} already; take it off by hand first (tc qdisc del dev … root)"
        )

    def write(self, target: str, setting: str) -> Command:
        kind = setting.partition(" ")[0]
        if kind == "other":
            raise ChangeError("a queueing discipline of somebody else is not made by linewatt")
        return script_command(_WRITE, checked_interface(target), *(() if kind == NONE else setting.split()))


def _delay(text: str) -> str:
    match = _TIME.fullmatch(text)
    us = Decimal(match[1]) * _US[match[2]] if match else Decimal(0)
    if not _STEP_US <= us <= MOST_DELAY_US or us % _STEP_US:
        raise InvalidInput(
            f"{text!r} is not a delay from {_STEP_US}us to {MOST_DELAY_US // 1000}ms in steps of "
            f"{_STEP_US}us, with its unit; write it like 10ms"
        )
    return _as_time(int(us))


def _as_time(us: int) -> str:
    """In the largest unit that shows it whole."""
    unit = next(unit for unit in ("s", "ms", "us") if us % _US[unit] == 0)
    return f"{us // _US[unit]}{unit}"


def _loss(text: str) -> str:
    match = _SHARE.fullmatch(text)
    percent = Decimal(match[1]) if match else Decimal(0)
    digits = str(int(percent * 10**6)).strip("0")
    if not LEAST_LOSS_PERCENT <= percent <= MOST_LOSS_PERCENT or len(digits) > _LOSS_DIGITS:
        raise InvalidInput(
            f"{text!r} is not a loss from {LEAST_LOSS_PERCENT}% to {MOST_LOSS_PERCENT}% with at most "
            f"{_LOSS_DIGITS} digits; write it like 0.1%"
        )
    return _as_percent(percent)


def _as_percent(percent: Decimal) -> str:
    return f"{percent.normalize():f}%"


def _limit(text: str) -> str:
    return str(whole(text, 1, MOST_LIMIT_PACKETS))


_SPELLED = {"delay": _delay, "loss": _loss, "limit": _limit}
"""word of a level → its value in one spelling, in their order. Raises InvalidInput"""


def _without_counters(discipline: Mapping[str, Any]) -> dict[str, Any]:
    """A discipline without what changes by itself."""
    return {name: value for name, value in discipline.items() if name not in ("refcnt", "dev")}


def _netem(disciplines: Sequence[Mapping[str, Any]]) -> str | None:
    """The one there is in words of a level; None where it is none, or does more than linewatt sets."""
    if len(disciplines) != 1 or disciplines[0]["kind"] != "netem":
        return None
    options = dict(disciplines[0]["options"])
    limit, delay, loss = options.pop("limit"), options.pop("delay", {}), options.pop("loss-random", {})
    options.pop("seed", None)  # of its random numbers, told since iproute2 6.6
    if any(value not in _IDLE.get(name, ()) for name, value in options.items()):
        return None
    if delay.get("jitter") or delay.get("correlation") or loss.get("correlation"):
        return None
    return " ".join(_format_options(delay.get("delay"), loss.get("loss"), limit))


def _format_options(delay_s: float | None, loss: float | None, limit: int) -> Iterator[str]:
    if delay_s:
        yield f"delay {_as_time(_STEP_US * round(delay_s * 1e6 / _STEP_US))}"
    if loss:
        yield f"loss {_as_percent(Decimal(f'{100 * loss:.{_LOSS_DIGITS}g}'))}"
    yield f"limit {limit}"


def _comes_back(disciplines: Sequence[Mapping[str, Any]], default: str) -> bool:
    """Whether the kernel makes the same again once the root is taken away.

    Queues beyond those in use have pfifo_fast (kernel, get_default_qdisc_ops).
    """
    if any(discipline["handle"] != "0:" for discipline in disciplines):
        return False
    kinds = {"root": [discipline["kind"] for discipline in disciplines if discipline.get("root")]}
    below = {discipline["kind"] for discipline in disciplines if not discipline.get("root")}
    if kinds["root"] == ["mq"]:
        return below <= {default, "pfifo_fast"}
    return not below and kinds["root"][0] in (default, "noqueue")


LISTED_KNOB = Netem()
