# SPDX-License-Identifier: Apache-2.0
"""Which files of linewatt a command enters: those with a function that runs. What a newcomer must follow.

    python -m scripts.entered plan examples/two-hosts.yaml
    python -m scripts.entered --list show last

The command runs as always; the count goes to standard error once it has ended.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "linewatt"


class Entered:
    """Calls by file below ``src/linewatt``, of all threads; what a module does when imported is no call."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._prefix = f"{SOURCE}/"

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        if event == "call" and is_function and code.co_filename.startswith(self._prefix):
            self.calls[code.co_filename.removeprefix(self._prefix)] += 1


def main(arguments: list[str]) -> None:
    """Run a command of linewatt, and print how many files it entered."""
    from linewatt import cli

    with_list = arguments[:1] == ["--list"]
    sys.argv = ["linewatt", *arguments[with_list:]]
    entered = Entered()
    threading.setprofile(entered)
    sys.setprofile(entered)
    try:
        cli.program()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        imported = sum(name.partition(".")[0] == "linewatt" for name in sys.modules)
        print(f"{len(entered.calls)} files entered, {imported} imported", file=sys.stderr)
        if with_list:
            print(*sorted(entered.calls), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
