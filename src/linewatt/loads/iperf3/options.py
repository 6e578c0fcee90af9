# SPDX-License-Identifier: Apache-2.0
"""Options of iperf3 that a campaign may vary; everything else follows from the test. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from linewatt.errors import InvalidInput
from linewatt.model import TestName


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the client. ``pattern`` is what its value looks like, ``example`` one; None: on or off."""

    flag: str
    about: str
    pattern: str | None
    example: str
    tcp_only: bool = True


_SIZE = r"[1-9][0-9]{0,8}[KM]?"
OPTIONS: dict[str, Option] = {
    "window": Option("--window", "socket buffer, bytes, K or M", _SIZE, "512K", tcp_only=False),
    "length": Option("--length", "bytes of one read or write, K or M", _SIZE, "128K"),
    "mss": Option("--set-mss", "TCP maximum segment size, bytes", r"[1-9][0-9]{1,4}", "1400"),
    "congestion": Option("--congestion", "congestion control algorithm", r"[a-z][a-z0-9_]{0,15}", "bbr"),
    "nodelay": Option("--no-delay", "whether small segments are sent at once", None, "on"),
}
"""by the name users write behind ``iperf3.``; UDP's length is what makes its test"""


def check(name: str, value: str) -> str:
    """``value`` as it is used. Raises InvalidInput: no such option, no such value."""
    option = OPTIONS.get(name)
    if option is None:
        raise InvalidInput(f"iperf3.{name} is none of iperf3's options here: {', '.join(OPTIONS)}")
    pattern = option.pattern or "on|off"
    if not re.fullmatch(pattern, value, re.ASCII):
        raise InvalidInput(f"iperf3.{name} must be {option.about}, such as {option.example}; got {value!r}")
    return value


def impossible(name: str, test: TestName) -> str | None:
    """Why a test cannot have an option."""
    return f"iperf3's {OPTIONS[name].flag} is for TCP" if OPTIONS[name].tcp_only and test != "tcp" else None


def flags(options: Iterable[tuple[str, str]]) -> list[str]:
    """What goes on the client's command line. Raises InvalidInput."""
    words = []
    for name, value in options:
        option = OPTIONS.get(name)
        if option is None:
            raise InvalidInput(f"iperf3 has no option called {name!r} here; there are: {', '.join(OPTIONS)}")
        if option.pattern is not None:
            words += [option.flag, check(name, value)]
        elif value == "on":
            words.append(option.flag)
    return words
