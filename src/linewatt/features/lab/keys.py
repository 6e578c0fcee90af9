# SPDX-License-Identifier: Apache-2.0
"""SSH keys of a lab: one for each host, one for its user. They live and die with the lab."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An ed25519 pair in OpenSSH's formats."""

    private: bytes
    public: str


def make_key() -> KeyPair:
    """A fresh pair; 0.1 ms, where ``ssh-keygen`` costs a process."""
    # asyncssh stands on this library; on its own it imports in a quarter of asyncssh's time.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    return KeyPair(
        private=key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        public=key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode(),
    )


def write_secret(path: Path, content: bytes) -> None:
    """Store what nobody else may read from the first moment, in a file that is not there yet."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
