# SPDX-License-Identifier: Apache-2.0
"""An irqbalance that is no service of systemd is said, never taken for one that does not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.tuning.test_knobs_captures import in_tree

from linewatt.tuning.base import Command
from linewatt.tuning.steering.irqbalance import Irqbalance

SYSTEMCTL = """#!/bin/sh
echo LoadState=loaded
echo ActiveState={active}
"""


def read(root: Path, *, systemd: str | None, processes: list[str], state: str = "S") -> tuple[int, str]:
    """What linewatt's script says where ``systemd`` gives the service's state, or is not there (None).

    ``state``: of each of the processes, as proc_pid_stat(5) has it.
    """
    (root / "bin").mkdir()
    if systemd is not None:
        (root / "run" / "systemd" / "system").mkdir(parents=True)
        (root / "bin" / "systemctl").write_text(SYSTEMCTL.format(active=systemd))
        (root / "bin" / "systemctl").chmod(0o755)
    for pid, name in enumerate(["bash", *processes], start=70):
        (root / "proc" / str(pid)).mkdir(parents=True)
        (root / "proc" / str(pid) / "comm").write_text(f"{name}\n")
        (root / "proc" / str(pid) / "stat").write_text(f"{pid} ({name}) {state} 1 {pid} {pid} 0\n")
    shell, option, script, *rest = Irqbalance().read("host").argv
    done = in_tree(Command((shell, option, f"PATH={root}/bin:$PATH; {script}", *rest)), root)
    return done.returncode, done.stderr.strip() or Irqbalance().parse(done.stdout)


@pytest.mark.parametrize(
    ("systemd", "processes", "said"),
    [
        (None, [], (0, "absent")),
        ("active", ["irqbalance"], (0, "running")),
        ("inactive", [], (0, "stopped")),
        ("failed", [], (0, "stopped")),
        (
            None,
            ["irqbalance"],
            (
                1,
                "irqbalance runs as process 71 and is no service there, without systemd; "
                "stop it as it was started, or with kill 71",
            ),
        ),
        (
            "inactive",
            ["irqbalance"],
            (
                1,
                "irqbalance runs as process 71 and is not its systemd service; "
                "stop it as it was started, or with kill 71",
            ),
        ),
    ],
)
def test_how_irqbalance_runs_is_told(
    tmp_path: Path, systemd: str | None, processes: list[str], said: tuple[int, str]
) -> None:
    assert read(tmp_path, systemd=systemd, processes=processes) == said


@pytest.mark.parametrize(("systemd", "said"), [(None, "absent"), ("inactive", "stopped")])
def test_one_that_has_ended_and_was_not_waited_for_does_not_run(
    tmp_path: Path, systemd: str | None, said: str
) -> None:
    assert read(tmp_path, systemd=systemd, processes=["irqbalance"], state="Z") == (0, said)
