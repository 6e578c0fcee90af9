# SPDX-License-Identifier: Apache-2.0
"""Logging in to a host by SSH, through jump hosts where there are any; what failed, and what to do."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.errors import HostError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.limits import Pace, slow_login
from linewatt.hosts.ssh.jumps import parse_jumps
from linewatt.hosts.ssh.library import asyncssh

CLOSE_LIMIT_S = 2.0
QUICK_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
"""asked for first: asyncssh's chacha20-poly1305 takes a third of the controller's time with 96 hosts"""
MOST_KEY_BYTES = 1 << 16


class _Witness(asyncssh.SSHClient):
    """What was seen of a server until the login failed."""

    def __init__(self, on_answer: Callable[[], None] = lambda: None) -> None:
        self.answered = False
        self.offered: asyncssh.SSHKey | None = None
        self._on_answer = on_answer

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self.answered = True
        self._on_answer()

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = key
        return False


@dataclass(frozen=True, slots=True)
class _Server:
    """One SSH server on the way: a jump host, or the host itself."""

    spec: HostSpec
    address: str
    port: int | None
    user: str | None
    is_jump: bool = False

    def failed(self, port: int, problem: str) -> HostError:
        """What failed there."""
        end = _at(self.address, port)
        if self.is_jump:
            return HostError(f"{self.spec.name}, jump host {end}: {problem}")
        return HostError(f"({end}): {problem}", where=self.spec.name, joint=" ")

    def key_options(self) -> dict[str, Any]:
        """A jump host is given SSH's own keys first, as ssh does, and the host's key after them."""
        if self.spec.key_file is None or self.is_jump:
            return {}
        return {"client_keys": [self.spec.key_file], "agent_path": None}


def _at(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


async def log_in(spec: HostSpec, pace: Pace) -> asyncssh.SSHClientConnection:
    """A connection to a host, logged in. Raises HostError: what failed, where, what to do.

    Its ``pace`` is told how long the way to it took.
    """
    host = _Server(spec, spec.address, spec.port, spec.user)
    connection: asyncssh.SSHClientConnection | None = None
    for server in (*_jumps(spec, await asyncio.to_thread(_options, host, _Witness())), host):
        before = connection
        try:
            connection = await _log_in(server, before, pace)
        except BaseException:
            if before is not None:
                await close(before)
            raise
    assert connection is not None  # noqa: S101  the host itself is always among them
    return connection


def _jumps(spec: HostSpec, options: asyncssh.SSHClientConnectionOptions) -> list[_Server]:
    """The servers before a host, as it names them, or else the user's own SSH configuration (ProxyJump)."""
    text = spec.jump or (options.tunnel if isinstance(options.tunnel, str) else None)
    try:
        jumps = parse_jumps(text) if text else ()
    except ValueError as error:
        raise HostError(f"jump host {text!r}: {error}", where=spec.name) from error
    return [_Server(spec, jump.address, jump.port, jump.user, is_jump=True) for jump in jumps]


async def close(connection: asyncssh.SSHClientConnection) -> None:
    """End a connection, and those to the jump hosts before it."""
    connection.close()
    with suppress(asyncssh.Error, TimeoutError, OSError):
        await asyncio.wait_for(connection.wait_closed(), CLOSE_LIMIT_S)


async def _log_in(
    server: _Server, before: asyncssh.SSHClientConnection | None, pace: Pace
) -> asyncssh.SSHClientConnection:
    loop = asyncio.get_running_loop()

    def reached() -> None:
        if not limit.expired():
            pace.reached(loop.time() - began_s)
            limit.reschedule(began_s + pace.used.login_s)

    witness = _Witness(reached)
    options = await asyncio.to_thread(_options, server, witness)
    more: dict[str, Any] = {"config": None} if server.spec.lab else {}
    if before is not None:
        more["tunnel"] = before
    began_s = loop.time()
    limit = asyncio.timeout(pace.reach_s)
    try:
        async with limit:
            connection = await asyncssh.connect(server.address, options.port, options=options, **more)
    except TimeoutError as error:
        limit_s = pace.used.login_s if witness.answered else pace.reach_s
        raise server.failed(options.port, _slow(witness, limit_s)) from error
    except asyncssh.HostKeyNotVerifiable as error:
        raise server.failed(options.port, _wrong_key(error, witness, server, options)) from error
    except asyncssh.PermissionDenied as error:
        raise server.failed(options.port, _refused(server, options)) from error
    except asyncssh.ChannelOpenError as error:
        raise server.failed(
            options.port,
            f"the jump host before it does not reach it: {error}; check address and port, and there "
            "AllowTcpForwarding in sshd_config",
        ) from error
    except (asyncssh.Error, OSError, ValueError) as error:
        raise server.failed(options.port, _error_text(error, server.address)) from error
    if before is not None:
        connection.set_tunnel(before)
    return connection


def _options(server: _Server, witness: _Witness) -> asyncssh.SSHClientConnectionOptions:
    """What asyncssh is told; the user's own ssh configuration and agent count, but not for a lab's hosts.

    Raises HostError where that cannot be read, or would have host keys unchecked.
    """
    spec = server.spec
    settings: dict[str, Any] = {
        "config": None if spec.lab else (),
        "host": server.address,
        "encryption_algs": QUICK_CIPHERS,
        "client_factory": lambda: witness,
        **server.key_options(),
    }
    if server.port is not None:
        settings["port"] = server.port
    if server.user:
        settings["username"] = server.user
    if spec.known_hosts:
        settings["known_hosts"] = spec.known_hosts
    try:
        options = asyncssh.SSHClientConnectionOptions(**settings)
        if server.is_jump and spec.key_file is not None:
            keys = [*(options.client_keys or ()), spec.key_file]
            options = asyncssh.SSHClientConnectionOptions(options, client_keys=keys)
    except (asyncssh.Error, OSError, ValueError) as error:
        of_key = spec.key_file is not None and not isinstance(error, OSError)
        wrong = key_problem(Path(spec.key_file or "")) if of_key else None
        problem = f"{spec.key_file} {wrong}" if wrong else f"SSH's settings cannot be read: {error}"
        raise server.failed(server.port or 22, problem) from error
    if options.known_hosts is None:
        raise server.failed(
            options.port,
            "SSH's configuration turns host keys off (UserKnownHostsFile); linewatt always checks them; name "
            "the file in known_hosts",
        )
    return options


def key_problem(path: Path) -> str | None:
    """Why a file is of no use as a private key, and what to do; ``None``: it is one. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_KEY_BYTES)
    try:
        asyncssh.import_private_key(data)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        if "assphrase" in str(error) or isinstance(error, asyncssh.KeyEncryptionError):
            return (
                "is encrypted, and linewatt asks for no passphrase; give it to the agent "
                f"(ssh-add {shlex.quote(str(path))}) and leave key_file out"
            )
    except ValueError:
        pass
    else:
        return None
    try:
        asyncssh.import_public_key(data)
    except ValueError:
        return "is not a private key that linewatt can read; make one with ssh-keygen"
    private = path.with_suffix("") if path.suffix == ".pub" else None
    return f"is a public key; name the private one{f', {private}' if private and private.exists() else ''}"


def _slow(witness: _Witness, limit_s: float) -> str:
    if witness.answered:
        return (
            f"sshd answers, but the login took more than {limit_s:g} s; look there for slow name lookups "
            "(UseDNS in sshd_config), slow PAM modules, or a load that leaves it no CPU; "
            f"{slow_login(limit_s)}"
        )
    return f"no answer within {limit_s:g} s; is it up, is the address right, does a firewall let SSH in?"


def _wrong_key(
    error: Exception,
    witness: _Witness,
    server: _Server,
    options: asyncssh.SSHClientConnectionOptions,
) -> str:
    """Unknown, changed, or what else is wrong with a host key; each has a remedy of its own."""
    file, key = _known_hosts_file(options), witness.offered
    if key is None:
        return f"its host key is refused ({error}); see {file}"
    name = server.address if options.port == 22 else f"[{server.address}]:{options.port}"
    shown = f"{key.get_algorithm()} {key.get_fingerprint()}"
    if _is_known(options):
        return (
            f"its host key has CHANGED: it shows {shown}, and {file} has another. Was it reinstalled, or "
            "does somebody else answer? Compare it on the host (ssh-keygen -lf); if it is right, take the "
            f"old one out: `{shlex.join(['ssh-keygen', '-f', file, '-R', name])}`, and connect once with ssh"
        )
    ssh = ["ssh", *([] if options.port == 22 else ["-p", str(options.port)])]
    if server.spec.known_hosts:
        ssh += ["-o", f"UserKnownHostsFile={file}"]
    ssh += [f"{server.user}@{server.address}" if server.user else server.address]
    return (
        f"its host key is not known: {shown} is not in {file}; connect once with `{shlex.join(ssh)}` "
        "and compare it there"
    )


def _known_hosts_file(options: asyncssh.SSHClientConnectionOptions) -> str:
    known_hosts = options.known_hosts
    if isinstance(known_hosts, str):
        return known_hosts
    if isinstance(known_hosts, list) and known_hosts:
        return str(known_hosts[0])
    return str(Path("~/.ssh/known_hosts").expanduser())


def _is_known(options: asyncssh.SSHClientConnectionOptions) -> bool:
    """Whether known_hosts has a key for a server, so that it showed a different one."""
    known_hosts: Any = options.known_hosts or _known_hosts_file(options)
    name = options.host_key_alias or options.host
    try:
        keys = asyncssh.match_known_hosts(known_hosts, name, "", None if options.port == 22 else options.port)
    except (OSError, ValueError):
        return False
    return bool(keys[0])


def _refused(server: _Server, options: asyncssh.SSHClientConnectionOptions) -> str:
    """Which keys were tried, and where theirs must stand."""
    whose = f"~{options.username}/.ssh/authorized_keys there"
    if server.spec.key_file is not None and not server.is_jump:
        return (
            f"login refused for {options.username} with the key {server.spec.key_file}; check user, and that "
            f"{server.spec.key_file}.pub is in {whose}"
        )
    sources = {"the agent's keys": options.agent_path, "those of ~/.ssh": options.client_keys}
    tried = [name for name, keys in sources.items() if keys]
    if not tried:
        return (
            f"login refused for {options.username}: there is no key here to show (no agent, and none without "
            "a passphrase in ~/.ssh); name key_file, or ssh-add one"
        )
    return (
        f"login refused for {options.username} with {' and '.join(tried)}; check user, name key_file, and "
        f"see that its public key is in {whose}"
    )


def _error_text(error: Exception, address: str) -> str:
    """The text of an error before the login, with a next step."""
    if isinstance(error, socket.gaierror):
        return (
            f"no IP address is known for host name {address} ({error.strerror}); check how it is written, or "
            "write an IP"
        )
    if isinstance(error, ConnectionRefusedError):
        return "connection refused: nothing listens there; start sshd, or check address and port"
    if isinstance(error, (asyncssh.ConnectionLost, ConnectionResetError, asyncssh.ProtocolNotSupported)):
        return (
            f"the other end hung up before the login ({_short(error)}); is it sshd that listens on this "
            "port, and does it take so many connections (MaxStartups)?"
        )
    return f"no SSH connection: {_short(error)}; check address, port and sshd"


def _short(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return " ".join(str(error).split()) or type(error).__name__
