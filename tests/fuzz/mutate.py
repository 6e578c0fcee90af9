# SPDX-License-Identifier: Apache-2.0
"""What tools really wrote, damaged: as by a cut connection, another version, a broken or a hostile host."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from linewatt.foreign import entered

CAPTURES = Path(__file__).parents[1] / "captures"

_PLAIN = r"""
- -1 0 00 0x10 1e308 1e999 -1e999 NaN nan Infinity -inf null true n/a 1,5 1_000 +7 222222222222222222
99999999999999999999 18446744073709551616 4294967295000 0-99999999 5-1 8191 8192 0-8191 {} [] [[]] "" " \ \n
"\ud800" "\u0000" "\u001b[31m" : = , % | ² ٣ ␀ ../../etc $(id) -- lo eth0 linewatt-netcounters
"""
WORDS: tuple[bytes, ...] = (
    *(word.encode() for word in _PLAIN.split()),
    *(b"", b" ", b"\n", b"\t", b"\0", b"\r", b"9" * 60, b"9" * 5000, b"ffffffff," * 300, b"a" * 70_000),
    *(b"[" * 40, b"[" * 3000, b'{"a":' * 50, b"\x1b[2J", b"\x1b]0;x\x07", b"\x9b31m", b"\xff\xfe"),
    *(b"\xed\xa0\x80", "\u2028\u202e".encode(), "é".encode() * 200),
    *(b"linewatt-leash: end 1 0\n", b"linewatt-fact: end 0\n"),
)
"""what numbers, lists and names are replaced by"""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 2**64, 10**39, 1.5, -0.0, 1e30, 1e31, 1e300, "", "1", "-1", "x"),
    *("9" * 5000, "nan", "\ud800", "\x1b[31m", "a" * 5000, [], [None], [[]], {}, {"a": None}, [{}], {"": ""}),
)
"""what nodes of JSON are replaced by"""


def texts(*patterns: str) -> list[bytes]:
    """Captures, as they are."""
    found = [path.read_bytes() for pattern in patterns for path in sorted(CAPTURES.glob(pattern))]
    assert found, f"no capture fits {patterns}"
    return found


def damaged(seeds: Sequence[bytes]) -> st.SearchStrategy[str]:
    """One of the texts with up to a few changes, as it enters linewatt.

    A draw is a text and the seed of its changes: thousands of bytes are not drawn one by one.
    """
    return st.builds(
        lambda text, seed, count: entered(changed(text, random.Random(seed), count)),  # noqa: S311
        st.sampled_from(list(seeds)),
        st.integers(0, 2**48),
        st.sampled_from((0, 1, 1, 1, 2, 2, 3, 6)),
    )


def changed(text: bytes, draw: random.Random, count: int) -> bytes:
    """The text after so many changes."""
    for _ in range(count):
        text = draw.choice(_CHANGES)(text, draw)
    return text[: 1 << 20]


def _cut(text: bytes, draw: random.Random) -> bytes:
    return text[: draw.randint(0, len(text))]


def _behead(text: bytes, draw: random.Random) -> bytes:
    return text[draw.randint(0, len(text)) :]


def _flip(text: bytes, draw: random.Random) -> bytes:
    if not text:
        return b"\0"
    at = draw.randrange(len(text))
    return text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :]


def _insert(text: bytes, draw: random.Random) -> bytes:
    at = draw.randint(0, len(text))
    return text[:at] + draw.choice(WORDS) + text[at:]


def _replace_word(text: bytes, draw: random.Random) -> bytes:
    return replaced_word(text, draw.choice(WORDS), draw)


def replaced_word(text: bytes, word: bytes, draw: random.Random) -> bytes:
    """The text with another word in place of one of its numbers and names."""
    spans = list(_words(text))
    if not spans:
        return word
    start, end = draw.choice(spans)
    return text[:start] + word + text[end:]


def _words(text: bytes) -> Iterator[tuple[int, int]]:
    """Numbers and names, of a part of a long text."""
    start = None
    for at, code in enumerate(text[:20_000]):
        inside = chr(code).isalnum() or code in b"._"
        if inside and start is None:
            start = at
        elif not inside and start is not None:
            yield start, at
            start = None


def _lines(text: bytes, draw: random.Random) -> bytes:
    """A line twice, away, or where another was."""
    lines = text.split(b"\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    what = draw.randrange(3)
    if what == 0:
        lines.insert(at, lines[other])
    elif what == 1:
        del lines[at]
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def _node(text: bytes, draw: random.Random) -> bytes:
    """A value somewhere in JSON becomes another, or its key does; a text that is no JSON changes a word."""
    start = min((at for at in (text.find(b"{"), text.find(b"[")) if at >= 0), default=-1)
    try:
        document = json.loads(text[max(0, start) :])
    except (ValueError, RecursionError):
        return _replace_word(text, draw)
    inner, left = document, draw.randint(1, 12)
    while left and isinstance(inner, dict | list) and inner:
        left -= 1
        key = draw.choice(list(inner)) if isinstance(inner, dict) else draw.randrange(len(inner))
        deeper = inner[key]
        if not left or not isinstance(deeper, dict | list) or not deeper:
            _put(inner, key, draw)
            break
        inner = deeper
    return text[: max(0, start)] + json.dumps(document).encode()


def _put(inner: Any, key: Any, draw: random.Random) -> None:
    what = draw.randrange(4)
    if what == 0:
        del inner[key]
    elif what == 1 and isinstance(inner, dict):
        inner[draw.choice(("", "\x1b", "x", key * 300))] = inner.pop(key)
    else:
        inner[key] = copy.deepcopy(draw.choice(VALUES))


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_cut, _behead, _flip, _insert, _insert, _replace_word, _replace_word, _replace_word, _lines),
    *(_node, _node, _node),
)
