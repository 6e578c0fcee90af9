# SPDX-License-Identifier: Apache-2.0
"""Whether a test notices when a check is taken out, turned round, or given another threshold.

``make mutants`` collects the unit tests once. Then, for each single mutation of the checks, a forked copy of
that process puts the mutated code in place of the living one and runs the tests that go through it, the
likeliest first, until one fails. The one that failed is the first the next time. A mutation that none notices
survives and is printed as file:line.

    python -m scripts.mutants [--only TEXT…] [--jobs N] [--limit S] [--list] [--sources FILE… --tests PATH…]

Mutations: a call that yields findings is deleted; an entry of a tuple of checks is removed; a condition or a
comparison is turned round; a named threshold is multiplied or divided by ten; a check returns nothing. One
that changes nothing that could be told stands in scripts/mutants-equivalent.txt with its reason.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import signal
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from scripts.front_doors import Doors, imported_modules, read_doors

ROOT = Path(__file__).parents[1]
CHECKS = "src/linewatt/engine/measuring/checks"
SOURCES = (
    f"{CHECKS}/*.py",
    "src/linewatt/engine/measuring/flags.py",
    "src/linewatt/engine/measuring/ports.py",
    "src/linewatt/engine/networks/ports.py",
    "src/linewatt/features/users/measuring.py",
    "src/linewatt/analysis/flags/*.py",
    "src/linewatt/analysis/limits/ports.py",
    "src/linewatt/analysis/limits/verdict.py",
    "src/linewatt/features/soak/flags.py",
    "src/linewatt/findings/[!_]*.py",
    "src/linewatt/features/*/findings.py",
)
WIRING = "test_wiring.py"
PLANTS = "test_*_plants.py"
"""tests of truths that are planted without a lab"""
TABLES = ("test_findings.py", "test_repository.py")
"""tests that read sources or documents as text: they notice every change of a threshold and judge none"""
SLOW = ("numpy", "scipy.stats", "duckdb")
"""what checks import when they first need it: once here, and not in each copy"""
UNSHRUNK = "LINEWATT_TEST_UNSHRUNK"
"""tells tests/conftest.py that nobody reads with which random input a test failed"""
LIMIT_S = 120
"""so long may one test of a mutation take; a mutation by which one hangs was noticed"""
EQUIVALENT = ROOT / "scripts" / "mutants-equivalent.txt"
NOTICED_BY = ROOT / ".pytest_cache" / "mutants"
"""a line a mutation that was noticed: its name, a tab, the test that failed"""
SURVIVED, NOTICED, UNTESTED, BROKEN = 0, 1, 5, 7
"""exit codes of a copy: all tests passed, one failed, nothing ran, the mutation could not be made"""
_SURVIVES = {SURVIVED: "", UNTESTED: " (no test goes through it)", BROKEN: " (it could not be put in place)"}

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Mutant:
    """One mutation: ``node`` is the number of what it changes, in the order of ``ast.walk``."""

    file: Path
    line: int
    kind: str
    text: str
    """what is mutated, in one line"""
    owner: str
    """the function or the module-level name that it is in"""
    node: int
    entry: int = 0

    @property
    def where(self) -> str:
        path = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        return f"{path}:{self.line}"

    @property
    def name(self) -> str:
        """The same while other lines of the file change."""
        return f"{self.file.name} {self.owner}: {self.kind}: {self.text}"


def _declares_findings(file: Path) -> bool:
    """Whether a module declares kinds of findings: those of the core, or a feature's."""
    return file.parent.name == "findings" or file.name == "findings.py"


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Every mutation of a file."""
    tree = ast.parse(file.read_text())
    owners = dict(_owners(tree))
    wordings = _wordings(tree)
    findings = _declares_findings(file)
    for number, node in enumerate(ast.walk(tree)):
        owner = owners.get(id(node))
        if owner is None or id(node) in wordings:
            continue
        for kind, entry in _kinds(node, owner):
            if findings and not kind.startswith("threshold"):
                continue
            text = " ".join(ast.unparse(_told(node, kind, entry)).split())
            yield Mutant(
                file, getattr(node, "lineno", 0), kind, textwrap.shorten(text, 100), owner, number, entry
            )


def _owners(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each node's function, ``Class.function`` for a method, or the names that its statement assigns to."""

    def inside(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[int, str]]:
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                yield from inside(statement.body, f"{prefix}{statement.name}.")
            elif isinstance(statement, ast.FunctionDef):
                yield from ((id(node), prefix + statement.name) for node in ast.walk(statement))
            elif isinstance(statement, ast.Assign | ast.AnnAssign) and not prefix:
                name = ", ".join(_targets(statement))
                if _is_constant(name):
                    yield from ((id(node), name) for node in ast.walk(statement))

    return inside(tree.body, "")


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _wordings(tree: ast.Module) -> set[int]:
    """Nodes that decide nothing: conditions between texts, all within an f-string, and types."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            found.update(id(one) for one in ast.walk(node.annotation))
        if isinstance(node, ast.JoinedStr):
            found.update(id(one) for one in ast.walk(node))
        if isinstance(node, ast.IfExp) and all(_is_text(one) for one in (node.body, node.orelse)):
            found.update(id(one) for one in ast.walk(node))
    return found


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _kinds(node: ast.AST, owner: str) -> Iterator[tuple[str, int]]:
    """The mutations that there are of a node, and of which entry of it."""
    if isinstance(node, ast.Expr) and _delivers(node.value):
        yield "call deleted", 0
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield "condition turned round", 0
    if isinstance(node, ast.Compare):
        yield from (("comparison turned round", at) for at in range(len(node.ops)))
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        yield from (
            ("entry removed", at)
            for at, one in enumerate(node.elts)
            if isinstance(one, ast.Starred) or owner.endswith("CHECKS")
        )
    if (
        isinstance(node, ast.Constant)
        and _is_constant(owner)
        and type(node.value) in (int, float)
        and node.value
    ):
        yield from (("threshold × 10", 0), ("threshold ÷ 10", 0))
    if (
        isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and "Flag" in ast.unparse(node.returns)
        and not _is_of_a_protocol(node)
    ):
        yield "returns nothing", 0


def _is_of_a_protocol(function: ast.FunctionDef) -> bool:
    """Whether a function is only declared: its body is ``...``."""
    only = function.body[-1]
    return isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...


def _delivers(value: ast.expr) -> bool:
    """Whether an expression hands findings on."""
    called = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, ast.YieldFrom) or (
        isinstance(called, ast.Attribute) and called.attr in ("append", "extend")
    )


def _is_constant(owner: str) -> bool:
    return owner.replace("_", "").replace(", ", "").isupper()


def _told(node: ast.AST, kind: str, entry: int) -> ast.AST:
    """The part of a node that says best what is mutated."""
    if isinstance(node, ast.If | ast.IfExp):
        return node.test
    if isinstance(node, ast.FunctionDef):
        return ast.Name(node.name)
    if kind == "entry removed" and isinstance(node, ast.Tuple | ast.List):
        return node.elts[entry]
    return node


def mutated(mutant: Mutant) -> ast.Module:
    """The file's syntax with the mutation in it."""
    tree = ast.parse(mutant.file.read_text())
    node: Any = next(one for number, one in enumerate(ast.walk(tree)) if number == mutant.node)
    if mutant.kind == "call deleted":
        node.value = ast.Constant(None)
    elif mutant.kind == "condition turned round":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif mutant.kind == "comparison turned round":
        node.ops[mutant.entry] = _OPPOSITE[type(node.ops[mutant.entry])]()
    elif mutant.kind == "entry removed":
        del node.elts[mutant.entry]
    elif mutant.kind == "threshold × 10":
        node.value *= 10
    elif mutant.kind == "threshold ÷ 10":
        node.value /= 10
    elif mutant.kind == "returns nothing":
        nothing = "return ()\nyield" if _yields(node) else "return []"
        node.body = ast.parse(f"def nothing():\n{textwrap.indent(nothing, ' ')}").body[0].body  # type: ignore[attr-defined]
    return ast.fix_missing_locations(tree)


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def module_of(file: Path) -> types.ModuleType:
    """The living module of a source file."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(file):
            return module
    return import_module(_dotted(file))


def put_in_place(mutant: Mutant) -> None:
    """Have the living module, and whoever took names from it, run the mutated code."""
    module, tree = module_of(mutant.file), mutated(mutant)
    for statement in tree.body:
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and ", ".join(_targets(statement)) == mutant.owner
        ):
            _assign(module, statement)
            return
    code = compile(tree, str(mutant.file), "exec")
    living: Any = module
    for name in mutant.owner.split("."):
        living = vars(living)[name]
        code = next(one for one in code.co_consts if isinstance(one, types.CodeType) and one.co_name == name)
    _function_of(living).__code__ = code


def _assign(module: types.ModuleType, statement: ast.Assign | ast.AnnAssign) -> None:
    """Make a module-level assignment again, also where its names were imported to."""
    before = {name: vars(module)[name] for name in _targets(statement)}
    only = ast.Module(body=[statement], type_ignores=[])
    exec(compile(only, str(module.__file__), "exec"), vars(module))  # noqa: S102 - our own sources
    for other in list(sys.modules.values()):
        for name, value in before.items():
            if other is module or getattr(other, "__dict__", {}).get(name) is value:
                setattr(other, name, vars(module)[name])
                _mend_defaults(other, value, vars(module)[name])


def _mend_defaults(module: types.ModuleType, before: object, after: object) -> None:
    """A default argument is computed when its function is made."""
    for function in vars(module).values():
        if not isinstance(function, types.FunctionType) or function.__module__ != module.__name__:
            continue
        defaults, named = function.__defaults__ or (), function.__kwdefaults__ or {}
        function.__defaults__ = tuple(after if one is before else one for one in defaults) or None
        function.__kwdefaults__ = {
            name: after if one is before else one for name, one in named.items()
        } or None


def _function_of(living: Any) -> types.FunctionType:
    """A function below its decorators."""
    if isinstance(living, property):
        living = living.fget
    living = getattr(living, "func", living)  # cached_property
    while hasattr(living, "__wrapped__"):
        living = living.__wrapped__
    assert isinstance(living, types.FunctionType), living
    return living


@cache
def codes_of(file: Path) -> set[str]:
    """The findings' codes that a file has in it."""
    tree = ast.parse(file.read_text())
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and "-" in text and " " not in text}


def users_of(mutant: Mutant) -> list[Path]:
    """Files whose code a mutation is in: its own, and of a threshold those that take it."""
    if not _declares_findings(mutant.file):
        return [mutant.file]
    own = module_of(mutant.file)
    names = mutant.owner.split(", ")
    found: list[Path] = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        ours = file and module.__name__.startswith("linewatt.") and module is not own
        if ours and any(vars(module).get(name, found) is vars(own)[name] for name in names):
            found.append(Path(str(file)))
    return found


def ordered(mutant: Mutant, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that go through a mutation, the likeliest to notice it first."""
    users = users_of(mutant)
    elsewhere = _elsewhere()
    modules = {module_of(file).__name__ for file in users}
    takers = {module_of(file).__name__: file for file in _takers(modules)}
    modules |= takers.keys()
    codes = set().union(*(codes_of(file) for file in (*users, *takers.values())))
    files = {elsewhere[code] for code in codes & elsewhere.keys()}

    @cache
    def takes(test: types.ModuleType, path: Path) -> bool:
        return path.name in files or _uses(test, modules) or _tells(path, codes)

    def rank(item: pytest.Item) -> int | None:
        if item.path.name in TABLES or not isinstance(item, pytest.Function):
            return None
        if item.path.name == WIRING:
            return 0 if any(f"[{code}" in item.name for code in codes) else 2
        if takes(item.module, item.path):
            return 1
        return 3 if _stories(item.path) else None

    ranked = [(place, item) for item in items if (place := rank(item)) is not None]
    return [item for _, item in sorted(ranked, key=lambda one: one[0])] or list(items)


@cache
def _stories(test: Path) -> str:
    """The text of a test that tells stories of the wiring, else nothing."""
    text = test.read_text()
    return text if "from tests.wiring import" in text else ""


def _tells(test: Path, codes: Iterable[str]) -> bool:
    """Whether a test looks for one of these findings in a story of its own."""
    return any(f'"{code}"' in _stories(test) for code in codes)


def _takers(modules: set[str]) -> Iterator[Path]:
    """Checks that are made of others; so what takes a threshold need not be a check itself."""
    for file in _checks():
        module = module_of(file)
        if module.__name__ not in modules and _uses(module, modules):
            yield file


@cache
def _checks() -> tuple[Path, ...]:
    return tuple(
        path
        for pattern in SOURCES
        for path in sorted(ROOT.glob(pattern))
        if path.name != "__init__.py" and not _declares_findings(path)
    )


def _uses(taker: types.ModuleType, modules: set[str]) -> bool:
    """Whether a test's file, or a check, has taken something from one of the modules, or a module itself."""
    return any(
        getattr(value, "__module__", None) in modules or getattr(value, "__name__", None) in modules
        for value in vars(taker).values()
    )


class Mutating:
    """A plug-in of pytest that runs the tests it has collected once for each mutation, in forked copies."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        jobs: int,
        limit_s: int,
        say: Callable[[str], None],
        noticed_by: Path | None = None,
    ) -> None:
        self._mutants = mutants
        self._jobs = jobs
        self._limit_s = limit_s
        self._say = say
        self._noticed_by = noticed_by
        self._last_noticed_by = _last_noticed_by(noticed_by)
        self.survivors: list[Mutant] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        started_s, running, done = monotonic(), dict[int, Mutant](), 0
        session.config.option.tbstyle = "native"
        for name in SLOW if any(one.file.is_relative_to(ROOT) for one in self._mutants) else ():
            import_module(name)
        for file in _checks():
            module_of(file)
            codes_of(file)
        for path in {item.path for item in session.items}:
            _stories(path)
        _elsewhere()
        gc.freeze()  # what is collected stays shared with the copies
        for mutant in chain(self._mutants, [None] * self._jobs):
            if mutant is None or len(running) >= self._jobs:
                done += self._collect(running)
                if done % 25 == 0 and mutant is not None:
                    self._say(f"{done} of {len(self._mutants)}, {monotonic() - started_s:.0f} s")
            if mutant is not None:
                running[self._fork(session, mutant)] = mutant
        return True

    def _fork(self, session: pytest.Session, mutant: Mutant) -> int:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            return pid
        code = BROKEN
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(null, stream)
            code = self._run(session, mutant)
        finally:
            os._exit(code)

    def _run(self, session: pytest.Session, mutant: Mutant) -> int:
        """The tests of one mutation until one fails; the exit code says how that went."""
        put_in_place(mutant)
        last_noticed_by = self._last_noticed_by.get(mutant.name)
        first = [item for item in session.items if item.nodeid == last_noticed_by]
        if failed := self._first_failed(session, first) or self._first_failed(
            session, ordered(mutant, session.items)
        ):
            if self._noticed_by is not None:
                with self._noticed_by.open("a") as file:
                    file.write(f"{mutant.name}\t{failed.nodeid}\n")
            return NOTICED
        return SURVIVED if session.testscollected else UNTESTED

    def _first_failed(self, session: pytest.Session, items: Sequence[pytest.Item]) -> pytest.Item | None:
        """Run tests until one fails."""
        for item, following in zip(items, [*items[1:], None], strict=False):
            signal.alarm(self._limit_s)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return item
        return None

    def _collect(self, running: dict[int, Mutant]) -> int:
        """Wait for one to end; the limit of its tests is an alarm of its own."""
        if not running:
            return 0
        pid, status = os.wait()
        mutant = running.pop(pid)
        why = _SURVIVES.get(os.WEXITSTATUS(status)) if os.WIFEXITED(status) else None
        if why is not None:
            self.survivors.append(mutant)
            self._say(f"{mutant.where}: survived: {mutant.kind}: {mutant.text}{why}")
        return 1


def _last_noticed_by(file: Path | None) -> dict[str, str]:
    """Mutation → the test that noticed it when it was last made."""
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    return {name: test for name, tab, test in (line.rpartition("\t") for line in lines) if tab}


def equivalent() -> dict[str, str]:
    """Mutations that change nothing that could be told → why."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    pairs = (line.split(" | ", 1) for line in lines if line and not line.startswith("#"))
    return {name.strip(): why for name, why in pairs}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutations of the checks that no test notices.")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="only mutations whose line has one of these"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--limit", type=int, default=LIMIT_S, metavar="S", help="of one test, beyond which it was noticed"
    )
    parser.add_argument("--list", action="store_true", help="print the mutations, run nothing")
    parser.add_argument("--sources", nargs="+", help="files to mutate in place of the checks")
    parser.add_argument("--tests", nargs="+", help="tests to run in place of the unit tests that use them")
    return parser.parse_args()


def _tests(files: Sequence[Path]) -> list[str]:
    """Files of unit tests, and of truths planted without a lab, that import a mutated module, one that takes
    its thresholds, or something from these, and the wiring."""
    modules = {_dotted(file) for file in files}
    rooms = {_dotted(file) for file in files if _declares_findings(file)}
    modules |= {_dotted(one) for one in (ROOT / "src").rglob("*.py") if not rooms.isdisjoint(_imported(one))}
    always = {WIRING, *_elsewhere().values()}
    return [
        str(one)
        for one in sorted([*(ROOT / "tests/unit").rglob("test_*.py"), *(ROOT / "tests/truth").glob(PLANTS)])
        if one.name in always or not modules.isdisjoint(_imported(one)) or _stories(one)
    ]


@cache
def _elsewhere() -> dict[str, str]:
    """Codes of findings that the wiring has elsewhere → the file of their test."""
    tree = ast.parse((ROOT / "tests" / "unit" / "program" / WIRING).read_text())
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and _targets(node) == ["ELSEWHERE"] and node.value is not None:
            return {code: file for code, (file, _) in ast.literal_eval(node.value).items()}
    return {}


def _dotted(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[parts.index("linewatt") :]) if "linewatt" in parts else file.stem


@cache
def _doors() -> Doors:
    return read_doors(ROOT / "src")


def _imported(file: Path) -> Iterator[str]:
    return imported_modules(file.read_text(), _doors())


def main() -> int:
    """0: every mutation was noticed."""
    asked = _arguments()
    files = [Path(one).resolve() for one in asked.sources or ()] or [
        path for pattern in SOURCES for path in sorted(ROOT.glob(pattern)) if path.name != "__init__.py"
    ]
    known = equivalent() if not asked.sources else {}
    every = [one for file in files for one in mutants_of(file)]
    wanted = [
        one
        for one in every
        if one.name not in known and any(text in f"{one.where} {one.name}" for text in asked.only)
    ]
    stale = [name for name in known if not any(one.name == name for one in every)]
    if asked.list:
        print(*(f"{one.where}: {one.kind}: {one.text}" for one in wanted), sep="\n")
        return 0
    terminal = os.fdopen(os.dup(1), "w")
    noticed_by = None if asked.sources else NOTICED_BY
    if noticed_by is not None:
        noticed_by.parent.mkdir(exist_ok=True)
    plugin = Mutating(
        wanted,
        max(1, asked.jobs),
        asked.limit,
        lambda text: print(text, file=terminal, flush=True),
        noticed_by,
    )
    options = [
        word for name in ("cacheprovider", "terminal", "xdist", "locust") for word in ("-p", f"no:{name}")
    ]
    options += ["-x", "-o", "addopts=", "--import-mode=importlib"]  # addopts are for a terminal
    options += ["--assert=plain"]  # nobody reads why a test failed
    options += ["-o", "timeout=0"]  # a limit of pytest's own would take the alarm's place
    os.environ[UNSHRUNK] = "1"
    code = pytest.main([*options, *(asked.tests or _tests(files))], plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        print("the tests cannot be collected; run them by themselves to see why")
    for name in stale:
        print(f"{EQUIVALENT.name}: there is no such mutation any more: {name}")
    print(f"{len(wanted)} mutations, {len(plugin.survivors)} survived, {len(every) - len(wanted)} left out")
    return 1 if plugin.survivors or stale or code not in (pytest.ExitCode.OK, 5) else 0


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    os._exit(ended)  # an interpreter that ends in order prints pages of what DuckDB's binding still holds
