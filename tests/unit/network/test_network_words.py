# SPDX-License-Identifier: Apache-2.0
"""Messages about settings of many items name what matters, not all of it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from linewatt.foreign import MOST_SAID
from linewatt.tuning.setting_text import BRIEF, brief_target, settings_apart

items = st.dictionaries(st.sampled_from("abcd"), st.none() | st.integers(0, 3), max_size=4)


def test_a_long_target_is_named_by_its_first_item() -> None:
    target = " ".join(f"link:vx{number}" for number in range(20))
    assert brief_target(target) == "link:vx0 … (20 items)"
    assert brief_target("eth0 tx-checksumming") == "eth0 tx-checksumming"
    assert brief_target("x" * (BRIEF + 1)) == "x" * (BRIEF + 1)


def test_settings_of_one_item_are_told_as_they_are() -> None:
    assert settings_apart("1500", "9000") == ("1500", "9000")
    assert settings_apart("rx=1 tx=2", "rx=3 tx=2") == ("rx=1 tx=2", "rx=3 tx=2")


def test_a_text_without_end_is_told_by_its_beginning() -> None:
    told = settings_apart("1e308 \x1b[2J" * 5000, "1500")
    assert told[1] == "1500"
    assert len(told[0]) <= MOST_SAID
    assert told[0].isprintable()


def test_of_settings_item_by_item_only_those_that_differ_are_told() -> None:
    one = json.dumps({"mtu:eth1": 1500, "up:eth1": True, "link:vx0": None})
    other = json.dumps({"mtu:eth1": 9000, "up:eth1": True, "link:vx0": {"id": 1}})
    assert settings_apart(one, other) == (
        '{"link:vx0": null, "mtu:eth1": 1500}',
        '{"link:vx0": {"id": 1}, "mtu:eth1": 9000}',
    )


@given(items, items, items)
def test_what_differs_is_told_and_nothing_else(
    one: dict[str, int], other: dict[str, int], third: dict[str, int]
) -> None:
    found = [json.loads(text) for text in settings_apart(*map(json.dumps, (one, other, third)))]
    for name in "abcd":
        values = [value.get(name) for value in (one, other, third)]
        assert all((name in part) == (len(set(values)) > 1) for part in found)
