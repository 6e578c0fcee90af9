# SPDX-License-Identifier: Apache-2.0
"""``linewatt fit energy ID``: what each end's meter and interface say together, and what they cannot."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.amounts import inputs
from tests.report_factories import end, result, stored, trial, watts
from tests.unit.conftest import Run

from linewatt import model
from linewatt.findings import meters, power
from linewatt.model import Case, EndResult, Flag, Provenance, Role, Trial

BASE_W, BIT_J, PACKET_J = 100.0, 4e-9, 8e-6
FRAMES: dict[model.TestName, int] = {"udp-60": 60, "udp-1500": 1514}
RATES: dict[model.TestName, Sequence[float]] = {"udp-60": (2e7, 6e7, 1.2e8), "udp-1500": (5e8, 2e9, 4e9)}
WINDOW_S, STEP_W, IDLE = 60.0, 0.1, (100.1, 99.9)


def cases() -> Iterator[tuple[Case, float]]:
    """Each with bit/s of frames."""
    for test, rates in RATES.items():
        yield from ((Case(test, "h1", "h2", rate_bps=rate), rate) for rate in rates)


def counters(role: Role, bps: float, frame: int) -> dict[str, float | None]:
    way, other = ("tx", "rx") if role == "sender" else ("rx", "tx")
    packets = WINDOW_S * bps / 8 / frame
    return {f"nic.{way}_bytes": packets * frame, f"nic.{way}_packets": packets, f"nic.{other}_packets": 3.0}


class Planted:
    """Trials of hosts that draw what was planted; ``changes`` are those of the power channel."""

    def __init__(self, seed: int = 2, step_w: float = STEP_W, noise_w: float = 0.2, **changes: Any) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self._step_w, self._noise_w, self._changes = step_w, noise_w, changes

    def end(self, case: Case, role: Role, bps: float) -> EndResult:
        frame = FRAMES[case.test]
        drawn_w = BASE_W + BIT_J * bps + PACKET_J * bps / 8 / frame + self._random.gauss(0, self._noise_w)
        shown_w = self._step_w * round(drawn_w / self._step_w)
        power = watts(
            "psu-out:PSU1",
            shown_w,
            step_w=self._step_w,
            tolerance_ratio=0.05,
            energy_uncertainty_j=WINDOW_S * ((0.05 * shown_w) ** 2 + self._step_w**2) ** 0.5,
            **{"idle_windows_w": IDLE, "idle_uncertainty_w": 0.2, **self._changes},
        )
        return end(case.host(role), role, 0.5, 0.5, 0.5, counters=counters(role, bps, frame), power=(power,))

    def trials(self, repetitions: int = 3) -> tuple[Trial, ...]:
        made: list[Trial] = []
        for _ in range(repetitions):
            for case, bps in cases():
                arrived = round(0.9 * WINDOW_S * bps / 8 / FRAMES[case.test])
                one = trial(len(made) + 1, case, 0.9 * bps, 0.5, packets=arrived, lost_packets=0)
                sender, receiver = self.end(case, "sender", bps), self.end(case, "receiver", bps)
                made.append(replace(one, sender=sender, receiver=receiver))
        return tuple(made)


def document(run: Run, trials: Sequence[Trial]) -> dict[str, Any]:
    stored(Path("results"), result(trials))
    code, out, err = run("fit", "energy", "last", "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def inside(found: dict[str, Any], key: str, planted: float) -> bool:
    low, high = found["ci"][key]
    return bool(low <= planted <= high)


def test_each_end_has_the_planted_energies_in_its_intervals(run: Run) -> None:
    found = document(run, Planted().trials())
    assert [(one["role"], one["host"]) for one in found["fits"]] == [("receiver", "h2"), ("sender", "h1")]
    assert found["e_pkt_nj"] == found["fits"][0]["e_pkt_nj"]
    for one in found["fits"]:
        assert inside(one, "e_bit_pj", 1e12 * BIT_J)
        assert inside(one, "e_pkt_nj", 1e9 * PACKET_J)
        assert inside(one, "p_offset_w", BASE_W)
        assert one["warnings"] == []
        assert one["provenance"] == "measured"
        assert one["gain_tolerance_ratio"] == 0.05
        assert (one["rows"], one["packet_sizes"], len(one["states"])) == (18 + len(IDLE), 2, 7)
    out = run("fit", "energy", "last")[1]
    assert "receiver h2 · h1 → h2, 1 instance" in out
    assert "20 rows, 2 of them without traffic" in out
    assert "gain may be off by ± 5 %" in out


def test_an_end_whose_meter_was_never_read_is_withheld_with_its_reason(run: Run) -> None:
    def unread(one: Trial) -> Trial:
        assert one.receiver is not None
        power = tuple(replace(each, power_w=None, reason="no answer") for each in one.receiver.power)
        return replace(one, receiver=replace(one.receiver, power=power))

    found = document(run, [unread(one) for one in Planted().trials()])
    assert found["e_bit_pj"] is not None, "the first is the one that has figures"
    assert [(one["host"], one["rows"]) for one in found["fits"]] == [("h1", 20), ("h2", 0)]
    assert set(found["fits"][1]["reasons"]) == {"e_bit_pj", "e_pkt_nj", "p_offset_w"}
    reason = "18 of 18 trials left out: bmc psu-out PSU1: no answer"
    assert set(found["fits"][1]["reasons"].values()) == {reason}
    out = run("fit", "energy", "last")[1]
    assert f"withheld: {reason}" in out.replace("\n", " ")


def test_intervals_hold_as_often_as_they_say(run: Run) -> None:
    from linewatt.analysis.power.energy_rows import end_energies

    seeds, held = inputs(100), {"e_bit_pj": 0, "e_pkt_nj": 0, "p_offset_w": 0}
    for seed in range(seeds):
        (one, _) = end_energies(Planted(seed).trials())
        planted = {"e_bit_pj": BIT_J, "e_pkt_nj": PACKET_J, "p_offset_w": BASE_W}
        for key, value in planted.items():
            figure = one.fit.figures[key]
            assert figure.low is not None
            assert figure.high is not None
            held[key] += figure.low <= value <= figure.high
    assert min(held.values()) >= 0.9 * seeds


@pytest.mark.parametrize("provenance", ["simulated", "estimate", "datasheet"])
def test_watts_that_nobody_measured_are_marked_everywhere(run: Run, provenance: Provenance) -> None:
    found = document(run, Planted(provenance=provenance).trials())
    word, short = {
        "simulated": ("simulated", "sim"),
        "estimate": ("estimated", "est"),
        "datasheet": ("from datasheet", "sheet"),
    }[provenance]
    assert found["provenance"] == provenance
    assert found["warnings"][0] == f"Watts are {word}, not measured"
    out = run("fit", "energy", "last")[1]
    assert f"! Watts are {word}, not measured" in out
    assert sum(f" {short} " in line for line in out.splitlines() if line.startswith(("Energy", "Power"))) == 6


def test_a_meter_of_large_steps_resolves_no_packet(run: Run) -> None:
    found = document(run, Planted(step_w=4.0, noise_w=0.0).trials())
    assert found["e_pkt_nj"] is None
    assert "of the meter's steps of 4 W; 3 are needed" in found["reasons"]["e_pkt_nj"]
    assert found["reasons"]["e_pkt_nj"] in found["warnings"][0]


def test_idle_that_is_not_on_the_model_is_no_row_of_it(run: Run) -> None:
    found = document(run, Planted(idle_windows_w=(80.0, 80.2)).trials())
    assert found["rows"] == 18
    (said,) = found["warnings"]
    assert "idle is 80.1 W, and the model has" in said
    assert "as soon as packets flow" in said
    assert inside(found, "p_offset_w", BASE_W)
    drifted = document(run, renamed(Planted(idle_windows_w=(80.0, 100.0)).trials()))
    assert "idle windows are not used in the fit: idle was 80.0 W before" in drifted["warnings"][0]


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        ({"udp-60": (6e7, 1.2e8), "udp-1500": (4e9,)}, "3 states of traffic"),
        ({"udp-60": (1e8, 1.1e8, 1.2e8), "udp-1500": (3.6e9, 3.8e9, 4e9)}, "cannot be told apart"),
    ],
    ids=["few states", "collinear"],
)
def test_idle_stands_in_for_no_state_that_the_trials_lack(
    run: Run, monkeypatch: pytest.MonkeyPatch, rates: dict[model.TestName, Sequence[float]], why: str
) -> None:
    """With 20 W as soon as packets flow, idle as a row would make 29 µJ of the 8 that were planted."""
    monkeypatch.setattr(sys.modules[__name__], "RATES", rates)
    found = document(run, Planted(idle_windows_w=(80.0, 80.2)).trials(5))
    assert [found[key] for key in ("e_bit_pj", "e_pkt_nj", "p_offset_w")] == [None] * 3
    assert why in found["warnings"][0]
    assert "the trials alone have no power without traffic" in found["warnings"][1]
    assert found["rows"] == 5 * sum(map(len, rates.values()))


@pytest.mark.parametrize("jump_w", [0.3, 0.6])
def test_intervals_hold_where_idle_lies_off_by_less_than_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, jump_w: float
) -> None:
    from linewatt.analysis.power.energy_rows import end_energies

    rates = {"udp-60": (6e7, 8e7, 1.2e8), "udp-1500": (2e9, 3e9, 4e9)}
    monkeypatch.setattr(sys.modules[__name__], "RATES", rates)
    idle_w = tuple(one - jump_w for one in IDLE)
    fits = [end_energies(Planted(seed, idle_windows_w=idle_w).trials())[0].fit for seed in range(60)]
    assert any(one.rows > 18 for one in fits)
    for key, planted in (("e_bit_pj", BIT_J), ("e_pkt_nj", PACKET_J), ("p_offset_w", BASE_W)):
        told = [one.figures[key] for one in fits if one.figures[key].low is not None]
        assert sum((one.low or 0) <= planted <= (one.high or 0) for one in told) >= 0.9 * len(told) > 30


def renamed(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """For a second result in the place of the first."""
    import shutil

    shutil.rmtree("results")
    return tuple(trials)


def changed(trials: Sequence[Trial], **counted: float | None) -> tuple[Trial, ...]:
    """The first three trials with other counters of the receiver."""
    made = []
    for number, one in enumerate(trials):
        receiver = one.receiver
        assert receiver is not None
        own = {**receiver.counters, **{f"nic.{name}": value for name, value in counted.items()}}
        made.append(replace(one, receiver=replace(receiver, counters=own)) if number < 3 else one)
    return tuple(made)


@pytest.mark.parametrize(
    ("counted", "why"),
    [
        ({"rx_bytes": None}, "nic.rx_bytes of h2: not read"),
        ({"tx_packets": 1e9}, "packets went in the other direction, "),
    ],
)
def test_trials_without_clean_counters_are_left_out_and_counted(
    run: Run, counted: dict[str, float | None], why: str
) -> None:
    found = document(run, changed(Planted().trials(), **counted))
    said = " ".join(found["warnings"])
    assert "of 18 trials left out" in said
    assert why in said
    assert found["rows"] == 15 + len(IDLE)
    assert inside(found, "e_pkt_nj", 1e9 * PACKET_J)


def test_a_trial_whose_load_counted_no_packets_is_left_out_as_its_interface_cannot_be_judged(
    run: Run,
) -> None:
    trials = Planted().trials()
    found = document(
        run, (replace(trials[0], packets=None), replace(trials[1], lost_packets=None), *trials[2:])
    )
    said = " ".join(found["warnings"])
    assert "2 of 18 trials left out: the load did not count packets" in said
    assert found["rows"] == 16 + len(IDLE)


def test_an_interface_that_counts_joined_packets_is_left_out(run: Run) -> None:
    trials = tuple(replace(one, packets=10**9, lost_packets=0) for one in Planted().trials())
    stored(Path("results"), result(trials))
    code, out, err = run("fit", "energy", "last")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "that arrived: they were merged" in err


def test_one_size_tells_no_packet_from_its_bits(run: Run) -> None:
    found = document(run, [one for one in Planted().trials() if one.case.test == "udp-60"])
    assert [found[key] for key in ("e_bit_pj", "e_pkt_nj", "p_offset_w")] == [None] * 3
    assert "one packet size" in found["warnings"][0]


@pytest.mark.parametrize(
    ("trials", "why"),
    [
        (tuple(trial(n, Case("tcp", "h1", "h2"), 1e9, 0.5) for n in (1, 2)), "it has no UDP trials"),
        (tuple(trial(n, Case("udp-60", "h1", "h2"), 1e7, 0.5) for n in (1, 2)), "no source of system power"),
        ((), "it has no UDP trials"),
    ],
    ids=["tcp", "no meter", "nothing"],
)
def test_a_result_that_can_tell_nothing_is_one_line(run: Run, trials: tuple[Trial, ...], why: str) -> None:
    stored(Path("results"), result(trials))
    code, out, err = run("fit", "energy", "last")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err


def test_an_imported_table_is_fitted_as_the_table_itself(run: Run) -> None:
    shipped = Path(__file__).resolve().parents[4] / "docs" / "published" / "router_power_8201.csv"
    Path("router.csv").write_bytes(shipped.read_bytes())
    assert run("import", "router.csv")[0] == 0
    (of_table, of_result) = (run("fit", "energy", word, "--json")[1] for word in ("router.csv", "last"))
    assert of_table == of_result


def test_a_word_that_is_neither_table_nor_result_is_one_line(run: Run) -> None:
    code, out, err = run("fit", "energy", "nope")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no table, and nope: no such result" in err


SATURATED = Flag("power-saturated", "h2: psu-out:PSU1", "stands at its ceiling", "use another source")


@pytest.mark.parametrize("code", [kind.code for kind in (*power.KINDS, *meters.KINDS) if kind.rank != "note"])
def test_figures_of_watts_that_findings_doubt_are_marked_and_the_finding_stands_first(
    run: Run, code: str
) -> None:
    """Of the end whose host it names, and of that only."""
    flag = replace(SATURATED, code=code)
    trials = [replace(one, flags=(flag,)) if one.number < 6 else one for one in Planted().trials()]
    found = document(run, trials)
    receiver, sender = found["fits"]
    assert receiver["warnings"][0].startswith(f"Watts are doubtful, {code} in 5 of 18 trials: h2: psu-out")
    assert sender["warnings"] == []
    marked, plain = run("fit", "energy", "last")[1].split("sender h1")
    assert f"* doubtful: see ({code})" in marked
    assert any("* " in line for line in marked.splitlines() if line.startswith("Energy of a packet"))
    assert not any("* " in line for line in plain.splitlines() if line.startswith("Energy of a packet"))


def test_a_meter_that_hangs_is_told_of_although_no_trial_says_so(run: Run) -> None:
    trials = []
    for one in Planted().trials():
        cores, receiver = 0.2 * one.number, one.receiver
        assert receiver is not None
        still = tuple(replace(each, spread_w=0.0, power_w=104.0) for each in receiver.power)
        held = replace(receiver, power=still, cpu_cores=cores)
        trials.append(replace(one, receiver=held) if 3 < one.number < 9 else one)
    warnings = document(run, trials)["fits"][0]["warnings"]
    assert warnings[0].startswith("Watts are doubtful, meter-hangs: h2: ")


def test_a_trial_of_which_no_end_was_recorded_did_not_fail(run: Run) -> None:
    trials = [replace(one, receiver=None) if one.number == 1 else one for one in Planted().trials()]
    (said,) = document(run, trials)["fits"][0]["warnings"]
    assert said == "1 of 18 trials left out: this end was not recorded"


def test_trials_of_another_meter_are_left_out(run: Run) -> None:
    other = Planted().trials()
    trials = [*other[:16], *(replace(one, receiver=_other_meter(one)) for one in other[16:])]
    found = document(run, trials)["fits"][0]
    assert "2 of 18 trials left out: its watts are of meter (psu-out), not of bmc" in found["warnings"][0]
    assert found["rows"] == 16 + len(IDLE)


def _other_meter(one: Trial) -> EndResult:
    receiver = one.receiver
    assert receiver is not None
    return replace(receiver, power=tuple(replace(each, source="meter") for each in receiver.power))
