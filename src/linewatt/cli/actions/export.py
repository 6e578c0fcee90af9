# SPDX-License-Identifier: Apache-2.0
"""A stored result as files for other programs and machines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from linewatt import durable
from linewatt.cli.commands.export import FORMATS
from linewatt.cli.output import checked_target, json_text, print_json, put, results_there, say
from linewatt.errors import InvalidInput, StoreError
from linewatt.foreign import one_line
from linewatt.report import document_of_result, rows_of_result
from linewatt.report.data import (
    iperf3_document,
    openmetrics_text,
    parquet_table,
    why_no_iperf3_document,
)
from linewatt.report.printing import csv_of, write_page
from linewatt.store import Result, find_result, load_result, reading_results
from linewatt.store.bundle import BUNDLE_SUFFIX, pack_bundle
from linewatt.units import first_of

SCHEMA_VERSION = 1
_WITH_TRIALS = ("csv", "json", "parquet")
_SUFFIXES = {"openmetrics": "prom", "iperf3": "iperf3.json"}
_READABLE = 0o644
"""of metrics: node_exporter reads them as another user"""


def export_result(  # noqa: PLR0913  one parameter an option
    *,
    result_id: str,
    form: str | None,
    bundle: bool,
    output: Path | None,
    trials: bool,
    trial: int | None,
    results: Path,
    as_json: bool,
) -> None:
    """Export a result for other programs or another machine."""
    form = _chosen(form, bundle=bundle)
    if trials and form not in _WITH_TRIALS:
        raise InvalidInput(f"--trials: goes with --format {', '.join(_WITH_TRIALS)}")
    if trial is not None and form != "iperf3":
        raise InvalidInput("--trial: goes with --format iperf3")

    results_there(results)
    path = find_result(results, result_id)
    name = path.resolve().name
    if form == "bundle":
        _bundle(path, output, as_json=as_json)
    elif form == "iperf3":
        _iperf3(path, output, trial, as_json=as_json)
    else:
        suffix = ("trials." if trials else "") + _SUFFIXES.get(form, form)
        _file(path, output or Path(f"{name}.{suffix}"), form, trials=trials, as_json=as_json)


def _chosen(form: str | None, *, bundle: bool) -> str:
    """Raises InvalidInput."""
    if form is None and not bundle:
        raise InvalidInput(f"export: name a format: --format {', '.join(FORMATS)}")
    if form is not None and form not in FORMATS:
        raise InvalidInput(f"--format {form}: not a format; choose {', '.join(FORMATS)}")
    if bundle and form not in (None, "bundle"):
        raise InvalidInput(f"--bundle and --format {form}: choose one")
    return form or "bundle"


def _file(path: Path, target: Path, form: str, *, trials: bool, as_json: bool) -> None:
    """One file of cases or trials."""
    checked_target(target)
    with reading_results(path):
        content = _content(load_result(path), form, trials=trials)
    write_page(target, content, _READABLE if form == "openmetrics" else None)
    _written(path, target, form, as_json=as_json)


def _written(path: Path, target: Path, form: str, *, as_json: bool, **more: Any) -> None:
    if as_json:
        about = {
            "schema_version": SCHEMA_VERSION,
            "id": path.resolve().name,
            "format": form,
            "path": str(target),
        }
        print_json(about | more)
    else:
        put(str(target))


def _content(result: Result, form: str, *, trials: bool) -> bytes:
    """What a file of one of these formats has in it; others have files of several trials, or of all."""
    match form:
        case "csv":
            return csv_of(*rows_of_result(result, trials=trials)).encode()
        case "json":
            return json_text(document_of_result(result, trials=trials)).encode()
        case "parquet":
            return parquet_table(result, trials=trials)
        case _:
            return openmetrics_text(result).encode()


def _iperf3(path: Path, output: Path | None, number: int | None, *, as_json: bool) -> None:
    """A file of one trial, or a folder of all that have a document; the others are named."""
    name = path.resolve().name
    if number is not None:
        target = checked_target(output or Path(f"{name}.{number:05d}.iperf3.json"))
    else:
        target = _new_folder(output or Path(f"{name}.iperf3"))
    with reading_results(path):
        result = load_result(path)
        trials = [trial for trial in result.trials if number is None or trial.number == number]
        why = {
            trial.number: reason for trial in trials if (reason := why_no_iperf3_document(trial)) is not None
        }
        shown = [trial for trial in trials if trial.number not in why]
        if not shown:
            raise InvalidInput(f"--format iperf3: {result.id}: {_nothing(why, number)}")
        if number is not None:
            write_page(target, json_text(iperf3_document(result, shown[0])))
        else:
            _write_folder(
                target, ((trial.number, json_text(iperf3_document(result, trial))) for trial in shown)
            )
    if why:
        say(f"left out: {_named(why)}")
    numbers = [trial.number for trial in shown]
    _written(path, target, "iperf3", as_json=as_json, trials=numbers, left_out=why)


def _nothing(why: dict[int, str], number: int | None) -> str:
    if not why:
        return "has no trials" if number is None else f"there is no trial {number}"
    return f"no trial of iperf3 is done: {_named(why)}"


def _named(why: dict[int, str]) -> str:
    """``trials 3, 4 (failed); 7 (no load of iperf3)``."""
    by_reason: dict[str, list[str]] = {}
    for number, reason in why.items():
        by_reason.setdefault(reason, []).append(str(number))
    return "trials " + "; ".join(
        f"{first_of(numbers, 6, between=', ')} ({reason})" for reason, numbers in by_reason.items()
    )


def _new_folder(target: Path) -> Path:
    """Raises InvalidInput where it cannot be a new one."""
    if target.exists():
        raise InvalidInput(f"{target}: is there already; give -o the name of a new folder, or name a --trial")
    if not target.parent.is_dir():
        raise InvalidInput(f"{target}: there is no directory {target.parent}; make it first")
    return target


def _write_folder(target: Path, texts: Iterable[tuple[int, str]]) -> None:
    """All files in a new folder, or nothing. Raises StoreError."""
    try:
        with durable.whole_folder(target, shared=True) as folder:
            for number, text in texts:
                durable.write_synced(folder / f"{number:05d}.json", text.encode())
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


def _bundle(path: Path, output: Path | None, *, as_json: bool) -> None:
    target = checked_target(output or Path(f"{path.resolve().name}{BUNDLE_SUFFIX}"))
    packed = pack_bundle(path, target)
    if packed.left_out:
        say(one_line(f"left out, because linewatt did not store it: {', '.join(packed.left_out)}"))
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": packed.contents.id,
                "path": str(target),
                "sha256": packed.sha256,
                "packed_bytes": packed.bytes,
                "bytes": packed.contents.total_bytes,
                "files": len(packed.contents.files),
                "left_out": list(packed.left_out),
            }
        )
        return
    say(f"{packed.contents.id}: {len(packed.contents.files)} files; 'linewatt import' reads the bundle")
    put(str(target))
