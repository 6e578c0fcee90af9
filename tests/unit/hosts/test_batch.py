# SPDX-License-Identifier: Apache-2.0
"""Several commands of a host as one, by the real bash of this machine."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.fake_batches import answered, is_batch

from linewatt.errors import ParseError, WaitTimeout
from linewatt.hosts import batch
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.batch import ShortCommand
from linewatt.hosts.local import LocalHost

HERE = LocalHost(HostSpec("here", "local", "lo"))

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@dataclass
class Host:
    """This machine, and how often it was asked; ``garbled`` is its answer to any batch."""

    spec: HostSpec = HERE.spec
    asked: list[Sequence[str]] = field(default_factory=list)
    garbled: Completed | None = None

    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        self.asked.append(argv)
        if self.garbled is not None and is_batch(argv):
            return self.garbled
        return await HERE.run(argv, **options)


def run(commands: Sequence[ShortCommand], host: Any = HERE, **options: Any) -> list[Completed]:
    return asyncio.run(batch.run_batch(host, commands, **options))


def said(done: Completed) -> tuple[int, str, str]:
    return done.status, done.stdout, done.stderr


MIXED = [
    ShortCommand(("printf", "%s|", "a  b", "", "$HOME `id` 'x' \"y\" *", "-n")),
    ShortCommand(("cat",), "two\nlines\n\n"),
    ShortCommand(("cat",)),
    ShortCommand(("bash", "-c", "echo said; echo complained >&2; exit 7")),
    ShortCommand(("printf", "no end of line")),
    ShortCommand(("false",)),
]


def test_each_command_of_a_batch_answers_as_it_does_alone() -> None:
    host = Host()
    together = run(MIXED, host)
    assert len(host.asked) == 1
    assert [said(done) for done in together] == [said(run([one])[0]) for one in MIXED]
    assert [done.argv for done in together] == [one.argv for one in MIXED]
    assert said(together[3]) == (7, "said\n", "complained\n")
    assert together[1].stdout == "two\nlines\n\n"


def test_what_a_script_of_a_batch_does_to_its_shell_is_gone_with_it() -> None:
    spoils = "cd /; set -e; one() { echo mine; }; shift $#; exec >/dev/null; exit 3"
    tells = ShortCommand(("bash", "-c", 'pwd; echo "$- $*"; cat', "x", "a", "b"), "input")
    spoilt, told = run([ShortCommand(("bash", "-c", spoils, "x", "a")), tells])
    assert spoilt.status == 3
    assert said(told) == said(run([tells])[0])


def test_scripts_of_bash_run_in_the_bash_that_is_there() -> None:
    """A program that is started costs more than what most scripts do."""
    own = ShortCommand(("bash", "-c", 'echo "$$ $BASHPID $0 $*"', "x", "a b", "c"))
    first, second = (done.stdout.split(" ", 2) for done in run([own, own]))
    assert first[0] == second[0]
    assert len({first[0], first[1], second[1]}) == 3
    assert first[2] == "linewatt a b c\n"


def test_a_tool_that_is_not_there_is_an_answer_and_ends_nothing() -> None:
    missing, after = run([ShortCommand(("no-such-tool",)), ShortCommand(("echo", "after"))])
    assert missing.status == 127
    assert "no-such-tool: command not found" in missing.stderr
    assert after.stdout == "after\n"


@given(st.lists(st.tuples(st.lists(WORD, max_size=4), WORD), min_size=2, max_size=4))
@settings(max_examples=inputs(25), deadline=None)
def test_whatever_words_and_input_are_they_arrive_as_they_were(commands: list[tuple[list[str], str]]) -> None:
    # what goes in comes out, to the letter: no word is looked at by a shell
    script = 'printf "%s\\0" "$@" | od -An -v -tx1; od -An -v -tx1'
    shorts = [ShortCommand(("bash", "-c", script, "x", *words), stdin) for words, stdin in commands]
    for (words, stdin), done in zip(commands, run(shorts), strict=True):
        ended = "".join(f"{word}\0" for word in words) or "\0"
        assert bytes.fromhex("".join(done.stdout.split())) == (ended + stdin).encode()


def test_what_is_too_long_for_one_argument_list_becomes_several() -> None:
    host = Host()
    shorts = [ShortCommand(("printf", "%s", f"{number}'" * 600)) for number in range(200)]
    assert [done.stdout for done in run(shorts, host)] == [one.argv[2] for one in shorts]
    assert 1 < len(host.asked) < 40
    assert all(len(shlex.join(argv).encode()) < 131_072 for argv in host.asked), "MAX_ARG_STRLEN of Linux"


@given(st.lists(st.builds(ShortCommand, st.lists(WORD, min_size=1).map(tuple), WORD)), st.integers(1, 200))
def test_batches_keep_order_and_lose_nothing(commands: list[ShortCommand], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "MOST_CHARACTERS", most)
        found = list(batch.batches(commands))
    assert [one for each in found for one in each] == commands
    assert all(found)


def test_an_answer_that_is_cut_off_anywhere_is_no_answer() -> None:
    done = asyncio.run(HERE.run(batch.script(MIXED)))
    assert len(batch.answers(done, MIXED)) == len(MIXED)
    for end in range(len(done.stdout)):
        with pytest.raises(ParseError, match="6 commands"):
            batch.answers(Completed((), 0, done.stdout[:end], done.stderr), MIXED)
    for end in range(len(done.stderr)):
        with pytest.raises(ParseError, match="6 commands"):
            batch.answers(Completed((), 0, done.stdout, done.stderr[:end]), MIXED)


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        ("", "bash: not found"),
        ("a␀x␀b␀0␀", "␀␀"),
        ("a␀0␀b␀0␀c", "␀␀"),
        ("␀0␀" * 3, "␀" * 3),
    ],
    ids=["no bash", "no status", "more behind it", "one too many"],
)
def test_where_answers_cannot_be_told_apart_each_command_is_asked_alone(stdout: str, stderr: str) -> None:
    host = Host(garbled=Completed((), 0, stdout, stderr))
    assert [
        done.stdout for done in run([ShortCommand(("echo", "1")), ShortCommand(("echo", "2"))], host)
    ] == ["1\n", "2\n"]
    assert len(host.asked) == 3


def test_a_batch_that_does_not_end_is_ended_and_says_where() -> None:
    with pytest.raises(WaitTimeout, match=r"here: bash did not end within 0\.5 s"):
        run([ShortCommand(("sleep", "60")), ShortCommand(("true",))], limit_s=0.5)


def test_nothing_to_run_asks_nobody() -> None:
    host = Host()
    assert run([], host) == []
    assert host.asked == []


def test_hosts_made_up_in_tests_answer_as_the_script_does() -> None:
    async def alone(argv: list[str], stdin: str) -> Completed:
        return await HERE.run(argv, stdin=stdin)

    argv = batch.script(MIXED)
    assert is_batch(argv)
    made_up = asyncio.run(answered(argv, alone))
    assert said(made_up) == said(asyncio.run(HERE.run(argv)))
