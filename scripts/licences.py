# SPDX-License-Identifier: Apache-2.0
"""``make licences``: docs/licences.md, the licence of each package that linewatt installs with all extras.

Versions are those of requirements/extras.txt. Licences and addresses are from the metadata of the installed
packages, so these versions must be installed.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from pathlib import Path
from typing import cast

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
PINS = ROOT / "requirements" / "extras.txt"

DEVELOPMENT_EXTRAS = frozenset({"docs", "lint", "test"})
"""what tests, linters and documents of linewatt need; users do not install them"""
ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
        *("EPL-2.0", "MPL-2.0", "PSF-2.0", "ZPL-2.1", "Zlib"),
    }
)
"""none of them binds a program that imports the package"""
PROGRAMS = frozenset({"virtme-ng"})
"""linewatt starts their programs and never imports them: their licence does not reach linewatt's process"""

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_OF_LICENCE_FILES = {
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "pysnmp": "BSD-2-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "scipy": "BSD-3-Clause",
}
"""where the metadata name no exact licence: as the package's licence file has it"""

_HEADER = """# Licences of dependencies

Written by `make licences`; do not edit it. The table lists each Python package that linewatt installs on
Linux with all its extras, in the versions of `requirements/extras.txt`. *Needed by* is `core` or the extras.

linewatt is under Apache-2.0. No dependency puts users of linewatt under the GPL:

- asyncssh is offered under EPL-2.0 or GPL-2.0-or-later. linewatt uses it under **EPL-2.0**, unmodified.
- virtme-ng (GPL-2.0-only) is a separate program for guests of a lab. linewatt starts it and does not import
  it.
- Wheels of numpy and scipy include libgfortran (GPL-3.0-or-later with the GCC runtime exception, which
  permits programs under any licence) and libquadmath (LGPL-2.1-or-later).
- iperf3, sysstat, ethtool, perf and other tools of the system are separate programs, not part of linewatt.

A test fails if a package gets a licence that is not on the list in `scripts/licences.py`. `make sbom` writes
the same packages with their hashes to `build/sbom.cdx.json` (CycloneDX JSON).

"""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def pinned() -> dict[str, str]:
    """Each package of an installation with all extras → its version."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(PINS.read_text())}


def licence(name: str, metadata: Message) -> str:
    """The licence as an SPDX expression. Raises ValueError if the metadata have none that is exact."""
    if name in _OF_LICENCE_FILES:
        return _OF_LICENCE_FILES[name]
    for field in ("License-Expression", "License"):
        try:
            return canonicalize_license_expression(metadata.get(field) or "")
        except InvalidLicenseExpression:
            continue
    classifiers = {text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier") or []}
    licences = sorted(_CLASSIFIERS[text] for text in classifiers & _CLASSIFIERS.keys())
    if len(licences) != 1:
        raise ValueError(f"{name}: no exact licence in its metadata; add that of its licence file here")
    return licences[0]


def permitted(expression: str) -> str | None:
    """The first alternative of an expression without parentheses that is allowed; None if there is none."""
    for alternative in expression.split(" OR "):
        if set(alternative.split(" AND ")) <= ALLOWED:
            return alternative
    return None


def _home(metadata: Message) -> str:
    """Where the project lives, as far as its metadata say, without the scheme: it is not an index address."""
    urls = dict(text.split(", ", 1) for text in metadata.get_all("Project-URL") or [])
    names = {name.lower(): url for name, url in urls.items()}
    labels = ("homepage", "home", "source", "source code", "repository", "github", "documentation")
    addresses = (metadata.get("Home-page"), *(names.get(label) for label in labels))
    return next(filter(None, addresses), "").partition("://")[2]


def _closure(requirements: Iterable[str]) -> set[str]:
    """The packages that these requirements install here, with all that those need."""
    visited: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras} - {extra for package, extra in visited if package == name}:
            visited.add((name, wanted))
            needs = importlib.metadata.requires(name) or []
            waiting += [(Requirement(text), wanted) for text in needs]
    return {name for name, _ in visited}


def needed_by() -> dict[str, list[str]]:
    """Package → ``core``, or the extras that need it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = _closure([*project["dependencies"]])
    needs = {name: ["core"] for name in core}
    for extra, requirements in sorted(project["optional-dependencies"].items()):
        for name in _closure(requirements) - core if extra not in DEVELOPMENT_EXTRAS else ():
            needs.setdefault(name, []).append(extra)
    return needs


def _rows(needs: Mapping[str, list[str]]) -> Iterator[str]:
    for name, version in sorted(pinned().items()):
        metadata = cast(Message, importlib.metadata.metadata(name))
        if metadata["Version"] != version:
            raise ValueError(f"{name} {metadata['Version']} is installed, not {version}: run `make setup`")
        expression = licence(name, metadata)
        extras = ", ".join(needs.get(name, ["build"]))
        yield f"| {name} | {version} | {expression} | {extras} | {_home(metadata)} |"


def page() -> str:
    """The page, of the metadata of what is installed."""
    table = ["| package | version | licence | needed by | home |", "| --- | --- | --- | --- | --- |"]
    return _HEADER + "\n".join([*table, *_rows(needed_by())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
