# SPDX-License-Identifier: Apache-2.0
"""``linewatt compare``: is B slower than A, by how much, and how sure is that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.feature_options import with_feature_options
from linewatt.cli.options import Json, Results, completing
from linewatt.core.feature import FeatureOption

_Wanted = Annotated[
    list[str],
    typer.Argument(
        metavar="ID [ID]",
        help="Ids of results, id prefixes, 'last', baseline:NAME, or directories. Several soaks per side: "
        "A1,A2,A3. Two hosts of one result: ID:HOST ID:HOST.",
    ),
]
PROPERTIES = (
    *("network", "kernel", "host", "test", "instances", "streams"),
    *("rate", "level", "direction", "family", "sender", "receiver"),
)
"""of cases, which --by takes; factors are properties as well"""
METRICS = ("throughput", "efficiency", "loss", "power", "latency")
FAIL_ON = ("slower", "less-efficient", "more-loss", "less-per-watt", "more-latency", "any", "nothing")
FORMATS = ("junit", "md")
_By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        autocompletion=completing(PROPERTIES),
        help="Property that differs: network, kernel, host, test, instances, direction, family, … or a "
        "factor. One result: compare its levels.",
    ),
]
_Base = Annotated[
    str | None,
    typer.Option("--base", metavar="LEVEL", help="With one result: level to compare the others with."),
]
_Factor = Annotated[
    str | None,
    typer.Option("--factor", metavar="RATIO", help="Ignore changes below this, e.g. 3%; default 1 %."),
]
_FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="WHAT",
        autocompletion=completing(FAIL_ON),
        help=f"Exit 3 on: {', '.join(FAIL_ON)}; repeatable. "
        "Default: slower for two results, nothing for one.",
    ),
]
_Metric = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="WHAT",
        autocompletion=completing(METRICS),
        help=f"Only: {', '.join(METRICS)}; repeatable.",
    ),
]
_Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="WHAT",
        help="Compare although this differs: window, offloads, payload, accounting, LOAD-threads, "
        "LOAD-options (LOAD: the name of the load); soaks: also job, server, network; repeatable.",
    ),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Also write an offline HTML page with charts."),
]
_Full = Annotated[bool, typer.Option("--full", help="Print every verdict and note, not only a summary.")]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="WHAT",
        autocompletion=completing(FORMATS),
        help="junit: one test per verdict, for CI; md: summary for pull requests, all tables with --full.",
    ),
]
_Csv = Annotated[bool, typer.Option("--csv", help="One CSV row per case and metric.")]


@with_feature_options("compare")
def compare(  # noqa: PLR0913 - one parameter an option
    wanted: _Wanted,
    by: _By = None,
    base: _Base = None,
    factor: _Factor = None,
    fail_on: _FailOn = None,
    metric: _Metric = None,
    allow: _Allow = None,
    results: Results = Path("results"),
    as_json: Json = False,
    as_csv: _Csv = False,
    full: _Full = False,
    output: _Output = None,
    form: _Format = None,
    feature_option: FeatureOption | None = None,
) -> None:
    """Compare two results, two hosts, or levels within a result.

    Each soak counts as one run, so verdicts need several soaks per side: give at least four.

    Exit codes: 0 no change that --fail-on names; 3 at least one such change; 4 none, but a verdict for
    --fail-on is missing; 2 wrong use.
    """
    from linewatt.cli.actions.compare import compare_results

    compare_results(
        result_words=wanted,
        by=by,
        base=base,
        factor=factor,
        fail_on=fail_on,
        metric=metric,
        allow=allow,
        results=results,
        as_json=as_json,
        as_csv=as_csv,
        full=full,
        output=output,
        form=form,
        feature_option=feature_option,
    )
