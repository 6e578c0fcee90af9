# SPDX-License-Identifier: Apache-2.0
"""A result as one HTML file: styles and charts inside, no script, nothing loaded from anywhere.

All text goes through autoescape; only our own style sheet and the SVG that vl-convert escaped are put in as
they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from linewatt import __version__, durable
from linewatt.analysis import counted_by_rank
from linewatt.errors import StoreError
from linewatt.records import Host
from linewatt.report.campaign_text import campaign_text, campaign_title
from linewatt.report.glossary import GLOSSARY, LEVEL_GLOSSARY, POWER_GLOSSARY, interval_entry
from linewatt.report.machine.environment import environment_section
from linewatt.report.machine.map import machine_maps
from linewatt.report.printing.page_rows import marks_html, rows_html
from linewatt.report.printing.saving import save_figure, save_table
from linewatt.report.series import plural
from linewatt.report.trials.answer.first_screen import first_screen_of_trials
from linewatt.report.trials.caveats import caveats, progress
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.repeats import repeats_lines
from linewatt.report.trials.sections import page_sections, throughput_courses
from linewatt.report.trials.settings.levels import where
from linewatt.store import Result
from linewatt.units import MISSING, format_time_utc, number_ranges, unbroken

_HERE = Path(__file__).parents[1]

LARGE = 2 << 20
"""characters of a page from which a browser lays out only what is in sight"""


def render_html(view: Digest, pages: Environment | None = None) -> str:
    """The whole page; ``pages`` are templates of a server in place of those of a file."""
    results, details, trials = page_sections(view)
    return html_page(
        "report.html.j2",
        view.result,
        view.hosts,
        pages,
        idle=view.result.idle_before,
        view=view,
        kind="report",
        complete=view.result.complete,
        campaign_title=campaign_title(view.result),
        campaign_words=_campaign_words(view),
        progress=progress(view),
        repeats=repeats_lines(view.result),
        caveats=caveats(view),
        screen=first_screen_of_trials(view),
        courses=throughput_courses(view),
        marks=view.marks,
        results=results,
        details=details,
        elsewhere=where(view.levels),
        maps=machine_maps(view),
        trials=trials,
        glossary=_glossary(
            power=any(result.anchor == "power" for result in results),
            levels=bool(view.levels),
            fewest_runs=min((summary.trials_done for summary in view.summaries), default=0),
        ),
    )


def html_page(
    template: str,
    result: Result,
    hosts: Mapping[str, Host],
    pages: Environment | None = None,
    **values: Any,
) -> str:
    """The page of a result: what each has, and ``values`` of its kind; ``idle``: what idle windows read.

    ``pages`` are templates of a server in place of those of a file.
    """
    manifest = result.manifest
    html_text: str = (
        (pages or pages_of_files())
        .get_template(template)
        .render(
            name=manifest.name or result.id,
            hosts=hosts,
            measured_with=manifest.linewatt_version,
            campaign_text=campaign_text(manifest),
            version=__version__,
            created=format_time_utc(manifest.created_s),
            lab=any(host.lab for host in hosts.values()),
            environment=environment_section(hosts, values.pop("idle", None), result.connections),
            **values,
        )
    )
    return html_text.replace("<body>", '<body class="large">', 1) if len(html_text) > LARGE else html_text


def _campaign_words(view: Digest) -> str:
    """Where the campaign is from, and in which order its trials ran."""
    manifest, source = view.result.manifest, view.result.imported_table
    origin = f"The table that was imported, {source}" if source else "The file that was run"
    if manifest.imported_files:
        origin = f"What was imported from {view.result.imported_from}, and how"
    if manifest.order:
        origin += f"; order of the trials: {manifest.order}"
        origin += "" if manifest.seed is None else f", seed {manifest.seed}"
    return f"{origin}."


def _glossary(*, power: bool, levels: bool, fewest_runs: int) -> tuple[tuple[str, str], ...]:
    """``fewest_runs`` of a case: of one run alone there is no interval to explain."""
    interval = (interval_entry(fewest_runs),) if fewest_runs > 1 else ()
    return GLOSSARY + interval + (POWER_GLOSSARY if power else ()) + (LEVEL_GLOSSARY if levels else ())


def write_page(target: Path, page: str | bytes, mode: int | None = None) -> None:
    """Write the page so that it is there whole or not at all. Raises StoreError."""
    try:
        durable.write_whole(target, page if isinstance(page, bytes) else page.encode(), mode)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


def _breakable(name: str) -> Markup:
    """A name of a column that may go on in the next line behind each ``_``."""
    return Markup("_<wbr>").join(map(escape, name.split("_")))


def _nothing(_: object) -> str:
    """What a file has of what only a server can lead to."""
    return ""


@cache
def pages_of_files() -> Environment:
    """Templates of pages that are files: a process that writes several reads and compiles each once."""
    return environment_of_pages()


def environment_of_pages(*before: Path) -> Environment:
    """Where templates come from, and what they may use; those in ``before`` take the place of ours."""
    page_environment = Environment(
        loader=FileSystemLoader([*before, _HERE / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page_environment.filters["ranges"] = number_ranges
    page_environment.filters["counted"] = counted_by_rank
    page_environment.filters["unbroken"] = unbroken
    page_environment.filters["breakable"] = _breakable
    page_environment.globals["plural"] = plural
    page_environment.globals["missing"] = MISSING
    page_environment.globals["flagmarks"] = marks_html
    page_environment.globals["rows_html"] = rows_html
    page_environment.globals["permalink"] = page_environment.globals["figure_data"] = _nothing
    page_environment.globals["save_table"] = save_table
    page_environment.globals["save_figure"] = save_figure
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    page_environment.globals["style"] = Markup(style)  # noqa: S704 - our own file
    return page_environment
