# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt prepare`` sends to a client: pins, the users' code, wheels for a closed network.

The code is this package without what users do not need: they import nothing but the standard library, Locust,
hdrhistogram and each other. So an environment stays when linewatt changes and its pins do not.
"""

from __future__ import annotations

import functools
import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from linewatt.errors import InvalidInput

LEAST_PYTHON = (3, 11)
REQUIREMENTS = "requirements.txt"
_CODE = (
    *("__init__.py", "declare.py", "errors.py", "extras.py"),
    *("features/__init__.py", "features/users/__init__.py"),
    *("core/__init__.py", "core/feature.py", "core/third_party.py"),
)
_PACKAGES = ("model", "features/users/worker")
_QUOTES = "'\")"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def requirements_path() -> Path:
    """The pins of a client's environment, with hashes, as they come with linewatt."""
    return Path(str(resources.files("linewatt").joinpath("features/users/worker", REQUIREMENTS)))


@functools.cache
def code() -> Mapping[str, bytes]:
    """The users' code: path below the folder that goes on ``PYTHONPATH`` → content."""
    package = resources.files("linewatt")
    in_packages = (
        f"{folder}/{module_file.name}"
        for folder in _PACKAGES
        for module_file in package.joinpath(folder).iterdir()
        if module_file.name.endswith(".py")
    )
    names = [*_CODE, *sorted(in_packages)]
    return {f"linewatt/{name}": package.joinpath(name).read_bytes() for name in names}


def digest(files: Mapping[str, bytes]) -> str:
    """What tells files with other names or contents apart: 16 hexadecimal digits."""
    hasher = hashlib.sha256()
    for name in sorted(files):
        hasher.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    return hasher.hexdigest()[:16]


@functools.cache
def code_digest() -> str:
    return digest(code())


@functools.cache
def pins_digest() -> str:
    return digest({REQUIREMENTS: requirements_path().read_bytes()})


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of files, for tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def pins(text: str) -> dict[str, str]:
    """Package, its name as PEP 503 writes it → version."""
    return {_normal(match[1]): match[2] for match in _PIN.finditer(text)}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Wheelhouse:
    """A directory of wheels, for clients that reach no package index."""

    def __init__(self, folder: Path) -> None:
        """Raises InvalidInput for a directory that cannot be read or has no wheel."""
        try:
            self._wheels = sorted(path for path in folder.iterdir() if path.suffix == ".whl")
        except OSError as error:
            raise InvalidInput(f"--wheelhouse {folder}: cannot be read: {error.strerror}") from None
        if not self._wheels:
            raise InvalidInput(f"--wheelhouse {folder}: has no wheels; fill it with: {download_command()}")
        self.folder = folder

    def files(self, python: str, machine: str) -> Iterator[tuple[str, bytes]]:
        """Wheels of the pins for one kind of Python (``cp311``) and machine (``x86_64``): name, content.

        Raises InvalidInput naming every pin without one.
        """
        version_by_name = pins(requirements_path().read_text(encoding="utf-8"))
        fitting = [
            path
            for path in self._wheels
            if _is_pinned(path.stem, version_by_name) and fits(path.stem, python, machine)
        ]
        missing = sorted(version_by_name.keys() - {_normal(path.stem.split("-")[0]) for path in fitting})
        if missing:
            names = ", ".join(f"{name}=={version_by_name[name]}" for name in missing)
            raise InvalidInput(
                f"{self.folder} has no wheel for {spoken(python)} on {machine} of {names}; "
                f"fill it with: {download_command(python)}"
            )
        for path in fitting:
            try:
                yield f"wheels/{path.name}", path.read_bytes()
            except OSError as error:
                raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from None


def _is_pinned(stem: str, version_by_name: Mapping[str, str]) -> bool:
    name, _, version_tags = stem.partition("-")
    return version_by_name.get(_normal(name)) == version_tags.partition("-")[0]


def fits(stem: str, python: str, machine: str) -> bool:
    """Whether a wheel can be for a Python and a machine, by its name without ``.whl``.

    Source: the binary distribution format (packaging.python.org), tags of Python, ABI and platform.
    """
    parts = stem.split("-")
    if len(parts) not in (5, 6):
        return False
    pythons, abis, platforms = (part.split(".") for part in parts[-3:])
    if not any(
        platform == "any" or (platform.endswith(f"_{machine}") and "linux" in platform)
        for platform in platforms
    ):
        return False
    if "none" in abis:
        return "py3" in pythons or python in pythons
    if "abi3" in abis:
        return any(
            re.fullmatch(r"cp3\d+", python_tag) and int(python_tag[3:]) <= int(python[3:])
            for python_tag in pythons
        )
    return python in pythons and python in abis


def spoken(python: str) -> str:
    """``cp311`` as people write it."""
    return f"Python {python[2]}.{python[3:]}"


def download_command(python: str | None = None) -> str:
    """What fills a wheelhouse where a package index can be reached."""
    program = "python3" if python is None else f"python{python[2]}.{python[3:]}"
    return f"{program} -m pip download --only-binary :all: --require-hashes -r {requirements_path()} -d DIR"


def pip_problem(stderr: str) -> str:
    """Why pip installed nothing, in one line of its own words, and what to do."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    broken = [line for line in lines if "connection broken by '" in line]
    if broken:
        why = broken[-1].partition("connection broken by '")[2].rpartition("': ")[0] or broken[-1]
        cause = why.rpartition(": ")[2].strip(_QUOTES)
        return (
            f"pip reaches no package index ({cause}); with the same Python where one is in reach: "
            f"{download_command()}, then: linewatt prepare FILE --wheelhouse DIR"
        )
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if any("DO NOT MATCH THE HASHES" in line for line in errors):
        named = next((line for line in lines if " from " in line and ".whl" in line), "")
        return f"pip got a file that is not the pinned one: {named}".rstrip(": ")
    missing = [line for line in errors if line.startswith("No matching distribution found for ")]
    return f"pip: {(missing or errors or lines or ['ended without a word'])[-1]}"
