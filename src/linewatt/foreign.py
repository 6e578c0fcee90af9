# SPDX-License-Identifier: Apache-2.0
"""What comes from outside: answers of hosts, readings of meters, files that others may have written.

Nobody promises what is in them, so each enters through here: bytes as text without control characters
(:func:`entered`), JSON within limits (:func:`read_json`), and a parser's answer through :func:`understood`,
which makes whatever it trips over a ParseError. What leaves for a person's terminal leaves through
:func:`shown` or :func:`one_line`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, NoReturn, TypeVar

from linewatt.errors import LinewattError, NoJson, ParseError

T = TypeVar("T")

KIB = 1 << 10
MIB = 1 << 20
LARGEST = 1e30
"""No quantity that is measured is larger, and its square is still a number."""
_DIGITS = 40
"""of a whole number, before it is looked at: a long one takes long to read"""
_MOST_DIGITS = 100
_ENDLESS = re.compile(rf"\d{{{_MOST_DIGITS + 1},}}")
MOST_SAID = 600
"""characters of a message that quotes what is wrong"""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_CONTROL_BYTES = bytes(code for code in (*range(32), 127) if code not in (9, 10))
_BLANKS = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
# Control characters, soft and bidirectional formats, line separators, surrogates, tags: what a terminal acts
# on, or shows in another order or not at all
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_PICTURES = (
    {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421} | dict.fromkeys(range(128, 160), 0xFFFD)
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a JSON text is read: its characters, how deep its values nest, its largest number."""

    characters: int
    depth: int
    largest: float
    scrubs: bool
    """whether its texts lose their control characters"""


ANSWER = Limits(64 * MIB, 32, LARGEST, scrubs=True)
"""of a tool or a device"""
STORED = Limits(1024 * MIB, 64, math.inf, scrubs=False)
"""of a file that linewatt wrote: any finite number, for it may be a square, and texts as they are"""


def entered(data: bytes) -> str:
    """Bytes from outside as text. A control character that is neither tab nor end of line becomes its
    picture (``\\x1b`` as ``␛``), what is no UTF-8 or no picture a replacement character, and more digits in
    a row than any number has their count."""
    text = data.decode(errors="replace")
    if _may_be_endless(text):
        text = _ENDLESS.sub(lambda match: f"({len(match[0])} digits)", text)
    if text.isascii() and len(data.translate(None, _CONTROL_BYTES)) == len(data):
        return text
    return scrubbed(text)


def _may_be_endless(text: str) -> bool:
    """Whether to look for more digits than a number has: they would fill one of the text's blocks.

    A tenth of the time of the look itself, and every line of every sensor passes here.
    """
    half = _MOST_DIGITS // 2
    return any(text[at : at + half].isdecimal() for at in range(0, len(text) - half, half))


def scrubbed(text: str) -> str:
    """Text as :func:`entered` makes it: a picture that was in it cannot pass for what it stands for."""
    text = re.sub("[\u2400-\u2421]", "\ufffd", text)
    return _CONTROL.sub(lambda match: match[0].translate(_PICTURES), _SURROGATE.sub("\ufffd", text))


NUL = "\u2400"
"""what NUL is once it entered"""


def shown(text: str) -> str:
    """Text for a terminal: lines and tabs as they are, whatever else it would act upon as an escape."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text with everything that would break or recolour a terminal line written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, characters: int = MOST_SAID) -> str:
    """The beginning of a text as one line, for a message that quotes it."""
    line = one_line(text[: characters + 1])
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def last_line(text: str, otherwise: str = "it ended without a word") -> str:
    """The last line of what a program said that says anything, for a message."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shortened(lines[-1]) if lines else otherwise


def read_json(text: str, what: str, limits: Limits = ANSWER) -> Any:
    """The values of a JSON text; ``what`` is what messages call it.

    Raises ParseError for what is no JSON (NaN and Infinity are none), and for what is beyond the limits or
    holds half a character (a lone surrogate): neither could be stored and read again.
    """
    values = list(_values(text, what, limits, most=1))
    if not values:
        raise NoJson("it is empty", where=what)
    return values[0]


def read_each_json(text: str, what: str, limits: Limits = ANSWER) -> list[Any]:
    """The values of JSON texts one behind the other, none of an empty text. Raises as :func:`read_json`."""
    return list(_values(text, what, limits))


def _values(text: str, what: str, limits: Limits, most: int | None = None) -> Iterator[Any]:
    if len(text) > limits.characters:
        raise ParseError(f"is longer than {limits.characters} characters", where=what)
    decoder, may_be_half = _decoder(limits.largest), _HALF.search(text) is not None
    scrubs = limits.scrubs and "\\" in text
    at, count = _past_blanks(text, 0), 0
    while at < len(text):
        try:
            if count == most:
                raise ValueError(f"something follows it at character {at}")
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise ParseError("nests values too deeply", where=what) from None
        except _Refused as error:
            raise ParseError(str(error), where=what) from None
        except ValueError as error:
            raise NoJson(f"{one_line(str(error))} of {_quoted(text)}", where=what) from None
        if _is_deeper(value, limits.depth):
            raise ParseError(f"nests values more than {limits.depth} deep", where=what)
        if may_be_half and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
            raise ParseError("holds half a character (a lone surrogate)", where=what)
        yield _each_scrubbed(value) if scrubs else value
        at, count = _past_blanks(text, at), count + 1


def _past_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


class _Refused(ValueError):
    """A number that JSON can write and nobody can use."""


@cache
def _decoder(largest: float) -> json.JSONDecoder:
    def number(word: str) -> float:
        value = float(word)
        return value if -largest < value < largest else _bounded(value, word, largest)

    def whole(word: str) -> int:
        if len(word) > _DIGITS:
            raise _Refused(f"holds a number of {len(word)} digits")
        return _bounded(int(word), word, largest)

    def constant(word: str) -> NoReturn:
        raise _Refused(f"holds {word}, which is not a number")

    return json.JSONDecoder(parse_float=number, parse_int=whole, parse_constant=constant)


@contextmanager
def contained(what: str, *, where: str = "") -> Iterator[None]:
    """Around what deals with an answer from outside: whatever it trips over is a ParseError.

    What linewatt raises on purpose is raised as it is, in a line that is no book.
    """
    try:
        yield
    except LinewattError as error:
        text = str(error)
        if text.isprintable() and len(text) <= MOST_SAID:
            raise
        if not error.where:
            raise type(error)(shortened(text)) from error
        error.where = shortened(error.where)
        error.problem = shortened(error.problem, max(0, MOST_SAID - len(f"{error.where}{error.joint}")))
        raise
    except Exception as error:  # any: the text is anybody's, and no list of errors would be whole
        raise ParseError(f"{what} cannot be read: {_said(error)}", where=where) from error


def understood(parse: Callable[[], T], what: str, *, where: str = "") -> T:
    """What a pure parser makes of an answer from outside, :func:`contained`.

    Raises ParseError, too, for an answer with a number that is none or beyond :data:`LARGEST`, or with text
    that cannot be stored.
    """
    with contained(what, where=where):
        value = parse()
    problem = _unfit(value)
    if problem is not None:
        raise ParseError(f"{what}: {problem}", where=where)
    return value


def number(word: str | bytes, what: str) -> float:
    """A number from outside. Raises ParseError for what is none, not finite or beyond LARGEST."""
    try:
        return _bounded(float(word), word, LARGEST)
    except _Refused as error:
        raise ParseError(f"{what}: {error}") from None
    except ValueError:
        raise ParseError(f"{what}: {_quoted(word)} is not a number") from None


Number = TypeVar("Number", int, float)


def _bounded(value: Number, word: str | bytes, largest: float) -> Number:
    if math.isnan(value):
        raise _Refused(f"{_quoted(word)} is not a number")
    if not -largest <= value <= largest or math.isinf(value):
        raise _Refused(f"{_quoted(word)} is too large for a number")
    return value


def _each_scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, list):
        return [_each_scrubbed(member) for member in value]
    if isinstance(value, dict):
        return {scrubbed(key): _each_scrubbed(member) for key, member in value.items()}
    return value


def _is_deeper(value: Any, depth: int) -> bool:
    level: list[Any] = [value]
    for _ in range(depth + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer if type(outer) is list else ())
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def _unfit(value: Any) -> str | None:
    """Why a parser's answer cannot be kept: the first of its parts that cannot."""
    pending: list[Iterable[Any]] = [(value,)]
    while pending:
        for part in pending.pop():
            kind = type(part)
            if kind is float or kind is int:
                if not -LARGEST <= part <= LARGEST:
                    return f"holds {part if isinstance(part, float) else 'a number'}: not finite or too large"
            elif kind is str:
                if not part.isascii() and _SURROGATE.search(part):
                    return f"{_quoted(part)} holds half a character (a lone surrogate)"
            elif part is not None:
                pending.append(_parts(part))
    return None


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, list | tuple | AbstractSet):
        return value
    if is_dataclass(value):
        return (getattr(value, field.name) for field in fields(value))
    return ()


def _said(error: Exception) -> str:
    """An exception in a line of bounded length."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a message can be as odd as what it quotes
        text = ""
    return shortened(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _quoted(word: str | bytes) -> str:
    text = word.decode(errors="replace") if isinstance(word, bytes) else word
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
