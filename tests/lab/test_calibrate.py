# SPDX-License-Identifier: Apache-2.0
"""``linewatt calibrate`` on a lab whose BMC reads too much, and late, beside a plug that does not."""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.lab.test_campaign import Bench

from linewatt.document import read_yaml
from linewatt.features.calibration.stored import calibrations
from linewatt.features.lab import api as lab
from linewatt.features.lab.bmc_recipe import BUSY, PLUG
from linewatt.features.lab.system import search_path

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(shutil.which("ipmi_sim", path=search_path()) is None, reason="needs ipmi_sim"),
]

GAIN, OFFSET_W, DELAY_S = 0.04, 6.0, 3.0
RATE = "300mbit"
"""What servers draw is no matter of their load here, and other tests want the CPUs."""
RUN_LIMIT_S = 380.0
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.1)
LEVEL_S, SWING, SWING_S = 11.5, 0.02, 7.0
"""A swing about each level, without which a meter of 8 W steps would read one of them all through."""

LATE = (
    'while sleep "$LINEWATT_INTERVAL_S"; do (read -r watts <"$1" && sleep 3 && '
    'awk -v w="$watts" \'BEGIN { printf "{\\"channel\\": \\"wall\\", \\"value\\": %.1f}\\n", '
    "1.04 * w + 6 }') & done"
)
"""a meter of 0.1 W with what is planted"""


@contextmanager
def stairs(built: lab.Lab) -> Iterator[None]:
    """Servers that are as busy as a staircase, whatever else runs on this machine."""
    values, ended = built.inventory.parent / "bmc" / "values", threading.Event()

    def climb() -> None:
        began_s = time.monotonic()
        while not ended.wait(0.2):
            since_s = time.monotonic() - began_s
            level = LEVELS[int(since_s / LEVEL_S) % len(LEVELS)]
            busy = min(1.0, max(0.0, level + SWING * math.sin(2 * math.pi * since_s / SWING_S)))
            for host in built.hosts:
                (values / "next").write_text(f"{busy:.4f}")
                (values / "next").replace(values / f"{host.name}{BUSY}")

    thread = threading.Thread(target=climb)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def with_a_late_meter(bench: Bench, built: lab.Lab) -> Path:
    """The lab's inventory, in which h2 has a third meter."""
    tree = read_yaml(built.inventory).value
    sources = tree["all"]["hosts"]["h2"]["linewatt_power"]
    plug = next(one for one in (built.inventory.parent / "bmc" / "values").iterdir() if one.suffix == PLUG)
    sources["late"] = sources["plug"] | {"argv": ["sh", "-c", LATE, "late", str(plug)]}
    path = bench.tmp / "hosts.yaml"
    path.write_text(json.dumps(tree))
    return path


@pytest.mark.full
def test_what_is_planted_is_found_and_kept(make_lab: Callable[..., lab.Lab], tmp_path: Path) -> None:
    built = make_lab(rate=RATE, bmc_gain_ratio=GAIN, bmc_offset_w=OFFSET_W, bmc_delay_s=DELAY_S, plug=True)
    bench = Bench(built, tmp_path)
    file = bench.campaign(
        hosts=str(with_a_late_meter(bench, built)),
        rate=None,
        window={"seconds": 8, "omit": 2, "tail": 1},
    )
    asked = ("calibrate", file, "--reference", "plug", "--meter", "late")
    refused = bench.run(*asked, status=2)
    assert "--allow-commands" in refused.stderr
    with stairs(built):
        done = bench.run(*asked, "--allow-commands", "--json", limit_s=RUN_LIMIT_S)
    assert "late against plug of h2: 14 trials of 11 s, up and down 6 levels of tcp" in done.stderr
    found = json.loads(done.stdout)
    for name, planted, near in (
        ("gain", GAIN, 0.005),
        ("offset_w", OFFSET_W, 1.0),
        ("delay_s", DELAY_S, 0.3),
    ):
        low, high = found[name]["low"], found[name]["high"]
        assert found[name]["value"] == pytest.approx(planted, abs=max(near, (high - low) / 2)), found[name]
    assert "late reads " in (shown := bench.run("show").stdout)
    assert f" above plug, {found['delay_s']['value']:.1f}" in shown, (found, shown)
    assert " above plug, 3.0" in shown or " above plug, 2.9" in shown, shown

    bench.run("calibrate", "last", "--reference", "plug", "--meter", "bmc", "--host", "h2")
    late, bmc = calibrations(bench.result)
    assert late.gain is not None
    assert (bmc.meter.scope, bmc.reference.scope, bmc.meter.step_w) == ("psu-in", "wall", 8.0)
    assert bmc.gain is not None
    assert bmc.offset_w is not None
    assert bmc.delay_s is not None
    assert bmc.gain.low <= GAIN <= bmc.gain.high, bmc
    assert bmc.offset_w.low <= OFFSET_W <= bmc.offset_w.high, bmc
    assert bmc.delay_s.value == pytest.approx(DELAY_S, abs=0.5), bmc
    assert "nothing damaged, missing or foreign" in bench.run("verify").stderr
