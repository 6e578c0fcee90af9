# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of everything that a program reads of linewatt: which there are, and each as a document.

Each is declared beside what makes its documents, and imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from linewatt.declare import Schema, finished, of_class, one_of
from linewatt.errors import InvalidInput

CAMPAIGN = "campaign"


@dataclass(frozen=True, slots=True)
class Declared:
    """A schema: what its documents are, how they are made, their ``schema_version``."""

    name: str
    title: str
    of: str
    """the command, or the file of a result"""
    number: int
    body: Callable[[], Schema]

    @property
    def document(self) -> Schema:
        """The schema as it is printed and stored."""
        return finished(self.name, self.number, f"linewatt {self.title}", self.body())


def _beside(module: str) -> Schema:
    """The ``schema()`` of a module."""
    found: Schema = import_module(f"linewatt.{module}").schema()
    return found


def _any_of(*modules: str) -> Schema:
    """One document of several kinds, each with the schema of its module."""
    alternatives: list[Schema] = []
    for one in map(_beside, modules):
        alternatives += one["oneOf"] if one.keys() == {"oneOf"} else [one]
    return one_of(*alternatives)


def _trial() -> Schema:
    """Stored ones may be of an older linewatt: what came since has a default, and need not be there."""
    from linewatt.model import Trial

    return of_class(Trial, sometimes=None)


def _stored(name: str) -> Schema:
    """A document of a result beside its trials, as it is read: what a newer linewatt adds is left alone."""
    from linewatt import records

    return of_class(getattr(records, name), sometimes=None, closed=False)


def _manifest() -> Schema:
    """The manifest without what its reader makes of it."""
    found = _stored("Manifest")
    for name, made in (("Campaign", "written"), ("Host", "said")):
        del found["$defs"][name]["properties"][made]
        found["$defs"][name]["required"].remove(made)
    return found


SCHEMAS: dict[str, Declared] = {
    one.name: one
    for one in (
        Declared(
            "events", "events of a run", "`run --json`, `resume --json`", 1, partial(_beside, "engine.events")
        ),
        Declared("list", "list of results", "`list --json`", 1, partial(_beside, "report.listing")),
        Declared(
            "show",
            "result",
            "`show --json`",
            1,
            partial(_any_of, "report.trials.schema", "report.soak.document", "report.published.printers"),
        ),
        Declared(
            "compare",
            "comparison",
            "`compare --json`",
            1,
            partial(
                _any_of,
                "report.comparison.document",
                "report.comparison.profiles",
                "report.published.comparison",
            ),
        ),
        Declared("history", "history", "`history --json`", 2, partial(_beside, "report.comparison.history")),
        Declared("trial", "trial", "`trials/*/trial.json`", 1, _trial),
        Declared(
            "samples", "samples", "a row of `trials/*/samples.parquet`", 1, partial(_beside, "store.samples")
        ),
        Declared("manifest", "manifest", "`manifest.json`", 1, _manifest),
        Declared("idle", "idle window", "`idle.json`, `idle-end.json` …", 1, partial(_stored, "Idle")),
        Declared("meters", "meters", "`meters.json` …", 1, partial(_stored, "Meters")),
        Declared("calibration", "calibration", "`calibration.json` …", 1, partial(_stored, "Calibration")),
        Declared("repeats", "repeats", "`repeats.json`", 1, partial(_stored, "Repeats")),
        Declared("searches", "searches", "`searches.json`", 1, partial(_stored, "Searches")),
        Declared("connections", "connections", "`connections.json` …", 1, partial(_stored, "Connections")),
    )
}
"""in the order of the documentation; that of campaign files is :mod:`linewatt.campaign.entries.schema`'s"""
NAMES = (CAMPAIGN, *SCHEMAS)


def schema_of(name: str) -> dict[str, Any]:
    """A schema by its name. Raises InvalidInput for a name that there is not."""
    if name == CAMPAIGN:
        from linewatt.campaign.entries.schema import json_schema

        return json_schema()
    if name not in SCHEMAS:
        raise InvalidInput(f"{name}: no such schema; choose {', '.join(NAMES)}")
    return SCHEMAS[name].document
