# SPDX-License-Identifier: Apache-2.0
"""Schemas of what programs read: every one is current, strict, and what is written is valid."""

from __future__ import annotations

import copy
import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.compare_factories import made, runs
from tests.documents import valid, validator
from tests.report_factories import (
    demo_trials,
    failed,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
)
from tests.unit.conftest import Run

import linewatt
from linewatt import schemas
from linewatt.analysis.cases.detail import detail_blocks
from linewatt.analysis.metrics.metric import CaseMetric
from linewatt.analysis.metrics.unit import RATIO
from linewatt.declare import UNIT, unit_of
from linewatt.engine import events
from linewatt.errors import InvalidInput
from linewatt.json_document import of_class
from linewatt.model import Case, Trial
from linewatt.report.columns import COLUMNS
from linewatt.report.trials import detail
from linewatt.report.trials.digest import digest_document, digest_of
from linewatt.report.trials.searches.watts_at import watts_at_documents
from linewatt.report.trials.settings.scalability import case_row_schema
from linewatt.schemas import page
from linewatt.store.write import text_of

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests" / "captures"
STORED = CAPTURES / "results" / "method-1"
KEPT = {path.name.removesuffix("-json.txt.gz"): path for path in (CAPTURES / "golden").glob("*-json.txt.gz")}
PRINTED = {name: path for name, path in KEPT.items() if name.partition("-")[0] in schemas.SCHEMAS}
CASE = Case("tcp", "h1", "h2")
STARTED = events.Started("20260101-000000-t", "results/20260101-000000-t", 4, 0, 60.0)
HEARD: tuple[events.Event, ...] = (
    STARTED,
    events.Phase("connecting to h1, h2"),
    events.TrialStarted(1, 4, CASE, 1, 12.0, 48.0),
    events.Throughput(None, 40.0),
    events.Throughput(9e9, 40.0, (events.Watts("h2", 210.0, "simulated", "system"),)),
    events.TrialStored(demo_trials()[0], 4),
    events.TrialStored(failed(2, CASE, "h2: no route"), 4),
    events.Warned("h2: went away"),
    events.LeftChanged(("h2: mtu is 9000",)),
    events.Soaking(9e9, 300, 60.0, 3600.0),
    events.SoakEnded("20260101-000000-s", "results/20260101-000000-s", 3600.0, 0.0),
    events.Ended("20260101-000000-t", "results/20260101-000000-t", 3, 1, 0),
)


def printed(name: str) -> tuple[str, Any]:
    """Which schema it has, and the document as it was kept."""
    text = gzip.decompress(PRINTED[name].read_bytes()).decode()
    return name.partition("-")[0], json.loads(text.partition("--- out\n")[2].partition("--- err\n")[0])


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_a_schema_is_one_and_its_id_ends_with_the_version_of_its_documents(name: str) -> None:
    schema: Any = validator(name).schema
    Draft202012Validator.check_schema(schema)
    number = schemas.SCHEMAS[name].number
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:linewatt:schema:{name}:{number}"
    kinds = [one.get("properties", {}) for one in schema.get("oneOf", [schema])]
    assert {one["schema_version"].get("const", number) for one in kinds if "schema_version" in one} <= {
        number
    }


def test_the_stored_schemas_are_those_that_linewatt_prints() -> None:
    kept = {f"{page.FOLDER}/{path.name}" for path in (ROOT / "docs" / page.FOLDER).iterdir()} | {page.PAGE}
    made = page.files()
    assert kept == set(made)
    apart = [name for name, text in made.items() if (ROOT / "docs" / name).read_text() != text]
    assert apart == [], "make schemas writes them"


@pytest.mark.parametrize("name", PRINTED)
def test_what_was_printed_of_stored_results_is_valid(name: str) -> None:
    valid(*printed(name))


@pytest.mark.parametrize(
    "path", sorted(STORED.glob("trials/*/trial.json")), ids=lambda path: path.parent.name
)
def test_a_trial_of_an_older_linewatt_is_valid(path: Path) -> None:
    valid("trial", json.loads(path.read_text()))


@pytest.mark.parametrize("name", ["manifest", "idle"])
def test_what_stands_beside_older_trials_is_valid(name: str) -> None:
    valid(name, json.loads((STORED / f"{name}.json").read_text()))


@pytest.mark.parametrize(
    "trial", [*demo_trials()[:8:4], failed(2, CASE, "h2: no route")], ids=lambda one: one.status
)
def test_a_trial_as_it_is_stored_today_is_valid(trial: Trial) -> None:
    valid("trial", json.loads(text_of(trial)))


@pytest.mark.parametrize("event", HEARD, ids=lambda one: type(one).__name__)
def test_an_event_is_valid(event: events.Event) -> None:
    valid("events", events.as_document(event))


def test_every_kind_of_event_is_tried() -> None:
    told = {one["properties"]["event"]["const"] for one in validator("events").schema["oneOf"]}
    assert told == {events.as_document(one)["event"] for one in HEARD}


def test_a_result_with_all_that_options_add_is_valid() -> None:
    trials = renumbered(
        powered(scaling_trials((1, 2, 4)), ends=("receiver", "sender")),
        demo_trials()[9:],
        level_trials(replace(CASE, instances=8)),
        (failed(1, CASE, "h2: no route"),),
    )
    view = digest_of(result(trials))
    blocks = detail.detail_documents(detail_blocks(view.result.trials))
    document = digest_document(view, trials=True) | {
        "detail": blocks,
        "watts_at": watts_at_documents(view, [5e9, 1e15]),
    }
    assert {len(document[name]) > 1 for name in ("cases", "load_levels", "watts_at", "detail")} == {True}
    valid("show", document)


def test_a_metric_that_is_declared_is_in_the_schema_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    new = CaseMetric("luck_ratio", "Luck", "Luck", RATIO, lambda _: 0.5, show_ci=True)
    monkeypatch.setattr(f"{case_row_schema.__module__}.COLUMNS", (*COLUMNS, new))
    (case,) = (one["properties"]["cases"]["items"] for one in schemas.schema_of("show")["oneOf"][:1])
    for name in ("luck_ratio_mean", "luck_ratio_n", "luck_ratio_ci95_low"):
        assert name in case["required"]
    assert case["properties"]["luck_ratio_mean"][UNIT] == "1"


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document has a key or an element."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def slim(document: Any) -> Any:
    """The same with no more than two of each list: quick to try many times."""
    if isinstance(document, dict):
        return {key: slim(value) for key, value in document.items()}
    return [slim(one) for one in document[:2]] if isinstance(document, list) else document


def free(path: tuple[Any, ...]) -> bool:
    """Whether it is part of what may have further keys."""
    return bool({"job", "repeats", "events"} & set(path))


PLAN = linewatt.plan(linewatt.Campaign.load(ROOT / "examples" / "two-hosts.yaml")).document()
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "plan": ("plan", slim(json.loads(json.dumps(PLAN)))),
    **{name: (what, slim(document)) for name in PRINTED for what, document in [printed(name)]},
    "trial": ("trial", json.loads(text_of(demo_trials()[0]))),
    **{
        f"event-{type(one).__name__}": ("events", json.loads(json.dumps(events.as_document(one))))
        for one in HEARD
    },
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_number_that_became_a_text_is_not_valid(name: str) -> None:
    what, document = DOCUMENTS[name]
    numbers = [
        path for path in places(document) if type(at(document, path)) in (int, float) and not free(path)
    ]
    draw = random.Random(name)  # noqa: S311
    for path in draw.sample(numbers, min(12, len(numbers))):
        wrong = copy.deepcopy(document)
        at(wrong, path[:-1])[path[-1]] = "9000"
        assert not validator(what).is_valid(wrong), path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_key_that_nobody_declared_is_not_valid(name: str) -> None:
    what, document = DOCUMENTS[name]
    lists = [
        (),
        *(path for path in places(document) if isinstance(at(document, path), list) and not free(path)),
    ]
    records = [path if path == () else (*path, 0) for path in lists if path == () or at(document, path)]
    for path in (one for one in records if isinstance(at(document, one), dict)):
        wrong = copy.deepcopy(document)
        at(wrong, path)["undeclared"] = 1
        assert not validator(what).is_valid(wrong), path


def required(schema: Any, document: Any) -> list[str]:
    """The keys that a document must have, of the kind that it is."""
    event = document.get("event")
    kinds = [
        one
        for one in schema.get("oneOf", [schema])
        if set(document) <= set(one["properties"])
        and one["properties"].get("event", {}).get("const") == event
    ]
    return [name for one in kinds for name in one["required"]]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_key_that_is_required_and_not_there_is_not_valid(name: str) -> None:
    what, document = DOCUMENTS[name]
    schema: Any = validator(what).schema
    keys = required(schema["$defs"]["Trial"] if what == "trial" else schema, document)
    assert keys
    for key in keys:
        assert not validator(what).is_valid({one: value for one, value in document.items() if one != key}), (
            key
        )


def test_a_case_without_one_of_its_figures_is_not_valid() -> None:
    _, document = printed("show-campaign")
    for key in ("throughput_bps_mean", "receiver_system_w_provenance", "limit", "reasons", "case_key"):
        wrong = copy.deepcopy(document)
        del wrong["cases"][0][key]
        assert not validator("show").is_valid(wrong), key


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("throughput_bps_mean", "bit/s"),
        ("throughput_bps_ci95_low", "bit/s"),
        ("efficiency_receiver_bps_per_core_sd", "bit/s per core"),
        ("receiver_system_mbps_per_w_mean", "Mbit/s per W"),
        ("receiver_dynamic_w_uncertainty", "W"),
        ("window_s", "s"),
        ("cpu_cores", "cores"),
        ("latency_p99_s", "s"),
        ("client_cpu_s_per_gbit", "CPU seconds per Gbit"),
        ("throughput_bps_n", None),
        ("trials_done", None),
        ("p", None),
    ],
)
def test_a_name_says_its_unit(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_what_stands_below_a_field_is_what_it_means() -> None:
    made = of_class(Trial)["$defs"]["Trial"]
    assert made["properties"]["overhead_s"]["description"] == "wall time of the trial beyond its load seconds"
    assert "latency_s" not in made["required"]
    assert "reason" in made["required"]


def test_schema_without_a_word_is_that_of_campaign_files(run: Run) -> None:
    assert run("schema") == run("schema", "campaign")
    assert json.loads(run("schema")[1])["title"] == "linewatt campaign"


def test_schema_prints_each_that_it_lists(run: Run) -> None:
    listed = [line.split()[0] for line in run("schema", "--list")[1].splitlines()]
    assert listed == [*schemas.NAMES]
    assert json.loads(run("schema", "samples")[1]) == schemas.schema_of("samples")


def _texts_with_a_pattern(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from _texts_with_a_pattern(value)


def test_an_editor_says_how_a_text_of_a_campaign_file_is_written(run: Run) -> None:
    schema = json.loads(run("schema", "campaign")[1])
    patterns = list(_texts_with_a_pattern(schema))
    said = [one.get("patternErrorMessage", "") for one in patterns]
    assert len(patterns) > 50
    assert sum(text.startswith("must be ") for text in said) > 0.8 * len(said)
    rate = schema["$defs"]["SearchEntry"]["properties"]["max_rate"]["anyOf"][0]["patternErrorMessage"]
    assert rate == 'must be a rate above 0 with its unit, such as "500M" or "3.5G" (bit/s)'


def test_a_schema_that_there_is_not_is_refused(run: Run) -> None:
    code, _, err = run("schema", "showy")
    assert code == 2
    assert err.startswith("linewatt: showy: no such schema; choose campaign, plan, events, list, show")
    with pytest.raises(InvalidInput):
        schemas.schema_of("")


def test_comparing_two_results_is_valid(run: Run, tmp_path: Path) -> None:
    from tests.report_factories import stored

    for name, ratio in (("a", 1.0), ("b", 0.9)):
        stored(tmp_path / "results", made(name, runs(ratio=ratio)))
    code, out, _ = run("compare", "20260101-000000-a", "20260101-000000-b", "--json")
    assert code == 3
    assert json.loads(out)["comparisons"][0]["kind"] == "worse"


def test_no_other_command_reads_a_schema() -> None:
    lines = (
        "import sys, linewatt.cli.entry_point",
        "linewatt.cli.entry_point.whole()",
        "made = [one for one in sys.modules if one.startswith(('linewatt.schemas', 'linewatt.api'))]",
        "assert made == [], made",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
