# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``search``: which losses are allowed, how near, how many trials at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from linewatt.campaign import fields as f
from linewatt.campaign.campaign import AUTO, Search, TestSpec
from linewatt.campaign.trials_entry import MAX_TRIALS_OF_A_CASE, PERCENTAGE, ratio_of
from linewatt.document import KeyPath, Part
from linewatt.model import is_request_response, is_tcp

Loss = Annotated[float, ratio_of("datagrams", zero=True), PERCENTAGE]
Width = Annotated[float, ratio_of("the rate"), PERCENTAGE]
MOST_LOSSES = 10
MOST_RUNS = 9
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
    """How the rates of tests with `rate: auto` are searched."""

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
        description="Trials that decide on a rate, by majority: one hiccup of a host is no loss.",
    )
    trials: int = Field(
        default=50, ge=3, le=MAX_TRIALS_OF_A_CASE, description="Trials of one search at most."
    )


def search_of(entry: SearchEntry, tests: Sequence[TestSpec]) -> Search | None:
    """How rates are searched; None where no test has one that is."""
    if all(test.rate_bps != AUTO for test in tests):
        return None
    return Search(tuple(sorted(entry.loss)), entry.width, entry.max_rate, entry.runs, entry.trials)


def agreeing(runs: int) -> int:
    """Trials that decide on a rate when they agree."""
    return runs // 2 + 1


def check_search(entry: Any, tests: Sequence[TestSpec]) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts a search; ``entry`` is the whole file."""
    search = entry.search
    if search.trials < agreeing(search.runs):
        least = agreeing(search.runs)
        text = f"can decide on no rate: of {search.runs} runs {least} have to agree; make it {least} or more"
        yield ("search", "trials"), text
    searched = [index for index, test in enumerate(tests) if test.rate_bps == AUTO]
    if not searched and "search" in entry.model_fields_set:
        yield ("search",), "has no effect: no test has rate: auto; name it at a UDP test, or take search out"
    for index in searched:
        name = tests[index].test
        own = ("tests", index, "rate") if getattr(entry.tests[index], "rate", None) == AUTO else ("rate",)
        if is_tcp(name) or is_request_response(name):
            text = "auto searches the rate at which datagrams begin to be lost, and"
            yield own, f"{text} {name} has none; name it at UDP tests"
            return
        if entry.soak is not None:
            yield own, "auto is of cases and trials, and a soak is one long load; name a rate"
            return
