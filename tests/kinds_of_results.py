# SPDX-License-Identifier: Apache-2.0
"""A stored result of each kind, and the commands that print text about it: for tests of what is printed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.captured import CAPTURES
from tests.first_screens import KINDS as SCREEN_KINDS
from tests.report_factories import stored
from tests.soak_pairs import soak
from tests.unit.engine import test_instance_search as instances
from tests.unit.engine import test_rate_search as rates

from linewatt.store import Result

REPOSITORY = CAPTURES.parents[1]
PUBLISHED = REPOSITORY / "docs" / "published"
IMPORTED_FOLDERS = ("two-hosts", "netperf")
TABLES = (
    "arm_vs_intel_all.csv",
    "opteron_soak.csv",
    "router_power_8201.csv",
    "vxlan.csv",
    "x64_components.csv",
    "x64_scaling.csv",
    "x64_scaling_ports.csv",
)
Run = Callable[..., tuple[int, str, str]]


def _searched_rates() -> list[Path]:
    made = rates.searched_result(rates.shaper(1.234e9))
    return [_stored_as("20260201-000000-rates", made)]


def _searched_instances() -> list[Path]:
    made = instances.searched_result(instances.link(5.3e9))
    return [_stored_as("20260202-000000-instances", made)]


def _stored_as(result_id: str, made: Result) -> Path:
    manifest = made.manifest.model_copy(update={"id": result_id, "name": result_id[16:]})
    path = stored(Path("results"), replace(made, id=result_id, manifest=manifest))
    assert made.searches is not None
    (path / "searches.json").write_text(json.dumps(made.searches.as_written()))
    return path


def _soaks() -> list[Path]:
    return [soak(day, duration_s=120) for day in range(11, 19)]


def _method_1() -> list[Path]:
    copied = Path("results/method-1")
    shutil.copytree(CAPTURES / "results" / "method-1", copied)
    return [copied]


STORED: Mapping[str, Callable[[], list[Path]]] = {
    **SCREEN_KINDS,
    "searched rates": _searched_rates,
    "searched instances": _searched_instances,
    "soaks": _soaks,
    "method 1": _method_1,
}


def imported_files() -> dict[str, Path]:
    """Kind → the folder or table to be imported."""
    folders = {f"files {name}": CAPTURES / "imports" / name for name in IMPORTED_FOLDERS}
    return folders | {f"table {name}": PUBLISHED / name for name in TABLES}


@dataclass(frozen=True)
class Stored:
    """A directory with results of each kind, and their ids."""

    root: Path
    ids: Mapping[str, tuple[str, ...]]


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def lay_out(folder: Path) -> Stored:
    """Results of each kind that factories make, below ``results`` in a folder."""
    with _working_in(folder):
        ids = {kind: tuple(path.name for path in make()) for kind, make in STORED.items()}
    return Stored(folder / "results", ids)


def lay_out_imported(laid_out: Stored, run: Run) -> Stored:
    """The same with results that are imported."""
    ids = dict(laid_out.ids)
    for kind, path in imported_files().items():
        before = {stored_path.name for stored_path in laid_out.root.iterdir()}
        code, _, err = run("import", str(path), "--results", str(laid_out.root))
        assert code == 0, (path, err)
        ids[kind] = tuple(sorted({item.name for item in laid_out.root.iterdir()} - before))
    return Stored(laid_out.root, ids)
