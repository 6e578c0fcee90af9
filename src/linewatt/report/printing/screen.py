# SPDX-License-Identifier: Apache-2.0
"""The first screen of anything stored, as a value: a sentence, trust, and blocks of lines for 24 lines.

Who makes one decides what is said and in which order it may be left out; what is left out is counted and
named with the command that shows it. A figure stands with its unit and is never broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rich.cells import cell_len
from rich.text import Text

from linewatt.foreign import one_line
from linewatt.report.section import Lines
from linewatt.report.series import plural
from linewatt.report.table import Note, Table
from linewatt.units import NO_BREAK, first_of, unbroken

MOST_LINES = 24
MOST_ON_PAGE = 12
"""lines of a block that a page lists"""
BELOW = "see below"
"""where a page has the others"""
_GAP = "  "
_WIDEST_NAME = 36
"""a longer name has a line of its own"""
_MOST_HOSTS, _MOST_OF_NAMES = 4, 60
"""hosts that are named, in how many columns"""
_LEAST_PROSE = 20
"""columns of prose behind a name; of fewer it begins below"""
_COMMAND = "linewatt "
"""begins a command to copy: of one too long the terminal makes lines, and what is copied is one line"""
_FAR_LEFT = "    "
"""before a word that is longer than the columns of prose"""
_FEW, _FORMS = 3, 2
"""entries of each block that come before all else; forms of an entry that are its fewest words"""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said: its name, its figures, and prose about it, which may wrap at words."""

    name: str
    figures: tuple[str, ...] = ()
    prose: str = ""
    style: str = ""
    drawn: bool = False
    """a picture of signs, in place of which a page has a chart"""


Entry = tuple[Line, ...]
"""the same in ever fewer words: the first that there is room for is shown"""


@dataclass(frozen=True, slots=True)
class Block:
    """Entries under a title, what matters most first; of more than there is room for the rest is counted.

    ``of`` goes on the title, ``remark`` stands behind it. ``rest`` is what one that is left out is called,
    ``command`` what shows it, if not the screen's own. ``least`` entries always stay; a ``grid`` is shown
    whole or not at all. ``left`` are entries of which nobody made a line, ``beyond`` says what else is not
    here, and which command has it. A ``picture`` stands below the entries where all else has room.
    """

    title: str
    entries: tuple[Entry, ...] = ()
    remark: str = ""
    of: str = ""
    rest: str = "line"
    command: str = ""
    least: int = 1
    left: int = 0
    grid: bool = False
    beyond: str = ""
    style: str = "bold"
    picture: Line | None = None
    briefs: tuple[str, ...] = ()
    """entries in a few words each, so that those left out are named and not only counted"""

    @property
    def heading(self) -> str:
        """Its title in a terminal: ``COST OF TCP``."""
        return " ".join(filter(None, (self.title.upper(), self.of)))


@dataclass(frozen=True, slots=True)
class Screen:
    """``sentence`` and ``trust`` are the answer in two lines, for a page, which has ``tables`` in place of
    blocks that are not among ``lists``. ``more`` are commands that say more: the first says all, ``full`` in
    short.
    """

    title: str
    facts: tuple[str, ...]
    caveats: tuple[str, ...]
    sentence: str
    trust: str
    blocks: tuple[Block, ...]
    more: tuple[str, ...]
    full: str = "show --full"
    tables: tuple[Table, ...] = ()
    lists: tuple[Block, ...] = ()

    def listed(self, rest_place: str = BELOW) -> tuple[Lines, ...]:
        """Its lists for a page; ``rest_place`` is where that has what is left out of them."""
        return page_lists(self.lists, rest_place)


_MARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Iterable[float | None], top: float) -> str:
    """A mark a value, from 0 to ``top`` above 0; nothing where there is none."""
    return "".join(" " if value is None else _MARKS[round(7 * value / top)] for value in values)


TRUST = "Can I trust it"
"""the title of the block that explains letters at figures"""


def hosts_words(names: Sequence[str]) -> str:
    """The first hosts by name; only how many they are where names are long."""
    first_names = first_of(names, _MOST_HOSTS, between=", ")
    return first_names if len(first_names) <= _MOST_OF_NAMES else plural(len(names), "host")


def page_lists(blocks: Iterable[Block], rest_place: str = BELOW) -> tuple[Lines, ...]:
    """Blocks as lists of a page, which has room for whole sentences."""
    return tuple(
        Lines(
            f"{block.title} {block.of}".strip() + (f": {block.remark}" if block.remark else ""),
            (
                *(_note(entry) for entry in block.entries[:MOST_ON_PAGE] if not entry[0].drawn),
                *_more_on_page(block, rest_place),
            ),
        )
        for block in blocks
        if not block.grid and (block.entries or block.remark)
    )


def _note(entry: Entry) -> Note:
    line = entry[0]
    figures = ", ".join(line.figures).replace(", (", " (")
    text = "; ".join(filter(None, (figures, line.prose)))
    return Note("doubt" if line.style == "yellow" else "remark", unbroken(text), unbroken(line.name))


def _more_on_page(block: Block, rest_place: str) -> tuple[Note, ...]:
    omitted_count = max(0, len(block.entries) - MOST_ON_PAGE) + block.left
    return (
        (Note("remark", f"{_more(omitted_count, block.rest)}: {block.command or rest_place}"),)
        if omitted_count
        else ()
    )


def screen_text(screen: Screen, width: int | None) -> Text:
    """The screen for a terminal of ``width`` columns, ``None`` for one without an end."""
    shown = Text()
    for at, (line, style) in enumerate(fitted(screen, width or 100_000)):
        shown.append("\n" if at else "").append(line, style)
    shown.no_wrap, shown.overflow = True, "ignore"
    return shown


def fitted(screen: Screen, width: int) -> list[tuple[str, str]]:
    """Its lines with their style, at most :data:`MOST_LINES` of them.

    What must stand is there in few words; then whatever there is room for is added, what matters most first.
    """
    blocks = [_Fitting(block) for block in screen.blocks]
    caveats = [Line("!", prose=caveat, style="yellow") for caveat in screen.caveats]
    head = _lines([Line(screen.title, screen.facts, style="bold")], width, "", between=" · ")
    head += _lines(caveats, width, "", between=" ")
    tail = _lines([Line("MORE", screen.more)], width, "")

    def body() -> list[tuple[str, str]]:
        return [line for block in blocks for line in block.lines(screen.full, width)]

    def fits() -> bool:
        return sum(-(-cell_len(line) // width) or 1 for line, _ in (*head, *body(), *tail)) <= MOST_LINES

    for group in ((*blocks[1:-1], *blocks[:1]), blocks[-1:]):
        for spare_block in [fitting for fitting in group for _ in fitting.forms[1:] or fitting.forms]:
            if fits():
                break
            del spare_block.forms[-1:]
        for block in blocks:
            block.is_counted = block.is_counted or not fits()
    for spare_block, wished in _wishes(blocks):
        before, spare_block.forms = spare_block.forms, wished
        if not fits() or (
            spare_block.block.grid and len(spare_block.lines(screen.full, width)) > 1 + len(wished)
        ):
            spare_block.forms = before
    for block in blocks:
        block.is_pictured = block.block.picture is not None
        block.is_pictured = block.is_pictured and fits()
    return [*head, *body(), *tail]


@dataclass
class _Fitting:
    """A block that is given room: ``forms`` is which form of each entry is shown, of the first ones."""

    block: Block
    forms: list[int] = field(default_factory=list)
    is_pictured: bool = False
    is_counted: bool = False
    """whether the entries left out are counted, not named"""
    _laid_out: dict[tuple[str, int, bool, bool, tuple[int, ...]], list[tuple[str, str]]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        self.forms = [] if self.block.grid else self.shortest(self.block.least)

    def shortest(self, count: int) -> list[int]:
        """As many entries in the fewest words."""
        return [len(entry) - 1 for entry in self.block.entries[:count]]

    def more(self) -> list[int]:
        """One entry more in the fewest words."""
        return self.forms + self.shortest(len(self.forms) + 1)[len(self.forms) :]

    def longer(self, at: int, form: int) -> list[int]:
        """One entry in more words."""
        return [
            min(current_form, form) if index == at else current_form
            for index, current_form in enumerate(self.forms)
        ]

    def lines(self, command: str, width: int) -> list[tuple[str, str]]:
        """Its lines with their style. They are kept: of all blocks one changes from wish to wish."""
        key = (command, width, self.is_pictured, self.is_counted, tuple(self.forms))
        if key not in self._laid_out:
            self._laid_out[key] = self._lay_out(command, width)
        return self._laid_out[key]

    def _lay_out(self, command: str, width: int) -> list[tuple[str, str]]:
        block = self.block
        shown = [entry[form] for entry, form in zip(block.entries, self.forms, strict=False)]
        command = block.command or command
        omitted_count = len(block.entries) - len(shown) + block.left
        names = () if self.is_counted else block.briefs[len(shown) :]
        omitted = ", ".join(names) or _more(omitted_count, block.rest)
        rest_line = f"{block.rest if block.grid else omitted}: {command}"
        if not shown and omitted_count:
            return _lines([Line(block.heading, (rest_line,), style=block.style)], width, "")
        styled_lines = []
        if shown or omitted_count or block.remark:
            remark = "; ".join(filter(None, (block.remark, block.beyond)))
            styled_lines = _lines([Line(block.heading, prose=remark, style=block.style)], width, "")
        pictures = [block.picture] if block.picture is not None and self.is_pictured else []
        styled_lines += _lines([*shown, *pictures], width, _GAP)
        return styled_lines + (_lines([Line("", prose=rest_line)], width, _GAP) if omitted_count else [])


def _wishes(blocks: Sequence[_Fitting]) -> Iterator[tuple[_Fitting, list[int]]]:
    """Ways to say more: advice, a few entries of each block, evidence, a grid, all entries, all words.

    A wish is made of what the wishes before it came to. The last block is that on trust.
    """
    lists = [block for block in blocks if not block.block.grid]
    grids = [(block, [0] * len(block.block.entries)) for block in blocks if block.block.grid]
    yield from (_middle(list_block, 0) for list_block in lists[-1:] if list_block.forms)
    for count in range(1, _FEW + 1):
        yield from (
            (list_block, list_block.more())
            for list_block in lists
            if len(list_block.forms) < min(count, len(list_block.block.entries))
        )
    for list_block in (*lists[-1:], *lists[:-1]):
        many = (
            at
            for at in range(len(list_block.forms))
            if list_block is lists[-1] or len(list_block.block.entries[at]) > _FORMS
        )
        yield from (_middle(list_block, at) for at in many)
    yield from grids[:1]
    for list_block in lists:
        while len(list_block.forms) < len(list_block.block.entries):
            shown = len(list_block.forms)
            yield list_block, list_block.more()
            if len(list_block.forms) == shown:
                break
    yield from grids[1:]
    for form in range(
        max((len(entry) for list_block in lists for entry in list_block.block.entries), default=0), -1, -1
    ):
        for list_block in lists:
            yield from ((list_block, list_block.longer(at, form)) for at in range(len(list_block.forms)))


def _middle(fitting: _Fitting, at: int) -> tuple[_Fitting, list[int]]:
    """An entry in more words than the fewest."""
    return fitting, fitting.longer(at, max(0, len(fitting.block.entries[at]) - _FORMS))


def _more(count: int, noun: str) -> str:
    return f"{count} more {noun if count == 1 or noun.endswith('s') else f'{noun}s'}"


def _lines(lines: Sequence[Line], width: int, indent: str, between: str = _GAP) -> list[tuple[str, str]]:
    """Lines of text: figures under each other where they have one place, all within ``width``."""
    lines = [_safe(line) for line in lines]
    names = [line.name for line in lines if cell_len(line.name) <= _WIDEST_NAME]
    name_width = max(map(cell_len, names), default=0)
    columns = _columns(lines)
    return [
        (rendered, line.style)
        for line in lines
        for rendered in _line(line, columns, indent, name_width, between, width)
    ]


def _safe(line: Line) -> Line:
    figures = tuple(one_line(figure) for figure in line.figures)
    return replace(line, name=one_line(line.name), figures=figures, prose=one_line(line.prose))


def _columns(lines: Sequence[Line]) -> list[tuple[int, bool]]:
    """The width of each place of figures, and whether they stand to the right: those of one unit do."""
    layouts = []
    for at in range(max((len(line.figures) for line in lines), default=0)):
        figures = [line.figures[at] for line in lines if at < len(line.figures) and line.figures[at]]
        units = {figure.rpartition(" ")[2] for figure in figures}
        right = (
            len(figures) > 1 and len(units) == 1 and all(figure[:1] in "0123456789+−-–" for figure in figures)
        )
        layouts.append((max(map(cell_len, figures), default=0), right))
    return layouts


def _line(
    line: Line, columns: Sequence[tuple[int, bool]], indent: str, name_width: int, between: str, width: int
) -> Iterator[str]:
    """One line of the screen, in as many lines of text as it needs."""
    is_long = cell_len(line.name) > name_width
    name = line.name if is_long else _padded(line.name, name_width)
    start = indent + (name + between if name.strip() or name_width else "")
    hang = indent + " " * (4 if is_long else name_width + len(between) if name_width else 0)
    if is_long and ((line.figures and indent) or cell_len(start) > width - _LEAST_PROSE * bool(line.prose)):
        yield from _wrapped(line.name, indent, hang, width)
        start = hang
    current, fresh = start, True
    for figure, (wide, right) in zip(line.figures, columns, strict=False):
        cell = _padded(figure, wide, right=right) if indent else figure
        if not fresh and cell_len(current + between + cell.rstrip()) > width:
            yield current.rstrip()
            current, fresh = hang, True
        if cell_len(current + figure) > width and figure.startswith(_COMMAND):
            yield current + figure
            current, fresh = hang, True
            continue
        if cell_len(current + figure) > width:
            *full_lines, figure = _wrapped(figure, current, hang, width)
            yield from full_lines
            current, fresh = figure, False
            continue
        current += cell if fresh else between + cell
        fresh = False
    if line.prose or current.strip():
        yield from _with_prose(current, hang, line.prose, width, fresh=fresh)


def _with_prose(current: str, hang: str, prose: str, width: int, *, fresh: bool) -> Iterator[str]:
    """Prose behind the figures where it fits there whole, else below them."""
    if prose and not fresh:
        before_prose = current.rstrip() if cell_len(current + _GAP + prose) > width else current
        if cell_len(before_prose + _GAP + prose) <= width:
            yield before_prose + _GAP + prose.replace(NO_BREAK, " ")
            return
        yield current.rstrip()
        current = hang
    if not prose:
        yield current.rstrip()
        return
    yield from _wrapped(prose, current, hang, width)


def _wrapped(words: str, start: str, hang: str, width: int) -> list[str]:
    """Words in lines of ``width``, broken between words, never inside a figure, at arrows if need be.

    A word that has no room behind ``hang`` begins further left: a terminal would break it anywhere.
    """
    room = max(width, len(hang) + _LEAST_PROSE)

    def wrapped(text: str, indent: str) -> list[str]:
        return textwrap.wrap(
            text,
            room,
            initial_indent=indent,
            subsequent_indent=hang if indent == start else indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def fits(lines: Sequence[str]) -> bool:
        return max(map(cell_len, lines), default=0) <= room

    held = unbroken(words)
    wrapped_lines = wrapped(held, start)
    for text in (held.replace(f"{NO_BREAK}→{NO_BREAK}", " → "), words):
        if not fits(wrapped_lines):
            wrapped_lines = wrapped(text, start)
    if not fits(wrapped_lines):
        before = [start.rstrip()] if start.strip() else []
        wrapped_lines = [*before, *wrapped(held, _FAR_LEFT)]
        if not fits(wrapped_lines):
            wrapped_lines = [*before, *wrapped(words, _FAR_LEFT)]
    return [wrapped_line.replace(NO_BREAK, " ") for wrapped_line in wrapped_lines]


def _padded(word: str, wide: int, *, right: bool = False) -> str:
    blank = " " * (wide - cell_len(word))
    return blank + word if right else word + blank
