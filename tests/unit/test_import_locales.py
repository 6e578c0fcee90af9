# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of sysstat in other languages, and of ``sadf -d``: figures as of plain text."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.unit.test_import_captures import IMPORTS, cores_of, imported, refusal

from linewatt.engine.captures.whole import Whole

WATTS = IMPORTS / "watts"
PLAIN = (WATTS / "dut" / "mpstat.txt").read_text()
DATE, STAMP = re.compile(r"\d\d/\d\d/\d\d(?=\s+_)"), re.compile(r"(?m)^(\d\d):(\d\d):(\d\d)")


def beside_a_load(into: Path, readings: str) -> Path:
    for name in ("gen/client.json", "dut/server.json"):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(WATTS / name, into / name)
    (into / "dut" / "readings").write_text(readings)
    return into


def receiver_cores(whole: Whole) -> float:
    (cores,) = cores_of(whole, "receiver")
    assert cores is not None
    return cores


def day() -> str:
    found = DATE.search(PLAIN)
    assert found is not None
    month, day, year = found[0].split("/")
    return f"20{year}年{month}月{day}日"


def twelve(line: re.Match[str]) -> tuple[int, bool]:
    return int(line[1]) % 12 or 12, int(line[1]) >= 12


@pytest.mark.parametrize(
    ("stamp", "average"),
    [
        (lambda at: f"{at[1]}时{at[2]}分{at[3]}秒", "平均时间:"),
        (lambda at: f"{at[1]}時{at[2]}分{at[3]}秒", "平均値:"),
        (lambda at: f"{at[1]}시 {at[2]}분 {at[3]}초", "평균:"),
        (
            lambda at: f"{'下午' if twelve(at)[1] else '上午'} {twelve(at)[0]:02d}:{at[2]}:{at[3]}",
            "平均時間:",
        ),
        (
            lambda at: f"{'午後' if twelve(at)[1] else '午前'}{twelve(at)[0]:02d}時{at[2]}分{at[3]}秒",
            "平均値:",
        ),
        (
            lambda at: f"{twelve(at)[0]:02d}:{at[2]}:{at[3]} {'下午' if twelve(at)[1] else '上午'}",
            "平均时间:",
        ),
    ],
    ids=["zh", "ja", "ko", "zh_TW 12 h", "ja 12 h", "behind"],
)
def test_times_and_dates_of_other_languages_are_the_same(stamp: object, average: str, tmp_path: Path) -> None:
    plain = receiver_cores(imported(beside_a_load(tmp_path / "a", PLAIN)))
    text = STAMP.sub(stamp, DATE.sub(day(), PLAIN)).replace("Average:", average)  # type: ignore[call-overload]
    assert text.isascii() is False
    assert receiver_cores(imported(beside_a_load(tmp_path / "b", text))) == plain


def sadf_d(*, zone: str = " UTC") -> str:
    """The same readings as ``sadf -d`` has them: columns in the order of sar."""
    names = ("usr", "nice", "sys", "iowait", "steal", "irq", "soft", "guest", "gnice", "idle")
    lines = [f"# hostname;interval;timestamp;CPU;{';'.join(f'%{name}' for name in names)}"]
    heads: list[str] = []
    for words in (line.split() for line in PLAIN.splitlines() if STAMP.match(line)):
        if words[1] == "CPU":
            heads = [word.removeprefix("%") for word in words[2:]]
            continue
        row = dict(zip(heads, words[2:], strict=True))
        cpu = "-1" if words[1] == "all" else words[1]
        lines.append(f"dut;1;2026-11-25 {words[0]}{zone};{cpu};{';'.join(row[name] for name in names)}")
    return "\n".join(lines) + "\n"


def test_what_sadf_d_wrote_is_the_same_as_text(tmp_path: Path) -> None:
    plain = receiver_cores(imported(beside_a_load(tmp_path / "a", PLAIN)))
    for into, zone in ((tmp_path / "b", " UTC"), (tmp_path / "c", "")):
        whole = imported(beside_a_load(into, sadf_d(zone=zone)))
        assert receiver_cores(whole) == pytest.approx(plain, abs=1e-6)
        assert whole.formats["sadf"] == 1


def test_of_sadf_d_without_cpus_that_is_said(tmp_path: Path) -> None:
    beside_a_load(
        tmp_path, "# hostname;interval;timestamp;tps;rtps\ndut;1;2026-11-25 22:47:27 UTC;0.00;0.00\n"
    )
    assert "holds no use of CPUs; run sadf -d FILE -- -u ALL -P ALL" in refusal(tmp_path)
