# SPDX-License-Identifier: Apache-2.0
"""Ansible's INI inventories: ``[group]``, ``[group:children]``, ``[group:vars]``, host lines, ranges."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterator
from itertools import islice

from linewatt.document import Place, show_value
from linewatt.hosts.inventory.tree import Tree, Variable

MAX_HOSTS = 4096

_SECTION = re.compile(r"\[([^\[\]:#;\s]+)(?::([^\[\]\s]*))?\]\s*(?:[#;].*)?")
_HOST_AND_PORT = re.compile(r"(?P<host>(?:[^:\[\]]|\[[^\[\]]*\])+):(?P<port>[0-9]{1,5})")
"""the colon is neither in a range nor in an IPv6 address"""
_RANGE = re.compile(r"\[([0-9]{1,9}|[A-Za-z]):([0-9]{1,9}|[A-Za-z])(?::([0-9]{1,9}))?\]")
_WORD = re.compile(r"""(?:\\.?|[^\s"'#;\\]|"(?:[^"\\]|\\.)*"|'[^']*'|(?<=\S)[#;])+""")
_PART = re.compile(r"""\\(.?)|"((?:[^"\\]|\\.)*)"|'([^']*)'|([^"'\\]+)""", re.DOTALL)
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?:#.*)?""")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_ini(text: str, file: str) -> Tree:
    """Groups, hosts and variables of an INI inventory. Raises InvalidInput as ``file:line:col: what``."""
    tree = Tree()
    group, kind = "ungrouped", "hosts"
    declared = {"all", "ungrouped"}
    with_variables: dict[str, Place] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        column = len(line) - len(line.lstrip()) + 1
        content = line.strip()
        place = Place(file, number, column)
        if not content or content[0] in "#;":
            continue
        if match := _SECTION.fullmatch(content):
            group, kind = match[1], match[2] or "hosts"
            if kind not in ("hosts", "vars", "children"):
                raise place.error(f"[{group}:{kind}] is not a section; use hosts, vars or children")
            tree.group(group)
            if kind == "vars":
                with_variables.setdefault(group, place)
            else:
                declared.add(group)
        elif content[0] == "[" and not _RANGE.match(content):
            raise place.error(
                f"{show_value(content)} is not a section; write [group], [group:vars] or [group:children]"
            )
        elif kind == "vars":
            variable = _assignment(content, place)
            tree.group(group).variables[variable.name] = variable
        elif kind == "children":
            child = re.split("[#;]", content)[0].strip()
            tree.group(child)
            tree.group(group).children.setdefault(child, place)
        else:
            _host_line(tree, group, line, place)
    _check_declared(tree, declared, with_variables)
    return tree


def _check_declared(tree: Tree, declared: set[str], with_variables: dict[str, Place]) -> None:
    """Raises InvalidInput for a child, or variables, of a group without a section, as Ansible does."""
    children = {child: at for group in tree.groups.values() for child, at in group.children.items()}
    for name, place in {**children, **with_variables}.items():
        if name not in declared:
            near = difflib.get_close_matches(name, sorted(declared - {"all", "ungrouped"}), n=1)
            hint = f"did you mean {near[0]}?" if near else f"write [{name}], or take it out"
            raise place.error(f"there is no group {show_value(name)}; {hint}")


def _host_line(tree: Tree, group: str, line: str, place: Place) -> None:
    words = list(_split_words(line, place))
    if not words:
        raise place.error(f"{show_value(line.strip())} is neither a host nor a section such as [lab]")
    with_port = _HOST_AND_PORT.fullmatch(words[0][1])
    variables = {}
    for column, word in words[1:]:
        at = Place(place.file, place.line, column)
        if "=" not in word:
            raise at.error(f"{show_value(word)} is not a variable; write name=value")
        variable = _assignment(_unquoted(word), at)
        variables[variable.name] = variable
    if with_port:
        variables.setdefault("ansible_port", Variable("ansible_port", with_port["port"], place))
    pattern = with_port["host"] if with_port else words[0][1]
    for name in expand_range(pattern, place):
        if len(tree.hosts) >= MAX_HOSTS:
            raise place.error(f"has more than {MAX_HOSTS} hosts")
        tree.add_host(name, group, place).variables.update(variables)


def _split_words(line: str, place: Place) -> Iterator[tuple[int, str]]:
    """(column, word) of a line up to a comment; blanks within quotes belong to a word."""
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        if line[at] in "#;":
            return
        match = _WORD.match(line, at)
        if match is None:
            raise Place(place.file, place.line, at + 1).error("a quote is opened here and never closed")
        yield at + 1, match[0]
        at = match.end()


def _assignment(text: str, place: Place) -> Variable:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise place.error(f"{show_value(text)} is not a variable; write name=value")
    value = value.strip()
    start = Place(place.file, place.line, place.column + text.index("=") + 1)
    if quoted := _QUOTED.fullmatch(value):
        value = re.sub(r"""\\(["'\\])""", r"\1", quoted[1][1:-1])
    return Variable(name, value, start)


def _unquoted(word: str) -> str:
    """A word of a host line as a shell reads it: ``a="b \\"c\\""`` is ``a=b "c"``."""
    parts = []
    for match in _PART.finditer(word):
        escaped, double, single, plain = match.groups()
        if double is not None:
            parts.append(re.sub(r"""\\(["\\])""", r"\1", double))
        else:
            parts.append(escaped or single or plain or "")
    return "".join(parts)


def expand_range(pattern: str, place: Place) -> list[str]:
    """Names of ``node[01:16]``, ``rack[a:f]`` and ``n[0:8:2]``; a name without a range is itself."""
    names = list(islice(_expand(pattern, place), MAX_HOSTS + 1))
    if len(names) > MAX_HOSTS:
        raise place.error(f"{show_value(pattern)} stands for more than {MAX_HOSTS} hosts")
    return names


def _expand(pattern: str, place: Place) -> Iterator[str]:
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    values = _range_values(match[1], match[2], int(match[3] or 1))
    if not values:
        raise place.error(f"the range {match[0]} holds nothing; write the smaller end first")
    for value in values:
        yield from _expand(f"{pattern[: match.start()]}{value}{pattern[match.end() :]}", place)


def _range_values(first: str, last: str, step: int) -> list[str]:
    if step < 1:
        return []
    if first.isdigit() and last.isdigit():
        width = len(first) if first.startswith("0") else 0
        numbers = range(int(first), int(last) + 1, step)[: MAX_HOSTS + 1]
        return [str(number).zfill(width) for number in numbers]
    if first.isalpha() and last.isalpha():
        letters = string.ascii_letters
        return list(letters[letters.index(first) : letters.index(last) + 1 : step])
    return []
