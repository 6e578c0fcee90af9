# SPDX-License-Identifier: Apache-2.0
"""How knobs run tools and constant scripts on a host, and which targets they take."""

from __future__ import annotations

import re

from linewatt.errors import ChangeError
from linewatt.tuning.base import Command

HOST_TARGET = "host"
"""the target of settings of which a host has one"""

# A login without root's rights has no sbin on its path on Debian, where these tools are; reading needs none.
_TOOL = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
type "$1" >/dev/null 2>&1 || { echo "$1 is not installed there" >&2; exit 127; }
exec "$@" """

_INTERFACE = re.compile(r"(?!\.\.?\Z)[^\s/]{1,15}")


def tool_command(*argv: str) -> Command:
    """A tool with its arguments, found also where only root's path has it."""
    return Command(("bash", "-c", _TOOL, "linewatt", *argv))


def script_command(text: str, *arguments: str, stdin: str = "") -> Command:
    """A constant bash script; what varies are its arguments and its input."""
    return Command(("bash", "-c", text, "linewatt", *arguments), stdin)


def checked_interface(target: str) -> str:
    """Raises ChangeError if ``target`` can be no interface."""
    if not _INTERFACE.fullmatch(target) or target.startswith("-"):
        raise ChangeError(f"{target!r} is not an interface name; `ip link` on the host lists them")
    return target


def whole_host(target: str) -> None:
    """Raises ChangeError if ``target`` is not the host itself."""
    if target != HOST_TARGET:
        raise ChangeError(f"{target!r} cannot be set by itself; the target is {HOST_TARGET!r}")


def host_command(target: str, text: str, *arguments: str, stdin: str = "") -> Command:
    """A constant bash script for a setting of the whole host. Raises ChangeError for another ``target``."""
    whole_host(target)
    return script_command(text, *arguments, stdin=stdin)
