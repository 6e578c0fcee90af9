# SPDX-License-Identifier: Apache-2.0
"""CPU lists and masks as the kernel writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.hosts.facts.cpulist import MAX_CPUS, cpu_mask, format_cpulist, parse_cpulist

cpu_sets = st.sets(st.integers(0, MAX_CPUS - 1), max_size=200)


@given(cpu_sets)
def test_a_written_list_reads_back_as_the_same_cpus(cpus: set[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == tuple(sorted(cpus))


@given(cpu_sets)
def test_a_mask_has_the_bits_of_its_cpus_in_groups_of_32(cpus: set[int]) -> None:
    mask = cpu_mask(cpus)
    value = int(mask.replace(",", ""), 16)
    assert {cpu for cpu in range(value.bit_length()) if value >> cpu & 1} == cpus
    assert all(len(group) == 8 for group in mask.split(",")[1:])
    assert 1 <= len(mask.split(",")[0]) <= 8


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("8,0-3", (0, 1, 2, 3, 8)),
        ("0-3,2-4", (0, 1, 2, 3, 4)),
        (" 5 \n", (5,)),
        ("0, 2", (0, 2)),
        ("", ()),
        ("\n", ()),
    ],
)
def test_lists_of_the_kernel_are_read(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpulist(text) == cpus


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0..3", "not a CPU or a range"),
        ("1,,2", "not a CPU or a range"),
        ("-1", "not a CPU or a range"),
        ("0-7:2/4", "not a CPU or a range"),
        ("٣", "not a CPU or a range"),
        ("3-0", "runs backwards; write 0-3"),
        ("8192", "CPU 8192 is impossible"),
        ("0-999999999", "CPU 999999999 is impossible"),
    ],
)
def test_what_is_no_cpu_list_is_refused_with_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("cpus", "mask"), [((), "0"), ((0,), "1"), ((0, 1, 2, 3, 32), "1,0000000f"), (range(32), "ffffffff")]
)
def test_masks_are_written_as_the_kernel_writes_them(cpus: tuple[int, ...], mask: str) -> None:
    assert cpu_mask(cpus) == mask
