# SPDX-License-Identifier: Apache-2.0
"""What a lab says where ip(8) and tc(8) refuse: their words, and what to do where these tell."""

from __future__ import annotations

import pytest

from linewatt.errors import LabError
from linewatt.features.lab.system import run_batch


@pytest.mark.parametrize(
    ("complaint", "advice"),
    [
        ("Error: Unknown device type.", "is this kernel without veth"),
        ("Error: Specified qdisc kind is unknown.", "is this kernel without veth"),
        ("RTNETLINK answers: Operation not supported", "is this kernel without veth"),
        ("RTNETLINK answers: Operation not permitted", "in a container, run it privileged"),
        ("RTNETLINK answers: File exists", "linewatt lab down --name"),
    ],
)
def test_the_advice_is_that_of_the_complaint(complaint: str, advice: str) -> None:
    """As iproute2 6.1 says it for a kind that is none, without the right, and for a name that is taken."""
    script = f"cat >/dev/null; echo '{complaint}' >&2; exit 1"
    with pytest.raises(LabError) as caught:
        run_batch(["bash", "-c", script], "link add\n", what="lab demo")
    said = str(caught.value)
    assert said.startswith("lab demo: bash -c ")
    assert advice in said.partition(f"{complaint}; ")[2]
