# SPDX-License-Identifier: Apache-2.0
"""A BMC whose fans turn faster in one case: power that stands out is told with the fan, not laid to it."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.lab.test_campaign import Bench

from linewatt.features.lab import api as lab
from linewatt.features.lab.bmc_recipe import BUSY, FANS
from linewatt.features.lab.system import search_path

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("ipmi_sim", path=search_path()) is None, reason="needs ipmi_sim"),
]

FORCED_RPM = 14_000
FORCED = 3
"""instances of the case in which fans turn faster"""


@contextmanager
def forced(bench: Bench) -> Iterator[None]:
    """Fans of all hosts turn faster from the end of the case before until that one is stored."""
    values, ended = bench.lab.inventory.parent / "bmc" / "values", threading.Event()
    for host in bench.lab.hosts:
        (values / f"{host.name}{BUSY}").write_text("0.5")

    def stored() -> int:
        return len(list(bench.results.glob("*/trials/*/trial.json")))

    def turn() -> None:
        while not ended.wait(0.1):
            for host in bench.lab.hosts:
                file = values / f"{host.name}{FANS}"
                if stored() == FORCED - 1:
                    file.write_text(str(FORCED_RPM))
                else:
                    file.unlink(missing_ok=True)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.full
def test_a_case_whose_power_stands_out_is_told_with_the_fan(
    make_lab: Callable[..., lab.Lab], tmp_path: Path
) -> None:
    bench = Bench(make_lab(rate="300mbit"), tmp_path)  # its hosts are as busy as said, whatever they send
    file = bench.campaign(
        instances=[1, 2, FORCED, 4, 5],
        trials=1,
        rate=None,
        idle={"seconds": 4},
        rest={"until": "cool", "limit": 4},
        window={"seconds": 9, "omit": 4, "tail": 1},
    )
    with forced(bench):
        bench.run("run", file)
    document = json.loads(bench.run("show", "--json").stdout)
    told = [one for flag in document["flags"] if flag["code"] == "power-outlier" for one in flag["evidence"]]
    assert {one["where"] for one in told} == {"h1", "h2"}
    for one in told:
        assert re.search(r"FAN1 \(rpm\) 1[0-4],\d{3}, in the others [4-8],\d{3}: ", one["evidence"]), one
        assert "it changed too" in one["evidence"]
        assert "how much of it is theirs is not known" in one["evidence"]
    (warm,) = (flag for flag in document["flags"] if flag["code"] == "not-cool")
    held = [one["evidence"] for one in warm["evidence"] if FORCED in one["trials"]]
    assert len(held) == 2, warm
    assert all(re.search(r"waited 4 s, and still: .*FAN1", one) for one in held), warm
    shown = bench.run("show", "--full").stdout
    for host in ("h1", "h2"):
        table = shown.partition(f"Heat, fans and limits of {host}")[2].partition("\n\n")[0]
        assert re.search(rf": {FORCED} instances .*\b1[34],\d{{3}}", table), shown
        assert "– Package limit: " in table
        assert "Temperatures and fans of its simulated meter are simulated, too" in table
    assert {one["hottest_c"] > 30 for one in document["thermal"]} == {True}
    assert len(document["thermal"]) == 2 * 5
