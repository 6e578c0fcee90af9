# SPDX-License-Identifier: Apache-2.0
"""What tools and devices really said, and beside it what their parser makes of it: a folder a case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linewatt.sensors.power.base import MeterSession

CAPTURES = Path(__file__).parent / "captures"


@dataclass(frozen=True)
class Capture:
    """A case of a kind."""

    folder: Path

    @property
    def expected(self) -> dict[str, Any]:
        """Where it is from (``origin``), what was asked, and what its parser makes of it."""
        document: dict[str, Any] = json.loads((self.folder / "expected.json").read_text())
        return document

    def text(self, name: str = "output") -> str:
        return (self.folder / name).read_text()

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))


def captures(kind: str) -> list[Capture]:
    return [Capture(path) for path in sorted((CAPTURES / kind).iterdir()) if path.is_dir()]


def channels_of(session: MeterSession) -> dict[str, dict[str, object]]:
    """The channels of a meter that is read once, each with its reading."""
    values = session.read()
    return {
        name: {
            "unit": one.unit,
            "kind": one.kind,
            "scope": one.scope,
            "step": one.step,
            "value": values[name],
        }
        for name, one in session.channels.items()
    }


def must_agree(found: Any, wanted: Any, *, exactly: bool, where: str = "") -> None:
    """Whether a parser made what it should: nothing more, nothing less; of a message a part is enough."""
    if isinstance(wanted, Mapping):
        assert found.keys() == wanted.keys(), where
        for name, part in wanted.items():
            must_agree(found[name], part, exactly=exactly, where=f"{where}.{name}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for number, (one, part) in enumerate(zip(found, wanted, strict=True)):
            must_agree(one, part, exactly=exactly, where=f"{where}[{number}]")
    elif where.endswith((".error", ".problem")):
        assert wanted in found, where
    elif isinstance(wanted, float) and not exactly:
        assert found == pytest.approx(wanted), where
    else:
        assert found == wanted, where
