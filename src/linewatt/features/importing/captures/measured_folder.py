# SPDX-License-Identifier: Apache-2.0
"""A folder of files that people measured by hand as what a result is made of. Reads files; writes none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt import __version__
from linewatt.errors import FileRefused, InvalidInput
from linewatt.features.importing.captures.folder import CaptureFile, read_files
from linewatt.features.importing.captures.formats import find_all
from linewatt.features.importing.captures.hosts import Hosts, assign
from linewatt.features.importing.captures.model import Found
from linewatt.features.importing.captures.options import Options
from linewatt.features.importing.captures.pairing import beside, tests_of, with_ends_named
from linewatt.features.importing.captures.trials import Made, made_of
from linewatt.model import Case
from linewatt.records import SCHEMA_VERSION

CLIENT = "client"
"""what the host of a load's file is called that does not name it, until an option does"""


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that is imported: the files, what they hold, and the trials that were made of it."""

    found: tuple[Found, ...]
    hosts: Hosts
    trials: tuple[Made, ...]

    @property
    def formats(self) -> dict[str, int]:
        """Format → how many files are of it."""
        names = [capture.format for capture in self.found]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever imports the files should know of them, a line each."""
        file_notes = (
            f"{capture.file.name}: {capture.note}" for capture in self.found if capture.note is not None
        )
        return (*self.hosts.notes, *file_notes)

    @property
    def originals(self) -> dict[str, str]:
        """Name → text of each file."""
        return {capture.file.name: capture.file.text for capture in self.found}

    @property
    def host_names(self) -> tuple[str, ...]:
        """Hosts that take part in any trial, those that receive first."""
        return tuple(
            dict.fromkeys(
                host for made_trial in self.trials for host in reversed(made_trial.trial.case.hosts)
            )
        )


def read_folder(path: Path, skip: Iterable[str], options: Options) -> Whole:
    """What is imported of a folder or a file. Raises InvalidInput, one line, for anything that is wrong in
    it."""
    try:
        return understand(read_files(path, tuple(skip)), options)
    except FileRefused as error:
        if not path.is_dir():
            raise
        raise InvalidInput(error.of_folder) from None


def understand(files: Sequence[CaptureFile], options: Options) -> Whole:
    """The same of files that were read."""
    captures = find_all(files)
    are_ends_named = options.sender is not None or options.receiver is not None
    hosts = assign(captures, options.hosts, CLIENT if are_ends_named else None)
    tests, hosts = with_ends_named(tests_of(captures, hosts), hosts, options.sender, options.receiver)
    return Whole(captures, hosts, made_of(captures, tests, hosts, options))


def manifest_of(imported: Whole, name: str, source: str, options: Options) -> dict[str, Any]:
    """The manifest of the result: what was imported and how, and what the files say of hosts and load."""

    files = [_file(capture, imported.hosts) for capture in imported.found]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "imported_from": source,
        "imported_files": files,
        "linewatt_version": __version__,
        "created_s": min(made_trial.trial.started_s for made_trial in imported.trials),
        "campaign_text": _text(files, options),
        "campaign": _campaign(imported.trials, options),
        "plan": None,
        "seed": None,
        "order": None,
        "trials_planned": len(imported.trials),
        "hosts": {host: _host(host, imported) for host in imported.host_names},
    }


def _file(capture: Found, hosts: Hosts) -> dict[str, Any]:
    file = capture.file
    return {
        "name": file.name,
        "host": hosts.of_file[file.name],
        "format": capture.format,
        "bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def _text(files: Sequence[Mapping[str, Any]], options: Options) -> str:
    """What was imported, for people: options, then a line a file."""
    zone = "not said" if options.zone is None else str(options.zone)
    settings = {
        "omit": f"{options.omit_s:g} s",
        "tail": f"{options.tail_s:g} s",
        "timezone": zone,
        "network": options.network,
    }
    head = "".join(f"{name}: {value}\n" for name, value in settings.items()) + "files:\n"
    return head + "".join(
        f"- {row['name']}: {row['format']} of {row['host']}, {row['bytes']} bytes, sha256 {row['sha256']}\n"
        for row in files
    )


def _campaign(trials: Sequence[Made], options: Options) -> dict[str, Any]:
    """What was asked, as far as all trials were asked alike."""
    timings = {(made_trial.asked.seconds, made_trial.asked.omit_s) for made_trial in trials}
    levels: dict[str, dict[str, None]] = {}
    for made_trial in trials:
        for name, level in made_trial.trial.case.factors:
            levels.setdefault(name, {})[level] = None
    factors = {name: list(factor_levels) for name, factor_levels in levels.items() if len(factor_levels) > 1}
    shared = (
        option
        for option in trials[0].asked.options
        if all(option in made_trial.asked.options for made_trial in trials)
    )
    settings = dict(shared)
    document: dict[str, Any] = {"factors": factors, "settings": settings}
    if len(timings) == 1 and (seconds := next(iter(timings))[0]) is not None:
        omit_s = next(iter(timings))[1]
        document |= {"window_s": seconds - options.omit_s - options.tail_s, "omit_s": omit_s + options.omit_s}
    return document


def _host(host: str, imported: Whole) -> dict[str, Any]:
    """What the files of a host say of it."""
    host_captures = [
        capture for capture in imported.found if imported.hosts.of_file[capture.file.name] == host
    ]
    facts: dict[str, dict[str, Any]] = {}
    for capture in host_captures:
        for file_facts in (*(track.facts for track in capture.tracks), *(end.facts for end in capture.ends)):
            for section, values in file_facts.items():
                facts.setdefault(section, {}).update(values)
        for end in capture.ends:
            if end.program:
                facts.setdefault("tools", {})[end.asked.load] = end.program
    sharing = sorted(
        _sharing(host, [made_trial.trial.case for made_trial in imported.trials], imported.hosts)
    )
    return {"facts": facts} | ({"shares_cpus_with": sharing} if sharing else {})


def _sharing(host: str, cases: Iterable[Case], hosts: Hosts) -> set[str]:
    """Other hosts of its trials that are the same machine."""
    others = {name for case in cases if host in case.hosts for name in case.hosts} - {host}
    return {
        name for name in others if name in hosts.sharing(host) or beside(name) == host or beside(host) == name
    }
