# SPDX-License-Identifier: Apache-2.0
"""Reading results quickly: of each trial only what comparing needs.

A comparison reads tens of thousands of trials. Counters, instances, clocks and CPU shares are most of a
``trial.json``, so checking them is most of the time that :func:`linewatt.store.read.load` takes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from linewatt.errors import StoreError
from linewatt.model import Case, EndResult, Flag, PowerResult, Role, Trial, Window
from linewatt.store import derived
from linewatt.store.idle import with_idle
from linewatt.store.meters import known_of, with_meters
from linewatt.store.read import (
    Damaged,
    Result,
    find,
    idle_windows,
    load_manifest,
    read_document,
    read_each,
)


@dataclass(frozen=True, slots=True)
class _End:
    host: str
    role: Role
    cpu_cores: float | None
    power: tuple[PowerResult, ...] = ()
    settings: dict[str, str | None] = field(default_factory=dict)

    def full(self) -> EndResult:
        return EndResult(
            host=self.host,
            role=self.role,
            cpu_cores=self.cpu_cores,
            app_cpu=None,
            irq_cpu=None,
            load_cpu_cores=None,
            base_frequency_hz=None,
            power=self.power,
            settings=self.settings,
        )


@dataclass(frozen=True, slots=True)
class _Brief:
    number: int
    repetition: int
    case: Case
    case_key: str
    status: Literal["done", "failed"]
    started_s: float
    reason: str | None = None
    window: Window | None = None
    throughput_bps: float | None = None
    target_bps: float | None = None
    packets: int | None = None
    lost_packets: int | None = None
    lost_ratio: float | None = None
    sender: _End | None = None
    receiver: _End | None = None
    flags: tuple[Flag, ...] = ()
    method: int = 1

    def full(self, cases: dict[Case, Case]) -> Trial:
        return Trial(
            number=self.number,
            repetition=self.repetition,
            case=cases.setdefault(self.case, self.case),
            case_key=self.case_key,
            status=self.status,
            started_s=self.started_s,
            reason=self.reason,
            window=self.window,
            throughput_bps=self.throughput_bps,
            target_bps=self.target_bps,
            packets=self.packets,
            lost_packets=self.lost_packets,
            lost_ratio=self.lost_ratio,
            sender=None if self.sender is None else self.sender.full(),
            receiver=None if self.receiver is None else self.receiver.full(),
            flags=self.flags,
            method=self.method,
        )


_BRIEF = TypeAdapter(_Brief)


def load_brief(path: Path) -> Result:
    """A result whose trials lack counters, instances, CPU shares and clocks; trials of a case share it.

    Raises StoreError naming the damaged file.
    """
    manifest = load_manifest(path)
    cases: dict[Case, Case] = {}
    trials = with_idle(
        [read_document(name, _BRIEF).full(cases) for name in _trial_files(path)], idle_windows(path)
    )
    return Result(path.name, path, manifest, with_meters(trials, known_of(manifest["meters"])))


def _trial_files(path: Path) -> list[str]:
    """``trial.json`` of each trial in order of number; as text, because paths cost more than their files."""
    try:
        with os.scandir(f"{path}/trials") as entries:
            names = sorted(one.name for one in entries if one.name[0].isdigit())
    except OSError as error:
        raise StoreError(f"{path / 'trials'}: {error.strerror}") from error
    return derived.files(path, names)


def find_anywhere(root: Path, wanted: str) -> Path:
    """As :func:`linewatt.store.read.find`; a directory that is a result, wherever it is, is one, too."""
    own = Path(wanted)
    return own if (own / "manifest.json").is_file() else find(root, wanted)


def load_all_brief(root: Path) -> tuple[Sequence[Result], Sequence[Damaged]]:
    """All results below ``root``, oldest first, and those that cannot be read."""
    found, unread = read_each(root, load_brief)
    return sorted(found, key=lambda one: float(one.manifest.get("created_s") or 0)), unread
