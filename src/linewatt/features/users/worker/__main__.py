# SPDX-License-Identifier: Apache-2.0
"""``python -m linewatt.features.users.worker …``: Locust with the locustfile of this folder."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    sys.argv[1:1] = ["-f", str(Path(__file__).with_name("locustfile.py"))]
    from locust.main import main as locust

    locust()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
