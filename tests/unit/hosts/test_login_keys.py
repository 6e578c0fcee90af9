# SPDX-License-Identifier: Apache-2.0
"""Key files that cannot be used when a host is logged in to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from linewatt.errors import HostError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.limits import Pace
from linewatt.hosts.ssh.login import log_in


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "No such file or directory"), ("x", "is not a private key that linewatt can read")],
)
def test_a_key_file_that_is_gone_or_none_is_a_problem_of_the_host(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    """The campaign is checked first; a file may be taken away after that."""
    key = tmp_path / "key"
    if text is not None:
        key.write_text(text)
    spec = HostSpec("h1", "192.0.2.1", "eth0", key_file=str(key))
    with pytest.raises(HostError) as caught:
        asyncio.run(log_in(spec, Pace(spec.limits)))
    assert caught.value.where == "h1"
    assert str(key) in str(caught.value)
    assert problem in str(caught.value)
