# SPDX-License-Identifier: Apache-2.0
"""What a feature adds to the program, and which features are installed.

A feature is a folder in ``features/``, or a package of anybody's that names a :class:`Feature` as an entry
point of the group ``linewatt.features``. Whatever it adds is named by import paths (``module:name``) that are
resolved when they are used, so that reading all features imports none of them.

A list and a dataclass do what is needed; pluggy, which was considered, would add the calling of hooks in an
order that no caller here leaves open.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from linewatt.core.third_party import load, third_party_objects
from linewatt.errors import InvalidInput

SHIPPED = "linewatt.features"
"""package of the features that come with linewatt"""

ENTRY_POINTS = "linewatt.features"
"""group of entry points by which other packages add features"""

CommandGroup = Literal["Measure", "Read", "Compare", "Tools"]
"""headings of ``linewatt --help``"""


@dataclass(frozen=True, slots=True)
class FeatureCommand:
    """A word of the command line, under a heading of the help.

    ``path`` leads to the function of the command, or to a ``typer.Typer`` of several, as ``module:name``.
    """

    word: str
    path: str
    group: CommandGroup
    summary: str = ""
    """first paragraph of its description; without it ``linewatt --help`` imports the command to read it"""

    def load(self) -> Any:
        """The function or the ``typer.Typer``. Raises InvalidInput where the path leads nowhere."""
        return load(self.path, f"command {self.word!r}")


@dataclass(frozen=True, slots=True)
class FeatureDocument:
    """A JSON document that a command prints, for ``linewatt schema NAME`` and docs/schemas.md.

    ``path`` leads to a function without arguments that returns its JSON Schema.
    """

    name: str
    source: str
    """the command that prints it, or the file of a result"""
    meaning: str
    version: int
    """its ``schema_version``"""
    path: str


@dataclass(frozen=True, slots=True)
class FeatureFindings:
    """Kinds of findings under a heading of docs/findings.md.

    ``path`` leads to a tuple of ``linewatt.findings.kinds.Kind``.
    """

    heading: str
    path: str


@dataclass(frozen=True, slots=True)
class ResultName:
    """A way to name a stored result: ``WORD:REST`` wherever a command takes a result.

    ``path`` leads to a function of the directory of results (``Path``) and the whole name that returns the
    result's directory, and raises StoreError where there is none.
    """

    word: str
    path: str


@dataclass(frozen=True, slots=True)
class ResultKey:
    """A key of ``show --json`` for a result of trials.

    ``document_path`` leads to a function of a ``linewatt.report.trials.digest.Digest`` that returns the value
    (None: the key is left out), ``schema_path`` to one without arguments that returns its JSON Schema.
    """

    key: str
    document_path: str
    schema_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSourceKey:
    """A key of every source of power in a campaign file: ``hosts.HOST.power.SOURCE.KEY``.

    ``field_path`` leads to the type and the ``pydantic.Field`` of what is written there; ``problems_path`` to
    a function of the ``CampaignFile``, its hosts by name and the directory that files are relative to, which
    yields problems as ``linewatt.campaign.reading.checks`` does; ``read_path`` to a function of the name of a
    host, its ``HostEntry``, the name of a source and that directory, which returns what is stored with the
    campaign. Neither is called where the key is not written.

    ``document_path`` leads to the pydantic class of what is stored. ``correct_path`` leads to a function of a
    ``Trial`` and of what is stored by host and source that returns the trial as it is to be shown: it is
    called for each trial that was measured, and for each that is read.
    """

    key: str
    field_path: str
    problems_path: str
    read_path: str
    document_path: str
    correct_path: str

    def load(self, path: str) -> Any:
        """What one of its paths leads to. Raises InvalidInput where it leads nowhere."""
        return load(path, f"power source key {self.key!r}")


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """A package as it is installed, and the module that shows whether it is there."""

    name: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignKey:
    """A key of campaign files.

    ``field_path`` leads to the type and the ``pydantic.Field`` of what is written there, with a default: a
    campaign that has the default has nothing of the key. ``problems_path`` leads to a function of the
    ``CampaignFile``, the names of all hosts and the entries of those that take part, which yields problems as
    ``linewatt.campaign.reading.checks`` does; it is not called where a file has the default.

    A plain value (a text, a number, a truth value, or a list of them) is what the campaign has of the key,
    and is stored unless it is the default. Of any other, ``read_path`` leads to a function of the
    ``CampaignFile`` and the directory that files are relative to, which returns what the campaign has, and
    ``document_path`` to its type, by which it is read from a stored campaign; where there is none, null is
    stored.

    ``hosts_path`` leads to a function of the ``CampaignFile`` that returns the names of the hosts that the
    key has take part. ``resolve_path`` leads to a function of the ``Campaign``, the directory of results and
    what a result has stored of the key (None: nothing) that returns the campaign as it is to be run: for keys
    whose value is looked up in other results.
    """

    key: str
    field_path: str
    problems_path: str
    read_path: str = ""
    document_path: str = ""
    hosts_path: str = ""
    resolve_path: str = ""
    brings_load: bool = False
    """whether tests may be left out where it is written"""
    replaces_trials: bool = False
    """whether a campaign with it has no cases and trials"""
    extra: str = ""
    """extra of linewatt that the controller needs for it"""
    packages: tuple[PythonPackage, ...] = ()
    """of that extra"""

    def load(self, path: str) -> Any:
        """What one of its paths leads to. Raises InvalidInput where it leads nowhere."""
        return load(path, f"campaign key {self.key!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLoad:
    """A load of trials that is no process between the hosts of a pair.

    Campaigns whose file has the :class:`CampaignKey` ``name`` have it as the load of their trials, unless
    another key replaces trials; ``<name>.<key>`` are factors of it, and ``test`` is that of its cases.

    ``planning_path`` leads to a ``linewatt.campaign.feature_load.LoadPlanning``, ``trials_path`` to a
    ``linewatt.engine.feature_load.TrialOpener``, ``measuring_path`` to a
    ``linewatt.engine.measuring.feature_load.LoadMeasuring``. The last two are imported while hosts answer.
    """

    name: str
    test: str
    planning_path: str
    trials_path: str
    measuring_path: str

    def load(self, path: str) -> Any:
        """What one of its paths leads to. Raises InvalidInput where it leads nowhere."""
        return load(path, f"load {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherTrials:
    """Trials that run after all that are measured, and are part of no figure: cases of a campaign once more,
    with something of the feature beside the load.

    They are stored below ``NAME/NUMBER/`` of a result, numbered from 1 by themselves; ``resume`` makes those
    that it lacks. How many there are is ``NAME_count`` of ``list --json`` and ``show --json``.

    ``plan_path`` leads to a ``linewatt.campaign.planning.further.FurtherPlan``; ``run_path`` to what makes a
    ``linewatt.engine.further.FurtherRunner``. Neither is imported where a campaign lacks the key.
    """

    name: str
    """plural, also the key of ``plan --json`` that lists them"""
    noun: str
    """what is stored of one"""
    campaign_key: str
    """key of campaign files that asks for them"""
    show_option: str
    """option of ``show`` that prints what is stored of them, without dashes"""
    plan_path: str
    run_path: str

    def load(self, path: str) -> Any:
        """What one of its paths leads to. Raises InvalidInput where it leads nowhere."""
        return load(path, f"further trials {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureResultKind:
    """A kind of result that holds no trials.

    ``is_of_path`` leads to a function of a ``linewatt.records.Manifest`` that returns whether a result is of
    this kind: its module is imported whatever results hold. ``path`` leads to a
    ``linewatt.report.kinds.ResultKind``, whose module is imported only for results of this kind.
    """

    is_of_path: str
    path: str

    def load(self, path: str) -> Any:
        """What one of its paths leads to. Raises InvalidInput where it leads nowhere."""
        return load(path, "result kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCheck:
    """A check of ``linewatt check`` for each host of a campaign that has a key.

    ``path`` leads to a coroutine function of a ``linewatt.engine.readiness.AskedHost`` that returns a
    ``Check``, or None of a host that has nothing to be checked. It may raise HostError.
    """

    name: str
    """its column: at most five characters"""
    title: str
    campaign_key: str
    path: str

    def load(self) -> Any:
        """The function. Raises InvalidInput where the path leads nowhere."""
        return load(self.path, f"check {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureOption:
    """An option of ``show`` or ``compare`` that prints what only this feature knows of results of trials.

    ``path`` leads to a ``linewatt.report.views.ResultView`` for ``show``, else to a ``ComparisonView``.
    """

    command: Literal["show", "compare"]
    word: str
    """without dashes"""
    help: str
    path: str

    def load(self) -> Any:
        """The view. Raises InvalidInput where the path leads nowhere."""
        return load(self.path, f"option --{self.word} of {self.command}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A format of ``report``. ``path`` leads to a function of a ``Result`` that returns the file's bytes, and
    raises InvalidInput for a result that has nothing of the kind."""

    word: str
    help: str
    suffix: str
    """of the file's name, without its first dot"""
    path: str

    def load(self) -> Any:
        """The function. Raises InvalidInput where the path leads nowhere."""
        return load(self.path, f"format {self.word!r} of report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """Everything that a feature adds. A field that is left out adds nothing."""

    name: str
    summary: str
    """what it is for, in a few words without a full stop"""
    needs: tuple[str, ...] = ()
    """names of features that it uses: without one of them it is not there either"""
    commands: tuple[FeatureCommand, ...] = ()
    documents: tuple[FeatureDocument, ...] = ()
    findings: tuple[FeatureFindings, ...] = ()
    result_names: tuple[ResultName, ...] = ()
    result_keys: tuple[ResultKey, ...] = ()
    power_source_keys: tuple[PowerSourceKey, ...] = ()
    campaign_keys: tuple[CampaignKey, ...] = ()
    loads: tuple[FeatureLoad, ...] = ()
    knobs: tuple[str, ...] = ()
    """paths to each ``linewatt.tuning.base.Knob`` of settings that this feature makes by itself"""
    password_files: str = ""
    """path to a function of a ``Campaign`` that yields files of passwords that the campaign names: where it
    names each, and its path"""
    further_trials: tuple[FurtherTrials, ...] = ()
    host_checks: tuple[HostCheck, ...] = ()
    options: tuple[FeatureOption, ...] = ()
    report_formats: tuple[ReportFormat, ...] = ()
    stored_files: str = ""
    """path to a function of a result's directory that yields what this feature stores beside trials: the path
    of each, and a function without arguments that reads it and raises StoreError where it cannot"""
    result_kind: FeatureResultKind | None = None
    plan_kind: str = ""
    """path to a ``linewatt.engine.plan_kinds.PlanKind``, for campaigns that are planned into no trials"""
    power_notes: str = ""
    """path to a function of a ``linewatt.report.trials.digest.Digest`` that yields lists of
    ``linewatt.report.section.Lines`` to stand below the tables of power"""
    page_sections: str = ""
    """path to a function of a digest that yields ``linewatt.report.section.Section`` to stand among the
    details of a page, before those of each end; those without anything in them are left out"""
    first_blocks: str = ""
    """path to a function of a digest that yields ``linewatt.report.printing.screen.Block`` to stand first in
    what ``show`` prints"""
    differences: str = ""
    """path to a function that yields what else differs between the hosts of two sides of a comparison: of a
    ``linewatt.analysis.comparison.comparable.Ends``, a role and the names of its hosts on both sides to
    ``linewatt.analysis.comparison.confounders.Beside``"""
    run_observer: str = ""
    """path to what makes a ``linewatt.engine.observers.RunObserver`` for each run"""


@dataclass(frozen=True, slots=True)
class InstalledFeature:
    """A feature and where it comes from: the name of a distribution, and its version."""

    feature: Feature
    distribution: str
    version: str


_NAMED_ONCE = {
    "commands": "command {0.word!r}",
    "power_source_keys": "key {0.key!r} of power sources",
    "campaign_keys": "key {0.key!r} of campaign files",
    "loads": "test {0.test!r}",
    "further_trials": "further trials {0.name!r}",
    "host_checks": "check {0.name!r}",
    "options": "option --{0.word} of {0.command}",
    "report_formats": "format {0.word!r} of report",
    "result_keys": "key {0.key!r} of show --json",
}
"""field of a feature → what messages call one of its items, of which there may be no other"""


@cache
def installed_features() -> tuple[InstalledFeature, ...]:
    """linewatt's features by name, then those of other packages.

    Raises InvalidInput for a package whose feature cannot be imported, or whose name or command another
    feature has.
    """
    installed = _with_what_they_need((*_shipped_features(), *_third_party_features()))
    _refuse_duplicates((f"feature {item.feature.name!r}", item) for item in installed)
    for field, name in _NAMED_ONCE.items():
        _refuse_duplicates(
            (name.format(addition), item) for item in installed for addition in getattr(item.feature, field)
        )
    return installed


def feature_commands() -> dict[str, FeatureCommand]:
    """Commands of all features by their word."""
    return {command.word: command for item in installed_features() for command in item.feature.commands}


def feature_functions(field: str) -> list[Any]:
    """What the paths of one field of all features lead to, in the order of the features."""
    return [
        load(path, f"feature {item.feature.name!r}")
        for item in installed_features()
        if (path := getattr(item.feature, field))
    ]


def feature_modules(field: str) -> list[str]:
    """Modules that the paths of one field of all features lead to, which this does not import."""
    paths = (getattr(item.feature, field) for item in installed_features())
    return [path.partition(":")[0] for path in paths if path]


def result_keys() -> list[ResultKey]:
    """Keys of ``show --json`` of all features."""
    return [key for item in installed_features() for key in item.feature.result_keys]


def power_source_keys() -> list[PowerSourceKey]:
    """Keys of sources of power of all features."""
    return [key for item in installed_features() for key in item.feature.power_source_keys]


def campaign_keys() -> list[CampaignKey]:
    """Keys of campaign files of all features."""
    return [key for item in installed_features() for key in item.feature.campaign_keys]


def further_trials() -> list[FurtherTrials]:
    """Trials that features add after those that are measured."""
    return [trials for item in installed_features() for trials in item.feature.further_trials]


def host_checks() -> list[HostCheck]:
    """Checks of hosts of all features."""
    return [check for item in installed_features() for check in item.feature.host_checks]


@cache
def feature_loads() -> tuple[FeatureLoad, ...]:
    """Loads of trials of all features."""
    return tuple(feature_load for item in installed_features() for feature_load in item.feature.loads)


def feature_load_of(test: str) -> FeatureLoad | None:
    """The load of a feature whose cases are of a test; None: load processes make it."""
    return next((feature_load for feature_load in feature_loads() if feature_load.test == test), None)


def feature_knobs() -> list[Any]:
    """Knobs of all features."""
    return [
        load(path, f"feature {item.feature.name!r}")
        for item in installed_features()
        for path in item.feature.knobs
    ]


def feature_result_kinds() -> list[FeatureResultKind]:
    """Kinds of results of all features."""
    return [kind for item in installed_features() if (kind := item.feature.result_kind) is not None]


def result_kind_of(manifest: Any) -> Any:
    """What the ``path`` of a result's kind leads to, by its manifest; None: it holds trials."""
    kinds = (kind for kind in feature_result_kinds() if kind.load(kind.is_of_path)(manifest))
    kind = next(kinds, None)
    return None if kind is None else kind.load(kind.path)


def feature_options(command: str) -> list[FeatureOption]:
    """Options of one command of all features."""
    return [
        option
        for item in installed_features()
        for option in item.feature.options
        if option.command == command
    ]


def report_formats() -> dict[str, ReportFormat]:
    """Formats of reports of all features by their word."""
    return {form.word: form for item in installed_features() for form in item.feature.report_formats}


def named_result(root: Path, name: str) -> Path | None:
    """Directory of the result that a feature's :class:`ResultName` stands for; None for any other name.

    Raises StoreError where there is no such result below ``root``.
    """
    word, colon, _ = name.partition(":")
    if not colon:
        return None
    paths = [
        result_name.path
        for item in installed_features()
        for result_name in item.feature.result_names
        if result_name.word == word
    ]
    return load(paths[0], f"result {name!r}")(root, name) if paths else None


def _with_what_they_need(installed: tuple[InstalledFeature, ...]) -> tuple[InstalledFeature, ...]:
    names = {item.feature.name for item in installed}
    usable = tuple(item for item in installed if names.issuperset(item.feature.needs))
    return usable if len(usable) == len(installed) else _with_what_they_need(usable)


def _shipped_features() -> Iterator[InstalledFeature]:
    folder = import_module(SHIPPED).__path__
    version = import_module("linewatt").__version__  # which has the API's names, and through them every room
    for module in sorted(pkgutil.iter_modules(folder), key=lambda module: module.name):
        feature = import_module(f"{SHIPPED}.{module.name}").FEATURE
        yield InstalledFeature(feature, "linewatt", version)


def _third_party_features() -> Iterator[InstalledFeature]:
    for item in third_party_objects(ENTRY_POINTS):
        if not isinstance(item.value, Feature):
            raise InvalidInput(
                f"feature {item.name!r}: {item.path} is not a linewatt.core.feature.Feature; "
                "mend or uninstall its package"
            )
        yield InstalledFeature(item.value, item.distribution, item.version)


def _refuse_duplicates(names: Iterable[tuple[str, InstalledFeature]]) -> None:
    first: dict[str, InstalledFeature] = {}
    for name, item in names:
        if name in first:
            raise InvalidInput(
                f"{name} is in two packages, {first[name].distribution} and {item.distribution}; "
                "uninstall one of them"
            )
        first[name] = item
