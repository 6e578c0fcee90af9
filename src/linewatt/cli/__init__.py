# SPDX-License-Identifier: Apache-2.0
"""Commands: parse, call, print, exit code. The only place that prints or exits.

A command lives in a module of its own here and imports what it needs when it runs, so that
``linewatt --help`` stays fast. Data goes to stdout, progress and messages to stderr.
"""

from __future__ import annotations

import errno
import os
import sys

import typer

from linewatt import __version__
from linewatt.cli import (
    advise,
    analyze,
    check,
    compare,
    demo,
    derive,
    history,
    import_,
    lab,
    place,
    plan,
    prepare,
    rederive,
    run,
    show,
    verify,
)
from linewatt.cli.output import put, say
from linewatt.errors import LinewattError
from linewatt.foreign import one_line

app = typer.Typer(
    name="linewatt",
    help="How fast a server moves network traffic, what it costs in CPU at both ends, and how sure that is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_KINDS = {
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
}
"""what a library says of a value, and how it is said here"""


def _version(wanted: bool) -> None:
    if wanted:
        put(f"linewatt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None: ...


for _module in (
    run,
    check,
    prepare,
    plan,
    show,
    compare,
    history,
    derive,
    rederive,
    verify,
    analyze,
    import_,
    advise,
    place,
    lab,
    demo,
):
    _module.register(app)


def main() -> None:
    """Entry point: expected failures become one line on stderr and an exit code."""
    try:
        status = app(prog_name="linewatt", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except LinewattError as error:
        say(f"linewatt: {error}")
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        say(_wrong_use(error))
        sys.exit(2)
    except KeyboardInterrupt:
        say("linewatt: interrupted")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if not _of_stdout(error):
            raise
        say(f"linewatt: standard output cannot be written: {error.strerror}")
        os._exit(1)  # Python would try to write the rest once more, and say so in lines of its own


def _wrong_use(error: typer.TyperException) -> str:
    """What is wrong with the command line, and where it is told what is right; help for nothing at all."""
    context = getattr(error, "ctx", None)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    if context is not None and text == context.get_help():
        return text
    for parsed, wanted in _KINDS.items():
        text = text.replace(parsed, wanted)
    command = "linewatt" if context is None else context.command_path
    return f"linewatt: {one_line(text.rstrip('.'))}; see {command} -h"


def _of_stdout(error: OSError) -> bool:
    """Whether an error is that of writing what a command prints: a full disk behind ``>``."""
    if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except (OSError, ValueError):
        return True
    return False
