# SPDX-License-Identifier: Apache-2.0
"""Values by name, made when they are read: lists and first screens show few of a case's figures.

They hold what they are made of, so they are for as long as that is in memory anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class MadeByName(Mapping[str, T]):
    """What ``make`` makes of each of some names, read-only. Of a name that has no value it raises KeyError.

    ``added`` are values that are there already: in place of those of the same name, or behind all others.
    """

    __slots__ = ("_added", "_make", "_names")

    def __init__(
        self, names: Sequence[str], make: Callable[[str], T], added: Mapping[str, T] | None = None
    ) -> None:
        self._names = names
        self._make = make
        self._added = {} if added is None else added

    def __getitem__(self, name: str) -> T:
        if name in self._added:
            return self._added[name]
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._names if name in self)
        yield from (name for name in self._added if name not in self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __or__(self, added: Mapping[str, T]) -> MadeByName[T]:
        """As of two dictionaries, but nothing is made for it."""
        return MadeByName(self._names, self._make, {**self._added, **added})
