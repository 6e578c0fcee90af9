# SPDX-License-Identifier: Apache-2.0
"""Taking a lab down: every process inside it, every namespace and link; works on half a lab just the same."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from linewatt.errors import LabError
from linewatt.lab import processes, recipe
from linewatt.lab.state import LabState
from linewatt.lab.system import names_present, run_batch


def take_down(state: LabState) -> None:
    """Remove all that ``state`` lists, whether it was made or not. Raises LabError naming what stays."""
    processes.end_all(state.namespaces, what=_what(state))
    present = names_present()
    lines = [f"netns del {namespace}" for namespace in state.namespaces if namespace in present]
    if any(link in present for link in state.links):
        # One transaction for all links: one by one, each waits for a grace period of the kernel.
        lines.append(f"link del group {state.link_group}")
    run_batch(["ip", "-force", "-batch", "-"], "\n".join(lines) + "\n", what=_what(state), strict=False)
    for copy in state.copies:
        remove_copy(Path(copy), state.request.name)
    left = sorted(names_present() & {*state.namespaces, *state.links})
    if left:
        raise LabError(
            f"{_what(state)}: still there: {', '.join(left)}; see ip netns list and ip link, then try again"
        )


def remove_copy(path: Path, name: str) -> None:
    """Remove an inventory written for the lab ``name``, unless something else is there by now."""
    with suppress(FileNotFoundError):
        if is_inventory_of(path, name):
            path.unlink()


def is_inventory_of(path: Path, name: str) -> bool:
    """Whether ``path`` is an inventory that the lab ``name`` wrote."""
    with path.open(errors="replace") as file:
        return file.readline() == f"{recipe.INVENTORY_HEADER}{name}\n"


def _what(state: LabState) -> str:
    return f"lab {state.request.name}"
