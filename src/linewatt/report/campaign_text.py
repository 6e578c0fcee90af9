# SPDX-License-Identifier: Apache-2.0
"""The campaign file as a report shows it: without who logs in where, and with which key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from linewatt.analysis.comparison import LOGIN, is_secret
from linewatt.document import KeyPath, parse_yaml
from linewatt.errors import InvalidInput
from linewatt.records import Manifest
from linewatt.store import Result

LEFT_OUT = "(left out)"
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", re.DOTALL)


def campaign_title(result: Result) -> str:
    """What the text is called."""
    if result.imported_from is None:
        return "Campaign file"
    return "Imported table" if result.imported_table else "Imported files"


def campaign_text(manifest: Manifest) -> str | None:
    """The file that was run, with logins left out; a table that was imported is shown as it is."""
    text = manifest.campaign_text
    if text is None or manifest.imported_from:
        return text
    try:
        document = parse_yaml(text, "campaign")
    except InvalidInput:
        return None
    lines = text.splitlines(keepends=True)
    values = {document.place(path): str(value) for path, value in _logins(document.value, ())}
    for place, value in sorted(
        values.items(), key=lambda entry: (entry[0].line, entry[0].column), reverse=True
    ):
        at = sum(map(len, lines[: place.line - 1])) + place.column - 1
        text = text[:at] + LEFT_OUT + text[at + _length(text[at:], value) :]
    return text


def _logins(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Single values that are a login, or are named like a secret, with their paths."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        at = (*path, key)
        if isinstance(inner, (dict, list)):
            yield from _logins(inner, at)
        elif inner is not None and _is_login(at):
            yield at, inner


def _is_login(path: KeyPath) -> bool:
    name = str(path[-1]).lower()
    if is_secret(name):
        return True
    return (path[0] == "hosts" and name in LOGIN) or path == ("users", "server", "url")


def _length(text: str, value: str) -> int:
    """How much of a text is the one value that it begins with: all of its line, where it is written oddly."""
    if text.startswith(value):
        return len(value)
    quoted = _QUOTED.match(text)
    return quoted.end() if quoted else len(text.partition("\n")[0])
