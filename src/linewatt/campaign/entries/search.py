# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``search``: which losses are allowed, how near, how many trials at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from linewatt.campaign.campaign import AUTO, TestSpec
from linewatt.campaign.entries import fields as f
from linewatt.campaign.entries.trials import (
    FEWEST_RUNS,
    MAX_TRIALS_OF_A_CASE,
    PERCENTAGE,
    TrialsEntry,
    ratio_of,
)
from linewatt.document import KeyPath, Part
from linewatt.model import is_request_response, is_tcp
from linewatt.records import InstanceRule, RateRule

Loss = Annotated[float, ratio_of("datagrams", zero=True), PERCENTAGE]
Width = Annotated[float, ratio_of("the rate"), PERCENTAGE]
MOST_LOSSES = 10
MOST_RUNS = 9
MOST_INSTANCES = 256
USUAL_INSTANCES = 64
"""where the file names no other number"""
REFINED = 6
"""numbers of instances that are tried around a knee, beside those of the doubling"""
WIDEST = 0.2
"""of bounds: what is further apart is no figure"""


def _narrow(ratio: float) -> float:
    if ratio > WIDEST:
        raise ValueError(f"must be at most {100 * WIDEST:g} %")
    return ratio


def _odd(count: int) -> int:
    if count % 2 == 0:
        raise ValueError("must be an odd number, so that the more of them decide")
    return count


class SearchEntry(Part):
    """How the rates of tests with `rate: auto`, and `instances: auto`, are searched."""

    loss: Annotated[
        tuple[Loss, ...],
        Field(min_length=1, max_length=MOST_LOSSES),
        f.AsTuple,
        f.Unique,
    ] = Field(
        default=("0%", "0.5%"),
        validate_default=True,
        examples=["[0%, 0.5%]"],
        description="The losses that are allowed, each with a rate of its own: 0 % gives the no-drop "
        "rate, NDR, more than that a partial drop rate, PDR.",
    )
    width: Annotated[Width, AfterValidator(_narrow)] = Field(
        default="0.5%",
        validate_default=True,
        examples=["0.5%"],
        description="How far apart the two rates between which one lies may be, in percent of it.",
    )
    max_rate: f.Rate | None = Field(
        default=None,
        description="The first rate of one instance that is tried, and the highest; null: as fast as it "
        "goes.",
    )
    runs: Annotated[int, AfterValidator(_odd)] = Field(
        default=3,
        ge=1,
        le=MOST_RUNS,
        description="Trials that decide on a rate, by majority: one hiccup of a host does not count as loss.",
    )
    trials: int = Field(
        default=50, ge=3, le=MAX_TRIALS_OF_A_CASE, description="Trials of one search of a rate at most."
    )
    max_instances: int | None = Field(
        default=None,
        ge=1,
        le=MOST_INSTANCES,
        description="Instances at most, of tests with `instances: auto`; null: as many as the host with "
        f"fewer CPUs has, and half of the ports, but no more than {USUAL_INSTANCES}.",
    )


def search_of(entry: SearchEntry, tests: Sequence[TestSpec]) -> RateRule | None:
    """How rates are searched; None where no test has one that is."""
    if all(test.rate_bps != AUTO for test in tests):
        return None
    return RateRule(
        loss_ratios=tuple(sorted(entry.loss)),
        width_ratio=entry.width,
        max_rate_bps=entry.max_rate,
        runs=entry.runs,
        trials=entry.trials,
    )


def instance_search_of(
    entry: SearchEntry, tests: Sequence[TestSpec], ports: int, cpus: Iterable[int], runs: int
) -> InstanceRule | None:
    """How instances are searched; ``cpus``: how many each host that names its CPUs has for load processes."""
    if all(test.instances != AUTO for test in tests):
        return None
    max_instances, bound = entry.max_instances, "search.max_instances"
    if max_instances is None:
        otherwise = "unless search.max_instances names another number"
        bounds = (
            (USUAL_INSTANCES, f"{USUAL_INSTANCES} {otherwise}"),
            (max(1, ports // 2), f"half of the {ports} ports {otherwise}"),
            *((count, f"the {count} CPU{'s' * (count > 1)} that a host names") for count in cpus),
        )
        max_instances, bound = min(bounds, key=lambda candidate: candidate[0])
    counts = min(max_instances, (max_instances - 1).bit_length() + 1 + REFINED)
    return InstanceRule(max_instances, bound, entry.max_instances is not None, runs, counts)


def agreeing(runs: int) -> int:
    """Trials that decide on a rate when they agree."""
    return runs // 2 + 1


def check_search(entry: Any, tests: Sequence[TestSpec]) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts a search; ``entry`` is the whole file."""
    search = entry.search
    if search.trials < agreeing(search.runs):
        needed_trials = agreeing(search.runs)
        text = (
            f"can decide on no rate: of {search.runs} runs {needed_trials} have to agree; make "
            f"it {needed_trials} or more"
        )
        yield ("search", "trials"), text
    rates = [index for index, test in enumerate(tests) if test.rate_bps == AUTO]
    instances = [index for index, test in enumerate(tests) if test.instances == AUTO]
    yield from _without_effect(entry, bool(rates), bool(instances))
    for index in rates:
        name = tests[index].test
        rate_path = _path(entry, index, "rate")
        if is_tcp(name) or is_request_response(name):
            text = "auto searches the rate at which datagrams begin to be lost, and"
            yield rate_path, f"{text} {name} has none; name it at UDP tests"
            return
        if entry.replaces_trials:
            yield rate_path, "auto is of cases and trials, and a soak is one long load; name a rate"
            return
    if instances:
        yield from _check_instances(entry, tests, instances)


def _path(entry: Any, index: int, key: str) -> KeyPath:
    """Where a test's ``auto`` stands: its own, or the campaign's."""
    return ("tests", index, key) if getattr(entry.tests[index], key, None) == AUTO else (key,)


def _without_effect(entry: Any, rates: bool, instances: bool) -> Iterator[tuple[KeyPath, str]]:
    named = entry.search.model_fields_set
    if "search" not in entry.model_fields_set or (rates and instances):
        return
    if not rates and not instances:
        yield ("search",), "has no effect: no test has rate: auto; name it at a UDP test, or take search out"
    elif rates and "max_instances" in named:
        yield ("search", "max_instances"), "has no effect: no test has instances: auto; take it out"
    elif instances and (others := sorted(named - {"max_instances"})):
        yield ("search", others[0]), "has no effect: no test has rate: auto; take it out"


def _check_instances(
    entry: Any, tests: Sequence[TestSpec], instances: Sequence[int]
) -> Iterator[tuple[KeyPath, str]]:
    """What a search of instances cannot go with, the first of it alone."""
    index = instances[0]
    test, instances_path = tests[index], _path(entry, index, "instances")
    request_response = next((i for i in instances if is_request_response(tests[i].test)), None)
    paced = next((i for i in instances if tests[i].rate_bps is not None), None)
    if entry.replaces_trials:
        yield instances_path, "auto is of cases and trials, and a soak is one long load; name a number"
    elif request_response is not None:
        name = tests[request_response].test
        text = (
            f"auto searches where throughput stops to follow, and {name} has none to speak of; name numbers"
        )
        yield _path(entry, request_response, "instances"), text
    elif paced is not None:
        rate = "rate: auto" if tests[paced].rate_bps == AUTO else "a rate"
        text = f"auto cannot go with {rate}: what is sent follows the rate, not the instances; name numbers"
        yield _path(entry, paced, "instances"), text
    elif entry.load_levels:
        yield ("load_levels",), f"are of a known number of instances, and those of {test.test} are auto"
    elif entry.factors:
        text = "each setting would have instances of its own, and none could be compared; name numbers"
        yield instances_path, f"auto cannot go with factors: {text}"
    elif entry.concurrent_pairs:
        text = "pairs that run at once would have different numbers, and disturb each other; name numbers"
        yield instances_path, f"auto cannot go with concurrent_pairs: {text}"
    elif entry.placement == "neighbour" and entry.search.max_instances is None:
        text = "is missing: placement: neighbour has CPUs for so many instances only, and must know how many"
        yield ("search", "max_instances"), text
    elif isinstance(entry.trials, TrialsEntry):
        text = "must be a number with instances: auto: each number of instances has as many trials"
        yield ("trials",), text
    elif entry.trials < FEWEST_RUNS:
        text = f"must be {FEWEST_RUNS} or more with instances: auto, got {entry.trials}"
        yield ("trials",), f"{text}: fewer cannot tell a gain from chance"
