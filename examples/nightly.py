# SPDX-License-Identifier: Apache-2.0
"""A campaign every night, held against the baseline ``night``: ``python nightly.py two-hosts.yaml``.

Exit code 3: something is slower than the baseline.
"""

from __future__ import annotations

import sys
from pathlib import Path

import linewatt
from linewatt import events

RESULTS = Path("results")


def tell(event: events.Event) -> None:
    """A line a trial, and whatever went wrong."""
    match event:
        case events.TrialStored(trial=trial, trials=planned):
            rate = "failed" if trial.throughput_bps is None else f"{trial.throughput_bps / 1e9:.2f} Gbps"
            print(f"{trial.number}/{planned} {trial.case.test}: {rate}")
        case events.Warned(text=text):
            print(f"warning: {text}")


def doubts(case: linewatt.CaseResult) -> str:
    """What makes its throughput doubtful, by code; or why there is none."""
    figure: linewatt.Figure = case["throughput_bps"]
    return ", ".join(figure.doubts) or figure.reason or ""


def main(file: str) -> int:
    campaign = linewatt.Campaign.load(file)
    print(f"{campaign.name}: about {linewatt.plan(campaign).duration_s / 60:.0f} minutes")
    result: linewatt.Result = linewatt.run(campaign, results=RESULTS, on_event=tell)
    for case in result.cases():
        print(f"{case.title}: {case.limited_by}", doubts(case))
    found = linewatt.compare(linewatt.open_results(RESULTS)["baseline:night"], result)
    for verdict in found.worse:
        print(verdict.case and verdict.case.test, verdict.response, verdict.words)
    return 3 if found.worse else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except linewatt.LinewattError as error:
        sys.exit(f"nightly: {error}")
