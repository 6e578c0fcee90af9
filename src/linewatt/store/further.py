# SPDX-License-Identifier: Apache-2.0
"""Where what features make in trials of their own is stored: ``NAME/NUMBER/`` of a result."""

from __future__ import annotations

from pathlib import Path


def further_folder(result: Path, name: str, number: int) -> Path:
    """The folder of one."""
    return result / name / f"{number:05d}"


def stored_further_folders(result: Path, name: str) -> list[Path]:
    """The folders that are there, by number."""
    return sorted(folder for folder in (result / name).glob("[0-9]*") if folder.is_dir())


def further_numbers(result: Path, name: str) -> frozenset[int]:
    """Numbers of those that are stored."""
    return frozenset(
        int(folder.name) for folder in stored_further_folders(result, name) if folder.name.isdecimal()
    )
