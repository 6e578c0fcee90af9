# SPDX-License-Identifier: Apache-2.0
"""``linewatt show``: what it is asked for, and what is kept: the answer on one screen, and all as data."""

from __future__ import annotations

from pathlib import Path

from linewatt import store
from linewatt.cli.output import print_json, print_rich, results_near
from linewatt.core.feature import FeatureOption
from linewatt.errors import InvalidInput
from linewatt.report import document_of_stored, first_screen_of_stored
from linewatt.report.printing import screen_text
from linewatt.units import parse_rate


def show_result(  # noqa: PLR0913  one parameter an option
    *,
    result_id: str,
    results: Path,
    as_json: bool,
    as_csv: bool,
    trials: bool,
    effects: bool,
    full: bool,
    as_md: bool,
    detail: bool,
    at: list[str] | None,
    feature_option: FeatureOption | None,
) -> None:
    """Show a result: throughput, limits, CPU, watts, and confidence."""
    if as_json and as_csv:
        raise InvalidInput("--json and --csv: choose one")
    if as_md and (as_json or as_csv or trials or effects or detail):
        raise InvalidInput("--md: goes with --full alone")
    if effects and (trials or not as_csv):
        raise InvalidInput("--effects: goes with --csv alone; everything else has the effects anyway")
    if detail and as_csv:
        raise InvalidInput("--detail: goes with --json or alone; --csv has a row per case or trial")
    others = as_csv or as_md or full or trials or detail
    _alone("--at", at, others or feature_option is not None)
    if feature_option is not None:
        _alone(f"--{feature_option.word}", True, others)
    rates_bps = [_throughput(rate_text) for rate_text in at or ()]

    path = store.find_result(results_near(results), result_id)
    with store.reading_results(path):
        if not (others or rates_bps or feature_option is not None) and _show_kept(path, as_json=as_json):
            return
        from linewatt.cli.actions import show_all

        result = store.load_result(path)
        if rates_bps:
            show_all.show_watts(result, rates_bps, as_json=as_json)
        elif feature_option is not None:
            show_all.show_view(result, feature_option, as_json=as_json)
        elif as_md:
            show_all.show_markdown(result, full=full)
        else:
            show_all.show_in_form(
                result, as_json=as_json, as_csv=as_csv, trials=trials, effects=effects, detail=detail
            )


def _show_kept(path: Path, *, as_json: bool) -> bool:
    """The answer on one screen, if there is one: a result without any number has none; or as data."""
    if as_json:
        print_json(document_of_stored(path))
        return True
    screen = first_screen_of_stored(path)
    if screen is not None:
        print_rich(lambda width: screen_text(screen, width), in_lines=True)
    return screen is not None


def _alone(option: str, value: object, others: bool) -> None:
    """Raises InvalidInput for an option that no other but --json goes with."""
    if value and others:
        raise InvalidInput(f"{option}: goes with --json alone")


def _throughput(text: str) -> float:
    """Bit/s of all instances. Raises InvalidInput."""
    try:
        bps = parse_rate(text)
    except InvalidInput as error:
        raise InvalidInput(f"--at {text!r}: {error}") from None
    if text.strip()[-1:].isdigit() or not bps > 0:
        raise InvalidInput(f"--at {text!r}: must be a rate above 0 with its unit, such as 5G or 940M")
    return bps
