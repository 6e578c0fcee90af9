# SPDX-License-Identifier: Apache-2.0
"""What a lab says where ip(8) and tc(8) refuse: their words, and what to do where these tell."""

from __future__ import annotations

import pytest

from linewatt.errors import LabError
from linewatt.lab.system import run_batch


@pytest.mark.parametrize(
    ("complaint", "advice"),
    [
        ("Error: Unknown device type.", "no veth, bridge or tbf"),
        ("Error: Specified qdisc kind is unknown.", "no veth, bridge or tbf"),
        ("RTNETLINK answers: Operation not supported", "no veth, bridge or tbf"),
        ("RTNETLINK answers: Operation not permitted", "a container must be privileged"),
        ("RTNETLINK answers: File exists", None),
    ],
)
def test_the_advice_is_that_of_the_complaint(complaint: str, advice: str | None) -> None:
    """As iproute2 6.1 says it for a kind that is none, without the right, and for a name that is taken."""
    script = f"cat >/dev/null; echo '{complaint}' >&2; exit 1"
    with pytest.raises(LabError) as caught:
        run_batch(["bash", "-c", script], "link add\n", what="lab demo")
    said = str(caught.value)
    assert said.startswith("lab demo: bash -c ")
    assert complaint in said
    assert (said.partition(f"{complaint}; ")[2] != "") == (advice is not None)
    assert advice is None or advice in said
