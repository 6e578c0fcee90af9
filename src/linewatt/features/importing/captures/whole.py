# SPDX-License-Identifier: Apache-2.0
"""A folder of files that people measured by hand as what a result is made of. Reads files; writes none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        names = [one.format for one in self.found]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever imports the files should know of them, a line each."""
        own = (f"{one.file.name}: {one.note}" for one in self.found if one.note is not None)
        return (*self.hosts.notes, *own)

    @property
    def originals(self) -> dict[str, str]:
        """Name → text of each file."""
        return {one.file.name: one.file.text for one in self.found}

    @property
    def host_names(self) -> tuple[str, ...]:
        """Hosts that take part in any trial, those that receive first."""
        return tuple(dict.fromkeys(host for one in self.trials for host in reversed(one.trial.case.hosts)))


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
    found = find_all(files)
    are_ends_named = options.sender is not None or options.receiver is not None
    hosts = assign(found, options.hosts, CLIENT if are_ends_named else None)
    tests, hosts = with_ends_named(tests_of(found, hosts), hosts, options.sender, options.receiver)
    return Whole(found, hosts, made_of(found, tests, hosts, options))


def manifest_of(whole: Whole, name: str, source: str, options: Options) -> dict[str, Any]:
    """The manifest of the result: what was imported and how, and what the files say of hosts and load."""
    from linewatt import __version__

    files = [_file(one, whole.hosts) for one in whole.found]
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "imported_from": source,
        "imported_files": files,
        "linewatt_version": __version__,
        "created_s": min(one.trial.started_s for one in whole.trials),
        "campaign_text": _text(files, options),
        "campaign": _campaign(whole.trials, options),
        "plan": None,
        "seed": None,
        "order": None,
        "trials_planned": len(whole.trials),
        "hosts": {host: _host(host, whole) for host in whole.host_names},
    }


def _file(one: Found, hosts: Hosts) -> dict[str, Any]:
    file = one.file
    return {
        "name": file.name,
        "host": hosts.of_file[file.name],
        "format": one.format,
        "bytes": file.size_bytes,
        "sha256": file.sha256,
    }


def _text(files: Sequence[Mapping[str, Any]], options: Options) -> str:
    """What was imported, for people: options, then a line a file."""
    zone = "not said" if options.zone is None else str(options.zone)
    asked = {
        "omit": f"{options.omit_s:g} s",
        "tail": f"{options.tail_s:g} s",
        "timezone": zone,
        "network": options.network,
    }
    head = "".join(f"{name}: {value}\n" for name, value in asked.items()) + "files:\n"
    return head + "".join(
        f"- {one['name']}: {one['format']} of {one['host']}, {one['bytes']} bytes, sha256 {one['sha256']}\n"
        for one in files
    )


def _campaign(trials: Sequence[Made], options: Options) -> dict[str, Any]:
    """What was asked, as far as all trials were asked alike."""
    asked = {(one.asked.seconds, one.asked.omit_s) for one in trials}
    levels: dict[str, dict[str, None]] = {}
    for one in trials:
        for name, level in one.trial.case.factors:
            levels.setdefault(name, {})[level] = None
    factors = {name: list(own) for name, own in levels.items() if len(own) > 1}
    shared = (one for one in trials[0].asked.options if all(one in each.asked.options for each in trials))
    settings = dict(shared)
    document: dict[str, Any] = {"factors": factors, "settings": settings}
    if len(asked) == 1 and (seconds := next(iter(asked))[0]) is not None:
        omit_s = next(iter(asked))[1]
        document |= {"window_s": seconds - options.omit_s - options.tail_s, "omit_s": omit_s + options.omit_s}
    return document


def _host(host: str, whole: Whole) -> dict[str, Any]:
    """What the files of a host say of it."""
    own = [one for one in whole.found if whole.hosts.of_file[one.file.name] == host]
    facts: dict[str, dict[str, Any]] = {}
    for one in own:
        for said in (*(track.facts for track in one.tracks), *(end.facts for end in one.ends)):
            for section, values in said.items():
                facts.setdefault(section, {}).update(values)
        for end in one.ends:
            if end.program:
                facts.setdefault("tools", {})[end.asked.load] = end.program
    sharing = sorted(_sharing(host, [one.trial.case for one in whole.trials], whole.hosts))
    return {"facts": facts} | ({"shares_cpus_with": sharing} if sharing else {})


def _sharing(host: str, cases: Iterable[Case], hosts: Hosts) -> set[str]:
    """Other hosts of its trials that are the same machine."""
    others = {name for case in cases if host in case.hosts for name in case.hosts} - {host}
    return {
        name for name in others if name in hosts.sharing(host) or beside(name) == host or beside(host) == name
    }
