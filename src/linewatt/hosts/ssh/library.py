# SPDX-License-Identifier: Apache-2.0
"""asyncssh, imported without the compiler and linker that it would have look for two libraries.

It asks ``ctypes.util.find_library`` for nettle (UMAC) and oqs (a key exchange), which starts gcc and ld, as
PATH has them, where the dynamic linker's cache does not know a library: 50 ms at each start.
What that cache knows is found as before.
"""

from __future__ import annotations

import ctypes.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _cache_alone() -> Iterator[None]:
    look: Any = getattr(ctypes.util, "_findSoname_ldconfig", None)
    before = ctypes.util.find_library
    if look is not None:
        ctypes.util.find_library = look
    try:
        yield
    finally:
        ctypes.util.find_library = before


with _cache_alone():
    import asyncssh as asyncssh
