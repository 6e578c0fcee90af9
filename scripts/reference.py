# SPDX-License-Identifier: Apache-2.0
"""``make reference``: pages of docs/reference, made of what the code declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.main

from linewatt.analysis.metrics.metric import CaseMetric, Response
from linewatt.analysis.metrics.of_power import POWER_METRICS
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.cli.entry_point import whole
from linewatt.cli.help import grouped, records
from linewatt.cli.manual import ENVIRONMENT, STATUS
from linewatt.features.soak.metrics import RESPONSES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
_WRITTEN = "Written by `make reference` from {what}; a test fails when the two differ."
_LOADS = {
    "all": "all",
    "tcp": "TCP",
    "udp": "UDP",
    "request-response": "request/response",
}


def pages() -> dict[str, str]:
    """Each page by its name in docs/reference."""
    return {"commands.md": _page(_commands()), "metrics.md": _page(_metrics())}


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _commands() -> Iterator[str]:
    program: Any = typer.main.get_command(whole())
    yield from ("# Commands", "", _WRITTEN.format(what="the program's own `--help`"), "")
    yield "Data goes to stdout, progress to stderr. `linewatt COMMAND --help` says the same in a terminal,"
    yield "and so does the man page ([installing](../install.md#man-page-and-completion))."
    for title, commands in grouped(program):
        yield from ("", f"## {title}")
        for one in commands:
            yield from _command(one, f"linewatt {one.name}")
    yield from ("", "## Exit codes", "", *_table(("code", "meaning"), STATUS.items(), code=True))
    yield from ("", "## Environment", "", *_table(("variable", "meaning"), ENVIRONMENT.items(), code=True))


def _command(command: Any, name: str) -> Iterator[str]:
    yield from ("", f"### `{name}`", "")
    inner = getattr(command, "commands", None)
    for paragraph in (command.help or "").split("\n\n"):
        yield from (_plain(paragraph), "")
    if inner is not None:
        for one in inner.values():
            yield from _command(one, f"{name} {one.name}")
        return
    rows = records(command, command.context_class(command, info_name=name))
    yield f"`{' '.join([name, '[OPTIONS]', *(written for written, _ in rows['Arguments'])])}`"
    yield ""
    options = [row for row in rows["Options"] if row[0] != "--help"]
    yield from _table(("option", "meaning"), [*rows["Arguments"], *options], code=True)


def _metrics() -> Iterator[str]:
    yield from ("# Metrics, by name", "", _WRITTEN.format(what="the declarations in `analysis/metrics/`"), "")
    yield "What each is made of, and how sure it is, says [metrics](../metrics.md); the key is its name in"
    yield "JSON and CSV, in SI. An estimate's key ends in `_mean`, `_sd` and `_n`; one with a confidence"
    yield "interval has `_ci95_low` and `_ci95_high`, too. *compare* is its name for"
    yield "`linewatt compare --metric`."
    heads = ("key", "metric", "shown in", "loads", "compare", "meaning")
    yield from ("", "## Of a case", "", *_table(heads, map(_of_case, METRICS), code=True))
    yield from ("", "## Watts of an end", "")
    yield "Each for `receiver_` and `sender_`, before the key."
    rows = [
        (one.si_key, one.title.replace("{scope}", "power of the scope"), _units(one.units), one.watts or "")
        for one in POWER_METRICS
    ]
    yield from ("", *_table(("key", "metric", "shown in", "watts of"), rows, code=True))
    yield from ("", "## Of a soak", "")
    yield from _table(("key", "figure", "shown in", "compare"), map(_of_soak, RESPONSES), code=True)


def _of_case(metric: CaseMetric) -> tuple[str, ...]:
    group = f"`{metric.response.group}`" if metric.response and metric.response.group else ""
    said = " ".join(part for part in (metric.meaning, metric.remark) if part)
    return (metric.si_key, metric.title, _units(metric.units), _LOADS[metric.loads], group, said)


def _of_soak(response: Response) -> tuple[str, ...]:
    return (response.name, response.title, _units(response.units), f"`{response.group}`")


def _units(every: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(one.name or "–" for one in every))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, code: bool = False) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for first, *rest in rows:
        head = f"`{first}`" if code else first
        yield f"| {' | '.join(map(_cell, (head, *rest)))} |"


def _cell(text: str) -> str:
    return _plain(text).replace("|", r"\|")


def _plain(text: str) -> str:
    """Text of a terminal as one line of Markdown: ``*`` and ``<`` are none of its marks."""
    said = " ".join(text.split())
    return said if said.startswith("`") else said.replace("<", r"\<").replace("*", r"\*")


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
