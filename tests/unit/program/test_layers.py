# SPDX-License-Identifier: Apache-2.0
"""What can be put back together: nothing that stands on another, and no setting twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linewatt.engine.undo.knobs import TOP, apart, layer
from linewatt.hosts.journal.journal import Entry
from linewatt.tuning.registry import TUNING_KNOBS

ENTRY = st.builds(
    Entry,
    number=st.integers(0, 9),
    host=st.just("h1"),
    knob=st.sampled_from(["irqbalance", "channels", "mtu", "rps_cpus", "sysctl"]),
    target=st.sampled_from("ab"),
    before=st.just("1"),
    wanted=st.just("2"),
)


@given(st.lists(ENTRY, max_size=12))
def test_entries_stay_in_order_and_a_list_has_one_layer_and_no_setting_twice(entries: list[Entry]) -> None:
    lists = list(apart(entries))
    assert [entry for together in lists for entry in together] == entries
    for together in lists:
        assert len({layer(entry.knob) for entry in together}) == 1
        assert len({(entry.knob, entry.target) for entry in together}) == len(together)


def test_netem_goes_once_the_mtu_is_as_found() -> None:
    assert layer("tuned") < layer("netem") < layer("mtu") == layer("channels")


def test_a_profile_is_below_queues_and_queues_below_what_each_of_them_has() -> None:
    assert layer("tuned") < layer("channels") < layer("rps_cpus") == layer("irq_affinity") == TOP
    assert {layer(knob) for knob in TUNING_KNOBS} == set(range(TOP + 1))
