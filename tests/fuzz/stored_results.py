# SPDX-License-Identifier: Apache-2.0
"""Results of every kind below one directory, small, and the ways their files are damaged."""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from tests import hostile_files
from tests.effect_factories import experiment_result, experiment_trials
from tests.fuzz.mutate import CAPTURES, VALUES, changed
from tests.report_factories import stored as lay_out
from tests.soak_pairs import soak
from tests.wiring import told

from linewatt.campaign import stored
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.measuring.measure import measure
from linewatt.features.soak import plan as soak_plan
from linewatt.loads.iperf3.load import Iperf3
from linewatt.store import sums, write

METHOD_1 = CAPTURES / "results" / "method-1"
CAMPAIGN, LEVELS, SOAK, OTHER_SOAK, OLD = (
    "20260101-000000-t",
    "20260101-000000-x64-scaling",
    "20260103-000000-soak",
    "20260104-000000-soak",
    "method-1",
)
_TRIALS = """
name: t
hosts:
  h1: {address: 192.0.2.1, data: eth0}
  h2: {address: 192.0.2.2, data: eth0}
pairs: ["h1 -> h2"]
tests: [tcp]
trials: 3
"""
_SOAK = """
name: soak
hosts:
  dut: {address: 192.0.2.1, data: eth1}
  c1: {address: 192.0.2.2, data: eth0}
  c2: {address: 192.0.2.3, data: eth0}
soak: 10m
users:
  server: dut
  groups:
    port1: {clients: [c1, c2], server: eth1}
  users: 4
"""

_REPEATS: dict[str, Any] = {
    "schema_version": 1,
    "min": 3,
    "max": 9,
    "until_ratio": 0.02,
    "trials_left_out": 1,
    "cases": [
        {
            "case_key": "0123456789ab",
            "sender": "h1",
            "receiver": "h2",
            "runs": 3,
            "until_met": False,
            "why": "its runs scatter",
        }
    ],
}


@cache
def results() -> Path:
    """The directory; its files are damaged and mended again."""
    root = Path(tempfile.mkdtemp(prefix="linewatt-fuzz-", dir=_quick()))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    shutil.copytree(METHOD_1, root / OLD)
    _campaign(root)
    lay_out(root, experiment_result(experiment_trials(trials=2)))
    for day in (3, 4):
        soak(day, edit=_as_written(root), root=str(root), server_dies_at=20 if day == 3 else None)
    for path in root.iterdir():
        if path.is_dir() and path.name != OLD:
            _list_sums(path)
    return root


def _quick() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _loaded(root: Path, text: str) -> Any:
    path = root / "campaign.yaml"
    path.write_text(text)
    try:
        return load_campaign(path)
    finally:
        path.unlink()


def _campaign(root: Path) -> None:
    """Trials of a campaign that lacks one."""
    campaign, manifest = _loaded(root, _TRIALS), json.loads((METHOD_1 / "manifest.json").read_text())
    planned = plan_campaign(campaign, 1)
    manifest |= {
        "campaign": stored.campaign_as_dict(campaign),
        "plan": json.loads(json.dumps(plan_as_dict(planned))),
        "seed": 1,
        "trials_planned": 3,
    }
    path = write.new_result(root, "t", 0.0, manifest)
    path = path.rename(root / CAMPAIGN)
    given = told()
    measured = measure(given.run, given.readings, given.setup, Iperf3(), 0.05)
    write.write_trial(path, replace(measured.trial, number=1), measured.series, measured.raw)
    idle = json.loads((METHOD_1 / "idle.json").read_text())
    for name in ("idle.json", "idle-end.json"):
        write.write_idle(path / name, idle, {"h1/mpstat.jsonl": "{}\n"})
    meter = {"host": "h1", "source": "bmc", "channel": "w", "refresh_s": 1.0, "averaging_s": None}
    write.write_json(path / "meters.json", {"schema_version": 1, "meters": [meter]})
    write.write_json(path / "repeats.json", _REPEATS)


def _as_written(root: Path) -> Callable[[dict[str, Any]], None]:
    """The simulated soak as a campaign that can be gone on with."""

    def edit(manifest: dict[str, Any]) -> None:
        campaign = _loaded(root, _SOAK)
        own = stored.campaign_as_dict(campaign)
        manifest |= {
            "campaign": json.loads(json.dumps(own)),
            "campaign_text": _SOAK,
            "plan": json.loads(json.dumps(soak_plan.as_dict(soak_plan.plan_soak(campaign)))),
        }

    return edit


def _list_sums(path: Path) -> None:
    files = sorted(one for one in path.rglob("*") if one.is_file() and one.name != sums.SUMS_FILE)
    digests = {one.relative_to(path).as_posix(): sums.sha256_of_file(one) for one in files}
    (path / sums.SUMS_FILE).write_bytes(sums.lines(digests))


@cache
def files() -> list[str]:
    """Those that are damaged, relative to the directory: every document, and of raw output a few."""
    root = results()
    every = sorted(one.relative_to(root).as_posix() for one in root.rglob("*") if one.is_file())
    return [name for name in every if "/raw/" not in name and not name.startswith(OLD)]


def _another(path: Path, draw: random.Random) -> None:
    """The same samples in another shape: a column less, of another type, or with values nobody reads."""
    column = draw.choice(("time_s", "value", "span_s", "host", "channel", "kind", "unit", "reason", "scope"))
    value = draw.choice(
        ("NULL", "1e308", "-1e308", "'nan'::DOUBLE", "'inf'::DOUBLE", "'\x1b[31m'", "''", "-5", "0", "[1]")
    )
    what = draw.choice(
        (f"SELECT * EXCLUDE ({column})", f"SELECT * REPLACE ({value} AS {column})", "SELECT 1 AS x")
    )
    rows = draw.choice(("", "", " WHERE random() < 0.5", " LIMIT 0", " ORDER BY random()"))
    if draw.random() < 0.4:
        where = f"if(random() < 0.05, {value}, {column})"
        what = f"SELECT * REPLACE ({where} AS {column})"
    other = path.with_name(".other.parquet")
    with contextlib.suppress(duckdb.Error):
        duckdb.execute(f"COPY ({what} FROM '{path}'{rows}) TO '{other}' (FORMAT parquet)")
        other.replace(path)
    other.unlink(missing_ok=True)


def _structure(path: Path, draw: random.Random) -> None:
    """A value of a document becomes another one, goes, or is wrapped; its neighbours stay."""
    document = json.loads(path.read_text())
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.choice(list(_places(document)))
        inner = functools.reduce(lambda one, key: one[key], at[:-1], document)
        what = draw.randrange(7)
        if what == 0:
            del inner[at[-1]]
        elif what == 1:
            inner[at[-1]] = [inner[at[-1]]]
        elif what == 2:
            inner[at[-1]] = str(inner[at[-1]])
        elif what == 3 and isinstance(document, dict):
            document["schema_version"] = draw.choice([2, "1", None, 1.0, True, [1]])
        elif what == 4:
            inner[at[-1]] = draw.choice((float("nan"), float("inf"), 10**400, -(10**18)))
        else:
            inner[at[-1]] = copy.deepcopy(draw.choice(VALUES))
    path.write_text(json.dumps(document))


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*at, key))


def _replace_file(path: Path, draw: random.Random) -> None:
    """Nothing, or what is not a regular file of some size, in place of a file."""
    path.unlink()
    what = draw.choice(("nothing", "circle", "elsewhere", *hostile_files.FAULTS))
    if what == "circle":
        path.symlink_to(path.name)
    elif what == "elsewhere":
        path.symlink_to(METHOD_1 / "manifest.json")
    elif what != "nothing":
        hostile_files.FAULTS[what](path)


def damage(path: Path, seed: int, count: int) -> None:
    """Once: bytes, values, rows, or all of it."""
    draw = random.Random(seed)  # noqa: S311 - the same again, no secret
    way = draw.randrange(10)
    if way == 0:
        _replace_file(path, draw)
    elif way == 1:
        path.write_bytes(draw.choice((b"", b"{}", b"[]", b"null", b"[" * 100_000, b"\0" * 5000, b"PAR1PAR1")))
    elif path.suffix == ".parquet" and way < 6:
        _another(path, draw)
    elif path.suffix == ".json" and way < 8:
        _structure(path, draw)
    else:
        path.write_bytes(changed(path.read_bytes(), draw, count))


def _is_another(path: Path, before: bytes) -> bool:
    """Whether a file is no longer what it was; a huge one is not read."""
    is_regular = path.is_file() and not path.is_symlink()
    return not is_regular or path.stat().st_size != len(before) or path.read_bytes() != before


@contextlib.contextmanager
def damaged_file(path: Path, seed: int, count: int) -> Iterator[bool]:
    """The file damaged; whether it is another one then."""
    before = path.read_bytes()
    try:
        damage(path, seed, count)
        yield _is_another(path, before)
    finally:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        path.write_bytes(before)
