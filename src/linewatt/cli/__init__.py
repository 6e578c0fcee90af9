# SPDX-License-Identifier: Apache-2.0
"""Commands: parse, call, print, exit code. The only place that prints or exits.

A command lives in a module of its own here and imports what it needs when it runs, so that
``linewatt --help`` stays fast. Data goes to stdout, progress and messages to stderr.
"""

from __future__ import annotations

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
)
from linewatt.cli.output import put, say
from linewatt.errors import LinewattError

app = typer.Typer(
    name="linewatt",
    help="How fast a server moves network traffic, what it costs in CPU at both ends, and how sure that is.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        app()
    except LinewattError as error:
        say(f"linewatt: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("linewatt: interrupted")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
