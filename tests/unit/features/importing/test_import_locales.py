# SPDX-License-Identifier: Apache-2.0
"""``linewatt import`` of sysstat in other languages, and of ``sadf -d``: figures as of plain text."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from tests.unit.features.importing.test_import_captures import IMPORTS, cores_of, imported, refusal

from linewatt.features.importing.captures.measured_folder import Whole

WATTS = IMPORTS / "watts"
FARSI = str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")
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


def half(hours: str) -> str:
    return f"{int(hours) % 12 or 12:02d}"


def is_pm(at: re.Match[str]) -> bool:
    return int(at[1]) >= 12


LOCALES: dict[str, tuple[str, Callable[[re.Match[str]], str], str]] = {
    "fi": ("{d}.{m}.{y}", lambda at: f"{at[1]}.{at[2]}.{at[3]}", "Keskiarvo:"),
    "sl": ("{d}. {m}. {y}", lambda at: at[0], "Average:"),
    "sr": ("{d}.{m}.{y}.", lambda at: at[0], "Просек:"),
    "uk": ("{d}.{m}.26", lambda at: at[0], "Середнє:"),
    "th": ("{d}/{m}/2569", lambda at: at[0], "Average:"),
    "fa": ("۲۶/۱۱/۲۵", lambda at: at[0].translate(FARSI), "Average:"),
    "bg": ("{d}.{m}.{y}", lambda at: f"{int(at[1]):2d}:{at[2]}:{at[3]}", "Average:"),
    "el": (
        "{d}/{m}/{y}",
        lambda at: f"{half(at[1])}:{at[2]}:{at[3]} {'μμ' if is_pm(at) else 'πμ'}",
        "Average:",
    ),
    "en_IN": (
        "{d}/{m}/26",
        lambda at: f"{half(at[1])}:{at[2]}:{at[3]} {'PM' if is_pm(at) else 'AM'} IST",
        "Average:",
    ),
    "zh_HK": (
        "{y}年{m}月{d}日 星期三",
        lambda at: f"{'下午' if is_pm(at) else '上午'} {half(at[1])}時{at[2]}分{at[3]}秒 HKT",
        "Average:",
    ),
    "zh_SG": ("{y}年{m}月{d}日", lambda at: f"{at[1]}时{at[2]}分{at[3]}秒 +08", "Average:"),
    "ar": (
        "{d} نوف, {y}",
        lambda at: f"UTC {half(at[1])}:{at[2]}:{at[3]} {'م' if is_pm(at) else 'ص'}",
        "Average:",
    ),
    "zh_CN": ("{y}年{m}月{d}日", lambda at: f"{at[1]}时{at[2]}分{at[3]}秒", "平均时间:"),
    "ja": ("{y}年{m}月{d}日", lambda at: f"{at[1]}時{at[2]}分{at[3]}秒", "平均値:"),
    "ko": ("{y}년 {m}월 {d}일", lambda at: f"{at[1]}시 {at[2]}분 {at[3]}초", "평균값:"),
    "de": ("{d}.{m}.{y}", lambda at: at[0], "Durchschn.:"),
    "fr": ("{d}/{m}/{y}", lambda at: at[0], "Moyenne\u202f:"),
    "es": ("{d}/{m}/26", lambda at: at[0], "Media:"),
}
"""locale → date, time and "Average:" as mpstat 12.6.1 writes them with glibc 2.36"""
WITH_COMMAS = ("fi", "sl", "sr", "uk", "bg", "el", "de", "fr", "es")
DAY_PARTS = {"d": "25", "m": "11", "y": "2026"}


def translated(name: str) -> str:
    """The readings as mpstat writes them under a locale: a stamp as wide as its columns, two blanks."""
    date_text, stamp, average = LOCALES[name]
    text = re.sub(r"(?<=\d)\.(?=\d\d( |$))", "," if name in WITH_COMMAS else ".", PLAIN, flags=re.MULTILINE)
    text = DATE.sub(date_text.format(**DAY_PARTS), text)
    text = re.sub(r"(?m)^(\d\d):(\d\d):(\d\d) +", lambda at: f"{stamp(at):11}  ", text)
    return text.replace("Average:", average)


@pytest.mark.parametrize("name", LOCALES)
def test_what_mpstat_writes_under_a_locale_is_the_same(name: str, tmp_path: Path) -> None:
    plain = receiver_cores(imported(beside_a_load(tmp_path / "a", PLAIN)))
    whole = imported(beside_a_load(tmp_path / "b", translated(name)))
    assert receiver_cores(whole) == plain
    (track,) = (track for one in whole.found for track in one.tracks)
    assert (date(2026, 11, 25) in track.days) == (name != "ar")


@pytest.mark.parametrize("name", LOCALES)
def test_json_of_mpstat_under_a_locale_is_the_same(name: str, tmp_path: Path) -> None:
    date_text, stamp, _ = LOCALES[name]
    shutil.copytree(IMPORTS / "two-hosts", tmp_path / "a")
    plain = cores_of(imported(tmp_path / "a"), "sender")
    path = tmp_path / "a" / "gen" / "mpstat.json"
    tables = json.loads(path.read_text())
    (host,) = tables["sysstat"]["hosts"]
    host["date"] = date_text.format(**DAY_PARTS)
    for one in host["statistics"]:
        match = STAMP.match(one["timestamp"])
        assert match is not None
        one["timestamp"] = stamp(match)
    path.write_text(json.dumps(tables))
    assert cores_of(imported(tmp_path / "a"), "sender") == plain
    assert None not in plain


def test_a_date_in_words_is_told_and_taken_for_the_day_of_the_load(tmp_path: Path) -> None:
    whole = imported(beside_a_load(tmp_path, translated("ar")))
    assert [note for note in whole.notes if "dut/readings" in note] == [
        "dut/readings: its date, 25 نوف, 2026, has names in it and is not read; it is taken to be of the day "
        "of the load"
    ]


def test_times_without_seconds_are_refused_with_what_to_do(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(\d\d):(\d\d):\d\d +", r"kl. \1.\2 +0100  ", PLAIN)
    beside_a_load(tmp_path, text.replace("Average:", "Gj.snitt:"))
    assert re.fullmatch(
        r"dut/readings: its times, such as 'kl\. \d\d\.\d\d \+0100', are not read; run it with LC_ALL=C; "
        "--skip leaves it out",
        refusal(tmp_path),
    )


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
