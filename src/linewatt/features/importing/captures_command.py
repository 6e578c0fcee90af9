# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of a folder, or a file, of what people measured by hand."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from linewatt.campaign.entries import fields
from linewatt.cli import print_json, put, say
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures.folder import beginning_of
from linewatt.features.importing.captures.formats import begins_capture, is_table
from linewatt.features.importing.captures.measured_folder import Whole, manifest_of, read_folder
from linewatt.features.importing.captures.options import Options
from linewatt.features.importing.captures.stamps import zone_of
from linewatt.features.tables.api import RECOGNISED
from linewatt.foreign import one_line
from linewatt.report import plural
from linewatt.store import ImportedTrial, write_imported

SCHEMA_VERSION = 1
MOST_S = 86_400.0
MOST_TEXT_BYTES = 1 << 20
_ROLE_WORD = re.compile(rb"\b(srv|clt)\((rcv|snd)\)")


@dataclass(frozen=True, slots=True)
class Given:
    """Options of the command that are of files that people measured by hand, and of nothing else.

    They are called as on the command line.
    """

    omit: float | None
    tail: float | None
    timezone: str | None
    host: list[str]
    skip: list[str]
    network: str | None
    sender: str | None
    receiver: str | None

    @property
    def named(self) -> list[str]:
        """Those that were given, as they are written."""
        return [f"--{name}" for name, value in asdict(self).items() if value not in (None, [])]


def is_captures(path: Path) -> bool:
    """Whether a path is a folder, or a file that is no table: of a tool, or of nobody that is known."""
    if not path.is_file():
        return path.is_dir()
    beginning = beginning_of(path)
    if b"\0" not in beginning and _has_blocks(path):
        return False
    return begins_capture(beginning) or not is_table(beginning, RECOGNISED)


def _has_blocks(path: Path) -> bool:
    """Whether a file has host blocks, as a table or as text, which may stand below other tables."""
    try:
        with path.open("rb") as file:
            return _ROLE_WORD.search(file.read(MOST_TEXT_BYTES)) is not None
    except OSError:
        return False


def import_captures(path: Path, called: str, given_options: Given, results: Path, *, as_json: bool) -> None:
    """Store what is in a folder as a result. Raises InvalidInput, one line; StoreError."""
    options = options_of(given_options)
    imported = read_folder(path, given_options.skip, options)
    manifest = manifest_of(imported, called, one_line(path.resolve().name), options)
    trials = [
        ImportedTrial(made_trial.trial, made_trial.series, made_trial.texts) for made_trial in imported.trials
    ]
    stored = write_imported(results, manifest, trials, imported.originals, named_s=time.time())
    failed = sum(trial.trial.status == "failed" for trial in trials)
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": stored.name,
                "path": str(stored),
                "kind": "captures",
                "trials": len(trials),
                "trials_failed": failed,
                "files": len(imported.found),
                "formats": imported.formats,
                "hosts": list(imported.host_names),
                "notes": list(imported.notes),
            }
        )
        return
    for note in imported.notes:
        say(note)
    say(f"{_files(imported)} stored as {plural(len(trials), 'trial')} of {', '.join(imported.host_names)}")
    if failed:
        say(f"{plural(failed, 'trial')} failed; show says why")
    put(stored.name)


def _files(imported: Whole) -> str:
    return ", ".join(f"{plural(number, 'file')} of {name}" for name, number in imported.formats.items())


def options_of(given_options: Given) -> Options:
    """Raises InvalidInput."""
    for name, seconds in (("--omit", given_options.omit), ("--tail", given_options.tail)):
        if seconds is not None and not 0 <= seconds <= MOST_S:
            raise InvalidInput(f"{name} {seconds:g}: give seconds from 0 to {MOST_S:g}")
    network = given_options.network or "bare"
    names = (
        ("--network", network),
        ("--sender", given_options.sender),
        ("--receiver", given_options.receiver),
    )
    for option, value in names:
        if value is not None and not re.fullmatch(fields.HOST_NAME, value, re.ASCII):
            raise InvalidInput(f"{option} {value!r}: use letters, digits, dots, underscores and dashes")
    return Options(
        omit_s=given_options.omit or 0.0,
        tail_s=given_options.tail or 0.0,
        zone=None if given_options.timezone is None else zone_of(given_options.timezone),
        hosts=dict(_host_of(host_option) for host_option in given_options.host),
        network=network,
        sender=given_options.sender,
        receiver=given_options.receiver,
    )


def _host_of(text: str) -> tuple[str, str]:
    """File and host of ``NAME=FILE``. Raises InvalidInput."""
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise InvalidInput(f"--host {text!r}: write NAME=FILE, the file as it is called below the folder")
    return file, name
