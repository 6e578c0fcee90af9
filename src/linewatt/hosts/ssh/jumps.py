# SPDX-License-Identifier: Apache-2.0
"""Jump hosts: the SSH servers through which a host is reached, as OpenSSH's ``ProxyJump`` has them. Pure."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.document import show_value

MOST = 8
_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?"
_JUMP = rf"(?:([A-Za-z0-9_][A-Za-z0-9._@-]{{0,63}})@)?({_NAME}|\[[0-9A-Fa-f:.]{{2,45}}\])(?::([0-9]{{1,5}}))?"
WANTED = (
    "must be jump hosts as ssh -J takes them: user@host:port, more with commas between, the nearest first"
)

_WITH_VALUE = set("BbcDEeFIiJLlmOopQRSWw")
"""options of ssh(1) that take a value"""
_ELSEWHERE = {
    "-F": "a configuration is read from ~/.ssh/config only",
    "-W": "use -J",
    "-i": "write ansible_ssh_private_key_file",
    "-l": "write ansible_user",
    "-p": "write ansible_port",
    "hostname": "write ansible_host",
    "identityfile": "write ansible_ssh_private_key_file",
    "port": "write ansible_port",
    "user": "write ansible_user",
}
"""arguments of ssh that would lead somewhere else, or as somebody else, and what is read in their place"""


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump host; what is ``None`` is SSH's own."""

    address: str
    port: int | None = None
    user: str | None = None


def parse_jumps(text: str) -> tuple[Jump, ...]:
    """The jump hosts of ``user@host:port,…``, in the order they are passed. Raises ValueError."""
    words = text.split(",")
    if len(words) > MOST:
        raise ValueError(f"must name at most {MOST} jump hosts")
    return tuple(_jump(word.strip()) for word in words)


def parse_destination(text: str) -> Jump:
    """Address, port and user of ``user@host:port``. Raises ValueError."""
    try:
        return _jump(text)
    except ValueError:
        raise ValueError("must be [user@]host[:port], as ssh has it; an IPv6 address in brackets") from None


def _jump(word: str) -> Jump:
    match = re.fullmatch(_JUMP, word, re.ASCII)
    if match is None:
        raise ValueError(WANTED)
    user, address, port = match.groups()
    if address.startswith("["):
        address = address[1:-1]
        try:
            ipaddress.IPv6Address(address)
        except ValueError:
            raise ValueError(WANTED) from None
    if port is not None and not 1 <= int(port) <= 65535:
        raise ValueError(WANTED)
    return Jump(address, None if port is None else int(port), user)


def jump_of_arguments(arguments: str) -> str | None:
    """The jump hosts among arguments of ssh, as ``ansible_ssh_common_args`` holds them; ``None``: none.

    Arguments that only say how to connect are left out: linewatt connects in its own way, and always checks
    host keys. Raises ValueError for one that would lead to another place.
    """
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        where = ", in its ProxyCommand or beside it" if "proxycommand" in arguments.lower() else ""
        raise ValueError(f"cannot be read: {error}{where}") from None
    jump = None
    for option, value in _options(words):
        if option in _ELSEWHERE:
            raise ValueError(f"{option} is not read from ssh's arguments; {_ELSEWHERE[option]}")
        if option in ("-J", "proxyjump"):
            jump = None if value == "none" else value
        elif option == "proxycommand":
            jump = jump_of_command(value)
    if jump is not None:
        parse_jumps(jump)
    return jump


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(option, value) of ssh's arguments; one of ``-o`` by its name in small letters."""
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if len(word) < 2 or word[0] != "-" or word[1] not in _WITH_VALUE:
            continue
        value = word[2:] or (remaining.pop(0) if remaining else "")
        if word[1] == "o":
            name, _, value = value.replace("=", " ", 1).strip().partition(" ")
            yield name.lower(), value.strip()
        else:
            yield word[:2], value


def jump_of_command(command: str) -> str | None:
    """The jump host of ``ssh -W %h:%p user@host``, as inventories have it from before ``ProxyJump``.

    ``None``: none. Raises ValueError with the program of any other: what follows it may hold a password.
    """
    if command == "none":
        return None
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"has a ProxyCommand that cannot be read ({error}); quote it as a whole") from None
    match words:
        case [program, *rest] if program.rpartition("/")[2] == "ssh":
            options = dict(_options(rest))
            target = rest[-1] if rest and not rest[-1].startswith("-") else ""
            if options.get("-W") == "%h:%p" and options.keys() <= {"-W", "-p"} and "%" not in target:
                return f"{target}:{options['-p']}" if "-p" in options else target
    named = show_value(words[0] if words else command)
    raise ValueError(
        "has a ProxyCommand that is not run; name the jump host: -J user@host, or linewatt_jump "
        f"(its program is {named})"
    )
