# SPDX-License-Identifier: Apache-2.0
"""Designs of factor experiments: every setting once, the base first, and what a fraction cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.campaign import design
from linewatt.campaign.design import Design, Setting, aliases, design_words, settings_of_design
from linewatt.errors import InvalidInput

SWEEP = {"mtu": ("1500", "9000"), "gro": ("on", "off"), "rps": ("off", "irq")}


def two_level(count: int) -> dict[str, tuple[str, str]]:
    return {f"f{at:02}": ("low", "high") for at in range(count)}


def signs(chosen: Sequence[Setting], factor: str) -> list[int]:
    """A factor's column: −1 at the level of the first setting, 1 at the other."""
    levels = [dict(setting)[factor] for setting in chosen]
    return [-1 if level == levels[0] else 1 for level in levels]


def product(chosen: Sequence[Setting], *factors: str) -> int:
    """The sum over the settings of the product of columns: 0 where these are not mixed up."""
    return sum(math.prod(row) for row in zip(*(signs(chosen, name) for name in factors), strict=True))


FACTORS = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3),
    st.lists(st.sampled_from(["1", "2", "3", "on", "off"]), min_size=1, max_size=4, unique=True),
    max_size=4,
)


@given(FACTORS, st.sampled_from(["one-at-a-time", "full"]))
def test_settings_are_complete_sorted_different_and_begin_with_the_base(
    factors: Mapping[str, Sequence[str]], named: Design
) -> None:
    chosen = settings_of_design(factors, named)
    assert chosen[0] == tuple(sorted((name, levels[0]) for name, levels in factors.items()))
    assert len(set(chosen)) == len(chosen)
    for setting in chosen:
        assert list(setting) == sorted(setting)
        assert {name: level in factors[name] for name, level in setting} == dict.fromkeys(factors, True)
    every = math.prod(len(levels) for levels in factors.values())
    one = 1 + sum(len(levels) - 1 for levels in factors.values())
    assert len(chosen) == (every if named == "full" else one)


def test_one_at_a_time_changes_one_factor_from_the_base_in_the_order_of_the_file() -> None:
    chosen = settings_of_design({"mtu": ("1500", "4000", "9000"), "gro": ("on", "off")}, "one-at-a-time")
    assert chosen == (
        (("gro", "on"), ("mtu", "1500")),
        (("gro", "on"), ("mtu", "4000")),
        (("gro", "on"), ("mtu", "9000")),
        (("gro", "off"), ("mtu", "1500")),
    )


def test_a_full_design_changes_the_first_factor_from_setting_to_setting() -> None:
    chosen = settings_of_design({"mtu": ("1500", "4000", "9000"), "gro": ("on", "off")}, "full")
    assert [dict(setting)["mtu"] for setting in chosen] == ["1500", "4000", "9000"] * 2
    assert [dict(setting)["gro"] for setting in chosen] == ["on"] * 3 + ["off"] * 3


@pytest.mark.parametrize("named", get_args(Design))
def test_without_factors_there_is_one_empty_setting(named: Design) -> None:
    assert settings_of_design({}, named) == ((),)
    assert design_words({}, named) == ()


def test_a_level_named_twice_is_run_once() -> None:
    assert len(settings_of_design({"gro": ("on", "off", "on")}, "full")) == 2


# NIST/SEMATECH e-Handbook 5.3.3.4.7 and its Dataplot index of minimal resolution IV designs
@pytest.mark.parametrize(
    ("factors", "runs", "resolution"),
    [
        (3, 4, 3),
        (4, 8, 4),
        (5, 16, 5),
        (6, 16, 4),
        (7, 16, 4),
        (8, 16, 4),
        (9, 32, 4),
        (11, 32, 4),
        (17, 64, 4),
    ],
)
def test_fractions_have_the_published_size_and_resolution(factors: int, runs: int, resolution: int) -> None:
    chosen = settings_of_design(two_level(factors), "fractional")
    assert len(set(chosen)) == len(chosen) == runs
    assert all(level == "low" for _, level in chosen[0])
    names = [name for name, _ in chosen[0]]
    assert all(product(chosen, name) == 0 for name in names)
    for size in range(2, resolution):
        assert all(product(chosen, *some) == 0 for some in combinations(names, size))
    if len(names) < 10:
        assert any(product(chosen, *some) != 0 for some in combinations(names, resolution))


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_factors_for_a_fraction_are_run_in_full(count: int) -> None:
    assert set(settings_of_design(two_level(count), "fractional")) == set(
        settings_of_design(two_level(count), "full")
    )


def test_a_factor_with_one_level_stays_at_it_in_a_fraction() -> None:
    chosen = settings_of_design({"qdisc": ("fq",), **SWEEP}, "fractional")
    assert len(chosen) == 4
    assert {dict(setting)["qdisc"] for setting in chosen} == {"fq"}


def test_a_fraction_of_three_says_which_effects_it_mixes_up() -> None:
    chosen = settings_of_design(SWEEP, "fractional")
    mixed = {frozenset(group) for group in aliases(chosen)}
    assert mixed == {
        frozenset({("mtu",), ("gro", "rps")}),
        frozenset({("gro",), ("mtu", "rps")}),
        frozenset({("rps",), ("gro", "mtu")}),
    }
    assert design_words(SWEEP, "fractional") == (
        "Fraction of resolution III: 4 of 8 settings.",
        "Not told apart: gro and mtu × rps.",
        "Not told apart: mtu and gro × rps.",
        "Not told apart: rps and gro × mtu.",
    )


@pytest.mark.parametrize("factors", [3, 4, 6, 9])
def test_aliases_are_the_effects_whose_columns_are_equal_up_to_sign(factors: int) -> None:
    chosen = settings_of_design(two_level(factors), "fractional")
    groups = aliases(chosen)
    names = [name for name, _ in chosen[0]]
    effects = [(name,) for name in names] + list(combinations(names, 2))
    for one, other in combinations(effects, 2):
        together = any(one in group and other in group for group in groups)
        alike = abs(product(chosen, *one, *other)) == len(chosen)
        assert together == alike, (one, other)


def test_full_designs_mix_up_nothing_and_every_design_says_what_it_sees() -> None:
    assert aliases(settings_of_design(SWEEP, "full")) == ()
    assert design_words(SWEEP, "full") == (
        "Every combination: 8 settings, so that factors acting together are seen.",
    )
    assert design_words(SWEEP, "one-at-a-time") == (
        "One factor at a time: 4 settings. How factors act together is not seen.",
    )
    assert design_words(two_level(5), "fractional") == (
        "Fraction of resolution V or more: 16 of 32 settings.",
        "No main effect is mixed up with factors that act together in twos.",
    )


def test_words_on_many_aliases_stay_short() -> None:
    said = design_words(two_level(17), "fractional")
    assert len(said) == 3 + design.MOST_WORDS
    assert said[-1].startswith("And ")


@pytest.mark.parametrize(
    ("factors", "named", "said"),
    [
        (
            {"mtu": ("1500", "4000", "9000")},
            "fractional",
            "mtu: has 3 levels, and a fractional design is for two",
        ),
        ({"gro": ()}, "one-at-a-time", "gro: has no levels"),
        (two_level(14), "full", "the full design has 16384 settings; at most 10000"),
        (
            {"f": [str(n) for n in range(10_001)]},
            "one-at-a-time",
            "the one-at-a-time design has 10001 settings; at most 10000",
        ),
        (two_level(101), "fractional", "a fractional design has at most 100 factors, got 101"),
    ],
)
def test_a_design_that_cannot_be_is_refused_with_what_to_do(
    factors: Mapping[str, Sequence[str]], named: Design, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        settings_of_design(factors, named)
    assert "use design" in str(refused.value) or "name" in str(refused.value)


def test_the_limits_are_those_said() -> None:
    assert len(settings_of_design(two_level(13), "full")) == 8192
    assert len(settings_of_design({"f": [str(n) for n in range(10_000)]}, "one-at-a-time")) == 10_000
    assert len(settings_of_design(two_level(100), "fractional")) == 256
