# SPDX-License-Identifier: Apache-2.0
"""The schema of ``show --json`` for a result of trials, which :mod:`linewatt.report.trials.digest` makes."""

from __future__ import annotations

from typing import get_args

from linewatt.analysis.power.heat import Heat
from linewatt.core.feature import FeatureOption, feature_options, further_trials, result_keys
from linewatt.core.third_party import load
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    INTEGER,
    TEXT,
    Keys,
    Schema,
    choice,
    keys_of,
    listing,
    maybe,
    of_class,
    one_of,
    record,
    said,
    table,
)
from linewatt.findings import RANKS, Figure, Scope
from linewatt.hosts.facts.cores import CoreKind
from linewatt.model import Trial
from linewatt.records import Repeats
from linewatt.report.printing.export import case_key_schema, case_schema, identity_schema
from linewatt.report.trials import detail
from linewatt.report.trials.answer.limits import export_limit_schema, limit_schema
from linewatt.report.trials.power.idle import IdlePower
from linewatt.report.trials.searches import knees, searches, watts_at
from linewatt.report.trials.settings import effects, levels
from linewatt.report.trials.settings.scalability import case_row_schema


def schema() -> Schema:
    """Of :func:`linewatt.report.trials.digest.as_json`, with all that options of ``show`` add."""
    keys = {
        **heading_schema(),
        "linewatt_version": said(maybe(TEXT), "That measured it."),
        "method": said(maybe(INTEGER), "By which its figures were made; of several the oldest."),
        "hosts": listing(TEXT),
        "core_is": table(maybe(choice(*get_args(CoreKind))), "Host → what one CPU of it is."),
        "cases": listing(_case_schema()),
        "load_levels": levels.schema(),
        "repeats": said(
            maybe(of_class(Repeats, stored=True, closed=False)),
            "Why each case stopped that stops by itself.",
        ),
        "idle_power": listing(of_class(IdlePower)),
        "flags": listing(_flag_schema(), "Findings by kind, the gravest first."),
        "failed_trials": listing(record({"number": COUNT, **case_schema(), "reason": maybe(TEXT)})),
        "searches?": listing(one_of(searches.schema(), knees.schema())),
        "effects?": effects.schema(),
        **{f"{key.key}?": load(key.schema_path, f"{key.key} of show --json")() for key in result_keys()},
        "thermal?": listing(_heat_schema(), "What stood beside the watts of each host in each trial."),
        "trials?": listing(of_class(Trial), "With `--trials`: as in `trial.json`."),
        "detail?": said(detail.schema(), "With `--detail`: each end of each case in full."),
        "watts_at?": watts_at.schema(),
        **{f"{view.key}?": view.schema() for view in map(FeatureOption.load, feature_options("show"))},
    }
    return record(keys, "A result of trials.")


def heading_schema() -> Keys:
    """Keys of :func:`linewatt.report.trials.digest.heading`."""
    return {
        **identity_schema(),
        "complete": said(BOOLEAN, "Whether nothing is left for `linewatt resume`."),
        "soak": said(BOOLEAN, "Whether it is one long load, which has no trials."),
        "trials_planned": COUNT,
        "trials_done": COUNT,
        "trials_failed": COUNT,
        "flags_count": said(COUNT, "Findings, each at its scope."),
        **{f"{trials.name}_count?": COUNT for trials in further_trials()},
    }


def _case_schema() -> Schema:
    keys = {
        **case_row_schema(),
        **levels.level_key_schema(),
        **export_limit_schema(),
        "limit": limit_schema(),
        "reasons": table(TEXT, "Why figures are missing: by name of the figure, without its `_mean`."),
    }
    return record(keys, "What the trials of a case say together; SI, but power as the name has it.")


def _flag_schema() -> Schema:
    keys = {
        "mark": said(TEXT, "Its letter in tables."),
        "code": said(TEXT, "Stable; docs/findings.md has each."),
        "rank": choice(*RANKS),
        "scope": said(choice(*get_args(Scope)), "What it is told once for."),
        "figures": listing(choice(*get_args(Figure)), "What it makes doubtful."),
        "count": COUNT,
        "trials": listing(COUNT, "Numbers of those it was seen in."),
        "cases": listing(record(case_schema())),
        "evidence": listing(record({"where": TEXT, "evidence": TEXT, "trials": listing(COUNT)})),
        "advice": listing(TEXT),
    }
    return record(keys)


def _heat_schema() -> Schema:
    keys = {"host": TEXT, "trial": COUNT, **case_key_schema(), **keys_of(of_class(Heat))}
    return record({**keys, "reasons": table(TEXT, "Why figures are missing, by name.")})
