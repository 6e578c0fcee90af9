# SPDX-License-Identifier: Apache-2.0
"""Settings of the web server, checked once before the socket is opened."""

from __future__ import annotations

import secrets
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from linewatt.errors import InvalidInput
from linewatt.hosts import is_loopback

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8642
SHORTEST_TOKEN = 16
"""characters; a shorter token could be guessed in a night"""
_LONGEST_TOKEN = 1024
_TOKEN_BYTES = 24
USER = "linewatt"
"""in the printed URL; any user name is accepted"""
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  compared with, not bound
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the web server.

    ``results`` is the results directory, ``state`` the state directory of running campaigns
    (``hosts/journal``), ``names`` are further names of this server. Without a ``token``, all who can connect
    can read; nobody can stop a run.
    """

    results: Path
    state: Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token: str | None = field(default=None, repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def scheme(self) -> str:
        return "http" if self.tls_cert is None else "https"

    @property
    def is_loopback(self) -> bool:
        """Whether only users of this machine can connect."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """The URL of the server when it listens on ``port``."""
        return f"{self.scheme}://{self._place(port)}/"

    def login_url(self, port: int) -> str:
        """The URL that contains the token."""
        return f"{self.scheme}://{USER}:{self.token}@{self._place(port)}/login"

    def _place(self, port: int) -> str:
        host = socket.gethostname() if self.host in EVERY_ADDRESS else self.host
        return f"{f'[{host}]' if ':' in host else host}:{port}"


def checked(settings: Settings) -> Settings:
    """Return the settings if they are valid. Raises InvalidInput."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise InvalidInput("--tls-cert and --tls-key: a certificate and its key go together; name both")
    if settings.tls_cert is not None and settings.tls_key is not None:
        tls_context(settings.tls_cert, settings.tls_key)
    if not settings.is_loopback and settings.token is None:
        raise InvalidInput(
            f"--listen {settings.host}: others could read every result there, and stop runs; add "
            "--token-file FILE"
        )
    for name in settings.names:
        if not name or any(sign in name for sign in "/:@ \t"):
            raise InvalidInput(f"--name {name!r}: is not the name of a machine, such as results.example.org")
    return settings


def new_token() -> str:
    """A random token, for one server process."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def read_token(path: Path) -> str:
    """The token in a file: its only line. Raises InvalidInput."""
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_TOKEN + 1)
    except OSError as error:
        raise InvalidInput(f"--token-file {path}: {error.strerror}") from error
    text = data.decode("ascii", errors="replace").strip()
    if not SHORTEST_TOKEN <= len(text) <= _LONGEST_TOKEN or not text.isascii() or not text.isprintable():
        raise InvalidInput(
            f"--token-file {path}: must hold one line of {SHORTEST_TOKEN} to {_LONGEST_TOKEN} characters of "
            "ASCII; 'openssl rand -hex 32' makes one"
        )
    if any(sign.isspace() for sign in text):
        raise InvalidInput(f"--token-file {path}: holds more than one word; a token is one")
    return text


def tls_context(cert: Path, key: Path) -> ssl.SSLContext:
    """The TLS context. Raises InvalidInput naming the bad file."""

    def locked() -> NoReturn:
        raise InvalidInput(f"--tls-key {key}: is locked with a passphrase, which nobody is asked for here")

    for option, path in (("--tls-cert", cert), ("--tls-key", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{option} {path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key, locked)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidInput(
            f"--tls-cert {cert}, --tls-key {key}: are not a certificate (PEM) and its key"
        ) from error
    return context


def allowed_names(settings: Settings) -> frozenset[str]:
    """Host names that requests may use, without a port.

    Foreign names that resolve to this machine (DNS rebinding) are refused. Numeric addresses are safe: a
    server on every address accepts all of them (:func:`is_ip`).
    """
    if settings.is_loopback:
        return frozenset((*LOOPBACK_NAMES, settings.host, *map(str.lower, settings.names)))
    names = {socket.gethostname(), socket.getfqdn(), settings.host, *settings.names}
    return frozenset(name.lower() for name in names if name)
