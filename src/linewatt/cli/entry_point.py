# SPDX-License-Identifier: Apache-2.0
"""Commands: parse, call, print, exit code. Only this room and command modules of features print or exit.

A command lives in a module of its own in ``commands/``, which only its own command line imports, so that
``linewatt --help`` stays fast. Data goes to stdout, progress and messages to stderr.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import os
import re
import shlex
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NoReturn, cast

import typer

from linewatt import __version__
from linewatt.cli.help import GROUPS, Command, Group, group_of, outline
from linewatt.cli.output import put, say
from linewatt.core.feature import feature_commands
from linewatt.errors import LinewattError
from linewatt.foreign import one_line

app = typer.Typer(
    name="linewatt",
    cls=Group,
    help="Measure network throughput of servers, its cost in CPU and watts, and how sure the figures are.",
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


def _version(shows_version: bool) -> None:
    if shows_version:
        put(f"linewatt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None: ...


CORE_COMMANDS = {
    "run": "run",
    "resume": "resume",
    "restore": "restore",
    "check": "check_command",
    "plan": "plan_command",
    "schema": "schema_command",
    "list": "list_results",
    "show": "show",
    "report": "report",
    "compare": "compare",
    "rederive": "rederive",
    "verify": "verify",
    "export": "export",
    "sql": "sql",
    "place": "place_command",
    "features": "list_features",
}
"""command, which a module of ``commands`` is called by, too → what makes it there; features add theirs"""
_EXTRA_WORDS = re.compile(r"Got unexpected extra argument\S* \((.+)\)")
OWN_FAULT = 70
"""exit code of a fault of the program, as sysexits.h has it"""
_added: set[str] = set()
_COLLECTED = (200_000, 20, 100)
"""new objects, and younger collections, after which Python looks for garbage: with its own 700 a tenth of the
time in which ten thousand trials are read goes into looking at them, and with fewer than a run imports the
first look comes before its first load: 50 ms for a thousand objects"""


def _add(words: Iterable[str]) -> None:
    """Add commands to the program, unless they are there."""
    for word in words:
        if word not in _added:
            _added.add(word)
            command, group = _load_command(word)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=word, rich_help_panel=group)
            else:
                app.command(word, cls=Command, rich_help_panel=group)(command)
            _parser.cache_clear()


def _load_command(word: str) -> tuple[Any, str]:
    """The function or the ``typer.Typer`` of a command, and its heading in the help."""
    if word in CORE_COMMANDS:
        module = importlib.import_module(f"linewatt.cli.commands.{word}")
        return getattr(module, CORE_COMMANDS[word]), group_of(word)
    command = feature_commands()[word]
    return command.load(), command.group


def whole() -> typer.Typer:
    """The program with every command."""
    _add([*CORE_COMMANDS, *feature_commands()])
    return app


@cache
def _parser(*, outlines: bool) -> Callable[..., Any]:
    """What reads a command line: made of the commands' functions, and kept for the next one of a process.

    ``outlines``: of commands that were not added, for ``--help``, completions and misspelt words.
    """
    program: Any = typer.main.get_command(app)
    for word, (group, summary) in _summaries().items() if outlines else ():
        if word not in program.commands:
            program.add_command(outline(word, group, summary))
    return cast(Callable[..., Any], program)


def _summaries() -> dict[str, tuple[str, str]]:
    """Heading and first paragraph of each command by its word."""
    of_core = {
        word: (group, summary) for group, summaries in GROUPS.items() for word, summary in summaries.items()
    }
    of_features = {word: (command.group, command.summary) for word, command in feature_commands().items()}
    return of_core | of_features


def _prepare_for(arguments: list[str]) -> bool:
    """Add the command that is asked for, and say whether there is one.

    Where help or something unknown is, commands are added that only their modules describe. Each takes time:
    what it imports, and its options.
    """
    word = next((argument for argument in arguments if not argument.startswith("-")), "")
    if word in CORE_COMMANDS or word in feature_commands():
        _add([word])
        return True
    _add(word for word, command in feature_commands().items() if not command.summary)
    return False


def _completed() -> list[str] | None:
    """The words of a command line that a shell wants completed, without the program; None: it wants none."""
    if "_LINEWATT_COMPLETE" not in os.environ:
        return None
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return line.split()[1:]


def program() -> NoReturn:
    """The program: :func:`main`, and gone, without a fifth of a second for taking Python apart."""
    gc.set_threshold(*_COLLECTED)
    _open_closed_streams()
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _leave(end.code or 0)
        raise
    raise SystemExit(0)


def _open_closed_streams() -> None:
    """Have all three streams, so that no file of a result gets the number of one that the caller closed."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, "r" if name == "stdin" else "w"))


def _leave(code: int) -> None:
    """End the process where nothing is left to do but that; else return, for Python to do it.

    What is to be done at the end is: what was said to ``atexit``, temporary folders among it, and what is
    still to be written. A thread that runs is waited for by Python.
    """
    if threading.active_count() > 1 or sys.getprofile() or sys.gettrace():
        return
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # a reader that is gone, a stream that is closed
        return
    os._exit(code)


def main() -> None:
    """Entry point: expected failures become one line on stderr and an exit code."""
    # it has none, and to look for them pydantic reads what is known of every package that is installed
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    completed = _completed()
    try:
        is_command = _prepare_for(sys.argv[1:] if completed is None else completed)
        status = _parser(outlines=not is_command)(prog_name="linewatt", standalone_mode=False)
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
    except MemoryError:
        say("linewatt: not enough memory; see ulimit -v, and the memory limit of a container")
        sys.exit(1)
    except Exception as error:  # noqa: BLE001  whatever it is, the user gets one line of it
        if isinstance(error, OSError) and _of_stdout(error):
            say(f"linewatt: standard output cannot be written: {error.strerror}")
            os._exit(1)  # Python would try to write the rest once more, and say so in lines of its own
        say(f"linewatt: {_own_fault(error)}")
        sys.exit(OWN_FAULT)


def _own_fault(error: Exception) -> str:
    """A fault of the program in one line; its traceback is in a file, for a report.

    Tests and pipelines that look for the word Traceback in what is printed find it as before.
    """
    what = one_line(f"{type(error).__name__}: {error}")
    try:
        handle, path = tempfile.mkstemp(prefix="linewatt-Traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"linewatt {__version__}: {shlex.join(sys.argv)}\n")
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return f"internal error: {what}; there is no room for its Traceback; please report the command"
    return f"internal error: {what}; please report it with {path}"


def _wrong_use(error: typer.TyperException) -> str:
    """What is wrong with the command line, and where it is told what is right; help for nothing at all."""
    context = getattr(error, "ctx", None)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    if context is not None and text == context.get_help():
        return text
    for parsed, replacement in _KINDS.items():
        text = text.replace(parsed, replacement)
    command = "linewatt" if context is None else context.command_path
    if context is not None and (extra := _EXTRA_WORDS.match(text)):
        text = _extra_words(extra[1], context)
    return f"linewatt: {one_line(text.rstrip('.'))}; see {command} -h"


def _extra_words(words: str, context: Any) -> str:
    """Words too many, what the command takes, and its option for a name, if it has that."""
    parameters = context.command.params
    pieces = (piece for parameter in parameters for piece in parameter.get_usage_pieces(context))
    takes = " ".join(piece.replace("{", "").replace("}", "") for piece in pieces)  # {FILE}: it is required
    has_name = any("--name" in parameter.opts for parameter in parameters)
    hint = f": write --name {words}" if has_name and " " not in words else ""
    noun = "arguments" if " " in words else "argument"
    return f"unexpected {noun} {words}{hint}; {context.command_path} takes {takes or 'options only'}"


def _of_stdout(error: OSError) -> bool:
    """Whether an error is that of writing what a command prints: a full disk behind ``>``."""
    if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
        return False
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except (OSError, ValueError):
        return True
    return False
