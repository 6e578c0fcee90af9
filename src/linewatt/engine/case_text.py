# SPDX-License-Identifier: Apache-2.0
"""Cases and trials in a few words, as lines of a terminal and a live page have them. Pure."""

from __future__ import annotations

from linewatt.analysis.flags import is_light_in_trial
from linewatt.findings import kind_of
from linewatt.model import Case, EndResult, Flag, Trial
from linewatt.units import format_percent, format_rate


def describe_case(case: Case) -> str:
    """A case in a few words: what is not usual is said."""
    words = [case.test, case.way]
    if case.of_processes:
        words.append(f"{case.instances} inst.")
    elif case.user_count is not None:
        words.append("1 user" if case.user_count == 1 else f"{case.user_count} users")
    if case.streams > 1:
        words.append(f"{case.streams} streams")
    if case.direction != "forward":
        words.append(case.direction)
    if case.family != "ipv4":
        words.append(case.family)
    if case.network != "bare":
        words.append(case.network)
    if case.load_level is not None:
        words.append(f"load {format_percent(case.load_level, 0)}")
    if case.rate_bps is not None:
        words.append(f"{format_rate(case.rate_bps)} each")
    if case.zerocopy:
        words.append("zerocopy")
    words += [f"{name}={level}" for name, level in case.factors]
    return ", ".join(words)


def is_worth_telling(flag: Flag) -> bool:
    """Whether a finding is worth a word at each trial: one that makes its figures doubtful, and only its."""
    kind = kind_of(flag.code)
    return kind.rank != "note" and kind.scope in ("case", "trial") and not is_light_in_trial(flag)


def outcome_of_trial(trial: Trial, columns: int | None = None) -> str:
    """A stored trial in a line: of a line of at most ``columns`` the findings, then CPU in fewer words."""
    if trial.status == "failed":
        return f"FAILED: {trial.reason}"
    unknown = trial.reason or "throughput not known"
    words = [unknown if trial.throughput_bps is None else format_rate(trial.throughput_bps)]
    if trial.lost_ratio is not None:
        words.append(f"{100 * trial.lost_ratio:.2f} % lost")
    cpu = [f"{end.host if trial.flows else end.role} CPU {_cpu_words(end)}" for end in trial.ends]
    titles = list(dict.fromkeys(kind_of(flag.code).title for flag in trial.flags if is_worth_telling(flag)))
    if not titles:
        doubts = [""]
    else:
        more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
        doubts = [f"; doubtful: {', '.join(titles)}", f"; doubtful: {titles[0]}{more}", "; doubtful"]
    forms = [f"{', '.join(shown)}{doubt}" for shown in ([*words, *cpu], words) for doubt in doubts]
    fitting = (form for form in forms if columns is None or len(form) <= columns)
    return next(fitting, forms[-1])


def _cpu_words(end: EndResult) -> str:
    if end.cpu_cores is not None:
        return f"{100 * end.cpu_cores:.0f} %"
    why = end.reasons.get("cpu_cores")
    return f"not measured ({why})" if why else "not measured"
