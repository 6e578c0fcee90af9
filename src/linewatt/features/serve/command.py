# SPDX-License-Identifier: Apache-2.0
"""``linewatt serve``: results and running campaigns in a browser."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from linewatt.cli import Results, put, results_there, say
from linewatt.errors import InvalidInput
from linewatt.extras import install_command

_Host = Annotated[
    str,
    typer.Option("--listen", metavar="ADDRESS", help="Listen address; all but loopback need --token-file."),
]
_Port = Annotated[int, typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="0: any free port.")]
_TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="Use this file's token, not a random one; not printed.",
    ),
]
_NoToken = Annotated[
    bool,
    typer.Option("--no-token", help="Loopback only: every local user reads results; nobody stops runs."),
]
_Cert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate (PEM), for https.")
]
_Key = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="TLS key (PEM).")]
_Name = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="NAME", help="Additional host name of this server; repeatable."),
]


_LAST_S = 2.0
"""that taking temporary files away may take"""


def serve(  # noqa: PLR0913  one parameter an option
    results: Results = Path("results"),
    host: _Host = "127.0.0.1",
    port: _Port = 8642,
    token_file: _TokenFile = None,
    no_token: _NoToken = False,
    tls_cert: _Cert = None,
    tls_key: _Key = None,
    name: _Name = None,
) -> None:
    """Show results and running campaigns in a browser.

    Pages: list, reports with interactive charts, comparisons, history, raw files, running campaigns. Only one
    button changes anything: it stops a run. The printed URL contains a random token, which each request
    needs (as password of any user, or Bearer). Addresses other than loopback need --token-file. Ctrl-C ends
    it.
    """
    from linewatt.features.serve.settings import Settings, checked, new_token, read_token
    from linewatt.hosts.journal import state_dir

    results_there(results)
    if no_token and token_file is not None:
        raise InvalidInput("--no-token and --token-file: use only one of them")
    token = None if token_file is None else read_token(token_file)
    settings = Settings(results, state_dir(), host, port, token, tls_cert, tls_key, tuple(name or ()))
    is_random = token is None and not no_token and settings.is_loopback
    settings = checked(replace(settings, token=new_token()) if is_random else settings)
    serving = _serving()
    listening = serving.bind(settings)
    if not settings.is_loopback and settings.tls_cert is None:
        say("warning: others on the network can read token and results; add --tls-cert")

    if no_token:
        say(
            "--no-token: every user of this machine can read all results here, and nobody can stop a run "
            "here; without this option, a token is needed"
        )

    def began() -> None:
        if sys.stdout.isatty():  # a program reads the URL alone
            say(f"showing {results}; Ctrl-C ends the server; open in a browser:")
        port = listening.getsockname()[1]
        put(settings.login_url(port) if is_random else settings.url(port))
        sys.stdout.flush()

    serving.run(settings, listening, say, began, _leave)


def _serving() -> ModuleType:
    """The module that serves. Raises InvalidInput where what it needs is not installed."""
    try:
        from linewatt.features.serve import serving
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("fastapi", "starlette", "uvicorn"):
            raise
        raise InvalidInput(
            f"serve: {error.name} is not installed; install what pages need: {install_command('web')}"
        ) from error
    return serving


def _leave() -> None:
    """End now, without waiting for threads: what they still read is for nobody. Temporary files go."""
    last = threading.Timer(_LAST_S, os._exit, (0,))
    last.daemon = True
    last.start()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
