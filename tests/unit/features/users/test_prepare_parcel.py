# SPDX-License-Identifier: Apache-2.0
"""What is sent to clients: the code that users need and all of it, pins that hold, wheels that fit."""

from __future__ import annotations

import ast
import io
import re
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from linewatt.errors import InvalidInput
from linewatt.features.users import prepare_parcel as parcel
from linewatt.features.users.prepare_parcel import Wheelhouse, fits, pip_problem

ROOT = Path(__file__).parents[4]
PACKAGES = {"locust", "gevent", "hdrh"}
"""what users import beside the standard library; gevent is Locust's own"""


def imported(source: bytes) -> Iterator[str]:
    """Modules that a file imports when it runs, wherever in it."""
    tree = ast.parse(source)
    for_types = [one for one in ast.walk(tree) if isinstance(one, ast.If) and _is_for_types(one.test)]
    never = {id(node) for one in for_types for statement in one.body for node in ast.walk(statement)}
    for node in (one for one in ast.walk(tree) if id(one) not in never):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def modules(files: set[str]) -> set[str]:
    return {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}


def test_users_find_on_a_client_everything_that_they_import() -> None:
    code = parcel.code()
    sent = modules(set(code))
    for name, source in code.items():
        for wanted in imported(source):
            top = wanted.partition(".")[0]
            if top != "linewatt":
                assert top in sys.stdlib_module_names | PACKAGES, f"{name} imports {wanted}"
            elif (ROOT / "src" / f"{wanted.replace('.', '/')}.py").exists():
                assert wanted in sent, f"{name} imports {wanted}, which is not sent"
            else:
                assert wanted in sent or wanted.rpartition(".")[0] in sent, f"{name} imports {wanted}"


def test_nothing_is_sent_that_users_do_not_need() -> None:
    outside = {name for name in parcel.code() if not name.startswith("linewatt/features/users/worker/")}
    wanted = {one for source in parcel.code().values() for one in imported(source)}
    assert (
        modules(outside) - {"linewatt", "linewatt.core", "linewatt.features", "linewatt.features.users"}
        <= wanted
    )
    assert "linewatt/features/users/worker/locustfile.py" in parcel.code()


def test_another_content_or_name_is_another_digest() -> None:
    files = {"a": b"1", "b": b"2"}
    others = [{"a": b"2", "b": b"1"}, {"a": b"1"}, {"a": b"1", "c": b"2"}, {"a": b"1b", "": b"2"}]
    assert len({parcel.digest(one) for one in [files, *others]}) == 5
    assert parcel.digest(dict(reversed(files.items()))) == parcel.digest(files)


def test_the_archive_holds_the_files_as_they_are() -> None:
    with tarfile.open(fileobj=io.BytesIO(parcel.packed(parcel.code().items()))) as archive:
        read = {one.name: archive.extractfile(one) for one in archive}
        assert {name: file.read() for name, file in read.items() if file} == dict(parcel.code())
    assert all(not PurePosixPath(name).is_absolute() for name in read)


def test_clients_get_the_very_versions_that_users_are_tested_with() -> None:
    text = parcel.requirements_path().read_text()
    pins = parcel.pins(text)
    assert pins.items() <= parcel.pins((ROOT / "requirements" / "test.txt").read_text()).items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {re.split("[<>=]", one)[0] for one in project["project"]["optional-dependencies"]["users"]}
    assert wanted <= pins.keys()
    assert len(pins) == len(re.findall(r"^\S+==.*\\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE))
    assert "://" not in text
    assert not re.search(r"^ *-", text.replace("    --hash=", ""), re.MULTILINE), "options of pip"


def test_the_pins_come_with_the_installed_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["linewatt"]
    package = ROOT / "src" / "linewatt"
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    assert parcel.requirements_path() in shipped


@pytest.mark.parametrize(
    ("wheel", "python", "machine", "fitting"),
    [
        ("locust-2.47.0-py3-none-any", "cp313", "aarch64", True),
        ("pbr-7.1.3-py2.py3-none-any", "cp311", "x86_64", True),
        ("old-1.0-py2-none-any", "cp311", "x86_64", False),
        ("gevent-26.9.0-cp311-cp311-manylinux_2_28_x86_64", "cp311", "x86_64", True),
        ("gevent-26.9.0-cp311-cp311-manylinux_2_28_x86_64", "cp312", "x86_64", False),
        ("gevent-26.9.0-cp311-cp311-manylinux_2_28_x86_64", "cp311", "aarch64", False),
        ("gevent-26.9.0-cp311-cp311-win_amd64", "cp311", "amd64", False),
        ("psutil-7.2.2-cp36-abi3-manylinux2010_x86_64.manylinux_2_12_x86_64", "cp313", "x86_64", True),
        ("pyzmq-27.3.0-cp312-abi3-manylinux_2_26_x86_64", "cp311", "x86_64", False),
        ("greenlet-3.5.6-cp313-cp313t-manylinux_2_24_x86_64", "cp313", "x86_64", False),
        ("some-1.0-1-py3-none-any", "cp311", "x86_64", True),
        ("not-a-wheel", "cp311", "x86_64", False),
    ],
)
def test_a_wheel_fits_a_python_and_a_machine_or_not(
    wheel: str, python: str, machine: str, fitting: bool
) -> None:
    assert fits(wheel, python, machine) is fitting


def wheelhouse(folder: Path, without: str = "") -> Wheelhouse:
    """A wheel for every pin, those of C as well as Python, and some that nobody asked for."""
    for name, version in parcel.pins(parcel.requirements_path().read_text()).items():
        if name != without:
            stem = f"{name.replace('-', '_')}-{version}"
            (folder / f"{stem}-py3-none-any.whl").write_text(name)
    (folder / "gevent-1.0-py3-none-any.whl").touch()
    (folder / "numpy-1.0-py3-none-any.whl").touch()
    return Wheelhouse(folder)


def test_only_pinned_wheels_are_sent(tmp_path: Path) -> None:
    sent = dict(wheelhouse(tmp_path).files("cp311", "x86_64"))
    assert len(sent) == len(parcel.pins(parcel.requirements_path().read_text()))
    assert "wheels/gevent-1.0-py3-none-any.whl" not in sent
    assert all(content for content in sent.values())


def test_a_missing_wheel_is_named_with_what_to_do(tmp_path: Path) -> None:
    house = wheelhouse(tmp_path, without="gevent")
    with pytest.raises(
        InvalidInput, match=r"no wheel for Python 3\.11 on x86_64 of gevent==[\d.]+; fill it"
    ) as e:
        list(house.files("cp311", "x86_64"))
    assert "python3.11 -m pip download" in str(e.value)
    assert str(parcel.requirements_path()) in str(e.value)


@pytest.mark.parametrize("what", ["missing", "empty", "a file"])
def test_a_wheelhouse_that_is_none_is_refused(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "wheels"
    if what == "empty":
        folder.mkdir()
    elif what == "a file":
        folder.touch()
    with pytest.raises(InvalidInput, match=f"--wheelhouse {folder}: "):
        Wheelhouse(folder)


NO_NETWORK = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection \
broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f678588fa50>: \
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/bidict/
ERROR: Could not find a version that satisfies the requirement bidict==0.24.1 (from versions: none)
ERROR: No matching distribution found for bidict==0.24.1
"""
OTHER_FILE = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package \
versions, please update the hashes. Otherwise, examine the package contents carefully; someone may have \
tampered with them.
    bidict==0.24.1 from file:///srv/wheels/bidict-0.24.1-py3-none-any.whl (from -r requirements.txt (line 7)):
        Expected sha256 4dca6c17f0b01700e9f24359daa5ebabf7be022d99f4cb2a257b6af2a5076c88
        Expected     or fd3eaa737917d8a14f4baa391670c433c4e3f6f5fd2cd99d4bf436437f432364
             Got        00729e6366ad2bf3314d8c32b0c6ce1c22979228022a85314a9684d22f3ea7d0

"""


def test_why_pip_failed_is_one_line_of_its_own_words() -> None:
    """As pip 23.0.1 said it."""
    no_network = pip_problem(NO_NETWORK)
    assert no_network.startswith(
        "pip reaches no package index ([Errno -3] Temporary failure in name resolution); "
    )
    assert no_network.endswith("linewatt prepare FILE --wheelhouse DIR")
    not_there = pip_problem(NO_NETWORK.split("\n", 1)[1])
    assert not_there == "pip: No matching distribution found for bidict==0.24.1"
    assert pip_problem(OTHER_FILE).startswith(
        "pip got a file that is not the pinned one: bidict==0.24.1 from file:///srv/wheels/bidict-0.24.1-py3"
    )
    assert pip_problem("") == "pip: ended without a word"
