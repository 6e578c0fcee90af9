# SPDX-License-Identifier: Apache-2.0
"""Passwords, looked up once on the controller before any host is touched.

They go from here to the session that needs them, and nowhere else: not into a result, a log or an argument.
A variable that held one is taken out of the environment, which every process inherits that is started here.
"""

from __future__ import annotations

import os
import stat
from importlib import import_module
from pathlib import Path
from shlex import quote

from linewatt.campaign import Campaign
from linewatt.core.feature import feature_functions
from linewatt.document import read_bytes
from linewatt.errors import InvalidInput
from linewatt.extras import package_install_command
from linewatt.sensors.power import PowerConfig, Secret

MOST_BYTES = 4096
Passwords = dict[tuple[str, str], str | None]
"""(host, source) → its password, or ``None`` where it needs none"""

_TAKEN: dict[str, str] = {}
"""variables that were taken out of the environment: a program may ask for them again"""


def read_passwords(campaign: Campaign) -> Passwords:
    """Every source's password. Raises InvalidInput for one that is named and not there."""
    return {
        (host, name): _password(f"hosts.{host}.power.{name}", source.cfg)
        for host, sources in campaign.power.items()
        for name, source in sources.items()
    }


def notes_on_open_files(campaign: Campaign) -> list[str]:
    """Notes on password files that every user of this machine can read."""
    named = []
    for host, sources in campaign.power.items():
        for name, source in sources.items():
            cfg = source.cfg
            if isinstance(cfg, Secret) and cfg.password_file is not None:
                named.append((f"hosts.{host}.power.{name}", Path(cfg.password_file).expanduser()))
    for files_of in feature_functions("password_files"):
        named += files_of(campaign)
    return [
        f"{where}.password_file: every user of this machine can read {path}; chmod o= {quote(str(path))}"
        for where, path in named
        if _is_open(path)
    ]


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:  # who needs the password says that it cannot be read
        return False


def password_from_environment(where: str, name: str) -> str:
    """The variable's value, which is taken out of the environment. Raises InvalidInput."""
    value = os.environ.get(name, _TAKEN.get(name))
    if not value:
        raise InvalidInput(f"{where}.password_env: {name} is not set here; export it first")
    _TAKEN[name] = value
    os.environ.pop(name, None)
    return value


def _password(where: str, cfg: PowerConfig) -> str | None:
    if not isinstance(cfg, Secret):
        return None
    if cfg.password_env is not None:
        return password_from_environment(where, cfg.password_env)
    if cfg.password_file is not None:
        return password_from_file(where, Path(cfg.password_file).expanduser())
    if cfg.password_keyring is not None:
        return _from_keyring(where, cfg.password_keyring)
    return None


def password_from_file(where: str, path: Path) -> str:
    """The first line of a file. Raises InvalidInput."""
    try:
        value = read_bytes(path, MOST_BYTES).decode("utf-8").partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise InvalidInput(f"{where}.password_file: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{where}.password_file: {path}: is not text") from error
    except ValueError as error:
        raise InvalidInput(f"{where}.password_file: {path}: {error}") from error
    if len(value) >= MOST_BYTES:
        raise InvalidInput(f"{where}.password_file: {path}: its first line is too long for a password")
    if not value:
        raise InvalidInput(f"{where}.password_file: {path}: its first line is empty")
    return value


def _from_keyring(where: str, name: str) -> str:
    try:
        keyring = import_module("keyring")  # no dependency: who names one has it
        errors = import_module("keyring.errors")
    except ImportError as error:
        install = package_install_command("keyring")
        raise InvalidInput(
            f"{where}.password_keyring: keyring is not installed; {install}, or use password_file"
        ) from error
    service, _, user = name.partition("/")
    try:
        value: str | None = keyring.get_password(service, user)
    except errors.KeyringError as error:
        raise InvalidInput(f"{where}.password_keyring: {error}") from error
    if not value:
        raise InvalidInput(f"{where}.password_keyring: holds no password for {user} of {service}")
    return value
