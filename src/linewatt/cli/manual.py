# SPDX-License-Identifier: Apache-2.0
"""``python -m linewatt.cli.manual``: write the man page and shell completions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linewatt import __version__
from linewatt.cli.help import grouped, records, summary
from linewatt.cli.output import can_be_made, put, say
from linewatt.errors import LinewattError
from linewatt.loads import LOADS

_VARIABLE = "_LINEWATT_COMPLETE"
PLACES = {
    "bash": "share/bash-completion/completions/linewatt",
    "zsh": "share/zsh/site-functions/_linewatt",
    "fish": "share/fish/vendor_completions.d/linewatt.fish",
}
PAGE = "share/man/man1/linewatt.1"
STATUS = {
    "0": "success",
    "1": "error; failed check; failed or missing trials; a host not restored",
    "2": "wrong use or an invalid file; no host was touched",
    "3": "compare, history: a regression; rehearse: a change or load did not work as requested",
    "4": "compare, history, calibrate: not enough evidence",
    "130": "interrupted",
}
ENVIRONMENT = {
    "LINEWATT_RESULTS": "directory of results; default ./results",
    "LINEWATT_STATE": "directory of undo journals; default ~/.local/state/linewatt",
    "LINEWATT_CHROMIUM": "Chromium for report --format pdf; default: from PATH",
    "XDG_CACHE_HOME": "parent of linewatt-results, the cache of list and compare; default ~/.cache",
    "NO_COLOR": "any value: no colour",
}


def write(prefix: Path) -> list[Path]:
    """Write each file below a prefix, where man and shells look for it. Raises InvalidInput."""
    can_be_made("--prefix", prefix)
    paths = []
    for name, text in pages().items():
        path = prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def pages() -> dict[str, str]:
    """Each file by its place below a prefix."""
    from typer import main
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from linewatt.cli.entry_point import whole

    scripts = {
        place: f"{get_completion_script(prog_name='linewatt', complete_var=_VARIABLE, shell=shell)}\n"
        for shell, place in PLACES.items()
    }
    return {PAGE: "\n".join(_page(main.get_command(whole()))) + "\n", **scripts}


def _page(program: Any) -> Iterator[str]:
    """Source: man-pages(7), groff_man(7)."""

    yield f'.TH LINEWATT 1 "" "linewatt {__version__}" "linewatt"'
    yield from (".SH NAME", r"linewatt \- line rate per watt: network throughput and what it costs")
    yield from (".SH SYNOPSIS", r".B linewatt", r".I COMMAND", r"[\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from (".SH DESCRIPTION", _text(program.help))
    for title, commands in grouped(program):
        yield f".SH {title.upper()}"
        for command in commands:
            yield from _command(command, f"linewatt {command.name}")
    for title, words in (("EXIT STATUS", STATUS), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for word, meaning in words.items():
            yield from (".TP", rf"\fB{_text(word)}\fR", _text(meaning))
    yield from (".SH SEE ALSO", *(f".BR {name} (1)," for name in sorted(LOADS)), ".BR mpstat (1)")


def _command(command: Any, name: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    if inner is not None:
        yield from (f'.SS "{_text(name)}"', _text(summary(command)))
        for subcommand in inner.values():
            yield from _command(subcommand, f"{name} {subcommand.name}")
        return
    context = command.context_class(command, info_name=name)
    lines_by_kind = records(command, context)
    words = " ".join([name, "[OPTIONS]", *(written for written, _ in lines_by_kind["Arguments"])])
    yield f'.SS "{_text(words)}"'
    for paragraph in (command.help or "").split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))
    for written, meaning in (*lines_by_kind["Arguments"], *lines_by_kind["Options"]):
        yield from (".TP", rf"\fB{_text(written)}\fR", _text(meaning))


def _text(text: str) -> str:
    """Text that roff prints as it is: no command, no escape, and a hyphen that can be copied."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


def main() -> None:
    """Write them, and say which files they are."""
    parser = argparse.ArgumentParser(prog="python -m linewatt.cli.manual", description=__doc__)
    default_words = "the environment that linewatt runs in"
    parser.add_argument(
        "--prefix", type=Path, default=Path(sys.prefix), metavar="DIR", help=f"default: {default_words}"
    )
    try:
        for path in write(parser.parse_args().prefix):
            put(str(path))
    except LinewattError as error:
        say(f"linewatt: {error}")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
