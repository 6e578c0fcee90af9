# SPDX-License-Identifier: Apache-2.0
"""JSON Schema of everything that a program reads of linewatt: which there are, and each as a document.

Those of the core are listed here, others by the features that print them. Each is declared beside what makes
its documents, and imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from linewatt.core.feature import feature_options, installed_features, power_source_keys
from linewatt.core.third_party import load
from linewatt.declare import Schema, finished, maybe, one_of
from linewatt.engine import kinds_of_plans
from linewatt.errors import InvalidInput
from linewatt.json_document import of_class
from linewatt.report import result_kinds

CAMPAIGN = "campaign"


@dataclass(frozen=True, slots=True)
class Declared:
    """A schema: what its documents are, and their ``schema_version``."""

    name: str
    of: str
    """the command, or the file of a result"""
    meaning: str
    body: Callable[[], Schema]
    number: int = 1

    @property
    def document(self) -> Schema:
        """The schema as it is printed and stored."""
        return finished(self.name, self.number, f"{self.of}: {self.meaning}", self.body())


def _beside(module: str) -> Schema:
    """The ``schema()`` of a module."""
    schema: Schema = import_module(f"linewatt.{module}").schema()
    return schema


def _planned() -> Schema:
    """A plan of trials, or one of a kind that a feature adds."""
    from linewatt.campaign.planning import plan_document_schema

    return plan_document_schema({kind.noun: kind.keys() for kind in kinds_of_plans()})


def _shown() -> Schema:
    """A result of trials, or one of a kind that a feature adds."""
    return _any_of(_beside("report.trials.schema"), *(kind.schema() for kind in result_kinds()))


def _compared() -> Schema:
    """Results with runs, what features have of them, or results of a kind that a feature adds."""
    of_options = (option.load().schema() for option in feature_options("compare"))
    of_kinds = (schema for kind in result_kinds() for schema in kind.comparison_schemas())
    return _any_of(_beside("report.comparison.document"), *of_options, *of_kinds)


def _any_of(*schemas: Schema) -> Schema:
    """One document of several kinds, some of which have several forms."""
    alternatives: list[Schema] = []
    for schema in schemas:
        alternatives += schema["oneOf"] if schema.keys() == {"oneOf"} else [schema]
    return one_of(*alternatives)


def _trial() -> Schema:
    """Stored ones may be of an older linewatt: what came since has a default, and need not be there."""
    from linewatt.model import Trial

    return of_class(Trial, stored=True)


def _stored(name: str) -> Schema:
    """A document of a result beside its trials, as it is read: what a newer linewatt adds is left alone."""
    from linewatt import records

    return of_class(getattr(records, name), stored=True, closed=False)


def _manifest() -> Schema:
    """The manifest without what its reader makes of it, with what features store of a source of power."""
    schema = _stored("Manifest")
    for name, property_name in (("Campaign", "written"), ("Host", "said")):
        del schema["$defs"][name]["properties"][property_name]
        schema["$defs"][name]["required"].remove(property_name)
    sources = schema["$defs"]["Campaign"]["properties"]["power"]["additionalProperties"]
    sources["additionalProperties"] = _stored_source(schema["$defs"])
    return schema


def _stored_source(definitions: dict[str, Schema]) -> Schema:
    """What a manifest has of a source of power: keys of features by their documents, which are added to
    ``definitions``, and any others."""
    properties: dict[str, Schema] = {}
    for key in power_source_keys():
        document = of_class(key.load(key.document_path), stored=True, closed=False)
        definitions |= document.pop("$defs", {})
        properties[key.key] = maybe(document)
    return {"type": "object", "properties": properties}


def _beside_trials(kind: str, of: str, meaning: str) -> Declared:
    return Declared(kind.lower(), of, meaning, partial(_stored, kind))


def _of_features() -> Iterator[Declared]:
    for item in installed_features():
        for document in item.feature.documents:
            body = load(document.path, f"schema {document.name!r}")
            yield Declared(document.name, document.source, document.meaning, body, document.version)


SCHEMAS: dict[str, Declared] = {
    declared.name: declared
    for declared in (
        Declared(
            "plan",
            "`plan --json`",
            "What a campaign would do.",
            _planned,
        ),
        Declared(
            "events",
            "`run --json`, `resume --json`",
            "A line an event: what a run says while it works.",
            partial(_beside, "engine.events"),
        ),
        Declared(
            "list",
            "`list --json`",
            "Stored results, each with its answer.",
            partial(_beside, "report.list_document"),
        ),
        Declared(
            "show",
            "`show --json`",
            "A result of trials, a soak, or a published table.",
            _shown,
        ),
        Declared(
            "compare",
            "`compare --json`",
            "Two results, or levels of one; their profiles; two published tables.",
            _compared,
        ),
        Declared("trial", "`trials/*/trial.json`", "One repetition of a case.", _trial),
        Declared(
            "samples",
            "a row of `trials/*/samples.parquet`",
            "One reading of one channel.",
            partial(_beside, "store.samples"),
        ),
        Declared("manifest", "`manifest.json`", "What a run knew before anything was measured.", _manifest),
        _beside_trials("Idle", "`idle.json`, `idle-end.json` …", "An idle window of each host of a setting."),
        _beside_trials("Meters", "`meters.json` …", "What was learned of each meter."),
        _beside_trials("Repeats", "`repeats.json`", "Why each case stopped that stops by itself."),
        _beside_trials("Searches", "`searches.json`", "Why each search ended."),
        _beside_trials("Connections", "`connections.json` …", "Limits of hosts that answer slowly."),
        *_of_features(),
    )
}
"""in the order of the documentation, those of features last; that of campaign files is
:mod:`linewatt.campaign.entries.schema`'s"""
NAMES = (CAMPAIGN, *SCHEMAS)


def schema_of(name: str) -> dict[str, Any]:
    """A schema by its name. Raises InvalidInput for a name that there is not."""
    if name == CAMPAIGN:
        from linewatt.campaign.entries import json_schema

        return json_schema()
    if name not in SCHEMAS:
        raise InvalidInput(f"{name}: no such schema; choose {', '.join(NAMES)}")
    return SCHEMAS[name].document
