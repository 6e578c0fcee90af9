# SPDX-License-Identifier: Apache-2.0
"""Looks at two hosts, writes the campaign and checks it."""

from __future__ import annotations

import asyncio
import re
import shlex
from dataclasses import replace
from pathlib import Path

import typer

from linewatt.cli import RESULTS_FOLDER, check_hosts, checked_target, put
from linewatt.errors import HostError, InvalidInput, ParseError
from linewatt.features.init.file import Login, name_of_campaign, text_of_campaign
from linewatt.features.init.looked import SCRIPT, Looked, is_one_host, parse_look, ways
from linewatt.hosts import HostSpec, connect_to_host
from linewatt.hosts.ssh import parse_destination

LOOK_LIMIT_S = 20.0
MOST_NAME = 25
"""characters of a host's name, so that a campaign can be named after two"""
_NO_INTERFACE = "lo"
"""of a host that is only looked at"""


def write_campaign(sender: str, receiver: str, output: Path | None) -> None:
    """Write the file, check it, and say what comes next."""
    logins = _logins(sender, receiver)
    file = checked_target(output or Path(f"{logins[0].name}-{logins[1].name}.yaml"))
    if file.exists():
        raise InvalidInput(f"{file} is there already; name another with --output, or take it away")
    looked = asyncio.run(_look(logins))
    if is_one_host(*looked):
        raise InvalidInput(f"{sender} and {receiver} are one host, with the same addresses; name two")
    best_first = ways(*looked)
    if not best_first:
        raise HostError(_no_way(logins, looked))
    way = best_first[0]
    file.write_text(text_of_campaign(name_of_campaign(file), logins, looked, way), encoding="utf-8")
    put(
        f"wrote {file}: {logins[0].name} {way.sender.name} → {logins[1].name} {way.receiver.name} "
        f"({way.sender_address.network})"
    )
    named = shlex.quote(str(file))
    put(f"checking it (linewatt check {named}):\n")
    try:
        check_hosts(
            file=file, hosts=None, results=RESULTS_FOLDER, fix=False, allow_commands=False, as_json=False
        )
    except typer.Exit:
        put(f"\nnext: mend what would spoil the result, then: linewatt check {named}")
        raise
    put(f"\nnext: linewatt run {named}")


def _logins(sender: str, receiver: str) -> tuple[Login, Login]:
    """Raises InvalidInput for what is no SSH destination, and for one host twice."""
    if sender == receiver:
        raise InvalidInput(f"{sender}: sends to itself; name two hosts")
    sender_login, receiver_login = _login(sender), _login(receiver)
    if sender_login.name == receiver_login.name:
        return replace(sender_login, name="sender"), replace(receiver_login, name="receiver")
    return sender_login, receiver_login


def _login(text: str) -> Login:
    try:
        destination = parse_destination(text)
    except ValueError as error:
        raise InvalidInput(f"{text}: {error}") from None
    is_address = re.fullmatch(r"[0-9.]+|.*:.*", destination.address)
    name = destination.address if is_address else destination.address.partition(".")[0]
    name = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    name = (f"host-{name}" if is_address else name)[:MOST_NAME].rstrip("-")
    return Login(name, destination.address, destination.user, destination.port)


async def _look(logins: tuple[Login, Login]) -> tuple[Looked, Looked]:
    """Raises HostError with a line for each host that cannot be looked at."""
    answers = await asyncio.gather(*map(_look_at, logins), return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    if len(errors) == len(logins) and all(isinstance(error, HostError) for error in errors):
        raise HostError("\n".join(map(str, errors)))
    if errors:
        raise errors[0]
    sender, receiver = (answer for answer in answers if not isinstance(answer, BaseException))
    return sender, receiver


async def _look_at(login: Login) -> Looked:
    """Raises HostError."""
    spec = HostSpec(login.name, login.address, _NO_INTERFACE, port=login.port or 22, user=login.user)
    host = await connect_to_host(spec)
    try:
        done = await host.run(["bash", "-c", SCRIPT], timeout_s=LOOK_LIMIT_S)
        return parse_look(done.stdout)
    except ParseError as error:
        raise HostError(str(error), where=login.name) from error
    finally:
        await host.close()


def _no_way(logins: tuple[Login, Login], looked: tuple[Looked, Looked]) -> str:
    has = "; ".join(
        f"{login.name} has {', '.join(f'{port.name} {port.addresses[0]}' for port in seen.ports) or 'none'}"
        for login, seen in zip(logins, looked, strict=True)
    )
    return (
        f"no interface of one with a carrier is in a subnet of the other: {has}; connect them, and give both "
        "an address in one subnet"
    )
