# SPDX-License-Identifier: Apache-2.0
"""What commands print for programs, held to the schema that is published of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from linewatt.schemas import schema_of

PRINTED = ("plan", "list", "show", "compare", "history")
"""commands whose one document with ``--json`` has the schema of their name"""
RUNS = ("run", "resume")
"""those that print a line an event"""


@cache
def validator(what: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(what))


def valid(what: str, document: Any) -> None:
    """Assert that a document is valid as JSON has it, naming the first thing in it that is not."""
    written = json.loads(json.dumps(document, allow_nan=False))
    if not validator(what).is_valid(written):
        error = best_match(validator(what).iter_errors(written))
        assert error is None, f"{what}: {error.json_path}: {error.message[:500]}"


def valid_output(words: Sequence[object], out: str) -> None:
    """Assert that what a command printed is valid, where there is a schema of it."""
    command, *options = map(str, words)
    if "--json" not in options or not out:
        return
    if command in PRINTED:
        valid(command, json.loads(out))
    elif command in RUNS:
        for line in out.splitlines():
            valid("events", json.loads(line))
