# SPDX-License-Identifier: Apache-2.0
"""The schema of ``show --json`` for a result of trials, which :mod:`linewatt.report.trials.digest` makes."""

from __future__ import annotations

from typing import get_args

from linewatt.core.feature import FeatureOption, feature_options, further_trials, result_keys
from linewatt.core.third_party import load
from linewatt.declare import (
    COUNT,
    INTEGER,
    TEXT,
    Keys,
    Schema,
    choice,
    keys_of,
    listing,
    maybe,
    one_of,
    record,
    said,
    table,
)
from linewatt.hosts.facts import CoreKind
from linewatt.json_document import of_class
from linewatt.model import Trial
from linewatt.records import Repeats
from linewatt.report.trials import detail
from linewatt.report.trials.answer.limits import LimitDocument, LimitKeys
from linewatt.report.trials.digest import FailedTrial, FindingDocument, Heading, HeatDocument
from linewatt.report.trials.power.idle import IdlePower
from linewatt.report.trials.searches.knees import InstanceSearchDocument
from linewatt.report.trials.searches.searches import RateSearchDocument
from linewatt.report.trials.searches.watts_at import WattsAtDocument
from linewatt.report.trials.settings import effects, levels
from linewatt.report.trials.settings.scalability import case_row_schema


def schema() -> Schema:
    """Of :func:`linewatt.report.trials.digest.digest_document`, with all that options of ``show`` add."""
    case = {
        **case_row_schema(),
        **keys_of(of_class(levels.LevelKeys)),
        **keys_of(of_class(LimitKeys)),
        "limit": of_class(LimitDocument),
        "reasons": table(TEXT, "Why figures are missing: by name of the figure, without its `_mean`."),
    }
    of_case = "What the trials of a case say together; SI, but power as the name has it."
    keys = {
        **heading_schema(),
        "linewatt_version": said(maybe(TEXT), "That measured it."),
        "method": said(maybe(INTEGER), "By which its figures were made; of several the oldest."),
        "hosts": listing(TEXT),
        "core_is": table(maybe(choice(*get_args(CoreKind))), "Host → what one CPU of it is."),
        "cases": listing(record(case, of_case)),
        "load_levels": levels.schema(),
        "repeats": said(
            maybe(of_class(Repeats, stored=True, closed=False)),
            "Why each case stopped that stops by itself.",
        ),
        "idle_power": listing(of_class(IdlePower)),
        "flags": listing(of_class(FindingDocument), "Findings by kind, the gravest first."),
        "failed_trials": listing(of_class(FailedTrial)),
        "searches?": listing(one_of(of_class(RateSearchDocument), of_class(InstanceSearchDocument))),
        "effects?": of_class(effects.EffectsDocument),
        **{f"{key.key}?": load(key.schema_path, f"{key.key} of show --json")() for key in result_keys()},
        "thermal?": listing(
            of_class(HeatDocument), "What stood beside the watts of each host in each trial."
        ),
        "trials?": listing(of_class(Trial), "With `--trials`: as in `trial.json`."),
        "detail?": listing(of_class(detail.EndDocument), "With `--detail`: each end of each case in full."),
        "watts_at?": listing(of_class(WattsAtDocument), "Watts at throughputs that `--at` asked for."),
        **{f"{view.key}?": view.schema() for view in map(FeatureOption.load, feature_options("show"))},
    }
    return record(keys, "A result of trials.")


def heading_schema() -> Keys:
    """Keys of :func:`linewatt.report.trials.digest.heading`."""
    further = {f"{trials.name}_count?": COUNT for trials in further_trials()}
    return {**keys_of(of_class(Heading)), **further}
