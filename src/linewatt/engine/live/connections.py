# SPDX-License-Identifier: Apache-2.0
"""How hosts were reached: the limits of those that answer slowly, or whose campaign states some, on record.

``connections.json`` of a result has what was known when it was measured first, ``connections-2.json`` and so
on what was learned since, or is of a later part. Where all hosts had the limits of any host there is none.
"""

from __future__ import annotations

from pathlib import Path

from linewatt.engine.live.session import Session
from linewatt.records import Connections
from linewatt.store import numbered_files, write_json


class ConnectionBook:
    """Writes what is known of the connections of a session, each time that it is something else."""

    def __init__(self, path: Path, session: Session) -> None:
        self._path = path
        self._session = session
        self._written: dict[str, object] = {}

    def note(self) -> None:
        """Raises StoreError."""
        hosts = {name: pace.document() for name, pace in self._session.paces.items() if not pace.is_ordinary}
        limits = {name: {**host, "slowest_answer_s": None} for name, host in hosts.items()}
        if limits == self._written:
            return
        self._written = dict(limits)
        file = next(
            candidate for candidate in numbered_files(self._path, "connections") if not candidate.exists()
        )
        write_json(file, Connections.model_validate({"hosts": hosts}).as_written())
